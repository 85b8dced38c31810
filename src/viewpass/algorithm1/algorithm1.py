"""Streaming driver of Algorithm 1: takes chunks, updates statistics and centres, gives labels.

For each chunk of s rows, given R and T of all rows before (sums/chunk_step.py has the inner loop):

    V      each row to its nearest centre over the views it has     Eq. 15-16
    R, T   its sums and counts                                      Eq. 12, 14
    U      R (T + alpha I)^-1                                       Eq. 13
           until no label moves, or the loss changes by less than tol, or max_iter updates

The first chunk starts from a soft random V, or from given labels, memberships or centres. From the second
pass on, a chunk starts from its labels of the pass before: what it added to R and T then is taken out first,
so that they hold each row once.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from copy import copy, deepcopy
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from viewpass.errors import DataError, SettingError
from viewpass.kernels.grid import Array, Begin, Floats, Labels
from viewpass.model.model import Model, scaled
from viewpass.sums.centres import Centres
from viewpass.sums.chunk_step import ChunkStep, Outcome, State, Task
from viewpass.sums.row_counts import RowCounts
from viewpass.sums.rules import Rules, Workspace, each_view
from viewpass.sums.statistics import Statistics
from viewpass.views.chunk import Chunk, Schema
from viewpass.views.rows import MeasuredRows
from viewpass.views.scaling import Scaling


@dataclass(frozen=True)
class Settings:
    """The settings of Algorithm 1."""

    n_clusters: int
    rules: Rules  # alpha (in units of 1 / weight_unit), max_iter, tol, fill
    init: Any = "random"  # or labels or memberships of the first chunk, or centres of each view
    scale: tuple[str, ...] = ()  # one name per view (scaling.SCALE_NAMES); (): unit length for all
    weight_unit: int = 1  # rows are counted in units of 1 / weight_unit

    def weighted(self, weight_unit: int) -> Settings:
        """The same for sample weights in this unit; `alpha` counts rows, so it is in units too."""
        assert isinstance(self.rules.alpha, float)
        rules = replace(self.rules, alpha=self.rules.alpha * weight_unit)
        return replace(self, rules=rules, weight_unit=weight_unit)


class Algorithm1:
    """Reads each row once per pass and keeps two sums per view."""

    def __init__(self, settings: Settings, rng: np.random.Generator, workspace: Workspace) -> None:
        self.settings, self.rng, self.workspace = settings, rng, workspace
        self.model: Model | None = None
        self.schema: Schema | None = None  # as far as rows have shown it
        self.read = RowCounts()

    @property
    def n_rows(self) -> int:
        """Rows read in the first pass, those without any view included."""
        return self.read.n_rows

    def twin(self) -> Algorithm1:
        """A copy that continues independently."""
        other = copy(self)
        other.rng = deepcopy(self.rng)
        if self.model is not None:
            other.model = replace(self.model, loss_curve=list(self.model.loss_curve))
        return other

    def learn(self, chunk: Chunk, size: int, counted: Labels | None = None) -> Iterator[Labels]:
        """Process rows in chunks of `size`, several per call where possible; gives their labels in order.

        `counted`: their labels of the pass before, in the second pass and later. If a chunk is refused,
        those before it have been learnt.
        """
        if self.settings.weight_unit > 1 and chunk.copies is None:
            weights = np.full(chunk.n_rows, self.settings.weight_unit, dtype=np.int64)
            chunk = replace(chunk, copies=weights)
        n_done, in_scale = 0, False
        while n_done < chunk.n_rows:
            if self.model is not None and not in_scale:
                chunk, in_scale = scaled(chunk, self.model, self.workspace), True
            rest = chunk if n_done == 0 else chunk.cut(n_done, chunk.n_rows)
            one = rest if rest.n_rows <= size else rest.cut(0, size)
            again = None if counted is None else counted[n_done:]
            if self.model is None:
                labels = self._first(one)
            else:
                labels = self._further(rest, size, again)
                if not len(labels):
                    labels = self._further(one, None, None if again is None else again[: one.n_rows])
            yield labels
            n_done += len(labels)

    def _first(self, chunk: Chunk) -> Labels:
        """The first chunk that has a row with a view: scale and centres are made from it."""
        settings, n_threads = self.settings, self.workspace.n_threads
        schema = chunk.schema if self.schema is None else self.schema.merged(chunk.schema)
        rows = MeasuredRows(chunk).measure(n_threads)
        if not rows.n_seen.any():
            self.schema, self.read = schema, self.read + RowCounts.of(rows)
            return np.full(chunk.n_rows, -1, dtype=np.int32)
        names = settings.scale or ("unit",) * rows.n_views
        scaling = Scaling.learn(rows, names, settings.weight_unit)
        if not scaling.plain:
            rows = MeasuredRows(scaling.apply(chunk, n_threads=n_threads))
        init = settings.init
        if isinstance(init, list):
            init = scaled_centres(init, scaling, schema, settings.n_clusters)
        outcome = first_chunk(rows, init, settings.n_clusters, self._step, self.rng)
        outcome.total = outcome.total.widened(scaling.widths(schema.widths))
        model = Model(
            schema,
            outcome.total,
            outcome.centres,
            scaling,
            tuple(each_view(settings.rules.alpha, rows.n_views).tolist()),
            n_clusters=settings.n_clusters,
            weight_unit=settings.weight_unit,
        )
        return self._commit(model, outcome, rows, schema)

    def _further(self, chunk: Chunk, size: int | None, counted: Labels | None) -> Labels:
        """Chunks of `size` rows, up to the first row to be mended or refused; None: one chunk, mended."""
        assert self.model is not None
        rows, schema = MeasuredRows(chunk), self.model.schema.merged(chunk.schema)
        if counted is not None:
            rows.measure(self.workspace.n_threads)
        task = Task(Begin.CENTRES if counted is None else Begin.COUNTED, counted, size=size)
        process = self._step.whole if size is None else self._step.run
        outcome = process(rows, State(self.model.widened(schema), self.model.centres), task)
        if not len(outcome.labels):
            return outcome.labels
        return self._commit(self.model, outcome, rows, schema, again=counted is not None, size=size)

    @property
    def _step(self) -> ChunkStep:
        return ChunkStep(self.settings.rules, self.workspace)

    def _commit(
        self,
        before: Model,
        outcome: Outcome,
        rows: MeasuredRows,
        schema: Schema,
        *,
        again: bool = False,
        size: int | None = None,
    ) -> Labels:
        """Take over chunks of `size` rows (None: one chunk): the one place where the model changes."""
        outcome.total.check_room()
        n_done, n_before = len(outcome.labels), self.read.n_counted
        read = np.full(len(outcome.losses), n_before)
        if not again:
            copies = rows.chunk.copies
            ends = np.minimum((size or n_done) * np.arange(1, len(read) + 1), n_done)
            read += ends if copies is None else np.cumsum(copies)[ends - 1]
            self.read += RowCounts.of(rows, n_done)
        losses = (outcome.losses * before.square_unit / read).tolist()  # Eq. 18-20
        self.schema = schema
        self.model = replace(
            before,
            schema=schema,
            total=outcome.total,
            centres=outcome.centres,
            read=self.read,
            n_iter=before.n_iter + outcome.n_iter,
        )
        self.model.loss_curve.extend(losses)
        return outcome.labels

    def shown(self) -> Model:
        """The model; without centres before the first row that has a view."""
        if self.model is not None:
            return self.model
        if self.schema is None:
            raise DataError("no row has been read yet.")
        n_views, n_clusters = len(self.schema.names), self.settings.n_clusters
        return Model(
            self.schema,
            Statistics(n_clusters, [width or 0 for width in self.schema.widths]),
            Centres.none(n_clusters, n_views),
            Scaling.none(n_views),
            tuple(each_view(self.settings.rules.alpha, n_views).tolist()),
            self.read,
            n_clusters=n_clusters,
            weight_unit=self.settings.weight_unit,
        )


def first_chunk(
    rows: MeasuredRows, init: Any, n_clusters: int, step: ChunkStep, rng: np.random.Generator
) -> Outcome:
    """Process the first rows.

    `init`: "random", an array of labels or memberships of these rows, or centres in their scale.
    """
    rows.measure(step.workspace.n_threads)
    if isinstance(init, str):
        memberships = soft_memberships(rows, n_clusters, rng)
        centres = step.soft_centres(rows, memberships)
        del memberships  # as large as the distances that come next
        return step.from_soft_centres(rows, centres)
    if isinstance(init, np.ndarray):
        return _from_array(rows, init, n_clusters, step)
    lengths = np.sqrt(np.where(rows.squares > 0, rows.squares, 1.0))
    centres = Centres.of([u * length for u, length in zip(init, lengths, strict=True)])
    return step.from_centres(rows, State.without_rows(rows, centres))


def soft_memberships(rows: MeasuredRows, n_clusters: int, rng: np.random.Generator) -> Floats:
    """The published V: uniform, each row scaled to sum 1 (so not 1-of-K); 0 for rows without effect."""
    seen = rows.counted
    drawn: Floats = rng.random((int(seen.sum()), n_clusters))
    drawn /= drawn.sum(axis=1, keepdims=True)
    if seen.all():
        return drawn
    memberships = np.zeros((rows.n_rows, n_clusters))
    memberships[seen] = drawn
    return memberships


def _from_array(rows: MeasuredRows, init: Any, n_clusters: int, step: ChunkStep) -> Outcome:
    """The first chunk from given labels (1-D), hard memberships (1-of-K) or soft ones."""
    if len(init) != rows.n_rows:
        raise SettingError(
            f"init has {len(init)} rows, the first chunk has {rows.n_rows}: init as an array gives "
            "the initial labels or memberships of the rows of the first chunk."
        )
    if init.ndim == 1:
        return step.from_labels(rows, init.astype(np.int32), n_clusters)
    if np.isin(init, (0, 1)).all() and (init.sum(axis=1) == 1).all():
        return step.from_labels(rows, init.argmax(axis=1).astype(np.int32), n_clusters)
    return step.from_memberships(rows, np.ascontiguousarray(init, dtype=np.float64))


def scaled_centres(
    init: Sequence[Array], scaling: Scaling, schema: Schema, n_clusters: int
) -> tuple[Floats, ...]:
    """Given centres, checked, as rows of that scale, of unit length but where lengths are kept.

    One without a direction is the origin.
    """
    if len(init) != len(schema.names):
        raise SettingError(f"init has centres for {len(init)} views, the data has {len(schema.names)}.")
    for name, width, values in zip(schema.names, schema.widths, init, strict=True):
        if width is not None and values.shape != (n_clusters, width):
            raise SettingError(
                f"init, view {name!r}: centres of shape {values.shape}, ({n_clusters}, {width}) was expected."
            )
    views = tuple(np.array(values, dtype=np.float64, order="C") for values in init)
    present = tuple(values if values.shape[1] else None for values in views)
    given = Chunk(present, schema.names, n_clusters, stated=scaling.lengths is not None)
    rows = MeasuredRows(scaling.apply(given)).measure()
    scaled, inverse = rows.take(np.arange(n_clusters))
    return tuple(
        values if view is None else view * (lengths * scaling.unit)[:, None]
        for values, view, lengths in zip(views, scaled.views, inverse, strict=True)
    )
