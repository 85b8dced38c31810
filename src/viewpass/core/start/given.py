"""Centres that were given (`init`), in the scale of the data: checked, and scaled like rows."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from viewpass.errors import SettingError
from viewpass.kernels.grid import Array, Floats
from viewpass.views.chunk import Chunk, Schema
from viewpass.views.rows import MeasuredRows
from viewpass.views.scaling import Scaling


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
