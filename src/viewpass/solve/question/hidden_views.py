"""The criterion behind every choice: how much the labels of rows tell about views that were hidden.

Some of the rows are set aside, and a candidate is fitted to others. Then views of the rows set aside
are hidden, and they are labelled by the views they have left. The labels are compared with what was
hidden: to which of many small clusters of that view, found in it alone, does the row belong?

    score = mean of log p(small cluster | label) - log p(small cluster)

where p is counted over the other rows set aside (each row is left out of its own). It is the information, in
nats, that a label carries about what it was not made from. Nothing is gained by fitting noise, since neither
the rows nor the hidden views took part in the fit, and clusters need not be round to score well. Several
views are hidden together where there are many, and some of them compared with, so the cost is linear in their
number; where few rows have two views, half of the columns are hidden instead.

Every sum has a fixed order, so the choices are the same on every processor.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import scipy.sparse

from viewpass.kernels.grid import Floats, Integers, Labels, Mask, Matrix
from viewpass.kernels.portable import log, ordered_sum
from viewpass.kernels.threads import cached_property
from viewpass.model.model import assign
from viewpass.solve import starts
from viewpass.solve.few_columns import in_few_columns
from viewpass.solve.plan import FEW_ROWS, ROWS_PER_CENTRE, VALUES, Plan
from viewpass.sums.chunk_step import ChunkStep
from viewpass.sums.rules import Workspace
from viewpass.views.chunk import Chunk
from viewpass.views.rows import MeasuredRows
from viewpass.views.scaling import Scaling
from viewpass.views.seeds import own_generator

TEST_SHARE = 4  # one row in so many is set aside
FEW_COLUMNS, COLUMNS_PER_CLUSTER = 64, 3  # that a dense view is reduced to, the larger of them
MIN_TESTED = 10  # rows set aside that have views to hide and others to be labelled by
MAX_CLUSTERS = 50  # asked about, where more are wanted
MAX_GROUPS = 4  # of views that are hidden together; and views of a group that labels are compared with
# Small clusters of each view, to recognise hidden rows by: at most, per cluster wanted, and rows of each.
SMALL_CLUSTERS, SMALL_PER_CLUSTER, ROWS_PER_SMALL = 100, 10, 8
SMALL_VALUES = 2**20  # columns x small clusters of a view, unless that leaves too few
PRIOR = 0.5  # of the distribution of all rows, in rows per small cluster

Labeller = Callable[[MeasuredRows], Labels]


@dataclass(frozen=True)
class Score:
    """The scores of the rows set aside: per row their sum and their number."""

    sums: Floats
    n_tests: Integers

    @cached_property
    def mean(self) -> float:
        """The score of the candidate."""
        return float(ordered_sum(self.sums)) / max(int(self.n_tests.sum()), 1)


class Scaled(NamedTuple):
    """The rows of a fold in one scale."""

    fitted: MeasuredRows
    tested: MeasuredRows


class Fold:
    """One division of the rows into some to fit and some to test; TEST_SHARE folds test different rows."""

    def __init__(self, question: Question, number: int) -> None:
        self.question, self.number = question, number
        n_rows, (turn, place) = len(question.pool), divmod(number, TEST_SHARE)
        order = own_generator(turn).permutation(n_rows)
        n_tested = n_rows // TEST_SHARE
        tested = np.arange(place * n_tested, (place + 1) * n_tested)
        self._tested = np.sort(order[tested])
        self._fitted = np.sort(np.delete(order, tested)[: question.n_fitted])
        self._tests: dict[tuple[object, int, bytes], Asked] = {}

    def scaled(self, names: tuple[str, ...]) -> Scaled:
        """The rows in a scale of these names, one per view."""
        rows = self.question.scaled(names)
        return Scaled(rows.sampled(self._fitted), rows.sampled(self._tested))

    def labels(self, tested: MeasuredRows, labeller: Labeller) -> list[Labels]:
        """Labels of the rows set aside by all views but each group of hidden ones; -1 where none is left."""
        found = []
        for group in self.question.groups:
            rows = tested.keeping([v not in group for v in range(tested.n_views)])
            found.append(np.where(rows.n_seen > 0, labeller(rows), -1))
        return found

    def score(self, labels: Sequence[Labels], spaces: Sequence[tuple[str, ...]]) -> Score:
        """What labels made without each group of views tell about these, in the scales `spaces`."""
        pairs = zip(labels, self.question.groups, strict=True)
        terms = [self._tests_of(mine, spaces, group).information(mine) for mine, group in pairs]
        found = np.concatenate(terms, axis=1)
        tested = ~np.isnan(found)
        return Score(ordered_sum(np.where(tested, found, 0.0)), tested.sum(axis=1))

    def _tests_of(self, labels: Labels, spaces: Sequence[tuple[str, ...]], group: Sequence[int]) -> Asked:
        """The tests of a group of views; candidates label the same rows, hardly ever others."""
        key = tuple(spaces), group[0], np.packbits(labels >= 0).tobytes()
        if key not in self._tests:
            places = self.question.places(spaces, group)[self._tested]
            self._tests[key] = Asked.of(labels >= 0, places)
        return self._tests[key]


@dataclass
class Question:
    """The rows that candidates are compared on, and how: the same for all of them."""

    rows: MeasuredRows  # not scaled
    plan: Plan
    workspace: Workspace

    def __post_init__(self) -> None:
        self._folds: list[Fold] = []
        self._scalings: dict[tuple[str, ...], Scaling] = {}
        self._scaled: dict[tuple[str, ...], MeasuredRows] = {}
        self._places: dict[tuple[tuple[str, ...], int], Labels] = {}

    @cached_property
    def by_columns(self) -> bool:
        """Whether columns are hidden instead of views, since few rows have two of these."""
        counted = self.rows.counted
        return bool(4 * (self.rows.n_seen[counted] > 1).sum() < counted.sum())

    @cached_property
    def chunk(self) -> Chunk:
        """The rows, their views cut in two if columns are hidden."""
        chunk = self.rows.chunk
        if not self.by_columns:
            return chunk
        views = [_half(view, first) for view in chunk.views for first in (0, 1)]
        names = [f"{name}/{half}" for name in chunk.names for half in (1, 2)]
        observed = None if chunk.observed is None else np.repeat(chunk.observed, 2, axis=1)
        given = tuple(views), tuple(names), chunk.n_rows, observed
        gaps = tuple(_half(mask, first) for mask in chunk.gaps for first in (0, 1))
        return Chunk(*given, copies=chunk.copies, stated=chunk.stated, gaps=gaps)

    @cached_property
    def groups(self) -> list[list[int]]:
        """Views that are hidden together; every view that rows have is in one group."""
        if self.by_columns:
            halves = len(self.chunk.names)
            return [[v for v in range(half, halves, 2) if self.chunk.views[v] is not None] for half in (0, 1)]
        there = [v for v, view in enumerate(self.chunk.views) if view is not None]
        n_groups = min(len(there), MAX_GROUPS)
        return [there[number::n_groups] for number in range(n_groups)]

    @cached_property
    def usable(self) -> Integers:
        """Rows that have a view and a sample weight."""
        return np.flatnonzero(self.rows.counted)

    @cached_property
    def pool(self) -> Integers:
        """Rows that folds are made of."""
        size = min(len(self.usable), max(2 * self.n_fitted, FEW_ROWS))
        if size == len(self.usable):
            return self.usable
        return np.sort(own_generator().choice(self.usable, size, replace=False))

    @property
    def n_clusters(self) -> int:
        """Number of clusters of the candidates."""
        most = min(MAX_CLUSTERS, max(self.n_fitted // ROWS_PER_CENTRE, 1))
        return min(self.plan.n_clusters or 1, most)

    @property
    def n_fitted(self) -> int:
        """Number of rows that candidates are fitted to."""
        views = self.rows.chunk.views
        n_dense = sum(int(view.shape[1]) for view in views if isinstance(view, np.ndarray))
        fitting = max(VALUES // max(n_dense, 1), ROWS_PER_CENTRE * (self.plan.n_clusters or 1))
        return min(len(self.usable) - len(self.usable) // TEST_SHARE, FEW_ROWS, fitting)

    @property
    def n_columns(self) -> int:
        """Columns that dense views are compared in, at most."""
        return max(FEW_COLUMNS, COLUMNS_PER_CLUSTER * self.n_clusters)

    @property
    def can_be_asked(self) -> bool:
        """Whether there are enough rows, and views or columns to hide."""
        widths = [0 if view is None else view.shape[1] for view in self.chunk.views]
        hidden = [sum(widths[v] for v in group) for group in self.groups]
        enough = len(self.usable) // TEST_SHARE >= MIN_TESTED and len(hidden) > 1 and min(hidden) > 0
        return enough and (self.plan.n_clusters or 2) > 1

    def fold(self, number: int) -> Fold:
        """The division of this number."""
        while len(self._folds) <= number:
            self._folds.append(Fold(self, len(self._folds)))
        return self._folds[number]

    def folds(self, n_folds: int) -> Iterator[Fold]:
        """The first divisions."""
        return (self.fold(number) for number in range(n_folds))

    def names(self, scales: Sequence[str]) -> tuple[str, ...]:
        """The names of the scales of `chunk`, given those of the views."""
        return tuple(np.repeat(scales, 2).tolist() if self.by_columns else scales)

    def scaling(self, names: tuple[str, ...]) -> Scaling:
        """The scaling of all rows."""
        if names not in self._scalings:
            self._scalings[names] = Scaling.learn(self._unscaled, names, self.plan.weight_unit)
        return self._scalings[names]

    def scaled(self, names: tuple[str, ...]) -> MeasuredRows:
        """The rows of the pool in a scale of these names, one per view."""
        if names not in self._scaled:
            scaling, n_threads = self.scaling(names), self.workspace.n_threads
            rows = self.measured(scaling.apply(self.chunk.take(self.pool), n_threads=n_threads))
            self._scaled[names] = self.measured(in_few_columns(rows, self.n_columns, n_threads))
        return self._scaled[names]

    def places(self, spaces: Sequence[tuple[str, ...]], group: Sequence[int]) -> Labels:
        """The small clusters of views of a group, in each space, that the rows of the pool belong to."""
        asked = [group[place * len(group) // MAX_GROUPS] for place in range(MAX_GROUPS)]
        views = dict.fromkeys(asked if len(group) > MAX_GROUPS else group)
        return np.stack([self._places_of(space, v) for space in spaces for v in views], axis=1)

    def _places_of(self, names: tuple[str, ...], v: int) -> Labels:
        """The small clusters of one view; -1 for rows without the view."""
        key = names, v
        if key not in self._places:
            rows = self.scaled(names).only(v)
            has = np.flatnonzero(rows.counted)
            some = own_generator().permutation(has)[: self.n_fitted * len(has) // len(self.pool)]
            known = rows.sampled(np.sort(some))
            fitting = max(SMALL_VALUES // known.n_columns, 2 * self.n_clusters)
            most = min(SMALL_CLUSTERS, SMALL_PER_CLUSTER * self.n_clusters, fitting)
            n_small = min(most, len(some) // ROWS_PER_SMALL)
            found = np.full(rows.n_rows, -1, dtype=np.int32)
            if n_small > 1:
                step = ChunkStep(self.plan.rules, self.workspace)
                small = starts.quick_anchors(known, n_small, step, own_generator())
                found = np.where(rows.n_seen > 0, assign(rows, small.centres, self.workspace)[0], -1)
            self._places[key] = found
        return self._places[key]

    def measured(self, chunk: Chunk) -> MeasuredRows:
        """Rows as the kernels read them."""
        return MeasuredRows(chunk).measure(self.workspace.n_threads)

    @cached_property
    def _unscaled(self) -> MeasuredRows:
        return self.measured(self.chunk) if self.by_columns else self.rows


def _half(view: Matrix | None, first: int) -> Matrix | None:
    """Every second column; None if there is none."""
    if view is None or view.shape[1] <= first:
        return None
    half = view[:, first::2]
    return scipy.sparse.csr_array(half) if scipy.sparse.issparse(half) else np.ascontiguousarray(half)


@dataclass(frozen=True)
class Asked:
    """What rows are asked for: small clusters, a column of `both` for each test, counted apart.

    One entry for each row and test in which the row has a label and a place.
    """

    both: Mask  # rows x tests
    row: Integers
    test: Integers
    place: Integers  # numbered over all tests
    chance: Floats  # of the place, without the row
    log_chance: Floats
    prior: Floats

    @classmethod
    def of(cls, labelled: Mask, places: Labels) -> Asked:
        """The tests of labelled rows, given their places (rows x tests; -1: none)."""
        both = labelled[:, None] & (places >= 0)
        both &= both.sum(axis=0) >= MIN_TESTED
        row, test = np.nonzero(both)
        n_places = int(places.max(initial=0)) + 1
        place = test * n_places + places[row, test]
        times = np.bincount(place, minlength=both.shape[1] * n_places)
        prior = PRIOR * (times.reshape(-1, n_places) > 0).sum(axis=1)[test]
        chance = (times[place] - 1 + PRIOR) / (both.sum(axis=0)[test] - 1 + prior)
        return cls(both, row, test, np.unique(place, return_inverse=True)[1], chance, log(chance), prior)

    def information(self, labels: Labels) -> Floats:
        """For each row log p(place | label) - log p(place), counted over the others; NaN without either."""
        found = np.full(self.both.shape, np.nan)
        if not len(self.row):
            return found
        mine, n_labels = labels[self.row], int(labels.max()) + 1
        alike, pairs = self.test * n_labels + mine, self.place * n_labels + mine
        sizes, together = np.bincount(alike)[alike], np.bincount(pairs)[pairs]
        given = (together - 1 + self.prior * self.chance) / (sizes - 1 + self.prior)
        found[self.both] = log(given) - self.log_chance
        return found
