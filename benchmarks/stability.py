"""`python -m benchmarks.stability`: how much labels depend on the seed, the order of rows and the chunk size.

One pass under default settings over the Tate table (69,202 rows, views with natural gaps, 30 clusters).
Prints the adjusted Rand index of `labels_`, mean over pairs: between seeds, in file order and of shuffled
rows; between file order and shuffled copies; and between chunks of 2,000 and 8,192 rows.
"""

from __future__ import annotations

import argparse
import time
from itertools import combinations
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow.parquet as pq

from viewpass import OPIMC
from viewpass.evaluate import ari

VIEWS = ("title_emb", "medium_emb", "subjects_emb", "size")
CHUNKS = 2000, 8192


def read(path: Path) -> list[np.ndarray]:
    """The views of the table as arrays, NaN where a row lacks one."""
    table, found = pq.read_table(path, columns=list(VIEWS)), []
    for name in VIEWS:
        rows = table[name].to_pylist()
        width = len(next(row for row in rows if row is not None))
        found.append(np.array([[np.nan] * width if row is None else row for row in rows], dtype=np.float32))
    return found


class Fits:
    """Labels of fits, each in file order."""

    def __init__(self, views: list[np.ndarray], n_clusters: int) -> None:
        self.views, self.n_clusters = views, n_clusters
        self._found: dict[tuple[Any, ...], np.ndarray] = {}

    def labels(self, seed: int = 0, shuffle: int | None = None, chunk_size: int | str = "auto") -> np.ndarray:
        """Labels by a fit with this seed and chunk size, of rows in file order or shuffled by a seed."""
        key = seed, shuffle, chunk_size
        if key not in self._found:
            n_rows = len(self.views[0])
            order = (
                np.arange(n_rows) if shuffle is None else np.random.default_rng(shuffle).permutation(n_rows)
            )
            began = time.process_time()
            given = {"random_state": seed, "chunk_size": chunk_size, "n_threads": 1}
            model = OPIMC(self.n_clusters, **given).fit([view[order] for view in self.views])
            labels = np.empty(n_rows, dtype=np.int32)
            labels[order] = model.labels_
            self._found[key] = labels
            what = f"seed {seed}, {'file' if shuffle is None else f'shuffle {shuffle}'}, chunks {chunk_size}"
            taken = time.process_time() - began
            about = f"{model.consensus_}, inertia {model.inertia_:,.0f}"
            print(f"  {what}: {about}, {taken:.1f} CPU s", flush=True)
        return self._found[key]


def mean(pairs: list[tuple[np.ndarray, np.ndarray]]) -> str:
    """Mean and least agreement of pairs of labels; rows without a view count as a cluster."""
    found = [ari(one, other) for one, other in pairs]
    return f"{np.mean(found):.3f} | {min(found):.3f} | {len(found)}"


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.stability", description=__doc__)
    parser.add_argument("--table", type=Path, default=Path("../shared/data/tate.parquet"))
    parser.add_argument("--clusters", type=int, default=30)
    parser.add_argument("--runs", type=int, default=3, help="seeds, and shuffled copies")
    options = parser.parse_args()
    fits, runs = Fits(read(options.table), options.clusters), range(options.runs)
    in_file = [fits.labels(seed) for seed in runs]
    shuffled = [fits.labels(seed, shuffle=0) for seed in runs]
    rows = {
        "two seeds, file order": list(combinations(in_file, 2)),
        "two seeds, shuffled": list(combinations(shuffled, 2)),
        "file order and shuffled": [(in_file[0], fits.labels(0, shuffle=number)) for number in runs],
        "chunks of 2,000 and 8,192": [
            (fits.labels(0, chunk_size=CHUNKS[0]), fits.labels(0, chunk_size=CHUNKS[1])),
            (fits.labels(0, 0, CHUNKS[0]), fits.labels(0, 0, CHUNKS[1])),
        ],
    }
    print("\n| ARI of `labels_` between | mean | least | pairs |\n|---|---|---|---|")
    for name, pairs in rows.items():
        print(f"| {name} | {mean(pairs)} |")


if __name__ == "__main__":
    main()
