"""Stores what reasons rest on (core/state/calibration.py); files of models without it do not mention it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from viewpass.core.state.calibration import KNOTS, LEVELS, MOST_BITS, Calibration
from viewpass.core.state.centres import Centres
from viewpass.kernels.grid import Array
from viewpass.store.container.fields import Fields, Rule

FAR = 1e30
ARRAYS = {  # P patterns, k knots, q quantiles and the tail, V views, d columns, s small clusters
    "patterns": Rule(np.int64, "P", 1, 2 ** (MOST_BITS + 1) - 1),
    "margins": Rule(np.float64, "P k", 0.0, FAR),
    "agreement": Rule(np.float64, "P k", 0.0, 1.0),
    "distances": Rule(np.float64, "P q", 0.0, FAR),
    "slopes": Rule(np.float64, "P V", 0.0, FAR),
    "scores": Rule(np.float64, "P V", 0.0, 1.0 + 1e-9),
    "spreads": Rule(np.float64, "P V", 0.0, FAR),
    "mean": Rule(np.float64, "d", -FAR, FAR),
    "deviation": Rule(np.float64, "d", 0.0, FAR),
    "small": Rule(np.float32, "s d", -FAR, FAR),
}


def pack_calibration(learnt: Calibration | None, arrays: dict[str, Array]) -> dict[str, Any]:
    """Add the arrays to `arrays`; give what the JSON of the model says about them."""
    if learnt is None:
        return {}
    for name in ("patterns", "margins", "agreement", "distances", "slopes", "scores", "spreads"):
        arrays[f"calibration.{name}"] = getattr(learnt, name)
    for v, mean in enumerate(learnt.means):
        if mean is not None:
            arrays[f"calibration.mean.{v}"] = mean
    for v, deviation in enumerate(learnt.deviations):
        if deviation is not None:
            arrays[f"calibration.deviation.{v}"] = deviation
    for v, means in enumerate(learnt.small):
        arrays[f"calibration.small.{v}"] = means
    return {"calibrated": {"views": [mean is not None for mean in learnt.means], "rows": learnt.n_rows}}


def unpack_calibration(stored: Fields, widths: Sequence[int], centres: Centres) -> Calibration | None:
    """Restore them; None from older files. `centres`: those of the model."""
    if "calibrated" not in stored.values:
        return None
    part = stored.part("calibrated")
    seen, n_rows = part.list("views", bool), part.number("rows")
    stored.need(len(seen) == len(widths), "calibrated")

    def array(name: str, **lengths: int | None) -> Array:
        return stored.array(f"calibration.{name}", ARRAYS[name.partition(".")[0]], **lengths)

    patterns = array("patterns", P=None)
    shape = {"P": len(patterns), "k": KNOTS, "q": len(LEVELS) + 1, "V": len(widths)}
    known = (1 << min(len(widths), MOST_BITS + 1)) - 1
    stored.need(bool((np.diff(patterns) > 0).all()) and int(patterns.max(initial=0)) <= known, "patterns")
    names = ("margins", "agreement", "distances", "slopes", "scores", "spreads")
    curves = {name: array(name, **shape) for name in names}
    for name in ("margins", "agreement"):
        stored.need(bool((np.diff(curves[name], axis=1) >= 0).all()), name)
    stored.need(bool((np.diff(curves["distances"][:, :-1], axis=1) >= 0).all()), "distances")
    means = tuple(
        array(f"mean.{v}", d=width) if has else None
        for v, (has, width) in enumerate(zip(seen, widths, strict=True))
    )
    deviations = tuple(
        array(f"deviation.{v}", d=width) if f"calibration.deviation.{v}" in stored.arrays else None
        for v, width in enumerate(widths)
    )
    known_deviations = deviations if any(own is not None for own in deviations) else ()
    small = list[Array]()
    if "calibration.small.0" in stored.arrays:  # of all views, or of none
        for v, own in enumerate(centres.values):
            stored.need(own is not None and not centres.marks[v], f"calibration.small.{v}")
            width = 0 if own is None else own.shape[1]
            small.append(array(f"small.{v}", s=len(small[0]) if small else None, d=width))
        stored.need(len(small[0]) > 0, "calibration.small.0")
    return Calibration(
        patterns,
        **curves,
        means=means,
        n_rows=n_rows,
        deviations=known_deviations,
        small=tuple(small),
    )
