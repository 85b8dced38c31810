"""What sampled rows show besides their labels: neighbours, reasons, how unusual they are; typical rows.

The rows are those of a summary: of the model's own sample for a run, drawn as they are read otherwise.
Typical rows of a cluster are near the anchors that have most of its rows, and unlike each other.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from statistics import median
from typing import Any, TypedDict

import numpy as np

from viewpass.model.model import Model, distances, prepare
from viewpass.reasons.calibrate import calibration_of
from viewpass.reasons.contributions import contributions
from viewpass.reasons.outliers import outlier_scores
from viewpass.reasons.separation import stability
from viewpass.report.layout import nearness
from viewpass.report.summary.fields import RowSummary, SampledRow
from viewpass.report.wording import title_of
from viewpass.sample.sample import Sample, Sampler, Size
from viewpass.sums.rules import Workspace
from viewpass.views.chunk import Chunk

ROWS = 2000  # of a summary
NUMBERS = 2**21  # distances of rows to centres at a time


class RowReasons(TypedDict):
    """What a sampled row shows under the final centres: `cluster` is its label by them.

    `near` are centres (or anchors) near it, with `weights` that add up to 1. `parts` are those of the views
    in the margin to the next cluster, and `without` the labels without each view (None where the row lacks
    it, or has no other); views of weight 0 are left out, as everywhere in a summary. `outlier` is its
    outlier score.
    """

    cluster: int
    near: list[int]
    weights: list[float]
    parts: list[float | None]
    without: list[int | None]
    outlier: float | None


def row_sampler(known: Sample | None = None) -> Sampler:
    """Takes the rows of a summary out of chunks, or out of a sample."""
    return Sampler(Sample(Size(ROWS)) if known is None else known.lowest(ROWS))


def row_reasons(sample: Sample, model: Model, workspace: Workspace) -> dict[int, RowReasons]:
    """What the rows of a sample show under a model, by their number."""
    found: dict[int, RowReasons] = {}
    if sample.chunk is None:
        return found
    step = max(1, NUMBERS // model.centres.n_clusters)
    for start in range(0, sample.n_rows, step):
        stop = min(start + step, sample.n_rows)
        made = _reasons(sample.chunk.cut(start, stop), model, workspace)
        found |= dict(zip(sample.numbers[start:stop].tolist(), made, strict=True))
    return found


def _reasons(chunk: Chunk, model: Model, workspace: Workspace) -> list[RowReasons]:
    rows = prepare(chunk, model, workspace).measure(workspace.n_threads)
    seen = rows.n_seen > 0
    apart = distances(rows, model.centres, workspace)
    near, weights = nearness(np.where(seen[:, None], apart, 0.0))
    why = contributions(rows, model, workspace)
    weighed = np.flatnonzero(model.view_weights)
    parts = np.where(rows.inverse.T > 0, why.views, np.nan)[:, weighed]
    without = stability(rows, model, workspace).labels[:, weighed]
    learnt = calibration_of(model)
    outlier = np.full(rows.n_rows, np.nan)
    if learnt is not None:
        outlier = outlier_scores(rows, model, learnt, workspace)
    return [
        RowReasons(
            cluster=int(why.labels[i]),
            near=near[i].tolist() if seen[i] else [],
            weights=np.round(weights[i], 3).tolist() if seen[i] else [],
            parts=[_rounded(value) for value in parts[i]],
            without=[None if label < 0 else int(label) for label in without[i]],
            outlier=_rounded(outlier[i]),
        )
        for i in range(rows.n_rows)
    ]


def _rounded(value: Any) -> float | None:
    """Four digits: enough to draw."""
    return float(f"{value:.4g}") if np.isfinite(value) else None


def typical_rows(sample: Sequence[SampledRow], others: Iterable[RowSummary], most: int) -> list[RowSummary]:
    """At most so many rows of a cluster, given its sampled rows; `others` follow where these are too few.

    Rows that are no more unusual than half of the cluster come first, and of these rows with the most views.
    Among them anchors (or centres) take turns, those of most rows first, each with the row nearest to it.
    Rows whose first shown column repeats come last.
    """
    rows = [row for row in sample if row["reasons"]["near"]]
    half = median([_unusual(row) for row in rows] or [0.0])
    sizes = Counter(_place(row) for row in rows)
    turns, taken = list[tuple[bool, int, int, int, int, RowSummary]](), Counter[tuple[int, int]]()
    for sampled in sorted(rows, key=lambda row: (-row["reasons"]["weights"][0], row["row"])):
        place = missing, anchor = _place(sampled)
        turns.append((_unusual(sampled) > half, missing, taken[place], -sizes[place], anchor, sampled))
        taken[place] += 1
    ordered = [turn[-1] for turn in sorted(turns, key=lambda turn: turn[:-1])]
    known = {row["row"] for row in ordered}
    ordered += [row for row in others if row["row"] not in known]
    new, repeated, titles = list[RowSummary](), list[RowSummary](), set[object]()
    for row in ordered:
        title = title_of(row)
        (repeated if title in titles else new).append(row)
        titles.add(title)
    return [
        RowSummary(row=row["row"], cluster=row["cluster"], confidence=row["confidence"], shown=row["shown"])
        for row in [*new, *repeated][:most]
    ]


def _unusual(row: SampledRow) -> float:
    """How unusual a row is, given the views that it has."""
    return row["reasons"]["outlier"] or 0.0


def _place(row: SampledRow) -> tuple[int, int]:
    """How many views a row lacks, and its nearest anchor."""
    return sum(part is None for part in row["reasons"]["parts"]), row["reasons"]["near"][0]
