"""`vp.merge`: combines models fitted on different rows, for data that cannot be brought together."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from sklearn.utils.validation import check_is_fitted

from viewpass.cluster.opimc import OPIMC
from viewpass.core.model import Model, StreamState
from viewpass.engine.model_merging import merged
from viewpass.errors import DataError, SettingError
from viewpass.store.container.generators import generator_from, generator_state

MATCHES = ("auto", "index", "price")


def merge(models: Sequence[OPIMC], match: str = "auto") -> OPIMC:
    """Merge models that were fitted on different rows of the same views.

    The statistics of the merged model are exactly those of all rows under the labels each model gave them,
    and its centres follow from them. Rows are not reassigned, as they would be in a fit on all rows: the
    result is as good as the clusters of the models agree.

    Parameters
    ----------
    models : sequence of fitted OPIMC
        With the same views, `n_clusters`, `alpha` and `fill`, the same scale (use `scale="unit"`: learnt
        scales differ between models), the same number of anchors or none, and no rows in common. Where
        `alpha="auto"` found different ridges, they are estimated again from all sums.
    match : {"auto", "index", "price"}, default="auto"
        How clusters are matched. "index": by their number, for models that started from the same centres
        (`init=`); the order of the models does not matter. "price": so that merging raises the objective
        least, one model after another, for models that started independently. "auto": "index" if all were
        given the same centres, otherwise "price".

    Returns
    -------
    OPIMC
        A new model with the settings and cluster numbers of the first; it can predict and learn more rows.

    Examples
    --------
    >>> import numpy as np
    >>> import viewpass as vp
    >>> rng = np.random.default_rng(0)
    >>> group = rng.integers(3, size=120)
    >>> X = 5 * np.eye(3)[group] + rng.standard_normal((120, 3))
    >>> settings = {"scale": "unit", "n_anchors": None}
    >>> parts = [vp.OPIMC(3, random_state=seed, **settings).fit([X[seed::2]]) for seed in range(2)]
    >>> both = vp.merge(parts)
    >>> sum(both.counts_[0]).item()
    120
    """
    if match not in MATCHES:
        raise SettingError(f"match={match!r}: one of {', '.join(map(repr, MATCHES))} was expected.")
    given = list(models)
    if not given:
        raise DataError("no model was given: pass a list of fitted models.")
    for number, model in enumerate(given):
        _check(model, number, given[0])
    by_price = match == "price" or (match == "auto" and not _same_start(given))
    first = given[0]
    learnt = merged([model._fitted_model() for model in given], first.fill, by_price=by_price)
    made = first._blank()
    made.n_features_in_ = first.n_features_in_
    made.view_names_in_ = first.view_names_in_
    made._cut_by_views = first._cut_by_views
    made._count_features(learnt.schema)
    if hasattr(first, "feature_names_in_"):
        made.feature_names_in_ = first.feature_names_in_
    stream = first._learnt.twin()
    rng = generator_from(generator_state(first._learnt.rng))
    assert isinstance(rng, np.random.Generator)
    stream.rng = rng
    stream.state = StreamState(learnt.schema, learnt, (), 0, learnt.read)
    made._learnt = stream
    return made


def _check(model: Any, number: int, first: OPIMC) -> None:
    if not isinstance(model, OPIMC):
        raise DataError(f"model {number} is a {type(model).__name__}: OPIMC models can be merged.")
    check_is_fitted(model)
    if not model._learnt.started:
        raise DataError(
            f"model {number} has no centres yet: it is still gathering rows for its warm-up. Fit it to more "
            "rows, or with a smaller warmup."
        )
    for name in ("n_clusters", "alpha", "fill"):
        mine, theirs = getattr(model, name), getattr(first, name)
        if mine != theirs:
            raise SettingError(
                f"model {number} has {name}={mine!r}, the first has {theirs!r}: use the same settings."
            )
    learnt, other = model._fitted_model(), first._fitted_model()
    if (learnt.consensus, learnt.total.n_clusters) != (other.consensus, other.total.n_clusters):
        raise SettingError(
            f"model {number} has {_described(learnt)}, the first has {_described(other)}. Fit them with the "
            "same n_anchors and consensus and adaptive_anchors=False, or with n_anchors=None."
        )
    if (learnt.growth is None) != (other.growth is None):
        raise SettingError(
            f"model {number} and the first do not both have anchors that are born and merge. Fit both with "
            "the same adaptive_anchors."
        )
    if learnt.weights != other.weights:
        raise SettingError(
            f"model {number} has other view_weights_ than the first: statistics under different weights do "
            "not add up. Give both the same view_weights."
        )
    if learnt.weight_unit != other.weight_unit:
        raise SettingError(
            f"model {number} and the first do not both have sample weights that are not whole numbers. Fit "
            "both with such weights, or neither."
        )
    if not learnt.scaling.same(other.scaling):
        mapped = learnt.scaling.projection is not None or other.scaling.projection is not None
        raise SettingError(
            f"model {number} has learnt another scale {'or map ' if mapped else ''}than the first: "
            f"statistics in different scales do not add up. Fit them with scale='unit'"
            f"{' and projection=None' if mapped else ''}."
        )


def _described(model: Model) -> str:
    if model.consensus == "plain":
        return f"{model.total.n_clusters} clusters"
    return f"{model.total.n_clusters} anchors ({model.consensus})"


def _same_start(models: Sequence[OPIMC]) -> bool:
    """Whether all models were given the same initial centres."""
    first, *others = (_given_centres(model.init) for model in models)
    return first is not None and all(
        other is not None and len(other) == len(first) and all(map(np.array_equal, first, other))
        for other in others
    )


def _given_centres(init: Any) -> list[Any] | None:
    if isinstance(init, dict):
        init = [init[name] for name in sorted(init)]
    if not isinstance(init, list | tuple) or not init:
        return None
    parts = [np.asarray(part) for part in init]
    return parts if all(part.ndim == 2 for part in parts) else None
