"""A large `.h5mu` file: time and peak memory of reading it and of clustering it.

python -m benchmarks.mudata_file --out out/mudata [--cells 500000]

Makes the file (a sparse modality of counts, a dense one, a fifth of the cells without each), then measures in
processes of their own.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import scipy.sparse

GENES, PROTEINS, GROUPS, BLOCK = 2000, 100, 12, 10_000


def make(path: Path, n_cells: int) -> None:
    """Write the file block by block."""
    import anndata
    import h5py
    import mudata
    import pandas as pd

    rng = np.random.default_rng(0)
    rates = rng.gamma(0.4, 0.15, size=(GROUPS, GENES))
    means = rng.normal(size=(GROUPS, PROTEINS))
    names = np.array([f"cell{n}" for n in range(n_cells)])
    held = {"rna": np.sort(rng.permutation(n_cells)[: n_cells * 4 // 5])}
    held["protein"] = np.union1d(
        np.setdiff1d(np.arange(n_cells), held["rna"]), rng.permutation(n_cells)[: n_cells * 3 // 4]
    )
    empty = {  # names and groups of the file are mudata's own
        name: anndata.AnnData(
            scipy.sparse.csr_matrix((len(rows), width), dtype=np.float32),
            obs=pd.DataFrame(index=names[rows]),
            var=pd.DataFrame(index=[f"{name}{j}" for j in range(width)]),
        )
        for (name, rows), width in zip(held.items(), (GENES, PROTEINS), strict=True)
    }
    mudata.MuData(empty).write(path)
    group = rng.integers(GROUPS, size=n_cells)
    with h5py.File(path, "r+") as file:
        order = {str(name): n for n, name in enumerate(names)}
        del file["mod/protein/X"]
        dense = file.create_dataset(
            "mod/protein/X", (len(held["protein"]), PROTEINS), np.float32, chunks=(1000, PROTEINS)
        )
        dense.attrs.update({"encoding-type": "array", "encoding-version": "0.2.0"})
        for first in range(0, len(held["protein"]), BLOCK):
            rows = held["protein"][first : first + BLOCK]
            dense[first : first + len(rows)] = means[group[rows]] + rng.normal(size=(len(rows), PROTEINS))
        sparse, starts = file["mod/rna/X"], [0]
        for key, kind in (("data", np.float32), ("indices", np.int32)):
            del sparse[key]
            sparse.create_dataset(key, (0,), kind, maxshape=(None,), chunks=(2**16,))
        for first in range(0, len(held["rna"]), BLOCK):
            part = scipy.sparse.csr_matrix(rng.poisson(rates[group[held["rna"][first : first + BLOCK]]]))
            for key in ("data", "indices"):
                sparse[key].resize((starts[-1] + part.nnz,))
                sparse[key][starts[-1] :] = getattr(part, key)
            starts += (starts[-1] + part.indptr[1:].astype(np.int64)).tolist()
        del sparse["indptr"]
        sparse.create_dataset("indptr", data=np.array(starts, dtype=np.int64))
        assert len(order) == n_cells


def read(path: str) -> None:
    """Every chunk once."""
    import viewpass as vp

    for _ in vp.from_mudata(path).chunks(2**14):
        pass


def read_plainly(path: str) -> None:
    """Every number once, by h5py alone."""
    import h5py

    with h5py.File(path) as file:
        for key in ("mod/protein/X", "mod/rna/X/data", "mod/rna/X/indices"):
            values = file[key]
            step = 2**22 // (values.shape[1] if values.ndim == 2 else 1)
            for first in range(0, values.shape[0], step):
                values[first : first + step]


def read_whole(path: str) -> None:
    """The object, as mudata reads it."""
    import mudata

    mudata.read_h5mu(path)


def fit(path: str) -> None:
    """Default settings, every row read once."""
    import viewpass as vp

    vp.ViewPass(GROUPS, random_state=0, compute_labels=False).fit(path)


def fit_and_label(path: str) -> None:
    """Default settings, with tallies and final labels, for which the file is read again."""
    import viewpass as vp

    vp.ViewPass(GROUPS, random_state=0).fit(path)


JOBS = {job.__name__: job for job in (read_plainly, read_whole, read, fit, fit_and_label)}


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.mudata_file", description=__doc__)
    parser.add_argument("--out", type=Path, default=Path("out/mudata"))
    parser.add_argument("--cells", type=int, default=500_000)
    parser.add_argument("--job", choices=JOBS)
    given = parser.parse_args()
    path = given.out / f"cells{given.cells}.h5mu"
    if given.job:
        import anndata  # noqa: F401

        import viewpass.estimators.viewpass  # noqa: F401  (what is measured are the jobs, not the imports)

        begin = time.perf_counter()
        JOBS[given.job](str(path))
        seconds = time.perf_counter() - begin
        status = Path("/proc/self/status").read_text()  # ru_maxrss would include the parent's
        peak = int(status.partition("VmHWM:")[2].split()[0]) / 2**10
        print(json.dumps({"job": given.job, "seconds": round(seconds, 2), "peak MB": round(peak)}))
        return
    given.out.mkdir(parents=True, exist_ok=True)
    if not path.exists():
        make(path, given.cells)
    print(f"{path}: {path.stat().st_size / 2**20:,.0f} MB")
    for job in JOBS:
        again = [sys.executable, "-m", "benchmarks.mudata_file", "--out", str(given.out)]
        subprocess.run([*again, "--cells", str(given.cells), "--job", job], check=True)


if __name__ == "__main__":
    main()
