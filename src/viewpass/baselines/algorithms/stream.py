"""What the online factorisations share: chunks in, fills and weights, what is kept of each chunk."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass

import numpy as np

from viewpass.baselines.algorithms.rows import Filled, Running
from viewpass.kernels.grid import Floats, Integers, Labels
from viewpass.kernels.threads import single_threaded_blas
from viewpass.views.chunk import Chunk, Schema
from viewpass.views.rows import MeasuredRows

PARALLEL_WORK = 2_000_000  # multiplications a product, below which threads cost more than they bring


@dataclass
class Batch:
    """The rows of a chunk that have a view: `kept` are their numbers in the chunk."""

    n_rows: int
    kept: Integers
    views: list[Filled | None]
    shares: list[Floats]  # of present rows in each view, up to each row
    negative: list[int]  # views in which entries were clipped

    @property
    def n_kept(self) -> int:
        """Rows with at least one view."""
        return len(self.kept)

    def threads(self, n_threads: int, n_clusters: int) -> int:
        """As many threads as are given, or one where that is quicker."""
        largest = max((view.matrix.size for view in self.views if view is not None), default=0)
        return n_threads if largest * n_clusters > PARALLEL_WORK else 1


@dataclass
class Piece:
    """What stays of a chunk until the next pass: the coefficients of its rows."""

    n_rows: int
    kept: Integers
    coefficients: list[Floats]
    weights: list[Floats]


class FactorStream(ABC):
    """Feed it chunks; `begin_pass` and feed them again for further passes."""

    unit = False  # rows scaled to unit length

    def __init__(self, n_clusters: int, rng: np.random.Generator, n_threads: int) -> None:
        self.n_clusters = n_clusters
        self.rng = rng
        self.n_threads = n_threads
        self.schema: Schema | None = None
        self.pieces: list[Piece] = []
        self.runnings: list[Running] = []
        self.place = 0  # of the next chunk in this pass
        self.n_iter = 0
        self.curve: list[float] = []
        self.clipped: set[int] = set()
        self.groups: tuple[Floats, Labels] | None = None
        self.seed = 0
        self.n_last = 0

    @property
    def n_rows(self) -> int:
        """Rows read, those without any view included."""
        return sum(piece.n_rows for piece in self.pieces)

    @property
    def n_without_views(self) -> int:
        """Rows without any view."""
        return sum(piece.n_rows - len(piece.kept) for piece in self.pieces)

    def begin_pass(self) -> None:
        """Go back to the first chunk: the running means start anew, so rows are filled as before."""
        self.place = 0
        self.runnings = [Running() for _ in self.runnings]

    def learn(self, chunk: Chunk) -> None:
        """Read the next chunk: a new one, or in later passes the one that stood in this place."""
        schema = chunk.schema if self.schema is None else self.schema.merged(chunk.schema)
        rows = MeasuredRows(chunk).measure(self.n_threads)
        self.schema = schema
        if not self.runnings:
            self.runnings = [Running() for _ in schema.names]
        batch = self.batch(rows)
        again = self.place < len(self.pieces)
        piece = self.pieces[self.place] if again else None
        weights = self.weights(batch)
        with single_threaded_blas():
            coefficients = self.step(batch, weights, piece)
        kept = Piece(batch.n_rows, batch.kept, coefficients, weights)
        if again:
            self.pieces[self.place] = kept
        else:
            self.pieces.append(kept)
        self.place += 1
        self.groups = None

    def batch(self, rows: MeasuredRows) -> Batch:
        """Fill and clip the rows of a chunk."""
        kept = np.flatnonzero(rows.n_seen > 0)
        read = [running.read(rows, v, kept, unit=self.unit) for v, running in enumerate(self.runnings)]
        negative = [v for v, (_, _, found) in enumerate(read) if found]
        self.clipped.update(negative)
        return Batch(rows.n_rows, kept, [view for view, _, _ in read], [s for _, s, _ in read], negative)

    def weights(self, batch: Batch) -> list[Floats]:
        """Squared weights of the rows in each view; none where a method has no use for them."""
        return []

    @abstractmethod
    def step(self, batch: Batch, weights: list[Floats], piece: Piece | None) -> list[Floats]:
        """Learn from a chunk; `piece` is what the pass before kept of it. Gives its coefficients."""

    @abstractmethod
    def consensus(self) -> Floats:
        """A row of coefficients for every row that has a view, over all pieces."""

    @abstractmethod
    def objective(self) -> float:
        """The objective over all rows read."""

    @abstractmethod
    def components(self) -> list[Floats | None]:
        """The basis of each view, columns x clusters."""

    def where(self) -> Integers:
        """Numbers of the rows with a view, among all rows read."""
        starts = np.cumsum([0, *(piece.n_rows for piece in self.pieces)])
        return np.concatenate(
            [np.empty(0, dtype=np.int64), *(s + p.kept for s, p in zip(starts, self.pieces, strict=False))]
        )
