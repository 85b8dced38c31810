"""Two parts of a stream compared: rows before a solve and rows since, labelled by the same model.

    unexplained   more rows than before are beyond the outlier limit of their presence pattern
    sizes         of clusters
    centres       of each cluster and view: the mean of its rows moved by more than its rows' spread explains
    presence      of each view: the odds that a row has it changed by a factor of ODDS or more, too

Each is a test of two samples. A change is told where chance would find one, of all that are looked at, once
in 1 / LEVEL looks at a stream that does not change.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from viewpass.kernels.grid import Array, Floats, Integers, Labels, Mask
from viewpass.kernels.portable import log, ordered_sum
from viewpass.model.calibration import Calibration
from viewpass.model.model import Model, assign, labels_of, prepare
from viewpass.reasons.calibrate import learn
from viewpass.reasons.outliers import outlier_scores
from viewpass.streams.events import NO_CLUSTER, Event, Kind
from viewpass.sums.rules import Workspace
from viewpass.sums.statistics import Statistics
from viewpass.views.chunk import Chunk
from viewpass.views.rows import MeasuredRows

LEVEL = 1e-4  # chance of a false alarm in all tests of one check
ODDS = 3.5  # a ratio of odds that is usually called medium (Chen, Cohen and Chen, 2010)
BEYOND = 0.01  # share of the rows of a presence pattern that are beyond its outlier limit
LOOKED_AT = 4096  # rows of each part, at most


@dataclass(frozen=True)
class Part:
    """Rows of one part of a stream under a model."""

    labels: Labels
    unexplained: Mask
    total: Statistics
    squares: tuple[Floats, ...]  # per view: sums of squared lengths of the rows of each cluster

    @property
    def n_rows(self) -> int:
        """Rows with a cluster."""
        return int((self.labels >= 0).sum())

    @property
    def n_unexplained(self) -> Integers:
        """Rows that no cluster explains."""
        return np.array([self.unexplained.sum()])

    @property
    def sizes(self) -> Integers:
        """Rows of each cluster."""
        return np.bincount(self.labels[self.labels >= 0], minlength=self.total.n_clusters)


@dataclass(frozen=True)
class Look:
    """What was found: whether the model no longer fits, and events."""

    changed: bool
    unexplained: bool
    events: tuple[Event, ...]


NOTHING = Look(False, False, ())


def limits_of(rows: Chunk, model: Model, workspace: Workspace) -> Calibration | None:
    """The outlier limits of a model, as these rows show them."""
    measured = prepare(rows, model, workspace).measure(workspace.n_threads)
    return learn(measured, model, assign(measured, model.centres, workspace)[0], workspace)


def part_of(chunk: Chunk, model: Model, limits: Calibration | None, workspace: Workspace) -> Part:
    """Label rows, and see which of them no cluster explains."""
    rows = prepare(chunk, model, workspace).measure(workspace.n_threads)
    labels = labels_of(rows, model, workspace)
    unexplained = np.zeros(rows.n_rows, dtype=bool)
    if limits is not None:
        scores = outlier_scores(rows, model, limits, workspace)
        unexplained = ~np.isnan(scores) & (scores > -log(BEYOND))
    total = Statistics(model.n_clusters, rows.widths)
    total.move(rows, labels, 1, workspace.n_threads)
    return Part(labels, unexplained, total, _squares(rows, labels, total))


def _squares(rows: MeasuredRows, labels: Labels, total: Statistics) -> tuple[Floats, ...]:
    lengths, found = rows.chunk.lengths, list[Floats]()
    for v, counts in enumerate(total.counts):
        if lengths is None or not lengths.kept[v]:
            found.append(counts.astype(np.float64) * float(rows.squares[v]))
            continue
        there = (labels >= 0) & (rows.inverse[v] > 0)
        weights = np.asarray(rows.handle.squares(v), dtype=np.float64)[there]
        found.append(np.bincount(labels[there], weights, total.n_clusters).astype(np.float64))
    return tuple(found)


def compared(before: Part, since: Part, names: Sequence[str], ids: Integers, row: int) -> Look:
    """Compare two parts of a stream under the same model."""
    n_clusters, n_views = len(ids), len(names)
    n_tests = 1 + n_clusters + n_views + n_clusters * n_views
    least = float(2.0 * log(n_tests / LEVEL))
    rows = before.n_rows, since.n_rows
    if not all(rows):
        return Look(False, False, ())
    odd = _contrast(before.n_unexplained, since.n_unexplained, *rows)
    sizes = _contrast(before.sizes, since.sizes, *rows)
    heard, hears = (np.array(part.total.n_present) for part in (before, since))
    presence = _contrast(heard, hears, *rows)
    z, moved = _moved(before, since)
    events = list[Event]()
    for v in np.flatnonzero((np.abs(presence) > least) & _matters(heard, hears, *rows)).tolist():
        kind: Kind = "sounding" if presence[v] > 0 else "silent"
        counts, sure = (int(heard[v]), int(hears[v])), _certainty(abs(presence[v]), n_tests)
        events.append(Event(kind, row, NO_CLUSTER, (), *counts, (names[v],), sure))
    for cluster in np.flatnonzero((z > least).any(axis=1)).tolist():
        views: list[int] = np.flatnonzero(z[cluster] > least).tolist()
        counts = int(before.sizes[cluster]), int(since.sizes[cluster])
        sure, far = _certainty(z[cluster].max(), n_tests), round(float(moved[cluster, views].max()), 6)
        who = tuple(names[v] for v in views)
        events.append(Event("drifted", row, int(ids[cluster]), (), *counts, who, sure, moved=far))
    unexplained = bool(odd[0] > least)
    changed = bool(unexplained or (np.abs(sizes) > least).any() or events)
    return Look(changed, unexplained, tuple(events))


def _contrast(before: Array, since: Array, n_before: int, n_since: int) -> Floats:
    """How much shares of rows changed: the likelihood ratio (about chi-squared), with the sign of it."""
    whole, n = before + since, n_before + n_since
    found = np.zeros(len(whole))
    for mine, n_mine in ((before, n_before), (since, n_since)):
        for seen, expected in ((mine, whole * (n_mine / n)), (n_mine - mine, (n - whole) * (n_mine / n))):
            some = (seen > 0) & (expected > 0)
            found[some] += 2.0 * seen[some] * log(seen[some] / expected[some])
    rising: Floats = np.where(since * n_before >= before * n_since, found, -found)
    return rising


def _matters(before: Array, since: Array, n_before: int, n_since: int) -> Mask:
    """Whether the odds of being among these rows changed by a factor of ODDS or more."""
    risen, fallen = since * (n_before - before), before * (n_since - since)
    found: Mask = (risen >= ODDS * fallen) | (fallen >= ODDS * risen)
    return found


def _moved(before: Part, since: Part) -> tuple[Floats, Floats]:
    """How far the means of each cluster and view are apart.

    Squared, over what the spread of rows explains; and in spreads.
    """
    shape = len(before.sizes), len(before.squares)
    z, moved = np.zeros(shape), np.zeros(shape)
    one, other = before.total, since.total
    totals = one.widened(other.widths), other.widened(one.widths)  # none of some rows may have a view
    for v in range(shape[1]):
        both = [total.counts[v] for total in totals]
        counts = [np.maximum(n, 1) for n in both]
        means = [total.sums(v) / n[:, None] for total, n in zip(totals, counts, strict=True)]
        within = sum(
            part.squares[v] - n * ordered_sum(mean * mean)
            for part, n, mean in zip((before, since), both, means, strict=True)
        )
        spread = np.maximum(within, 0.0) / np.maximum(both[0] + both[1] - 2, 1)
        apart = ordered_sum((means[0] - means[1]) ** 2)
        known = (both[0] > 1) & (both[1] > 1) & (spread > 0)
        error = spread * (1.0 / counts[0] + 1.0 / counts[1])
        z[known, v] = apart[known] / error[known]
        moved[known, v] = np.sqrt(apart[known] / spread[known])
    return z, moved


def _certainty(z: float, n_tests: int) -> float:
    """1 minus the chance of as large a change anywhere."""
    return round(1.0 - min(1.0, float(n_tests * np.exp(-z / 2.0))), 6)
