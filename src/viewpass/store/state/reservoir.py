"""Stores the reservoir of a stream: sampled rows and their labels; read by state/stream.py."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from viewpass.core.model import Model
from viewpass.core.reservoir import Reservoir
from viewpass.kernels.grid import Array
from viewpass.store.container.fields import Fields, Rule
from viewpass.store.state.model import ROUNDED
from viewpass.store.state.rows import pack_chunk, unpack_chunk
from viewpass.views.chunk import Schema
from viewpass.views.rows import MeasuredRows

NAME = "reservoir"
ARRAYS = {
    "inverse": Rule(np.float64, "v n", 0.0),
    "labels": Rule(np.int32, "m", 0),
    "numbers": Rule(np.int64, "m", 0),
}
CLOSE = 1e-9  # relative difference of norms that were computed from another form of the same rows


def pack_reservoir(held: Reservoir, arrays: dict[str, Array]) -> dict[str, Any] | None:
    """Convert rows, inverse norms and labels to JSON and arrays; None if the reservoir is empty."""
    if held.chunk is None or held.inverse is None:
        return None
    arrays[f"{NAME}.inverse"] = held.inverse
    arrays[f"{NAME}.labels"] = held.labels
    arrays[f"{NAME}.numbers"] = held.numbers
    return {"rows": pack_chunk(held.chunk, NAME, arrays), "n_met": held.n_met}


def unpack_reservoir(stored: Fields, schema: Schema | None, size: int, model: Model | None) -> Reservoir:
    """Restore the reservoir; it is empty if the file has none."""
    if stored.values.get("reservoir") is None:
        return Reservoir()
    part = stored.part("reservoir")
    stored.need(model is not None, NAME)
    assert model is not None
    chunk = unpack_chunk(part.part("rows"), NAME, schema)
    n_met = part.number("n_met", least=chunk.n_rows, most=model.read.n_seen)
    stored.need(chunk.n_rows == min(size, n_met), NAME)
    inverse = part.array(f"{NAME}.inverse", ARRAYS["inverse"], v=len(chunk.names), n=chunk.n_rows)
    chunk = replace(chunk, lengths=model.scaling.lengths)
    if model.scaling.projection is not None:
        chunk = model.scaling.projection.apply(chunk)
    measured = MeasuredRows(chunk, weights=model.weights).measure()
    for v in range(len(chunk.names)):
        stored.need(bool((measured.handle.squares(v) <= ROUNDED).all()), NAME)
    stored.need(np.allclose(inverse, measured.inverse, rtol=CLOSE, atol=0.0), f"{NAME}.inverse")
    labels = part.array(f"{NAME}.labels", ARRAYS["labels"], m=None)
    stored.need(chunk.n_rows <= len(labels) <= n_met, f"{NAME}.labels")
    stored.need(bool((labels < model.total.n_clusters).all()), f"{NAME}.labels")
    for v, counts in enumerate(model.total.counts):  # its rows are among those that were counted
        held = labels[: chunk.n_rows][measured.present(v)]
        few = np.bincount(held, minlength=len(counts)) <= counts
        stored.need(bool(few.all()), f"{NAME}.labels")
    numbers = part.array(f"{NAME}.numbers", ARRAYS["numbers"], m=len(labels))
    within = bool((numbers < model.n_rows).all())
    stored.need(within and len(np.unique(numbers)) == len(numbers), f"{NAME}.numbers")
    return Reservoir(chunk, inverse, labels, numbers, n_met)
