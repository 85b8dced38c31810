"""Features that set clusters apart: the columns of a view whose means differ most from those of all rows.

    d = (mean of the cluster - mean of all rows) / standard deviation of all rows

in the scale of the model, so without reading rows again: means are those of the exact sums, deviations
those of the sample.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from viewpass.errors import NotCalibratedError, SettingError
from viewpass.kernels.grid import STEP, Floats
from viewpass.model.model import Model
from viewpass.reasons.calibrate import calibration_of
from viewpass.reasons.imputation import mean_unit

MOST = 20  # features of a cluster
LEAST_DIFFERENCE = 0.5  # in standard deviations


def feature_terms(model: Model, views: Sequence[str]) -> list[list[str]]:
    """For each cluster, its features of these views ("high CD19"), the most different first."""
    found: list[list[tuple[float, str]]] = [[] for _ in range(model.clusters.n_clusters)]
    for view in views:
        v = model.schema.names.index(view)
        columns = model.schema.columns_of(model.schema.names[v])
        if columns is None:
            raise SettingError(f"clusters cannot be named by view {view!r}: its columns have no names.")
        apart = differences(model, v)
        for cluster, own in enumerate(apart):
            for j in np.argsort(-np.abs(own), kind="stable")[:MOST].tolist():
                if abs(own[j]) >= LEAST_DIFFERENCE:
                    found[cluster].append((-abs(own[j]), f"{'high' if own[j] > 0 else 'low'} {columns[j]}"))
    return [[term for _, term in sorted(terms)] for terms in found]


def differences(model: Model, v: int) -> Floats:
    """The standardised differences of the columns of a view (clusters x columns); 0 without rows."""
    learnt = calibration_of(model)
    spread = learnt.deviations[v] if learnt is not None and learnt.deviations else None
    if spread is None:
        raise NotCalibratedError(
            f"clusters cannot be named by view {model.schema.names[v]!r}: the model was saved without its "
            "sample (save(rows=False)), or no row of the sample has the view."
        )
    counts = model.clusters.counts[v]
    means = model.clusters.in_columns(v).steps[v] * (STEP / np.maximum(counts, 1))[:, None] - mean_unit(
        model, v
    )
    means[counts == 0] = 0.0
    found: Floats = np.divide(means, spread, out=np.zeros_like(means), where=spread > 0)
    return found
