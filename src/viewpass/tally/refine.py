"""A model refined by the tally of all rows: ridge and centres (Eq. 13), clusters of anchors by the links."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from viewpass.kernels.grid import Labels
from viewpass.model.model import Model, prepare
from viewpass.solve.start.ridge import estimated_alpha
from viewpass.sums.centres import Centres, update
from viewpass.sums.workspace import Workspace
from viewpass.tally.tally import Tally, tally_by_centre, tally_rows
from viewpass.views.chunk import Chunk

ROUNDS = 8  # centre updates with a cluster that was added


def with_tally(model: Model, tally: Tally) -> Model:
    """The model with the sums of all rows; the graph of its anchors is that of all rows."""
    schema = model.schema.merged(tally.schema)
    return replace(
        model,
        schema=schema,
        total=tally.total,
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


def with_one_more(
    model: Model, chunk: Chunk, known: Labels, workspace: Workspace, *, auto_alpha: bool
) -> Model:
    """The clusters that have rows, and one of the rows that none of them explains (-1); no anchors."""
    kept = np.unique(known[known >= 0])
    labels = np.where(known < 0, len(kept), np.searchsorted(kept, known)).astype(np.int32)
    values = [
        None if u is None else np.append(u[kept], np.zeros((1, u.shape[1])), axis=0)
        for u in model.centres.values
    ]
    centres = Centres(values, [np.append(there[kept], False) for there in model.centres.known])
    model = replace(model, centres=centres, n_clusters=len(kept) + 1, calibration=None)
    tally = tally_rows(chunk, prepare(chunk, model, workspace), labels, len(kept) + 1, workspace)
    for _ in range(ROUNDS):
        model = moved(with_tally(model, tally), auto_alpha=auto_alpha)
        tally = tally_by_centre(chunk, model, workspace)
    return moved(with_tally(model, tally), auto_alpha=auto_alpha)


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
