"""`viewpass demo --cohort`: made tables of the shape of the guide's cohorts, with three kinds of patients."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from viewpass.errors import SettingError, missing_extra

try:
    import pandas as pd
except ImportError as absent:
    raise missing_extra("pandas", "omics", "a made cohort") from absent

KINDS = 3
ACC = {"rna": 198, "mirna": 471, "copy_number": 198, "mutations": 97, "protein": 33}  # columns
HAVE = {"rna": 79, "mirna": 80, "copy_number": 90, "mutations": 90, "protein": 46}  # of 92 patients
CLL = {"viability": 448, "genetics": 91}
GAPS = 0.49  # of the genetic values
DROPPED = ("IGHV Uppsala U/M", "Methylation_Cluster")  # summaries of others, which the guide leaves out


def write(folder: Path, seed: int) -> list[Path]:
    """Write the tables into FOLDER/omics; gives their paths."""
    home = folder / "omics"
    if home.exists():
        raise SettingError(f"--out {folder}: {home} exists. Name another folder.")
    tables = acc(np.random.default_rng(seed)) | cll(np.random.default_rng(seed + 1))
    home.mkdir(parents=True)
    paths = []
    for name, table in tables.items():
        paths.append(home / f"{name}.csv{'' if name.endswith('patients') else '.gz'}")
        table.to_csv(paths[-1])
    return paths


def acc(rng: Any) -> dict[str, Any]:
    """Five assays of 92 patients, of whom many lack some, and what became of the patients."""
    index = pd.Index([f"A{i:03}" for i in range(92)], name="patient")
    kind = rng.integers(KINDS, size=len(index))
    tables = {}
    for name, width in ACC.items():
        values = rng.standard_normal((KINDS, width))[kind] + rng.standard_normal((len(index), width))
        if name == "copy_number":
            values = np.clip(np.rint(values), -2, 2).astype(int)
        elif name == "mutations":
            values = (rng.random(values.shape) < 0.01).astype(int)
        has = np.sort(rng.permutation(len(index))[: HAVE[name]])
        columns = [f"{name}_{j}" for j in range(width)]
        tables[f"acc_{name}"] = pd.DataFrame(values, index, columns).iloc[has].round(4)
    days = rng.exponential(3000.0 / (1 + kind)).round()
    died = rng.random(len(index)) < 0.4
    known = {"vital_status": died.astype(int), "days_to_death": np.where(died, days, np.nan)}
    known |= {"days_to_last_followup": np.where(died, np.nan, days), "COC": [f"COC{k + 1}" for k in kind]}
    return tables | {"acc_patients": pd.DataFrame(known, index)}


def cll(rng: Any) -> dict[str, Any]:
    """Drug responses and marks of 249 patients; half of the marks are missing."""
    index = pd.Index([f"C{i:03}" for i in range(249)], name="patient")
    kind = rng.integers(KINDS, size=len(index))
    width = CLL["viability"]
    viability = 0.8 + 0.1 * (rng.standard_normal((KINDS, width))[kind] + rng.standard_normal((249, width)))
    often = 0.3 * rng.random((KINDS, CLL["genetics"]))
    marks = (rng.random((249, CLL["genetics"])) < often[kind]).astype(float)
    marks[rng.random(marks.shape) < GAPS] = np.nan
    names = [*DROPPED, *(f"mark_{j}" for j in range(CLL["genetics"] - len(DROPPED)))]
    years = rng.exponential(4.0 / (1 + kind))
    known = {"Diagnosis": "CLL", "IGHV": np.where(rng.random(249) < 0.2 + 0.3 * kind, "M", "U")}
    known |= {"T5": years.round(2), "treatedAfter": rng.random(249) < 0.6, "T6": (2 * years).round(2)}
    return {
        "cll_viability": pd.DataFrame(viability, index).add_prefix("D_").round(4),
        "cll_genetics": pd.DataFrame(marks, index, names),
        "cll_patients": pd.DataFrame(known | {"died": rng.random(249) < 0.2}, index),
    }
