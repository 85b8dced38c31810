"""What the sample shows about rows that lack views: some of it is labelled again with views hidden.

For a presence pattern, rows that have more views show how often their label stays, by margin. A pattern that
no row has more than (usually: all views) keeps its label by definition; its curve only ranks rows, by how
often labels change when one view is dropped, scaled to a mean doubt of at most DOUBT. Everything is
computed in a fixed order, and labels by the kernels that `predict` uses: the same bits everywhere.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from viewpass.graph.soft_assignment import SoftAssignment
from viewpass.kernels.grid import Floats, Integers, Labels
from viewpass.kernels.portable import log, ordered_sum
from viewpass.model.calibration import BINS, LEVELS, Calibration, rising
from viewpass.model.model import Model, assign, labels_of, prepare
from viewpass.reasons.confidence import separations
from viewpass.reasons.imputation import HiddenView, deviation, mean_row, mixture, spread_out
from viewpass.reasons.outliers import measuring_centres, nearest_distances, small_clusters
from viewpass.sums.centres import Centres, in_columns
from viewpass.sums.row_counts import MOST_BITS, patterns_of
from viewpass.sums.rules import Workspace
from viewpass.views.rows import MeasuredRows
from viewpass.views.seeds import own_generator

ROWS = 2000  # of the sample, at most
LEAST_ROWS = 30  # with the most views, or rows with fewer count as well
DOUBT = 0.025  # of rows with all views, on average
TILT = 0.01  # from the first group to the last: equal shares still rank rows
DOUBT_UNIT = 2**20  # doubts are added up as whole numbers of 1 / this
TAIL_ROWS = 4  # with fewer beyond, a quantile is that of the tail; as many rows the common tail counts as


@dataclass(frozen=True)
class Judged:
    """Rows that have all views of a pattern, judged by these views alone."""

    which: Integers  # numbers of the rows in the sample, ascending
    labels: Labels
    margins: Floats
    distances: Floats
    mixed: SoftAssignment


def calibration_of(model: Model, workspace: Workspace | None = None) -> Calibration | None:
    """What reasons rest on: learnt from the sample in the model when it is first asked for."""
    if model.calibration is None and model.rows is not None:
        workspace = workspace or Workspace(1)
        rows = prepare(model.rows, model, workspace).measure(workspace.n_threads)
        assigned = assign(rows, model.centres, workspace)[0]
        model.calibration = learn(rows, model, assigned, workspace)
    return model.calibration


def learn(
    rows: MeasuredRows,
    model: Model,
    assigned: Labels,
    workspace: Workspace,
    measured: tuple[Integers, Floats] | None = None,
) -> Calibration | None:
    """Look at a sample of measured rows, whose centres are `assigned`; None if no row has a view.

    `measured`: presence patterns and distances of more rows, by the small clusters of the model.
    """
    workspace = Workspace(workspace.n_threads)
    seen = np.flatnonzero(rows.counted)
    if not len(seen):
        return None
    if len(seen) > ROWS:
        seen = np.sort(own_generator().choice(seen, ROWS, replace=False))
    sample, assigned = rows.sampled(seen), assigned[seen]
    own = patterns_of(sample.inverse > 0)
    patterns = _patterns(own, sample)
    most = max(LEAST_ROWS, 2**14 // len(patterns))  # rows of each pattern
    small = () if model.calibration is None else model.calibration.small
    if measured is None:
        small = small_clusters(sample, model, workspace)
    given = model, measuring_centres(model, small), workspace
    judged = {pattern: _judged(sample, own, pattern, *given, most) for pattern in patterns}
    found = _own_labels(judged, own)
    if (found < 0).all():  # so many views that no pattern of a row is looked at
        found = labels_of(sample, model, workspace)
    curves = {pattern: _curve(pattern, judged, own, found) for pattern in patterns}
    usable = [pattern for pattern in patterns if curves[pattern] is not None]
    if not usable:
        return None
    known = np.array(usable, dtype=np.int64)
    pairs = [curves[pattern] for pattern in usable]
    tails = _typical([judged[pattern] for pattern in usable], own, known, measured)
    slopes, scores, spreads = _met([judged[pattern] for pattern in usable], known, sample, model, assigned)
    means = tuple(mean_row(sample, v) for v in range(sample.n_views))
    margins = np.array([pair[0] for pair in pairs if pair is not None])
    agreement = np.array([pair[1] for pair in pairs if pair is not None])
    named = model.schema.columns or (None,) * sample.n_views
    deviations = tuple(None if own is None else deviation(sample, v) for v, own in enumerate(named))
    learnt = known, margins, agreement, tails, slopes, scores, spreads, means, rows.n_rows
    return Calibration(*learnt, deviations if any(d is not None for d in deviations) else (), small)


def _patterns(own: Integers, sample: MeasuredRows) -> list[int]:
    """The patterns to look at: single views, those of the rows, then parts of these, the larger first."""
    names, numbers = np.unique(own, return_counts=True)
    frequent = [int(name) for name in names[np.argsort(-numbers, kind="stable")]]
    bits = {1 << min(v, MOST_BITS) for v in range(sample.n_views) if sample.present(v).any()}
    most = min(64, max(8, 1024 // sample.n_views))
    found = dict.fromkeys([*sorted(bits), *frequent][: most // 2])
    level = list(frequent)
    while level and len(found) < most:
        smaller = [name & ~bit for name in level for bit in sorted(bits) if name & bit and name != bit]
        level = list(dict.fromkeys(smaller))
        for name in level[: most - len(found)]:
            found[name] = None
    return sorted(found)


def _views(pattern: int, n_views: int) -> list[bool]:
    return [bool(pattern >> min(v, MOST_BITS) & 1) for v in range(n_views)]


def _judged(
    sample: MeasuredRows,
    own: Integers,
    pattern: int,
    model: Model,
    centres: Centres,
    workspace: Workspace,
    most: int,
) -> Judged:
    which = spread_out(np.flatnonzero(own & pattern == pattern), most)
    rows = sample.sampled(which).keeping(_views(pattern, sample.n_views))
    mixed = mixture(rows, model, workspace)
    found = separations(rows, model, workspace, mixed)
    nearest = nearest_distances(rows, centres, workspace)
    return Judged(which, found.labels, found.margins, nearest, mixed)


def _own_labels(judged: dict[int, Judged], own: Integers) -> Labels:
    """The labels of rows by all the views they have; -1 where these were not looked at."""
    labels = np.full(len(own), -1, dtype=np.int32)
    for pattern, rows in judged.items():
        mine = own[rows.which] == pattern
        labels[rows.which[mine]] = rows.labels[mine]
    return labels


def _curve(
    pattern: int, judged: dict[int, Judged], own: Integers, labels: Labels
) -> tuple[Floats, Floats] | None:
    """Margins and shares of kept labels of a pattern; None where no row shows them."""
    rows = judged[pattern]
    more = (own[rows.which] != pattern) & (labels[rows.which] >= 0)
    if more.any():
        # Rows with the most views count, if they are enough: they come closest to all views.
        sizes = np.array([int(name).bit_count() for name in own[rows.which]])
        for size in sorted(set(sizes[more].tolist()), reverse=True):
            if (more & (sizes >= size)).sum() >= LEAST_ROWS:
                more &= sizes >= size
                break
        kept = rows.labels[more] == labels[rows.which[more]]
        return _binned(rows.margins[more], kept.astype(np.int64) * DOUBT_UNIT, doubt=None)
    mine = own[rows.which] == pattern
    if not mine.any():
        return None
    kept = _kept(pattern, judged, rows.which[mine], labels)
    return _binned(rows.margins[mine], kept, doubt=DOUBT)


def _kept(pattern: int, judged: dict[int, Judged], which: Integers, labels: Labels) -> Integers:
    """How many of the labels that rows have with one view dropped are their own, in 1 / DOUBT_UNIT."""
    hits, numbers = np.zeros(len(which), dtype=np.int64), np.zeros(len(which), dtype=np.int64)
    for part, rows in judged.items():
        if part & pattern != part or (part ^ pattern).bit_count() != 1:
            continue
        at = np.searchsorted(which, rows.which)
        inside = at < len(which)
        inside[inside] = which[at[inside]] == rows.which[inside]
        hits[at[inside]] += rows.labels[inside] == labels[rows.which[inside]]
        numbers[at[inside]] += 1
    if not numbers.any():  # rows of a single view: nothing can be dropped
        return np.full(len(which), -1, dtype=np.int64)
    return DOUBT_UNIT * hits // np.maximum(numbers, 1)


def _binned(margins: Floats, kept: Integers, *, doubt: float | None) -> tuple[Floats, Floats]:
    """The curve of shares `kept` (in 1 / DOUBT_UNIT) by margin; scaled to a mean doubt, if that is given.

    It is level in groups of like margins, but for a slight slope that ranks rows.
    """
    order = np.argsort(margins, kind="stable")
    rising_margins = margins[order]
    begins = np.unique(rising_margins[np.arange(BINS) * len(order) // BINS])
    starts = np.searchsorted(rising_margins, begins)  # equal margins are in one group
    ends = np.append(starts[1:], len(order))
    slope = TILT * np.arange(len(begins) + 1) / len(begins) - TILT
    if (kept < 0).all():
        shares = 1.0 - DOUBT * 2.0 * (len(begins) - 0.5 - np.arange(len(begins))) / len(begins)
    else:
        shares = _shares(kept[order], starts, ends, doubt)
    knots = np.stack((begins, np.append(begins[1:], rising_margins[-1])), axis=1).reshape(-1)
    values = np.stack((shares + slope[:-1], shares + slope[1:]), axis=1).reshape(-1)
    more = 2 * BINS - len(knots)
    values = np.maximum.accumulate(np.clip(values, 0.0, 1.0))
    return np.pad(knots, (0, more), mode="edge"), np.pad(values, (0, more), mode="edge")


def _shares(kept: Integers, starts: Integers, ends: Integers, doubt: float | None) -> Floats:
    """The share of each group, rising."""
    running = np.concatenate(([0], np.cumsum(kept)))
    overall, whole = int(running[-1]), len(kept) * DOUBT_UNIT
    # Each group counts one more row, of the overall share: a group of few is not certain.
    hits = [int(running[end] - running[start]) for start, end in zip(starts, ends, strict=True)]
    shares = rising(
        [hit * whole + overall * DOUBT_UNIT for hit in hits],
        [(int(end - start) + 1) * DOUBT_UNIT * whole for start, end in zip(starts, ends, strict=True)],
    )
    if doubt is None or overall == whole:
        return shares
    found: Floats = 1.0 - (1.0 - shares) * min(1.0, doubt / (1.0 - overall / whole))
    return found


def _typical(
    judged: list[Judged], own: Integers, patterns: Integers, measured: tuple[Integers, Floats] | None
) -> Floats:
    """Quantiles of distances of each pattern, by the rows that have it (or else more), and their tail."""
    found, tails = np.zeros((len(judged), len(LEVELS) + 1)), []
    levels = np.array(LEVELS)
    for place, (rows, pattern) in enumerate(zip(judged, patterns, strict=True)):
        mine = rows.distances[own[rows.which] == pattern]
        if measured is not None:
            mine = measured[1][measured[0] == pattern]
        distance = np.sort(mine if len(mine) >= LEAST_ROWS else rows.distances)
        at = (levels * (len(distance) - 1)).astype(np.int64)
        last = max(0, int(((1.0 - levels) * len(distance) >= TAIL_ROWS).sum()) - 1)
        found[place, :-1] = distance[at]
        over = distance[at[last] + 1 :] - distance[at[last]]
        tails.append((last, len(over), float(np.cumsum(over)[-1]) if len(over) else 0.0))
    lasts = np.array([last for last, *_ in tails])
    spans = np.maximum(found[np.arange(len(found)), lasts] - found[:, LEVELS.index(0.5)], 0.0)
    numbers = np.array([number for _, number, _ in tails])
    whole = float(ordered_sum(spans * numbers))
    common = sum(excess for *_, excess in tails) / whole if whole > 0 else 1.0
    for place, (last, number, excess) in enumerate(tails):
        rate = (excess + TAIL_ROWS * common * spans[place]) / (number + TAIL_ROWS)
        beyond = log((1.0 - levels[last]) / (1.0 - levels[last + 1 :]))  # levels that few rows show
        found[place, last + 1 : -1] = found[place, last] + rate * beyond
        found[place, -1] = rate
    return found


def _met(
    judged: list[Judged], patterns: Integers, sample: MeasuredRows, model: Model, assigned: Labels
) -> Floats:
    """Slope, score and spread of each view that each pattern lacks: (3, patterns, views)."""
    found = np.zeros((3, len(patterns), sample.n_views))
    for v, centres in enumerate(in_columns(model.centres, model.total)):
        lacking = np.flatnonzero(patterns >> min(v, MOST_BITS) & 1 == 0)
        if centres is None or sample.matrix(v) is None or not len(lacking):
            continue
        view = HiddenView(sample, v, model, assigned)
        for place in lacking:
            found[:, place, v] = view.met(judged[place].which, judged[place].mixed)
    return found
