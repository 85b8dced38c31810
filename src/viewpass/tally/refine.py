"""A model refined by the tally of all rows: ridge and centres (Eq. 13), clusters of anchors by the links."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from viewpass.model.model import Model
from viewpass.solve.start.ridge import estimated_alpha
from viewpass.sums.centres import update
from viewpass.tally.tally import Tally


def with_tally(model: Model, tally: Tally) -> Model:
    """The model with the sums of all rows; the graph of its anchors is that of all rows."""
    schema = model.schema.merged(tally.schema)
    return replace(
        model,
        schema=schema,
        total=tally.total.widened(model.scaling.widths(schema.widths)),
        read=tally.read,
        census=tally.census,
        links=tally.links,
        labelled=None,
    )


def moved(model: Model, *, auto_alpha: bool) -> Model:
    """The model with its centres where its sums have them (Eq. 13), under the ridge that they suggest."""
    if auto_alpha:
        model = replace(model, alpha=estimated_alpha(model.total, model.row_squares, model.weight_unit))
    n_views = len(model.schema.names)
    known = np.array([u is not None for u in model.centres.values])
    everyone = np.ones(model.centres.n_clusters, dtype=bool)
    given = model.total, known, model.centres, everyone, model.alpha
    return replace(model, centres=update(*given, fill=True, means=[None] * n_views))


def final(model: Model, tally: Tally) -> Model:
    """The model with what all rows add up to by their labels."""
    schema = model.schema.merged(tally.schema)
    widths = model.scaling.widths(schema.widths)
    return replace(
        model,
        schema=schema,
        total=model.total.widened(widths),
        labelled=tally.total.widened(widths),
        census=tally.census,
        read=tally.read,
    )
