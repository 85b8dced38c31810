"""Streaming driver of Algorithm 1: takes chunks, updates statistics and centres, gives labels."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from copy import copy, deepcopy
from dataclasses import dataclass, replace

import numpy as np

from viewpass.core.begin import begin
from viewpass.core.consensus.anchor_merges import shrunk
from viewpass.core.consensus.births import candidates, chosen, opened
from viewpass.core.consensus.searched_step import is_searched, searched_step
from viewpass.core.consensus.soft_assignment import MAX_ROWS, links_of, soft_assignment, sparse_links
from viewpass.core.model import Assigned, Model, StreamState, scaled
from viewpass.core.outgrown import FEWEST_ROWS, linked, may_outgrow, outgrown
from viewpass.core.plan import Plan, Rules
from viewpass.core.reservoir import Reservoir
from viewpass.core.settled import settled
from viewpass.core.state.alpha import each_view
from viewpass.core.state.census import Census, span
from viewpass.core.state.centres import Centres
from viewpass.core.state.growth import Anchors, Growth, followed
from viewpass.core.state.row_counts import RowCounts
from viewpass.core.state.statistics import Statistics
from viewpass.core.step.chunk_step import ChunkStep, Outcome, State, Task
from viewpass.core.step.workspace import Workspace
from viewpass.errors import DataError, SettingError
from viewpass.kernels.backend import FROM_CENTRES, FROM_COUNTED
from viewpass.kernels.grid import Labels, Links
from viewpass.views.chunk import Chunk, Schema, join
from viewpass.views.rows import MeasuredRows
from viewpass.views.scaling import Scaling

MOST_COPIED = 4096  # rows scaled at once


@dataclass(frozen=True)
class ChunkResult:
    """What one or more chunks leave behind, wherever their rows were processed."""

    schema: Schema
    total: Statistics  # with these rows
    centres: Centres
    links: Links | None  # edge weights of the anchor graph, with these rows
    read: RowCounts  # new rows; none in the second pass and later
    n_iter: int
    losses: Sequence[float]  # average loss after each chunk
    growth: Growth | None = None  # where anchors are born and merge; None: as before
    census: Census | None = None  # with these rows; None: as before


class Stream:
    """Reads each row once and keeps two sums per view.

    `learn` takes a chunk and gives the labels of the rows it decided (none while rows are collected for
    the warm-up); `finish` decides the rows still collected; `relearn` is for the second pass and later.
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
        self._settled: tuple[Model, Model] | None = None  # the model, and what people see of it
        self._read = RowCounts()
        self._reservoir = Reservoir()

    @property
    def state(self) -> StreamState:
        """All that the stream remembers; set it to continue in another stream."""
        if self._model is not None and self._settled is not None and self._settled[0] is self._model:
            self._model.calibration = self._settled[1].calibration  # of the labels that people see
        known = self._schema, self._model, tuple(self._gathered), self._n_gathered
        return StreamState(*known, self._read, self._reservoir)

    @state.setter
    def state(self, at: StreamState) -> None:
        self._schema, self._model, self._guess = at.schema, at.model, None
        self._gathered, self._n_gathered = list(at.gathered), at.n_gathered
        self._read, self._reservoir = at.read, at.reservoir

    @property
    def started(self) -> bool:
        """Whether there are centres."""
        return self._model is not None

    @property
    def rules(self) -> Rules:
        """The rules of the inner loop, with the ridge that the model has estimated."""
        rules = self.plan.rules
        return rules if self._model is None else replace(rules, alpha=self._model.alpha)

    @property
    def schema(self) -> Schema:
        """Names and widths of the views, as far as rows have shown them."""
        if self._schema is None:
            raise DataError("no row has been read yet.")
        return self._schema

    @property
    def n_rows(self) -> int:
        """Rows read in the first pass, those without any view included."""
        return self._read.n_rows

    @property
    def n_counted(self) -> int:
        """The same rows, each as often as it counts, in units of 1 / plan.weight_unit."""
        return self._read.n_counted

    @property
    def model(self) -> Model:
        """What was learnt; during the warm-up, from a provisional start of the rows so far."""
        if self._model is not None:
            return self._seen(self._model)
        guess = self._guess or self._provisional()
        self._guess = guess
        assert guess._model is not None
        return guess.model

    @property
    def learning(self) -> Model:
        """The model that further rows change; `model` may be settled on a sample (settled.py)."""
        assert self._model is not None
        return self._model

    def _seen(self, model: Model) -> Model:
        if self._settled is None or self._settled[0] is not model:
            self._settled = model, settled(model, self.plan, self.workspace)
        return self._settled[1]

    @property
    def gathered(self) -> Sequence[Chunk]:
        """Chunks collected for the warm-up."""
        return self._gathered

    def twin(self) -> Stream:
        """A copy that continues independently of this stream."""
        other = copy(self)
        other.rng = deepcopy(self.rng)
        if self._model is not None:
            other._model = replace(self._model, loss_curve=list(self._model.loss_curve))
        return other

    def recut(self, n_clusters: int | None) -> Stream:
        """A copy whose centres are anchors of this many clusters; None: as many as its curve says."""
        other = self.twin()
        model = self.model
        consensus = "merge" if model.consensus == "plain" else model.consensus
        if other._model is None:  # still in the warm-up: the start applies it
            other.plan = replace(self.plan, n_clusters=n_clusters)
            other._guess = None
            return other
        if n_clusters is None:
            if model.curve is None:
                raise SettingError(
                    "this model has no curve of scores to read the number of clusters off: give it, or fit "
                    "with n_clusters='auto'."
                )
            n_clusters = model.curve.n_clusters
        other.plan = replace(self.plan, n_clusters=n_clusters, consensus=consensus)
        growth = None if model is not self._model else model.growth  # settled: the clusters are merged
        fewer = replace(model, n_clusters=n_clusters, consensus=consensus, growth=growth)
        other._model = replace(fewer, loss_curve=list(model.loss_curve))
        return other

    def learn(self, chunk: Chunk) -> Assigned | None:
        """Process the next rows; nothing changes if they are refused."""
        chunk = self._with_copies(chunk)
        if self._model is not None:
            return self._learn_scaled(self._scaled(chunk))
        schema = chunk.schema if self._schema is None else self._schema.merged(chunk.schema)
        rows = self._rows(chunk).measure(self.workspace.n_threads)
        if not self._gathered and not rows.n_seen.any():  # nothing to start from
            return self._without_views(rows, schema)
        gathered = [*self._gathered, chunk]
        n_gathered = self._n_gathered + int(rows.counted.sum())
        if n_gathered < max(self.plan.warmup, 1):
            self._schema, self._gathered, self._n_gathered = schema, gathered, n_gathered
            self._guess = None
            return None
        if self._gathered:
            rows = self._rows(join(gathered))
        return self._begin(rows, schema)

    def finish(self) -> Assigned | None:
        """End the first pass: start from the rows collected, if the warm-up is not complete."""
        if self._model is not None or not self._n_gathered:
            return None
        assert self._schema is not None
        return self._begin(self._rows(join(self._gathered)), self._schema, whole=True)

    def relearn(self, chunk: Chunk, labels: Labels) -> Assigned:
        """Process rows again that had these labels in the pass before (second pass and later)."""
        if self._model is None:
            raise DataError("a second pass needs a first one: no row has been assigned yet.")
        return self._relearn_scaled(self._scaled(self._with_copies(chunk)), labels)

    def _learn_scaled(self, chunk: Chunk) -> Assigned:
        assert self._model is not None
        if self._model.growth is not None:
            return self._learn_growing(chunk, self._model)
        return self._learn_rows(self._rows(chunk), Task())

    def _learn_growing(self, chunk: Chunk, model: Model) -> Assigned:
        """Let rows open anchors, then process them; links are those with the anchors as they are then."""
        assert model.anchors is not None
        self._check_links(chunk, model)
        rows = self._rows(chunk).measure(self.workspace.n_threads)
        found = chosen([candidates(rows, self.n_rows, model.centres)])
        weights, reference = rows.weights, self.plan.reference
        model = linked(self.plan, model, found, self.workspace, weights=weights, reference=reference)
        assert model.anchors is not None
        given = model.anchors, found, self.n_rows + rows.n_rows, self.workspace
        before = model.grown(opened(*given, weights=weights, reference=reference))
        schema = before.schema.merged(chunk.schema)
        state = State(before.widened(schema), before.centres)
        if is_searched(before.links, before.centres):
            return self._searched(before, rows, schema)
        outcome = ChunkStep(self.rules, self.workspace).whole(rows, state, Task())
        links = before.links
        if links is not None:
            soft = soft_assignment(rows, outcome.centres, self.workspace)
            links = links + links_of(soft, outcome.total.n_clusters, chunk.copies)
        return self._commit(replace(before, links=links), outcome, rows, schema)

    def _searched(
        self, before: Model, rows: MeasuredRows, schema: Schema, counted: Labels | None = None
    ) -> Assigned:
        """Process rows that meet many anchors by groups: new ones, or those counted under these labels."""
        self._check_links(rows.chunk, before)
        rows.measure(self.workspace.n_threads)
        state = State(before.widened(schema), before.centres)
        outcome, soft = searched_step(rows, state, self.rules, self.workspace, counted)
        links = links_of(soft, outcome.total.n_clusters, rows.chunk.copies)
        if counted is None or rows.chunk.start > 0:  # every pass counts its own
            links = before.links + links
        again = counted is not None
        decided = self._commit(replace(before, links=links), outcome, rows, schema, again=again)
        return replace(decided, centres=before.centres)

    def _relearn_scaled(self, chunk: Chunk, labels: Labels) -> Assigned:
        rows = self._rows(chunk).measure(self.workspace.n_threads)
        assert self._model is not None
        counted = self._reservoir.counted(chunk.start, self._model.centres_of(labels))
        return self._learn_rows(rows, Task(FROM_COUNTED, counted))

    def _learn_rows(self, rows: MeasuredRows, task: Task) -> Assigned:
        """Process scaled rows; nothing changes if they are refused."""
        model = self._model
        assert model is not None
        schema = model.schema.merged(rows.chunk.schema)
        if is_searched(model.links, model.centres):
            return self._searched(model, rows, schema, task.labels)
        again, links = task.begin == FROM_COUNTED, model.links
        if links is not None:
            self._check_links(rows.chunk, model)
            task = replace(task, links=np.zeros(links.shape, dtype=np.int64))
        state = State(model.widened(schema), model.centres)
        outcome = ChunkStep(self.rules, self.workspace).whole(rows, state, task)
        anchored = None
        if not again and len(outcome.losses):
            n_rows = self.n_counted + rows.chunk.n_copies
            average = float(outcome.losses[-1]) * model.square_unit / n_rows
            anchored = outgrown(self.plan, model, outcome.total, average, n_rows)
        if anchored is not None:
            return self._learn_growing(rows.chunk, anchored)
        if links is not None:
            mine = sparse_links(task.links, links.shape[0])
            links = mine if again and rows.chunk.start == 0 else links + mine  # every pass counts its own
        return self._commit(replace(model, links=links), outcome, rows, schema, again=again)

    def learn_several(
        self, chunk: Chunk, size: int, labels: Labels | None = None
    ) -> Iterator[Assigned | None]:
        """Process chunks of `size` rows in as few calls as possible; the same as one after another.

        `labels`: those of the pass before, in the second pass and later. If a chunk is refused, those
        before it have been learnt.
        """
        n_done, scaled, chunk = 0, False, self._with_copies(chunk)
        while n_done < chunk.n_rows:
            if self._model is not None and not scaled and self._scalable(chunk):
                chunk, scaled = self._scaled(chunk), True
            rest = chunk if n_done == 0 else chunk.cut(n_done, chunk.n_rows)
            mine = None if labels is None else labels[n_done:]
            decided = self._learn_several(rest, size, mine) if scaled and rest.n_rows > size else None
            if decided is None:
                one = rest if rest.n_rows <= size else rest.cut(0, size)
                if mine is not None:
                    again = self._relearn_scaled if scaled else self.relearn
                    yield again(one, mine[: one.n_rows])
                else:
                    yield self._learn_scaled(one) if scaled else self.learn(one)
                n_done += one.n_rows
            else:
                n_done += len(decided.labels)
                yield decided
                decided = None  # not to be kept while the next are processed

    def _scalable(self, chunk: Chunk) -> bool:
        """Whether all rows may be scaled at once: not if that copies many."""
        assert self._model is not None
        return self._model.scaling.plain or chunk.n_rows <= MOST_COPIED

    def _learn_several(self, chunk: Chunk, size: int, labels: Labels | None) -> Assigned | None:
        """Process the chunks before the first row to be repaired or refused; None if there are none."""
        if self._model is None or self._model.links is not None or self.plan.reservoir:
            return None
        if self._model.growth is not None:
            return None
        if labels is None and size >= FEWEST_ROWS and may_outgrow(self.plan, self._model):
            return None  # each chunk is looked at
        rows = self._rows(chunk)
        if labels is not None:
            rows.measure(self.workspace.n_threads)
        task = Task(FROM_CENTRES if labels is None else FROM_COUNTED, labels, size=size)
        schema = self._model.schema.merged(chunk.schema)
        state = State(self._model.widened(schema), self._model.centres)
        outcome = ChunkStep(self.rules, self.workspace).run(rows, state, task)
        if len(outcome.labels) == 0:
            return None
        return self._commit(self._model, outcome, rows, schema, again=labels is not None, size=size)

    def _with_copies(self, chunk: Chunk) -> Chunk:
        """Rows without sample weights in a stream whose weights are fractions: their weight is 1."""
        if self.plan.weight_unit == 1 or chunk.copies is not None:
            return chunk
        return replace(chunk, copies=np.full(chunk.n_rows, self.plan.weight_unit, dtype=np.int64))

    def _rows(self, chunk: Chunk) -> MeasuredRows:
        """Rows scaled by the weights of their views, as far as these are known."""
        weights = self.plan.weights if self._model is None else self._model.weights
        known = None if isinstance(weights, str) else weights
        return MeasuredRows(chunk, reference=self.plan.reference, weights=known)

    def _scaled(self, chunk: Chunk) -> Chunk:
        """Rows in the scale of the centres."""
        assert self._model is not None
        return scaled(chunk, self._model, self.workspace)

    def _begin(self, rows: MeasuredRows, schema: Schema, *, whole: bool = False) -> Assigned:
        """Make the model from the first rows."""
        given = rows, schema, self.plan, self.workspace, self.rng
        return self._commit(*begin(*given, n_before=self.n_rows, whole=whole), schema)

    def commit(self, before: Model, result: ChunkResult) -> None:
        """Take over the result of chunks: the one place where the model changes."""
        result.total.check_room()
        self._read += result.read
        self._model = replace(
            before,
            schema=result.schema,
            total=result.total,
            centres=result.centres,
            links=result.links,
            read=self._read,
            n_iter=before.n_iter + result.n_iter,
            growth=result.growth or before.growth,
            census=result.census or before.census,
        )
        self._model.loss_curve.extend(result.losses)
        self._schema = result.schema
        self._gathered, self._n_gathered, self._guess = [], 0, None

    def _commit(
        self,
        before: Model,
        outcome: Outcome,
        rows: MeasuredRows,
        schema: Schema,
        *,
        again: bool = False,
        size: int | None = None,
    ) -> Assigned:
        """Let the reservoir follow, then commit chunks of `size` rows (None: one chunk)."""
        settled, reservoir, n_before = outcome, self._reservoir, self.n_rows
        n_done, new = len(outcome.labels), RowCounts()
        read = np.full(len(outcome.losses), self.n_counted)
        if not again:
            settled, reservoir = reservoir.follow(
                outcome, self.rules, self.workspace, reference=self.plan.reference
            )
            new, copies = RowCounts.of(rows, n_done), rows.chunk.copies
            ends = np.minimum((size or n_done) * np.arange(1, len(read) + 1), n_done)
            read += ends if copies is None else np.cumsum(copies)[ends - 1]
        losses = (settled.losses * before.square_unit / read).tolist()
        sums, growth = (settled.total, settled.centres, before.links), before.growth
        if growth is not None and not again:
            anchors = Anchors(*sums, growth)
            anchors = shrunk(anchors, n_before + n_done, self.rules, reference=self.plan.reference)
            sums, growth = (anchors.total, anchors.centres, anchors.links), anchors.growth
            if growth.sample is not None and before.n_rows:  # the start has its own
                growth = replace(growth, sample=growth.sample.with_rows(rows))
        census = None
        if before.census is not None:
            start, seen = (rows.chunk.start, None) if again else (n_before, rows.inverse[:, :n_done] > 0)
            mine = span(outcome.labels, start, before.total.n_clusters, seen)
            census = before.census.emptied() if again and start == 0 else before.census
            lineages = (None if each is None else each.lineage for each in (before.growth, growth))
            census = followed(census, [mine], *lineages)
        self.commit(before, ChunkResult(schema, *sums, new, settled.n_iter, losses, growth, census))
        if again:
            self._reservoir = reservoir.decided(rows.chunk.start, outcome.labels)
        elif self.plan.reservoir:
            given = rows, outcome.labels, n_before, self.plan.reservoir, self.rng
            self._reservoir = reservoir.drawn(*given)
        names = None if before.growth is None else before.growth.lineage.names
        return Assigned(rows.chunk.start, outcome.labels, outcome.margins, rows, outcome.centres, names)

    def _check_links(self, chunk: Chunk, model: Model) -> None:
        """Refuse rows for whose links there is no room."""
        if model.links is not None and self.n_counted + chunk.n_copies > MAX_ROWS:
            raise DataError(
                f"more than {MAX_ROWS:,} rows: the exact links of the anchors could overflow. "
                "Use consensus='merge', or none."
            )

    def _without_views(self, rows: MeasuredRows, schema: Schema) -> Assigned:
        chunk = rows.chunk
        self._schema, self._read = schema, self._read + RowCounts.of(rows)
        n_clusters = self.plan.n_clusters or 1
        no_labels, no_margins = np.full(chunk.n_rows, -1, dtype=np.int32), np.full(chunk.n_rows, np.inf)
        return Assigned(chunk.start, no_labels, no_margins, rows, Centres.none(n_clusters, rows.n_views))

    def _provisional(self) -> Stream:
        """A copy of this stream that starts from the rows collected so far."""
        guess = copy(self)
        guess.rng = deepcopy(self.rng)
        guess.workspace = Workspace(self.workspace.n_threads)  # several may ask at once
        if guess.finish() is None:
            schema = self._schema
            assert schema is not None
            n_clusters = self.plan.n_clusters or 1
            guess._model = Model(
                schema,
                Statistics(n_clusters, [width or 0 for width in schema.widths]),
                Centres.none(n_clusters, len(schema.names)),
                Scaling.none(len(schema.names)),
                tuple(each_view(self.plan.rules.alpha, len(schema.names)).tolist()),
                self._read,
                weight_unit=self.plan.weight_unit,
            )
        return guess
