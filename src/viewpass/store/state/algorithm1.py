"""Stores Algorithm 1: its settings, generator, schema and model."""

from __future__ import annotations

from typing import Any

import numpy as np

from viewpass.algorithm1.algorithm1 import Algorithm1, Settings
from viewpass.kernels.grid import Array
from viewpass.store.container.fields import Fields
from viewpass.store.container.values import from_plain, generator_from, generator_state, to_plain
from viewpass.store.state.model import pack_model, pack_schema, unpack_model, unpack_schema, weight_unit
from viewpass.store.state.rows import pack_counts, unpack_counts
from viewpass.sums.rules import Rules, Workspace
from viewpass.views.scaling import SCALE_NAMES

FILLS = ("mean", "zero-filled-mean", None)
MOST_CHUNK_UPDATES = 2**31  # the kernels count in 32 bits


def pack_algorithm(algorithm: Algorithm1, arrays: dict[str, Array]) -> dict[str, Any]:
    """Convert all that the algorithm needs to continue; arrays are added to `arrays`."""
    settings, model = algorithm.settings, algorithm.model
    init = "random" if model is not None else settings.init  # it is not needed after the first chunk
    return {
        "settings": {
            "n_clusters": settings.n_clusters,
            "alpha": settings.rules.alpha,
            "max_iter": int(settings.rules.max_iter),
            "tol": to_plain(float(settings.rules.tol), "tol", arrays),
            "fill": settings.rules.fill,
            "init": to_plain(init, "init", arrays),
            "scale": list(settings.scale),
            "weight_unit": settings.weight_unit,
        },
        "random": generator_state(algorithm.rng),
        "schema": None if algorithm.schema is None else pack_schema(algorithm.schema, arrays),
        "model": None if model is None else pack_model(model, arrays),
        **pack_counts(algorithm.read),
    }


def unpack_algorithm(stored: Fields, workspace: Workspace) -> Algorithm1:
    """Restore it after checking every part."""
    settings = _settings(stored.part("settings"))
    rng = generator_from(stored.get("random"))
    stored.need(isinstance(rng, np.random.Generator), "random")
    assert isinstance(rng, np.random.Generator)
    found = Algorithm1(settings, rng, workspace)
    schema = stored.maybe("schema", unpack_schema)
    found.schema, found.read = schema, unpack_counts(stored, schema)
    stored.need(schema is None or len(settings.scale) in (0, len(schema.names)), "scale")
    if stored.get("model") is None:
        stored.need(found.read.n_seen == 0, "n_rows")
        return found
    assert isinstance(settings.rules.alpha, float)
    model = unpack_model(stored.part("model"))
    stored.need(model.schema == schema and model.read == found.read, "model")
    stored.need(model.weight_unit == settings.weight_unit, "weight_unit")
    plain = model.consensus == "plain" and model.centres.n_clusters == settings.n_clusters
    stored.need(plain, "n_clusters")
    found.model = model
    return found


def _settings(stored: Fields) -> Settings:
    tol = from_plain(stored.get("tol"), stored.arrays)
    stored.need(isinstance(tol, float) and tol >= 0, "tol")
    fill = stored.get("fill")
    stored.need(fill in FILLS, "fill")
    n_clusters = stored.number("n_clusters", least=1)
    init = from_plain(stored.get("init"), stored.arrays)
    stored.need(_sound_init(init, n_clusters), "init")
    scale = tuple(stored.list("scale", str))
    stored.need(all(name in SCALE_NAMES for name in scale), "scale")
    rules = Rules(
        stored.decimal("alpha"), stored.number("max_iter", least=1, most=MOST_CHUNK_UPDATES), tol, fill
    )
    return Settings(n_clusters, rules, init, scale, weight_unit(stored))


def _sound_init(init: Any, n_clusters: int) -> bool:
    """Check `init`: "random", labels or memberships of the first rows, or centres of each view."""
    if isinstance(init, str):
        return init == "random"
    if isinstance(init, list):
        sound = all(isinstance(part, np.ndarray) and part.dtype == np.float64 for part in init)
        return sound and all(part.ndim == 2 and len(part) == n_clusters for part in init)
    if not isinstance(init, np.ndarray) or not np.isfinite(init).all():
        return False
    if init.ndim == 1:
        return init.dtype == np.int64 and bool((init >= 0).all() and (init < n_clusters).all())
    return init.ndim == 2 and init.shape[1] == n_clusters and bool((init >= 0).all())
