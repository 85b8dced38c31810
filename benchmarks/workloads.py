"""The workloads: their settings, and how to make their data."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial

from benchmarks import made, real
from benchmarks.data import Data

QUICK_SHARE = 0.1  # of the rows


@dataclass(frozen=True)
class Workload:
    """Data and settings of a benchmark. `make(n_rows)` returns the same data every time."""

    name: str
    family: str  # what --only names
    n_rows: int
    n_clusters: int
    chunk_size: int
    make: Callable[[int], Data]
    n_passes: int = 1
    sparse: bool = False
    always_whole: bool = False  # small: the quick run reads all rows
    slow_chunks: int | None = None  # chunks that a very slow peer reads
    full_only: tuple[str, ...] = ()  # peers too slow for the quick size
    not_run: tuple[str, ...] = ("KMeans",)  # peers

    def rows(self, share: float) -> int:
        if self.always_whole:
            return self.n_rows
        return max(round(self.n_rows * share), 2 * self.n_clusters)


def _youtube(noise: float, seed: int) -> Callable[[int], Data]:
    return partial(made.dense, widths=(512, 2000, 1000), n_classes=31, noise=noise, missing=0.4, seed=seed)


_reuters = partial(
    made.sparse, widths=(21531, 24893, 34279, 15506, 11547), n_classes=6, nonzeros=80, missing=0.4, seed=3
)
_embeddings = partial(made.dense, widths=(256, 128), n_classes=100, noise=3.0, missing=0.3, seed=4)
_many = partial(made.dense, widths=(768, 512), n_classes=1000, noise=3.0, missing=0.3, seed=5)
_several = partial(made.dense, widths=(768, 512), n_classes=300, noise=3.0, missing=0.3, seed=11)
_most = partial(made.dense, widths=(128, 64), n_classes=10_000, noise=1.0, missing=0.3, seed=9)
_repeated = partial(made.repeated, share=0.2, widths=(64, 32), n_classes=10, noise=1.5, missing=0.3, seed=12)
_digit = partial(real.digit, missing=0.3, seed=6)
_debian = partial(real.shuffled, "debian_l10n", seed=7)
_mnist = partial(real.shuffled, "mnist70k_3v", seed=8)


def _blobs(n_columns: int, n_classes: int) -> Callable[[int], Data]:
    return partial(made.blobs, n_columns=n_columns, n_classes=n_classes, seed=10)


_SLOW_AT_MANY = ("iMML OPIMC", "MiniBatchKMeans")  # a chunk, or its start, takes a minute
_IMML = ("iMML OPIMC",)  # for several views

WORKLOADS = (
    Workload("youtube, easy", "youtube", 92_457, 31, 2000, _youtube(3.0, seed=1), slow_chunks=4),
    Workload("youtube, hard", "youtube", 92_457, 31, 2000, _youtube(10.0, seed=2), slow_chunks=4),
    Workload("reuters", "reuters", 111_740, 6, 2000, _reuters, sparse=True),
    Workload("digit, 1 pass", "digit", 2000, 10, 50, _digit, always_whole=True),
    Workload("digit, 10 passes", "digit", 2000, 10, 50, _digit, n_passes=10, always_whole=True),
    Workload("embeddings", "embeddings", 1_000_000, 100, 8192, _embeddings, slow_chunks=2),
    Workload("several", "several", 60_000, 300, 8192, _several, slow_chunks=1, full_only=_SLOW_AT_MANY),
    Workload("many", "many", 200_000, 1000, 8192, _many, slow_chunks=1, full_only=_SLOW_AT_MANY),
    Workload("most", "most", 500_000, 10_000, 16_384, _most, not_run=("KMeans", *_SLOW_AT_MANY)),
    Workload("repeated", "repeated", 100_000, 11, 2000, _repeated),
    Workload("digits, one view", "one view", 1797, 10, 2000, real.one_view, always_whole=True, not_run=_IMML),
    Workload("5 blobs in 2-D", "one view", 5_000, 5, 2000, _blobs(2, 5), always_whole=True, not_run=_IMML),
    Workload("50 blobs in 64-D", "one view", 100_000, 50, 2000, _blobs(64, 50), not_run=_IMML),
    Workload("8 blobs in 32-D", "one view", 200_000, 8, 2000, _blobs(32, 8), not_run=_IMML),
    Workload("debian_l10n", "real", 53_896, 26, 2000, _debian, sparse=True),
    Workload("mnist70k_3v", "real", 70_000, 10, 2000, _mnist),
)
FAMILIES = tuple(dict.fromkeys(workload.family for workload in WORKLOADS))
