"""The tables and the picture of docs/guide-cohorts.md: two cohorts, beside other methods.

python -m benchmarks.cohorts [--peers labels.csv] [--image docs/images/acc-survival.png]

NEMO and PIMVC are of iMML; `--peers` takes their labels from a file (a column per "method clusters"), for one
that is installed elsewhere, and `--write-peers` makes it.
"""

from __future__ import annotations

import argparse
import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

FOLDER = Path("../shared/data/omics")
COMPARED = {"log-rank p": "p", "NMI COC": "COC", "NMI mRNA_K4": "mRNA_K4"}
ASSAYS = ("rna", "mirna", "copy_number", "mutations", "protein")
SCALES = {**dict.fromkeys(ASSAYS, "standard"), "mutations": "idf"}
NUMBERS = (2, 3, 4, 5)


def acc() -> tuple[dict[str, Any], Any]:
    tables = {name: pd.read_csv(FOLDER / f"acc_{name}.csv.gz", index_col="patient") for name in ASSAYS}
    return tables, pd.read_csv(FOLDER / "acc_patients.csv", index_col="patient")


def standardised(tables: dict[str, Any], ids: Any) -> list[Any]:
    return [((t - t.mean()) / t.std(ddof=0).replace(0, 1)).reindex(ids) for t in tables.values()]


def ours(tables: dict[str, Any], n_clusters: int, seed: int = 0, scale: Any = None) -> Any:
    """Clusters with the scales of the guide, or `scale`."""
    import viewpass as vp

    scale = scale or {name: SCALES[name] for name in tables}
    model = vp.ViewPass(n_clusters, scale=scale, random_state=seed).fit(vp.frames(tables))
    return pd.Series(model.labels_, model.row_ids_)


def peers(tables: dict[str, Any], ids: Any) -> Any:
    """Labels of iMML's methods."""
    from imml.cluster import NEMO, PIMVC  # type: ignore[import-not-found,unused-ignore]

    found = {}
    for kind in (NEMO, PIMVC):
        for n in NUMBERS:
            labels = kind(n_clusters=n, random_state=0).fit_predict(standardised(tables, ids))
            found[f"{kind.__name__} {n}"] = np.asarray(labels)
    return pd.DataFrame(found, index=ids)


def k_means(tables: dict[str, Any], ids: Any, n_clusters: int, complete: bool) -> Any:
    from sklearn.cluster import KMeans

    joined = pd.concat(standardised(tables, ids), axis=1)
    joined = joined.dropna() if complete else joined.fillna(0.0)
    found = KMeans(n_clusters, n_init=10, random_state=0).fit_predict(joined.to_numpy())
    return pd.Series(found, joined.index)


def log_rank(time: Any, labels: Any, died: Any) -> float:
    """The p-value of the log-rank test of all clusters: that their patients die at the same rates."""
    from scipy.stats import chi2

    time, died = np.asarray(time, dtype=float), np.asarray(died, dtype=bool)
    member = np.asarray(labels)[:, np.newaxis] == np.unique(labels)
    excess, spread = np.zeros(member.shape[1]), np.zeros((member.shape[1],) * 2)
    for moment in np.unique(time[died]):
        at_risk, now = time >= moment, died & (time == moment)
        n, d = at_risk.sum(), now.sum()
        share = member[at_risk].mean(axis=0)
        excess += member[now].sum(axis=0) - d * share
        spread += d * (n - d) / max(n - 1, 1) * (np.diag(share) - np.outer(share, share))
    value = excess @ np.linalg.pinv(spread) @ excess
    return float(chi2.sf(value, member.shape[1] - 1))


def judged(labels: Any, patients: Any) -> dict[str, Any]:
    from viewpass.evaluate import nmi

    time = patients["days_to_death"].fillna(patients["days_to_last_followup"])
    labels = labels[labels >= 0].reindex(patients.index)
    known = labels.notna() & time.notna()
    p_value = log_rank(time[known], labels[known], patients["vital_status"][known])
    row = {
        "labelled": int(labels.notna().sum()),
        "sizes": sorted(labels.value_counts().tolist(), reverse=True),
    }
    for name in ("COC", "mRNA_K4", "pathologic_stage"):
        both = labels.notna() & patients[name].notna()
        classes = patients.loc[both, name].astype("category").cat.codes.to_numpy()
        row[f"NMI {name}"] = f"{nmi(classes, labels[both].astype(int).to_numpy()):.2f}".lstrip("0")
    return row | {"log-rank p": f"{p_value:.0e}".replace("e-0", "e-")}


def compared(rows: dict[str, list[dict[str, Any]]]) -> str:
    """A table with a row per method: patients labelled, then each measure by number of clusters."""
    heads = ["method", "labelled", "sizes of 3"]
    heads += [
        f"{short}, {NUMBERS[0]}" if n == NUMBERS[0] else str(n)
        for short in COMPARED.values()
        for n in NUMBERS
    ]
    lines = [heads, ["---"] * len(heads)]
    for name, found in rows.items():
        measures = [str(row[measure]) for measure in COMPARED for row in found]
        lines.append([name, str(found[0]["labelled"]), ", ".join(map(str, found[1]["sizes"])), *measures])
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)


def stability(tables: dict[str, Any], ids: Any, repeats: int = 10) -> Any:
    """Mean ARI with the clusters of all patients and assays, without a tenth of them or an assay."""
    from viewpass.evaluate import ari

    rng, rows = np.random.default_rng(0), []
    for n in NUMBERS:
        whole = ours(tables, n)
        kept = [ids[rng.random(len(ids)) < 0.9] for _ in range(repeats)]
        parts = [ours({name: t[t.index.isin(some)] for name, t in tables.items()}, n) for some in kept]
        fewer = [ours({name: t for name, t in tables.items() if name != out}, n) for out in ASSAYS]
        seeds = [ours(tables, n, seed) for seed in range(1, 6)]
        means = [np.mean([ari(whole[p.index], p) for p in group]) for group in (seeds, parts, fewer)]
        rows.append([n, *np.round(means, 2)])
    return pd.DataFrame(rows, columns=["clusters", "another seed", "without a tenth", "without an assay"])


