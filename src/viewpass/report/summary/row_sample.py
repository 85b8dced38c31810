"""What sampled rows show besides their labels: neighbours, reasons, how unusual they are.

The rows are those of a summary: of the model's own sample for a run, drawn as they are read otherwise.
"""

from __future__ import annotations

from typing import Any, TypedDict

import numpy as np

from viewpass.model.model import Model, distances, prepare
from viewpass.reasons.calibrate import calibration_of
from viewpass.reasons.confidence import stability
from viewpass.reasons.contributions import contributions
from viewpass.reasons.outliers import outlier_scores
from viewpass.report.layout import nearness
from viewpass.sample.sample import Sample, Sampler, Size
from viewpass.sums.rules import Workspace
from viewpass.views.chunk import Chunk

ROWS = 2000  # of a summary
NUMBERS = 2**21  # distances of rows to centres at a time


class RowReasons(TypedDict):
    """What a sampled row shows under the final centres: `cluster` is its label by them.

    `near` are centres (or anchors) near it, with `weights` that add up to 1. `parts` are those of the views
    in the margin to the next cluster, and `without` the labels without each view (None where the row lacks
    it, or has no other). Views of weight 0 are left out. `outlier` is its outlier score.
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
