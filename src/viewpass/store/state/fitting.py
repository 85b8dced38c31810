"""Stores how far a fit over data that can be read again is: stage, row, sample, model and tally."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from viewpass.kernels.grid import Array
from viewpass.model.model import Model
from viewpass.store.container.fields import Fields, store_within
from viewpass.store.state.learning import (
    MOST_SEED,
    check_sample,
    pack_plan,
    pack_sample,
    unpack_plan,
    unpack_sample,
)
from viewpass.store.state.model import pack_model, pack_schema, unpack_model, unpack_schema
from viewpass.sums.rules import Workspace
from viewpass.sums.statistics import Statistics
from viewpass.tally.fitting import MOST_TALLIES, Fitting
from viewpass.tally.tally import Tally


def pack_fitting(fitting: Fitting, arrays: dict[str, Array]) -> dict[str, Any]:
    """Convert it to JSON; its arrays are added to `arrays`."""
    schema, model, tally = fitting.schema, fitting.model, fitting.tally
    return {
        "plan": pack_plan(fitting.plan),
        "seed": fitting.seed,
        "stage": fitting.stage,
        "labelling": fitting.labelling,
        "n_rows": fitting.n_rows,
        "row": fitting.row,
        "schema": None if schema is None else pack_schema(schema, arrays),
        "sample": pack_sample(fitting.sample, arrays),
        "model": None if model is None else pack_model(model, arrays),
        "tally": None if tally is None or model is None else _pack_tally(tally, model, arrays),
    }


def unpack_fitting(stored: Fields) -> Fitting:
    """Restore it after checking every part."""
    plan = unpack_plan(stored.part("plan"))
    schema = stored.maybe("schema", unpack_schema)
    sample = unpack_sample(stored.part("sample"), schema, plan)
    found = Fitting(plan, stored.number("seed", most=MOST_SEED), sample)
    found.schema, found.n_rows, found.row = schema, stored.number("n_rows"), stored.number("row")
    found.stage = stored.number("stage", most=MOST_TALLIES + 1)
    found.labelling = stored.truth("labelling")
    check_sample(stored, plan, schema, sample, found.n_rows)
    stored.need(found.row <= found.n_rows, "n_rows")
    stored.need((stored.get("model") is None) == (found.stage == 0), "stage")
    if found.stage == 0:
        sound = found.row == found.n_rows and not found.labelling and stored.get("tally") is None
        stored.need(sound, "row")
        return found
    found.model = unpack_model(stored.part("model"))
    stored.need(found.model.schema == schema and found.model.weight_unit == plan.weight_unit, "model")
    stored.need(plan.n_clusters in (None, found.model.n_clusters), "n_clusters")
    stored.need((stored.get("tally") is None) == (found.row == 0), "tally")
    stored.need(not (found.labelling and found.row), "row")
    found.set_limits(Workspace(1))
    if found.row:
        found.tally = _unpack_tally(stored, found.model)
        stored.need(found.tally.read.n_rows == found.row, "tally")
    return found


def _pack_tally(tally: Tally, model: Model, arrays: dict[str, Array]) -> dict[str, Any]:
    """A tally by centre, as the sums of a model with these centres."""
    own: dict[str, Array] = {}
    schema = model.schema.merged(tally.schema)
    sums = replace(
        model,
        schema=schema,
        total=_whole(tally, model),
        census=tally.census,
        read=tally.read,
        links=tally.links,
        labelled=None,
    )
    packed = pack_model(sums, own)
    store_within(arrays, "tally", own)
    return packed


def _whole(tally: Tally, model: Model) -> Statistics:
    """The sums of a tally, with the columns of views that no row of it has."""
    found = tally.total.widened(model.total.widths)
    if found.unmapped is not None and model.total.unmapped is not None:
        found.unmapped = found.unmapped.widened(model.total.unmapped.widths)
    return found


def _unpack_tally(stored: Fields, model: Model) -> Tally:
    part = stored.within("tally")
    found = unpack_model(part)
    same = found.centres.n_clusters == model.centres.n_clusters and found.consensus == model.consensus
    part.need(same and found.schema.names == model.schema.names and found.census is not None, "tally")
    assert found.census is not None
    return Tally(found.schema, found.total, found.census, found.read, found.links)
