"""The first chunk of Algorithm 1: from a soft random V, or from given labels, memberships or centres."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from viewpass.errors import SettingError
from viewpass.kernels.grid import Array, Floats
from viewpass.sums.centres import Centres
from viewpass.sums.chunk_step import ChunkStep, Outcome, State
from viewpass.views.chunk import Chunk, Schema
from viewpass.views.rows import MeasuredRows
from viewpass.views.scaling import Scaling


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


def check_given(init: Sequence[Array], schema: Schema, n_clusters: int) -> None:
    """Refuse given centres that do not fit the views."""
    if len(init) != len(schema.names):
        raise SettingError(f"init has centres for {len(init)} views, the data has {len(schema.names)}.")
    for name, width, values in zip(schema.names, schema.widths, init, strict=True):
        if width is not None and values.shape != (n_clusters, width):
            raise SettingError(
                f"init, view {name!r}: centres of shape {values.shape}, ({n_clusters}, {width}) was expected."
            )


def scaled_centres(
    init: Sequence[Array], scaling: Scaling, schema: Schema, n_clusters: int
) -> tuple[Floats, ...]:
    """Given centres as rows of that scale, of unit length but where lengths are kept.

    One without a direction is the origin.
    """
    check_given(init, schema, n_clusters)
    views = tuple(np.array(values, dtype=np.float64, order="C") for values in init)
    present = tuple(values if values.shape[1] else None for values in views)
    given = Chunk(present, schema.names, n_clusters, stated=scaling.lengths is not None)
    rows = MeasuredRows(scaling.apply(given)).measure()
    scaled, inverse = rows.take(np.arange(n_clusters))
    return tuple(
        values if view is None else view * (lengths * scaling.unit)[:, None]
        for values, view, lengths in zip(views, scaled.views, inverse, strict=True)
    )
