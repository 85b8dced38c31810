"""Stores what is remembered of anchors that are born and merge; read by state/model.py."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from viewpass.core.consensus.births import MOST_WAITING
from viewpass.core.settled import MOST_ROWS
from viewpass.core.state.growth import Growth, KeptRows
from viewpass.core.state.lineage import Lineage
from viewpass.core.state.sample import Sample, row_hashes
from viewpass.core.state.view_weights import Weights
from viewpass.kernels.grid import Array, Floats
from viewpass.store.container.fields import Fields, Rule
from viewpass.store.state.rows import pack_chunk, unpack_chunk
from viewpass.views.chunk import Chunk, Schema
from viewpass.views.rows import MeasuredRows
from viewpass.views.scaling import Scaling

NAME = "waiting"
SAMPLE = "sample"
ARRAYS = {
    "names": Rule(np.int32, "K", 0),
    "heirs": Rule(np.int32, "n", 0),
    "inverse": Rule(np.float64, "v m", 0.0),
}
CLOSE = 1e-9  # relative difference of norms that were computed from another form of the same rows


def pack_growth(growth: Growth | None, arrays: dict[str, Array]) -> dict[str, Any]:
    """Convert it to JSON and arrays; files of models without it do not mention it."""
    if growth is None:
        return {}
    arrays["anchor_names"], arrays["anchor_heirs"] = growth.lineage.names, growth.lineage.heirs
    waiting = None
    if growth.waiting is not None:
        waiting = pack_chunk(growth.waiting.chunk, NAME, arrays)
        arrays[f"{NAME}.inverse"] = growth.waiting.inverse
    few = {} if growth.few is None else {"few": growth.few}
    return {"growth": {"most": growth.most, "waiting": waiting, **few, **_pack_sample(growth.sample, arrays)}}


def _pack_sample(sample: Sample | None, arrays: dict[str, Array]) -> dict[str, Any]:
    if sample is None:
        return {}
    rows = None
    if sample.chunk is not None:
        rows = pack_chunk(sample.chunk, SAMPLE, arrays)
        arrays[f"{SAMPLE}.inverse"] = sample.inverse
    return {"sample": {"most": sample.most, "rows": rows}}


def _unpack_sample(
    stored: Fields, part: Fields, schema: Schema, scaling: Scaling, weights: Weights | None
) -> Sample | None:
    if part.values.get("sample") is None:
        return None
    own = part.part("sample")
    most = own.number("most", least=1, most=MOST_ROWS)
    if own.values.get("rows") is None:
        return Sample(most)
    chunk, inverse = _rows(stored, own.part("rows"), SAMPLE, schema, scaling, weights)
    own.need(chunk.n_rows <= most and chunk.copies is not None, SAMPLE)
    hashes = row_hashes(MeasuredRows.known(chunk, inverse, weights=weights))
    own.need(bool((hashes[1:] > hashes[:-1]).all()), SAMPLE)
    return Sample(most, chunk, inverse, hashes)


def _rows(
    stored: Fields, part: Fields, name: str, schema: Schema, scaling: Scaling, weights: Weights | None
) -> tuple[Chunk, Floats]:
    """Rows that were kept, and the factors that bring them to their length."""
    chunk = unpack_chunk(part, name, schema)
    inverse = stored.array(f"{name}.inverse", ARRAYS["inverse"], v=len(chunk.names), m=chunk.n_rows)
    chunk = replace(chunk, lengths=scaling.lengths)
    if scaling.projection is not None:
        chunk = scaling.projection.apply(chunk)
    measured = MeasuredRows(chunk, weights=weights).measure()
    stored.need(np.allclose(inverse, measured.inverse, rtol=CLOSE, atol=0.0), f"{name}.inverse")
    return chunk, inverse


def unpack_growth(
    stored: Fields, n_anchors: int, schema: Schema, scaling: Scaling, weights: Weights | None
) -> Growth | None:
    """Restore it after checking every part; None if the file has none."""
    if stored.values.get("growth") is None:
        return None
    part = stored.part("growth")
    most = part.number("most", least=n_anchors)
    few = part.number("few", most=most) if "few" in part.values else None
    names = stored.array("anchor_names", ARRAYS["names"], K=n_anchors)
    heirs = stored.array("anchor_heirs", ARRAYS["heirs"], n=None)
    stored.need(bool((np.diff(names) > 0).all() and names[-1] < len(heirs)), "anchor_names")
    stored.need(bool(np.isin(heirs, names).all() and (heirs[names] == names).all()), "anchor_heirs")
    lineage = Lineage(names, heirs)
    rest = schema, scaling, weights
    growth = Growth(most, lineage, few=few, sample=_unpack_sample(stored, part, *rest))
    if part.get("waiting") is None:
        return growth
    chunk, inverse = _rows(stored, part.part("waiting"), NAME, *rest)
    part.need(chunk.n_rows <= MOST_WAITING, NAME)
    return replace(growth, waiting=KeptRows(chunk, inverse))
