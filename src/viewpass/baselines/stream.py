"""Base of the online baselines, OMVC and ONMF: reads chunks, fills absent rows, keeps coefficients of each
chunk.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Self

import numpy as np

from viewpass.baselines.base import FactorClusterer
from viewpass.baselines.rows import FilledView, RunningMean
from viewpass.errors import DataError, SettingError
from viewpass.estimators.base import logging_progress, whole
from viewpass.kernels.grid import Floats, Integers, Labels
from viewpass.kernels.threads import single_threaded_blas
from viewpass.sources.source import Source
from viewpass.views.chunk import Chunk, Schema
from viewpass.views.rows import MeasuredRows
from viewpass.views.seeds import as_generator

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
        self.totals: list[float | None] | None = None  # what each view was divided by, where it was
        self.chunks: list[ChunkFactors] = []
        self.runnings: list[RunningMean] = []
        self.place = 0  # index of the next chunk in this pass
        self.n_iter = 0
        self.curve: list[float] = []
        self.clipped: set[int] = set()
        self.clusters: tuple[Floats, Labels] | None = None
        self.seed = 0
        self.n_last = 0

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


class OnlineFactorClusterer(FactorClusterer):
    """A factorisation that reads chunks; a subclass says how (`_empty_stream`)."""

    def __init__(self, chunk_size: int, n_passes: int, tol: float, *shared: Any) -> None:
        super().__init__(*shared)
        self.chunk_size = chunk_size
        self.n_passes = n_passes
        self.tol = tol

    @abstractmethod
    def _empty_stream(self, rng: np.random.Generator) -> FactorStream:
        """A stream with these settings that has read nothing."""

    @abstractmethod
    def _read_ahead(self, stream: Any, source: Source) -> None:
        """What is taken from all rows before the first pass, where the settings need it."""

    def _new_stream(self, source: Source | None) -> FactorStream:
        """Start a fit; `source` holds all rows, None when chunks come one by one."""
        rng = as_generator(self.random_state)
        seed = int(rng.integers(2**31))
        stream = self._empty_stream(rng)
        stream.seed = seed
        if source is not None:
            self._read_ahead(stream, source)
        return stream

    def fit(self, X: Any, y: Any = None, observed: Any = None) -> Self:
        """Factorise the rows chunk by chunk, then cluster the consensus. `X`, `observed`: see `OPIMC.fit`."""
        fresh, source = self._begin_fit(X, observed)
        for _ in fresh._passes(source):
            pass
        return self._end_fit(fresh, source)

    def fit_passes(self, X: Any, y: Any = None, observed: Any = None) -> Iterator[Self]:
        """Fit as `fit` does, and yield a model after each of the `n_passes` passes.

        The same model is yielded each time, further fitted. K-means runs when its `labels_` are read.
        This estimator itself is fitted after the last pass.
        """
        fresh, source = self._begin_fit(X, observed)
        yield from fresh._passes(source)
        self._end_fit(fresh, source)

    def _passes(self, source: Source) -> Iterator[Self]:
        with logging_progress(self.verbose):
            stream = self._new_stream(source)
        for number in range(self.n_passes):
            with logging_progress(self.verbose):
                if number:
                    stream.begin_pass()
                for chunk in source.chunks(self.chunk_size):
                    stream.learn(chunk)
            stream.n_last = stream.n_rows
            self._check_enough(stream.n_rows - stream.n_without_views)
            self._learnt = stream
            yield self

    def partial_fit(self, X: Any, y: Any = None, observed: Any = None) -> Self:
        """Read one chunk: all rows of X, in one step.

        The consensus coefficients of all rows read are kept, because k-means needs them. It runs when
        `labels_` (of this chunk) or `predict` is used.
        """
        self._validate()
        begun = hasattr(self, "_learnt")
        fresh = self if begun else self._blank()
        source = fresh._read(X, observed, reset=not begun)
        if source.n_rows == 0:
            raise DataError("the chunk has no rows (0 samples): at least one is needed.")
        stream = self._learnt if begun else fresh._new_stream(None)
        if not isinstance(stream, FactorStream):
            raise SettingError(
                f"this {type(self).__name__} was loaded: its file holds what `predict` needs, not the "
                "coefficients of the rows read, so it cannot learn more rows. Fit again."
            )
        chunk = whole(source)
        known = set(stream.clipped)
        stream.learn(chunk)
        stream.n_last = chunk.n_rows
        fresh._learnt = stream
        fresh._count_features(fresh._fitted_schema())
        if source.row_ids is not None:
            fresh.row_ids_ = source.row_ids
        self._become(fresh)
        self._warn_clipped(known, stacklevel=3)
        return self


def filled_chunks(
    source: Source, chunk_size: int, means: list[RunningMean], n_threads: int, *, unit: bool
) -> Iterator[list[FilledView | None]]:
    """The views of each chunk, filled with running means that are updated along the way."""
    for chunk in source.chunks(chunk_size):
        rows = MeasuredRows(chunk).measure(n_threads)
        kept = np.flatnonzero(rows.n_seen > 0)
        yield [mean.read(rows, v, kept, unit=unit)[0] for v, mean in enumerate(means)]
