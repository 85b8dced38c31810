"""`vp.merge`: models fitted apart, where the data may not travel, put together."""

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
    """Put models together that were fitted on different rows of the same views.

    The sums of the merged model are those of all rows under the labels each model gave them, exactly, and
    its centres follow from them. What it cannot do is give rows to other clusters: a model fitted to all
    rows together would have. So it is as good as the clusters of the parts agree.

    Parameters
    ----------
    models : sequence of fitted OPIMC
        With the same views, `n_clusters`, `alpha` and `fill`, in the same scale (`scale="unit"`: what each
        learns by itself differs), with as many anchors or none, and no rows in common.
    match : {"auto", "index", "price"}, default="auto"
        Which clusters are the same: "index", those of the same number, for models that began with the
        same centres (`init=`); then the order of the models does not matter. "price", those that cost
        the objective the least when put together, found from the first model on, for models that began
        by themselves. "auto": "index" if all were given the same centres, otherwise "price".

    Returns
    -------
    OPIMC
        A new model with the settings of the first, numbered like it; it predicts, and goes on learning.

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
    learnt = merged([model._fitted_model() for model in given], first.alpha, first.fill, by_price=by_price)
    made = first._blank()
    made.n_features_in_ = sum(width or 0 for width in learnt.schema.widths)
    made.view_names_in_ = first.view_names_in_
    made._cut_by_views = first._cut_by_views
    if hasattr(first, "feature_names_in_"):
        made.feature_names_in_ = first.feature_names_in_
    stream = first._learnt.twin()
    rng = generator_from(generator_state(first._learnt.rng))
    assert isinstance(rng, np.random.Generator)
    stream.rng = rng
    stream.state = StreamState(learnt.schema, learnt, (), 0, learnt.n_rows, learnt.n_without_views)
    made._learnt = stream
    return made


def _check(model: Any, number: int, first: OPIMC) -> None:
    if not isinstance(model, OPIMC):
        raise DataError(f"model {number} is a {type(model).__name__}: OPIMC models can be merged.")
    check_is_fitted(model)
    if not model._learnt.started:
        raise DataError(
            f"model {number} has not begun: it still gathers rows for its start. Fit it to more rows, or "
            "with a smaller warmup."
        )
    for name in ("n_clusters", "alpha", "fill"):
        mine, theirs = getattr(model, name), getattr(first, name)
        if mine != theirs:
            raise SettingError(
                f"model {number} has {name}={mine!r}, the first has {theirs!r}: fit them alike."
            )
    learnt, other = model._fitted_model(), first._fitted_model()
    if (learnt.consensus, learnt.total.n_clusters) != (other.consensus, other.total.n_clusters):
        raise SettingError(
            f"model {number} has {_told(learnt)}, the first has {_told(other)}. Fit them with the same "
            "n_anchors and consensus, or with n_anchors=None."
        )
    if learnt.weights != other.weights:
        raise SettingError(
            f"model {number} has other view_weights_ than the first: sums of rows under different weights do "
            "not add up. Give both the same view_weights."
        )
    if not learnt.scaling.same(other.scaling):
        raise SettingError(
            f"model {number} has learnt another scale than the first: sums of rows in different scales do "
            "not add up. Fit them with scale='unit'."
        )


def _told(model: Model) -> str:
    if model.consensus == "plain":
        return f"{model.total.n_clusters} clusters"
    return f"{model.total.n_clusters} anchors ({model.consensus})"


def _same_start(models: Sequence[OPIMC]) -> bool:
    """Whether all were given the same centres to begin with."""
    starts = [_centres(model.init) for model in models]
    first = starts[0]
    if first is None:
        return False
    for other in starts:
        if other is None or len(other) != len(first):
            return False
        if not all(np.array_equal(a, b) for a, b in zip(first, other, strict=True)):
            return False
    return True


def _centres(init: Any) -> list[Any] | None:
    if isinstance(init, dict):
        init = [init[name] for name in sorted(init)]
    if not isinstance(init, list | tuple) or not init:
        return None
    parts = [np.asarray(part) for part in init]
    return parts if all(part.ndim == 2 for part in parts) else None
