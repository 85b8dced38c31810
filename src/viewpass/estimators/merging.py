"""`vp.merge`: combines models fitted on different rows, for data that cannot be brought together."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from sklearn.utils.validation import check_is_fitted

from viewpass.errors import DataError, SettingError
from viewpass.estimators.viewpass import ViewPass
from viewpass.tally.merging import merged

SAME_SETTINGS = (
    "n_clusters",
    "scale",
    "consensus",
    "n_anchors",
    "projection",
    "alpha",
    "view_weights",
    "missing_entries",
    "sample_size",
)


def merge(models: Sequence[ViewPass]) -> ViewPass:
    """Merge models that were fitted on different rows of the same views.

    The sample of all rows is the union of the models' samples, so the merged model is the one that a single
    read of all rows would give. Where rows have ids, that is so to the bit. The order of the models makes
    no difference, nor does merging some of them first. While the sample holds all rows, `counts_` are exact.

    Parameters
    ----------
    models : sequence of fitted ViewPass
        With the same views and settings, no rows in common, and their samples: not saved with `rows=False`.

    Returns
    -------
    ViewPass
        A new model; it can predict, explain and learn more rows.

    Examples
    --------
    >>> import numpy as np
    >>> import viewpass as vp
    >>> rng = np.random.default_rng(0)
    >>> group = rng.integers(3, size=120)
    >>> X = 5 * np.eye(3)[group] + rng.standard_normal((120, 3))
    >>> parts = [vp.ViewPass(3, random_state=0).fit([X[part::2]]) for part in range(2)]
    >>> both = vp.merge(parts)
    >>> sum(both.counts_[0]).item()
    120
    """
    given = list(models)
    if not given:
        raise DataError("no model was given: pass a list of fitted models.")
    for number, model in enumerate(given):
        _check(model, number, given[0])
    first = min(given, key=lambda model: model._learnt.seed)
    made = first._continued()
    if len(given) == 1:
        return made
    made._learnt = merged([model._learnt for model in given], first._workspace())
    made._count_features(made._fitted_schema())
    return made


def _check(model: Any, number: int, first: ViewPass) -> None:
    if not isinstance(model, ViewPass):
        raise DataError(f"model {number} is a {type(model).__name__}: ViewPass models can be merged.")
    check_is_fitted(model)
    model._check_sample(f"model {number} cannot be merged")
    mine, theirs = model._learnt, first._learnt
    if mine.horizon.changing:
        raise SettingError(
            f"model {number} follows a stream (window=, half_life= or n_clusters='grow'): rows of several "
            "streams have no common order. Fit one model to all of them."
        )
    first._fitted_schema().merged(model._fitted_schema())
    if mine.plan.weight_unit != theirs.plan.weight_unit:
        which = (number, 0) if mine.plan.weight_unit > 1 else (0, number)
        raise SettingError(
            f"model {which[0]} uses fractional sample weights and model {which[1]} does not. Fit both with "
            "such weights, or neither."
        )
    if (mine.plan, mine.sample.size) != (theirs.plan, theirs.sample.size):
        differ = [name for name in SAME_SETTINGS if repr(getattr(model, name)) != repr(getattr(first, name))]
        name = (differ or ["n_clusters"])[0]  # a model that was cut has another number of clusters
        raise SettingError(
            f"model {number} has {name}={getattr(model, name)!r}, model 0 has {getattr(first, name)!r}: use "
            "the same settings."
        )
