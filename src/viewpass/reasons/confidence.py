"""How sure the label of a row is, and the probabilities of all clusters.

The confidence of a row is read off a curve that the sample gave for its presence pattern
(learning.py): of rows with these views and a margin like this, the share that keep their label when all
views are known. The rest of the probability is divided among the other clusters by how far they are,

    p_k ~ 1 / (s_k - s_min + c)^2,   s of separation.py,  c an eighth of the mean of s_k - s_min

and no other cluster gets more than the label.
"""

from __future__ import annotations

import numpy as np

from viewpass.kernels.grid import Floats, Integers, Labels
from viewpass.kernels.portable import ordered_sum
from viewpass.model.calibration import Calibration, interpolated
from viewpass.model.model import Model
from viewpass.reasons.separation import farness_of, separations
from viewpass.sums.row_counts import patterns_of
from viewpass.sums.rules import Workspace
from viewpass.views.rows import MeasuredRows

SHARPNESS = 0.125  # c, as a share of the mean
AHEAD = 1.0 + 2.0**-16  # the label is more probable than any other cluster by this factor, at least


def confidence_at(patterns: Integers, margins: Floats, n_clusters: int, learnt: Calibration) -> Floats:
    """The confidence of labels, given presence patterns and margins; NaN for a row without any view.

    Rounded to float32, which is what label files hold.
    """
    places = learnt.places(patterns)
    confidence = np.zeros(len(patterns))
    if len(learnt.patterns):  # rows of no known pattern go by any, and are set right after
        confidence = interpolated(learnt.margins, learnt.agreement, np.maximum(places, 0), margins)
        confidence[places < 0] = 0.0
    np.clip(confidence, min(AHEAD / n_clusters, 1.0), 1.0, out=confidence)
    confidence[patterns == 0] = np.nan
    return confidence.astype(np.float32).astype(np.float64)


def confidences(rows: MeasuredRows, model: Model, learnt: Calibration, workspace: Workspace) -> Floats:
    """The confidence of each measured row's label; NaN for a row without any view."""
    return _labelled(rows, model, learnt, workspace)[1]


def _labelled(
    rows: MeasuredRows, model: Model, learnt: Calibration, workspace: Workspace
) -> tuple[Labels, Floats]:
    found, patterns = separations(rows, model, workspace), patterns_of(rows.inverse > 0)
    return found.labels, confidence_at(patterns, found.margins, model.n_clusters, learnt)


def probabilities(rows: MeasuredRows, model: Model, learnt: Calibration, workspace: Workspace) -> Floats:
    """The probabilities of the clusters for each measured row; NaN for a row without any view."""
    labels, confidence = _labelled(rows, model, learnt, workspace)
    return spread_out(labels, confidence, farness_of(rows, model, workspace))


def spread_out(labels: Labels, confidence: Floats, far: Floats) -> Floats:
    """Probabilities of all clusters, given that of the label; the others by how `far` they are."""
    n_rows, n_clusters = far.shape
    if n_clusters == 1:
        return confidence[:, None].copy()
    everyone = np.arange(n_rows)
    gaps = far - np.fmin.reduce(far, axis=1, keepdims=True)
    finite = np.isfinite(gaps)  # a cluster without anchors is nowhere
    mean = ordered_sum(np.where(finite, gaps, 0.0)) / np.maximum(finite.sum(axis=1), 1)
    parts = np.zeros_like(gaps)
    scale = np.where(mean > 0, mean, 1.0)[:, None]
    relative = np.divide(gaps, scale, out=np.zeros_like(gaps), where=finite) + SHARPNESS
    np.divide(1.0, relative * relative, out=parts, where=finite)
    parts[everyone, labels] = 0.0
    whole = ordered_sum(parts)
    parts = np.divide(parts, whole[:, None], out=np.zeros_like(parts), where=whole[:, None] > 0)
    parts[whole == 0] = 1.0 / (n_clusters - 1)
    # Flattened, where the next cluster would be more probable than the label: w (1 - c) max = c / AHEAD.
    level, rest = 1.0 / (n_clusters - 1), 1.0 - confidence
    most = parts.max(axis=1)
    over = np.divide(confidence / AHEAD, rest, out=np.full(n_rows, np.inf), where=rest > 0)
    weight = np.divide(over - level, most - level, out=np.ones(n_rows), where=most > level)
    weight = np.clip(weight, 0.0, 1.0)[:, None]
    spread: Floats = rest[:, None] * (weight * parts + (1.0 - weight) * level)
    spread[everyone, labels] = confidence
    spread[labels < 0] = np.nan
    return spread
