"""`python -m benchmarks.stability`: how much labels depend on the seed, the order, the chunks, and the rows.

The Tate table (69,202 rows with ids, views with natural gaps, 30 clusters), default settings. Prints the
adjusted Rand index of labels: between seeds; between file order and shuffled copies; between chunks of 2,000
and 8,192 rows in `partial_fit`; and between models of two random halves, which label all rows.
"""

from __future__ import annotations

import argparse
from itertools import pairwise
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

import viewpass as vp
from viewpass.evaluate import ari
from viewpass.sources.source import Source

VIEWS, ID = ("title_emb", "medium_emb", "subjects_emb", "size"), "acno"
CHUNKS = 2000, 8192

Pair = tuple[np.ndarray, np.ndarray]


class Fits:
    """Labels of fits, in file order."""

    def __init__(self, table: pa.Table, n_clusters: int) -> None:
        self.table, self.n_clusters = table, n_clusters

    def labels(self, seed: int = 0, shuffle: int | None = None) -> np.ndarray:
        """By a fit with this seed, of rows in file order or shuffled by a seed."""
        n_rows = len(self.table)
        order = np.arange(n_rows) if shuffle is None else np.random.default_rng(shuffle).permutation(n_rows)
        found = np.empty(n_rows, dtype=np.int32)
        found[order] = self._model(seed).fit(self._source(self.table.take(order))).labels_
        return found

    def streamed(self, chunk_size: int) -> np.ndarray:
        """By a model that got its rows chunk by chunk."""
        model = self._model(0)
        for start in range(0, len(self.table), chunk_size):
            model.partial_fit(self._source(self.table.slice(start, chunk_size)))
        return model.predict(self._source(self.table))

    def halves(self, seed: int) -> Pair:
        """By models of two random halves."""
        order = np.random.default_rng(seed).permutation(len(self.table))
        parts = (np.sort(part) for part in np.array_split(order, 2))
        models = (self._model(0).fit(self._source(self.table.take(part))) for part in parts)
        one, other = (model.predict(self._source(self.table)) for model in models)
        return one, other

    def _model(self, seed: int) -> vp.ViewPass:
        return vp.ViewPass(self.n_clusters, random_state=seed, n_threads=1)

    def _source(self, table: pa.Table) -> Source:
        return vp.scan(table, views=list(VIEWS), id=ID)


def line(name: str, pairs: list[Pair]) -> str:
    """Mean and least agreement of pairs of labels; rows without a view count as a cluster."""
    found = [ari(one, other) for one, other in pairs]
    return f"| {name} | {np.mean(found):.3f} | {min(found):.3f} | {len(found)} |"


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.stability", description=__doc__)
    parser.add_argument("--table", type=Path, default=Path("../shared/data/tate.parquet"))
    parser.add_argument("--clusters", type=int, default=30)
    parser.add_argument("--runs", type=int, default=3, help="pairs of each kind")
    options = parser.parse_args()
    fits, runs = (
        Fits(pq.read_table(options.table, columns=[ID, *VIEWS]), options.clusters),
        range(options.runs),
    )
    print("| ARI of labels between | mean | least | pairs |\n|---|---|---|---|")
    seeds = [fits.labels(seed) for seed in range(options.runs + 1)]
    print(line("two seeds", list(pairwise(seeds))), flush=True)
    shuffled = [(seeds[0], fits.labels(0, shuffle=number)) for number in runs]
    print(line("file order and shuffled", shuffled), flush=True)
    one, other = (fits.streamed(size) for size in CHUNKS)
    print(line("chunks of 2,000 and 8,192", [(one, other)]), flush=True)
    print(line("models of two random halves", [fits.halves(number) for number in runs]), flush=True)


if __name__ == "__main__":
    main()
