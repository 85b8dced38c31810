"""Base of the online factorisations: reads chunks, fills absent rows, keeps each chunk's coefficients."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass

import numpy as np

from viewpass.baselines.rows import FilledView, RunningMean
from viewpass.errors import DataError
from viewpass.kernels.grid import Floats, Integers, Labels
from viewpass.kernels.threads import single_threaded_blas
from viewpass.views.chunk import Chunk, Schema
from viewpass.views.rows import MeasuredRows

PARALLEL_WORK = 2_000_000  # multiplications per product, below which threads do not pay


@dataclass
class FilledChunk:
    """The rows of a chunk that have a view; `kept` are their indices in the chunk."""

    n_rows: int
    kept: Integers
    views: list[FilledView | None]
    shares: list[Floats]  # of present rows in each view, up to each row

    @property
    def n_kept(self) -> int:
        """Rows with at least one view."""
        return len(self.kept)

    def threads(self, n_threads: int, n_clusters: int) -> int:
        """`n_threads`, or one where that is quicker."""
        largest = max((view.matrix.size for view in self.views if view is not None), default=0)
        return n_threads if largest * n_clusters > PARALLEL_WORK else 1


@dataclass
class ChunkFactors:
    """What is kept of a chunk until the next pass: the coefficients of its rows."""

    n_rows: int
    kept: Integers
    coefficients: list[Floats]
    weights: list[Floats]


class FactorStream(ABC):
    """Streaming driver: `learn` each chunk; `begin_pass` before reading the chunks again."""

    unit = False  # rows scaled to unit length

    def __init__(self, n_clusters: int, rng: np.random.Generator, n_threads: int) -> None:
        self.n_clusters = n_clusters
        self.rng = rng
        self.n_threads = n_threads
        self.schema: Schema | None = None
        self.chunks: list[ChunkFactors] = []
        self.runnings: list[RunningMean] = []
        self.place = 0  # index of the next chunk in this pass
        self.n_iter = 0
        self.curve: list[float] = []
        self.clipped: set[int] = set()
        self.totals: list[float | None] = []  # what each view was divided by; empty for unit rows
        self.clusters: tuple[Floats, Labels] | None = None
        self.seed = 0

    @property
    def n_rows(self) -> int:
        """Rows read, those without any view included."""
        return sum(chunk.n_rows for chunk in self.chunks)

    @property
    def n_without_views(self) -> int:
        """Rows without any view."""
        return sum(chunk.n_rows - len(chunk.kept) for chunk in self.chunks)

    def begin_pass(self) -> None:
        """Return to the first chunk; the running means restart, so that rows are filled as before."""
        self.place = 0
        self.runnings = [RunningMean() for _ in self.runnings]

    def learn(self, chunk: Chunk) -> None:
        """Read the next chunk: a new one, or in later passes the one that had this index."""
        schema = chunk.schema if self.schema is None else self.schema.merged(chunk.schema)
        rows = MeasuredRows(chunk).measure(self.n_threads)
        self.schema = schema
        if not self.runnings:
            self.runnings = [RunningMean() for _ in schema.names]
        batch = self.batch(rows)
        weights = self.weights(batch)
        before = self.chunks[self.place] if self.place < len(self.chunks) else None
        try:
            with single_threaded_blas():
                coefficients = self.step(batch, weights, before)
            finite = all(np.isfinite(part).all() for part in coefficients)
        except np.linalg.LinAlgError:
            finite = False
        if not finite:
            raise DataError(
                "the factors of these rows are not finite: the values are too large or too small. Scale the "
                "views, and begin with a new model."
            )
        kept = ChunkFactors(batch.n_rows, batch.kept, coefficients, weights)
        self.chunks[self.place : self.place + 1] = [kept]
        self.place += 1
        self.clusters = None

    def batch(self, rows: MeasuredRows) -> FilledChunk:
        """Fill and clip the rows of a chunk."""
        kept = np.flatnonzero(rows.n_seen > 0)
        read = [running.read(rows, v, kept, unit=self.unit) for v, running in enumerate(self.runnings)]
        self.clipped.update(v for v, (_, _, negative) in enumerate(read) if negative)
        return FilledChunk(
            rows.n_rows, kept, [view for view, _, _ in read], [shares for _, shares, _ in read]
        )

    @staticmethod
    def ends(last: float, value: float, tol: float) -> bool:
        """Whether the objective has converged, or has overflowed and cannot."""
        return value == last or not np.isfinite(value) or abs(last - value) < tol * abs(last)

    def weights(self, batch: FilledChunk) -> list[Floats]:
        """Squared weights of the rows in each view; none where a method has no weights."""
        return []

    @abstractmethod
    def step(self, batch: FilledChunk, weights: list[Floats], before: ChunkFactors | None) -> list[Floats]:
        """Coefficients of a chunk's rows; `before` is what the previous pass kept of the chunk."""

    @abstractmethod
    def consensus(self) -> Floats:
        """A row of coefficients for every row that has a view, over all chunks."""

    @abstractmethod
    def objective(self) -> float:
        """The objective over all rows read."""

    @abstractmethod
    def components(self) -> list[Floats | None]:
        """The basis of each view, columns x clusters."""

    def where(self) -> Integers:
        """Indices of the rows with a view, among all rows read."""
        starts = np.cumsum([0, *(chunk.n_rows for chunk in self.chunks)])
        kept = (start + chunk.kept for start, chunk in zip(starts, self.chunks, strict=False))
        return np.concatenate([np.empty(0, dtype=np.int64), *kept])
