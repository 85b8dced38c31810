"""Incomplete k-means++: seeds far apart, by distances averaged over the views two rows share."""

from __future__ import annotations

import numpy as np

from viewpass.kernels.backend import backend
from viewpass.kernels.grid import Labels
from viewpass.views.rows import MeasuredRows


def seeded_labels(
    rows: MeasuredRows, n_clusters: int, n_sets: int, rng: np.random.Generator, n_threads: int = 1
) -> list[Labels]:
    """Draw `n_sets` sets of seeds side by side; give each row the nearest seed of each set.

    A row is drawn in proportion to its distance from the seeds so far times the number of its
    views (or their weight). Rows that share no view with any seed count as averagely far from them.
    """
    points = rng.random((n_clusters, n_sets))
    return list(backend(rows.reference).draw_seeds(rows.handle, points, n_threads))
