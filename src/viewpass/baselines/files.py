"""Fitted factorisations as JSON and arrays for model files, and back, with checks.

A file holds bases and centres: enough to predict, without the rows of the fit or their coefficients.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from viewpass.baselines.factors import Factors
from viewpass.baselines.stream import FactorStream
from viewpass.kernels.grid import Array
from viewpass.store.container.fields import Fields, Rule
from viewpass.store.state.model import pack_schema, unpack_schema

LARGEST_FACTOR = 1e60  # products of these stay finite

ARRAYS = {  # K clusters, r columns of the bases, d columns of a view, v views
    "centres": Rule(np.float64, "K r", -LARGEST_FACTOR, LARGEST_FACTOR),
    "basis": Rule(np.float64, "d r", -LARGEST_FACTOR, LARGEST_FACTOR),
    "totals": Rule(np.float64, "v", 0.0),
    "curve": Rule(np.float64, "*"),
    "objective": Rule(np.float64, "1"),
}


def pack_factors(state: Factors | FactorStream, arrays: dict[str, Array]) -> dict[str, Any]:
    """Bases, centres and counts of a state whose `groups` are known."""
    assert state.schema is not None
    assert state.groups is not None
    bases = state.components()
    for v, basis in enumerate(bases):
        if basis is not None:
            arrays[f"basis.{v}"] = np.ascontiguousarray(basis)
    totals = state.totals or [None] * len(bases)
    arrays["totals"] = np.array(
        [0.0 if basis is None else total or 1.0 for basis, total in zip(bases, totals, strict=True)]
    )
    arrays["centres"] = np.ascontiguousarray(state.groups[0])
    arrays["curve"] = np.array(state.curve, dtype=np.float64)
    arrays["objective"] = np.array([state.objective()])
    return {
        "schema": pack_schema(state.schema, arrays),
        "n_rows": state.n_rows,
        "n_unseen": state.n_without_views,
        "n_iter": state.n_iter,
        "seed": state.seed,
        "clipped": sorted(state.clipped),
    }


def unpack_factors(stored: Fields, n_clusters: int, rank: int) -> Factors:
    """What was packed, without the rows of the fit."""
    schema = unpack_schema(stored.part("schema"))
    n_views = len(schema.names)
    centres = stored.array_of("centres", ARRAYS, K=n_clusters, r=rank)
    totals = [float(total) or None for total in stored.array_of("totals", ARRAYS, v=n_views)]
    bases = []
    for v, (total, width) in enumerate(zip(totals, schema.widths, strict=True)):
        stored.need(total is None or width is not None, "totals")  # no basis without columns
        bases.append(None if total is None else stored.array_of(f"basis.{v}", ARRAYS, d=width, r=rank))
    n_rows, n_without_views = stored.number("n_rows", least=1), stored.number("n_unseen")
    stored.need(n_without_views <= n_rows, "n_unseen")
    clipped = stored.list("clipped", int)
    stored.need(all(0 <= v < n_views for v in clipped), "clipped")
    return Factors(
        schema=schema,
        n_rows=n_rows,
        n_without_views=n_without_views,
        kept=None,
        agreed=None,
        bases=bases,
        totals=totals,
        curve=stored.array_of("curve", ARRAYS).tolist(),
        value=float(stored.array_of("objective", ARRAYS)[0]),
        n_iter=stored.number("n_iter"),
        seed=stored.number("seed", most=2**31),
        clipped=set(clipped),
        groups=(centres, np.empty(0, dtype=np.int32)),
    )