def draw(tables: dict[str, Any], patients: Any, path: Path) -> None:
    """Survival of the three clusters."""
    import matplotlib

    matplotlib.use("Agg")
    from matplotlib import pyplot as plt
    from scipy.stats import CensoredData, ecdf

    time = patients["days_to_death"].fillna(patients["days_to_last_followup"]) / 365.25
    labels = ours(tables, 3).reindex(patients.index)
    figure, axes = plt.subplots(figsize=(6, 3.6), layout="constrained")
    for k in sorted(set(labels)):
        own = (labels == k) & time.notna()
        died = patients["vital_status"][own].astype(bool)
        alive = ecdf(CensoredData(time[own][died], right=time[own][~died])).sf
        (line,) = axes.step(*_from_the_start(alive.quantiles, alive.probabilities), where="post")
        line.set_label(f"cluster {k} ({own.sum()})")
        interval = alive.confidence_interval(method="log-log")
        low, high = (_from_the_start(end.quantiles, end.probabilities)[1] for end in interval)
        at = np.append(0.0, alive.quantiles)
        axes.fill_between(at, low, high, step="post", alpha=0.12, color=line.get_color())
        axes.plot(time[own][~died], alive.evaluate(time[own][~died]), "+", ms=4, color=line.get_color())
    axes.set(xlabel="years since diagnosis", ylabel="share of patients alive", ylim=(0, 1.02), xlim=(0, None))
    axes.spines[["top", "right"]].set_visible(False)
    axes.legend(frameon=False)
    figure.savefig(path, dpi=150)


def _from_the_start(times: Any, shares: Any) -> tuple[Any, Any]:
    """A curve of survival, which begins with all patients."""
    return np.append(0.0, times), np.append(1.0, shares)


def leukaemia() -> Any:
    """CLL: each way to treat values missing inside the genetics, and the drug responses alone."""
    import viewpass as vp
    from viewpass.evaluate import nmi

    viability, genetics = (
        pd.read_csv(FOLDER / f"cll_{name}.csv.gz", index_col="patient") for name in ("viability", "genetics")
    )
    patients = pd.read_csv(FOLDER / "cll_patients.csv", index_col="patient")
    known = genetics.drop(columns=["IGHV Uppsala U/M", "Methylation_Cluster"])  # answers to the question
    scales, rows = {"viability": "standard", "genetics": "binary"}, {}
    for way in ("fill", "local", "drugs alone"):
        views = (
            {"viability": viability} if way == "drugs alone" else {"viability": viability, "genetics": known}
        )
        settings: dict[str, Any] = {} if way == "drugs alone" else {"scale": scales, "missing_entries": way}
        model = vp.ViewPass(3, random_state=0, **settings).fit(vp.frames(views))
        labels = pd.Series(model.labels_, model.row_ids_).reindex(patients.index)
        row: dict[str, Any] = {"sizes": sorted(labels.value_counts().tolist(), reverse=True)}
        for name in ("IGHV", "Diagnosis"):
            both = labels.notna() & patients[name].notna()
            classes = patients.loc[both, name].astype("category").cat.codes.to_numpy()
            row[f"NMI {name}"] = round(nmi(classes, labels[both].astype(int).to_numpy()), 2)
        treated = labels.notna() & (patients["Diagnosis"] == "CLL") & patients["T5"].notna()
        given = patients.loc[treated, "T5"], labels[treated], patients.loc[treated, "treatedAfter"]
        rows[way] = row | {"log-rank p": f"{log_rank(*given):.1g}"}
        print(way, pd.crosstab(labels, patients["IGHV"]).to_string(), sep="\n")
    return pd.DataFrame(rows).T


def main() -> None:
    warnings.simplefilter("ignore")
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.cohorts",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--peers", type=Path)
    parser.add_argument("--write-peers", type=Path)
    parser.add_argument("--image", type=Path)
    parser.add_argument("--only", choices=["acc", "cll"])
    given = parser.parse_args()
    if given.only != "acc" and not given.write_peers:
        print(leukaemia().to_string(), flush=True)
    if given.only == "cll":
        return
    tables, patients = acc()
    if given.write_peers:
        peers(tables, patients.index).to_csv(given.write_peers)
        return
    others = pd.read_csv(given.peers, index_col=0) if given.peers else peers(tables, patients.index)
    methods = {
        "viewpass, these scales": lambda n: ours(tables, n),
        "viewpass, default": lambda n: ours(tables, n, scale="auto"),
        "NEMO": lambda n: others[f"NEMO {n}"],
        "PIMVC": lambda n: others[f"PIMVC {n}"],
        "k-means, complete patients": lambda n: k_means(tables, patients.index, n, complete=True),
        "k-means, means filled in": lambda n: k_means(tables, patients.index, n, complete=False),
    }
    print(compared({name: [judged(of(n), patients) for n in NUMBERS] for name, of in methods.items()}))
    print(stability(tables, patients.index).to_string(index=False), flush=True)
    labels = ours(tables, 3).reindex(patients.index)
    for name in ("COC", "mRNA_K4", "pathologic_stage", "Histology"):
        print(pd.crosstab(labels, patients[name]).to_string())
    if given.image:
        draw(tables, patients, given.image)


if __name__ == "__main__":
    main()
