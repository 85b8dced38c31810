"""Algorithm 1 as something that is fed: chunks go in, labels come out, the state stays small."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from copy import copy, deepcopy
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from viewpass.core import start, step
from viewpass.core.assign import Decision, Workspace, assign
from viewpass.core.centres import Centres
from viewpass.core.statistics import Statistics
from viewpass.core.step import Outcome, Rules
from viewpass.errors import DataError, SettingError
from viewpass.kernels.grid import Floats, Labels
from viewpass.views.chunk import Chunk, Schema, join
from viewpass.views.rows import MeasuredRows


@dataclass(frozen=True)
class Plan:
    """What a stream is told before its first row."""

    n_clusters: int
    rules: Rules
    init: Any = "auto"  # a name (start.CANDIDATES, "random", "one seeding"), V, labels or centres
    warmup: int = 0
    reference: bool = False


@dataclass
class Model:
    """What a stream has learnt: enough to predict, to report and to go on."""

    schema: Schema
    total: Statistics
    centres: Centres
    n_rows: int = 0
    n_unseen: int = 0
    n_iter: int = 0
    loss_curve: list[float] = field(default_factory=list)


@dataclass(frozen=True)
class Decided:
    """Labels of consecutive rows, from row `start` of the data on."""

    start: int
    labels: Labels
    margins: Floats
    rows: MeasuredRows
    centres: Centres  # those the labels were decided by


@dataclass(frozen=True)
class Standing:
    """All that a stream holds besides its plan and its random generator: enough to go on elsewhere."""

    schema: Schema | None
    model: Model | None
    gathered: Sequence[Chunk]
    n_gathered: int
    n_rows: int
    n_unseen: int


class Stream:
    """Reads each row once and keeps two sums a view.

    `feed` a chunk and get the labels of the rows it decided (none while the warm-up gathers);
    `finish` decides what is still gathered; `refeed` is the same for further passes.
    """

    def __init__(self, plan: Plan, rng: np.random.Generator, workspace: Workspace) -> None:
        self.plan = plan
        self.rng = rng
        self.workspace = workspace
        self._model: Model | None = None
        self._schema: Schema | None = None
        self._gathered: list[Chunk] = []
        self._n_gathered = 0  # rows among them that have a view
        self._guess: Stream | None = None
        self._n_rows = 0
        self._n_unseen = 0

    @property
    def standing(self) -> Standing:
        """Where the stream stands; setting it lets a new stream go on from there."""
        counts = self._n_gathered, self._n_rows, self._n_unseen
        return Standing(self._schema, self._model, tuple(self._gathered), *counts)

    @standing.setter
    def standing(self, at: Standing) -> None:
        self._schema, self._model, self._guess = at.schema, at.model, None
        self._gathered, self._n_gathered = list(at.gathered), at.n_gathered
        self._n_rows, self._n_unseen = at.n_rows, at.n_unseen

    @property
    def started(self) -> bool:
        """Whether centres have been made and committed."""
        return self._model is not None

    @property
    def schema(self) -> Schema:
        """Names and widths of the views, as far as rows have shown them."""
        if self._schema is None:
            raise DataError("no row has been read yet.")
        return self._schema

    @property
    def n_rows(self) -> int:
        """Rows read in the first pass, those without any view included."""
        return self._n_rows

    @property
    def model(self) -> Model:
        """What is known now: while the warm-up gathers, from a start made of the rows so far."""
        if self._model is not None:
            return self._model
        guess = self._guess or self._provisional()
        self._guess = guess
        assert guess._model is not None
        return guess._model

    @property
    def gathering(self) -> Chunk | None:
        """The chunk read last, if it waits for the warm-up to be complete."""
        return self._gathered[-1] if self._gathered else None

    def twin(self) -> Stream:
        """A stream that goes on from here by itself: this one stays as it is."""
        other = copy(self)
        other.rng = deepcopy(self.rng)
        if self._model is not None:
            other._model = replace(self._model, loss_curve=list(self._model.loss_curve))
        return other

    def feed(self, chunk: Chunk) -> Decided | None:
        """Read the next rows; nothing changes if they are refused."""
        schema = chunk.schema if self._schema is None else self._schema.merged(chunk.schema)
        rows = self._rows(chunk)
        if self._model is not None:
            outcome = step.from_centres(
                *(rows, widened(self._model.total, schema), self._model.centres),
                *(self.plan.rules, self.workspace),
            )
            return self._commit(outcome, rows, schema)
        rows.measure(self.workspace.n_threads)
        if not self._gathered and not rows.n_seen.any():  # nothing to start from, nothing to keep
            return self._pass_over(rows, schema)
        gathered = [*self._gathered, chunk]
        n_gathered = self._n_gathered + int((rows.n_seen > 0).sum())
        if n_gathered < self.plan.warmup:
            self._schema, self._gathered, self._n_gathered = schema, gathered, n_gathered
            self._guess = None
            return None
        if self._gathered:
            rows = self._rows(join(gathered))
        return self._commit(self._begin(rows, schema), rows, schema)

    def finish(self) -> Decided | None:
        """The first pass is over: decide the rows still gathered for the start."""
        if self._model is not None or not self._gathered:
            return None
        assert self._schema is not None
        rows = self._rows(join(self._gathered))
        return self._commit(self._begin(rows, self._schema, whole=True), rows, self._schema)

    def refeed(self, chunk: Chunk, labels: Labels) -> Decided:
        """Read rows again that hold these labels in the statistics (pass 2 and later)."""
        if self._model is None:
            raise DataError("a second pass needs a first one: no row has been decided yet.")
        schema = self._model.schema.merged(chunk.schema)
        rows = self._rows(chunk)
        outcome = step.from_labels(
            *(rows, self._model.total, self._model.centres, labels),
            *(self.plan.rules, self.workspace),
            counted=True,
        )
        return self._commit(outcome, rows, schema, again=True)

    def feed_small(self, chunk: Chunk, size: int, labels: Labels | None = None) -> Iterator[Decided | None]:
        """Read small chunks of `size` rows that come together; the same as one after another.

        With `labels` they are read again. If one is refused, those before it count.
        """
        n_done = 0
        while n_done < chunk.n_rows:
            rest = chunk if n_done == 0 else chunk.cut(n_done, chunk.n_rows)
            mine = None if labels is None else labels[n_done:]
            decided = self._feed_several(rest, size, mine) if rest.n_rows > size else None
            if decided is None:
                one = rest.cut(0, min(size, rest.n_rows))
                if mine is None:
                    yield self.feed(one)
                else:
                    yield self.refeed(one, mine[: one.n_rows])
                n_done += one.n_rows
            else:
                yield decided
                n_done += len(decided.labels)

    def _feed_several(self, chunk: Chunk, size: int, labels: Labels | None) -> Decided | None:
        """As many small chunks as need nothing out of the ordinary; None if there are none."""
        if self._model is None or self.plan.reference:
            return None
        schema = self._model.schema.merged(chunk.schema)
        rows = self._rows(chunk)
        if rows.desk is None:
            return None
        rows.measure(self.workspace.n_threads)
        if rows.desk is None:
            return None
        total = widened(self._model.total, schema)
        rules = self.plan.rules
        several, decision = step.several(
            *(rows, total, self._model.centres, labels, size, rules, self.workspace)
        )
        if several.n_done == 0:
            return None
        several.total.check_room()
        n_rows = min(several.n_done * size, rows.n_rows)
        curve = self._model.loss_curve
        read = np.full(several.n_done, self._n_rows)
        if labels is None:
            read += np.minimum(size * np.arange(1, several.n_done + 1), rows.n_rows)
            self._n_rows += n_rows
            self._n_unseen += int((rows.n_seen[:n_rows] == 0).sum())
        curve.extend((several.losses / read).tolist())
        n_iter = self._model.n_iter + several.n_iter
        counts = self._n_rows, self._n_unseen
        self._model = Model(schema, several.total, several.centres, *counts, n_iter, curve)
        self._schema = schema
        found = decision.labels[:n_rows], decision.margins[:n_rows]
        return Decided(chunk.start, *found, rows, several.centres)

    def _rows(self, chunk: Chunk) -> MeasuredRows:
        return MeasuredRows(chunk, reference=self.plan.reference, n_threads=self.workspace.n_threads)

    def _begin(self, rows: MeasuredRows, schema: Schema, *, whole: bool = False) -> Outcome:
        outcome = begin(rows, self.plan, self.workspace, self.rng, whole=whole)
        outcome.total = widened(outcome.total, schema)
        return outcome

    def _commit(
        self, outcome: Outcome, rows: MeasuredRows, schema: Schema, *, again: bool = False
    ) -> Decided:
        outcome.total.check_room()
        before = self._model
        n_rows, n_unseen = self._n_rows, self._n_unseen
        if not again:
            n_rows += rows.n_rows
            n_unseen += int((rows.n_seen == 0).sum())
        self._model = Model(
            schema,
            outcome.total,
            outcome.centres,
            n_rows,
            n_unseen,
            outcome.n_iter + (0 if before is None else before.n_iter),
            [] if before is None else before.loss_curve,
        )
        self._model.loss_curve.append(outcome.loss / n_rows)
        self._schema, self._n_rows, self._n_unseen = schema, n_rows, n_unseen
        self._gathered, self._n_gathered, self._guess = [], 0, None
        decision = outcome.decision
        return Decided(rows.chunk.start, decision.labels, decision.margins, rows, outcome.centres)

    def _pass_over(self, rows: MeasuredRows, schema: Schema) -> Decided:
        chunk = rows.chunk
        self._schema = schema
        self._n_rows += chunk.n_rows
        self._n_unseen += chunk.n_rows
        nobody = Decision(chunk.n_rows, self.plan.n_clusters)
        nowhere = Centres.none(self.plan.n_clusters, rows.n_views)
        return Decided(chunk.start, nobody.labels, nobody.margins, rows, nowhere)

    def _provisional(self) -> Stream:
        """A copy of this stream that starts with the rows gathered so far; not committed."""
        guess = copy(self)
        guess.rng = deepcopy(self.rng)
        guess.workspace = Workspace(self.workspace.n_threads)  # several may ask at once
        if guess.finish() is None:
            schema = self._schema
            assert schema is not None
            n_clusters = self.plan.n_clusters
            guess._model = Model(
                schema,
                Statistics(n_clusters, [width or 0 for width in schema.widths]),
                Centres.none(n_clusters, len(schema.names)),
                self._n_rows,
                self._n_unseen,
            )
        return guess


def begin(
    rows: MeasuredRows,
    plan: Plan,
    workspace: Workspace,
    rng: np.random.Generator,
    *,
    whole: bool = False,
) -> Outcome:
    """Make the first centres as the plan says; `whole` if there are no rows but these."""
    init, rules, n_clusters = plan.init, plan.rules, plan.n_clusters
    rows.measure(workspace.n_threads)
    if isinstance(init, str):
        if init == "random":
            memberships = start.soft_memberships(rows, n_clusters, rng)
            return step.from_memberships(rows, memberships, rules, workspace)
        if init == "one seeding":
            return start.seeded(rows, n_clusters, rules, workspace, rng)
        return start.compete(rows, n_clusters, init, rules, workspace, rng, whole=whole)
    if isinstance(init, np.ndarray):
        return _from_given(rows, init, n_clusters, rules, workspace)
    given = _given_centres(init, rows, n_clusters)
    nothing = start.empty_statistics(rows, n_clusters)
    return step.from_centres(rows, nothing, given, rules, workspace)


def _from_given(
    rows: MeasuredRows, init: Any, n_clusters: int, rules: Rules, workspace: Workspace
) -> Outcome:
    if len(init) != rows.n_rows:
        raise SettingError(
            f"init has {len(init)} rows, the first chunk has {rows.n_rows}: init as an array says "
            "how the rows of the first chunk start."
        )
    if init.ndim == 1:
        labels = init.astype(np.int32)
    elif np.isin(init, (0, 1)).all() and (init.sum(axis=1) == 1).all():
        labels = init.argmax(axis=1).astype(np.int32)
    else:
        memberships = np.ascontiguousarray(init, dtype=np.float64)
        return step.from_memberships(rows, memberships, rules, workspace)
    return start.from_labels(rows, labels, n_clusters, rules, workspace)


def _given_centres(init: Sequence[Any], rows: MeasuredRows, n_clusters: int) -> Centres:
    check_given(init, rows.chunk.schema, n_clusters)
    return Centres.of([np.array(u, dtype=np.float64, order="C") for u in init])


def check_given(init: Sequence[Any], schema: Schema, n_clusters: int) -> None:
    """Refuse given centres that do not fit the views."""
    if len(init) != len(schema.names):
        raise SettingError(f"init has centres of {len(init)} views, the data has {len(schema.names)}.")
    for name, width, values in zip(schema.names, schema.widths, init, strict=True):
        if width is not None and values.shape != (n_clusters, width):
            raise SettingError(
                f"init, view {name!r}: centres of shape {values.shape}, ({n_clusters}, {width}) was expected."
            )


def widened(total: Statistics, schema: Schema) -> Statistics:
    """Give views whose width has become known their (empty) sums."""
    return total.widened(
        [known if width is None else width for known, width in zip(total.widths, schema.widths, strict=True)]
    )


def label(chunk: Chunk, model: Model, workspace: Workspace, *, reference: bool = False) -> Labels:
    """Labels of rows under a model, which does not change."""
    return decide(chunk, model, workspace, reference=reference).labels


def decide(chunk: Chunk, model: Model, workspace: Workspace, *, reference: bool = False) -> Decided:
    """The same with what else is known of the rows."""
    model.schema.merged(chunk.schema)
    rows = MeasuredRows(chunk, reference=reference, n_threads=workspace.n_threads)
    decision = assign(rows, model.centres, workspace)
    return Decided(chunk.start, decision.labels, decision.margins, rows, model.centres)
