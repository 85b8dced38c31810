"""The methods of `ViewPass` that give reasons: how sure, which view, how unusual, what is missing."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import fields
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np
import scipy.sparse
from sklearn.utils.validation import check_is_fitted

from viewpass.errors import NotCalibratedError
from viewpass.kernels.grid import Floats, Mask, Matrix
from viewpass.labels import frames
from viewpass.model.calibration import Calibration
from viewpass.model.model import Model, prepare
from viewpass.reasons.calibrate import calibration_of
from viewpass.reasons.confidence import Stability, confidences, probabilities
from viewpass.reasons.confidence import stability as stability_of
from viewpass.reasons.contributions import Explanation, contributions
from viewpass.reasons.imputation import Imputed, imputed
from viewpass.reasons.outliers import outlier_scores, outliers
from viewpass.sums.rules import Workspace
from viewpass.views.chunk import Chunk
from viewpass.views.rows import MeasuredRows

if TYPE_CHECKING:
    from viewpass.estimators.viewpass import ViewPass

T = TypeVar("T")


def predict_proba(self: ViewPass, X: Any, observed: Any = None) -> Floats:
    """Probabilities of the clusters; the largest is that of the label, and `confidence`.

    The probability of the label is measured on the sample: among rows with the same views and a
    similar margin, the share that keep their label when all views are known. So rows with different
    views can be compared. The rest is divided among the other clusters by how far they are. With anchors,
    distances are those of the row's soft assignment. A row without any view gets NaN.

    Returns
    -------
    probabilities : (n, n_clusters) array of float64

    Examples
    --------
    >>> import numpy as np
    >>> import viewpass as vp
    >>> rng = np.random.default_rng(0)
    >>> centre = np.repeat(np.eye(3), 100, axis=0)
    >>> image, text = (centre + 0.4 * rng.standard_normal((300, 3)) for _ in range(2))
    >>> model = vp.ViewPass(n_clusters=3, random_state=0).fit([image, text])
    >>> sure, less = model.confidence([image, text]), model.confidence([image, None])
    >>> bool(sure.mean() > less.mean())
    True
    """
    learnt = _calibration(self)
    return np.concatenate(
        [probabilities(rows, model, learnt, work) for _, rows, model, work in _measured(self, X, observed)]
    )


def confidence(self: ViewPass, X: Any, observed: Any = None) -> Floats:
    """The probability of each row's label: the largest entry of `predict_proba`; NaN without any view.

    Returns
    -------
    confidence : (n,) array of float64
    """
    learnt = _calibration(self)
    return np.concatenate(
        [confidences(rows, model, learnt, work) for _, rows, model, work in _measured(self, X, observed)]
    )


def outlier_score(self: ViewPass, X: Any, observed: Any = None) -> Floats:
    """How unusual each row is among rows that have the same views; higher is farther out.

    A score s means that a share of about exp(-s) of such rows of the sample are farther from their
    nearest centre. NaN for a row without any view, or with views that no row of the sample had.

    Returns
    -------
    scores : (n,) array of float64
    """
    learnt = _calibration(self)
    return np.concatenate(
        [outlier_scores(rows, model, learnt, work) for _, rows, model, work in _measured(self, X, observed)]
    )


def is_outlier(self: ViewPass, X: Any, observed: Any = None) -> Mask:
    """Which rows are far from all clusters, for rows that have the same views.

    Such a row is farther above their median distance than 3.45 times the way from the lower quartile to the
    median: of normally distributed distances, 1 %. `ViewPass(robust=True)` keeps such rows out of centres.

    Returns
    -------
    outliers : (n,) array of bool
    """
    learnt = _calibration(self)
    return np.concatenate(
        [outliers(rows, model, learnt, work) for _, rows, model, work in _measured(self, X, observed)]
    )


def score_samples(self: ViewPass, X: Any, observed: Any = None) -> Floats:
    """The negative of `outlier_score`: lower is farther out, as elsewhere in scikit-learn."""
    return -self.outlier_score(X, observed)


def explain(self: ViewPass, X: Any, observed: Any = None, *, features: bool = False) -> Explanation:
    """Which views (and columns, with `features`) decided between the label and the next cluster.

    Squared distances are sums over views and their columns, so the margin by which the next cluster is
    farther is one as well. With anchors, the distances are to the nearest anchor of each of the two
    clusters. The margin is negative where the row's nearest anchor does not belong to the cluster of most
    of its neighbours. Columns need the memory of dense rows.

    Returns
    -------
    Explanation

    Examples
    --------
    >>> import numpy as np
    >>> import viewpass as vp
    >>> image, text = np.repeat(np.eye(2), 10, axis=0), np.repeat([[1.0, 0.1], [0.9, 0.2]], 10, axis=0)
    >>> model = vp.ViewPass(n_clusters=2, random_state=0).fit({"image": image, "text": text})
    >>> why = model.explain({"image": image[:1], "text": text[:1]})
    >>> why.view_names[why.views[0].argmax()], bool(np.isclose(why.views.sum(), why.margins[0]))
    ('image', True)
    """
    parts = _measured(self, X, observed)
    return _joined([contributions(rows, model, work, features=features) for _, rows, model, work in parts])


def stability(self: ViewPass, X: Any, observed: Any = None) -> Stability:
    """The labels that rows would have with each of their views dropped, and whether they agree.

    Returns
    -------
    Stability
    """
    parts = _measured(self, X, observed)
    return _joined([stability_of(rows, model, work) for _, rows, model, work in parts])


def impute(self: ViewPass, X: Any, observed: Any = None) -> Imputed:
    """Rows with their missing views estimated from rows near them, in the data's own units.

    An estimate is a mixture of the anchors nearest to the row (without anchors, the centre of its
    cluster), moved towards the mean of all rows by the factor that suited hidden views of the sample
    best. Where the mean alone did as well, the estimate is the mean, and `known` is False.

    Returns
    -------
    Imputed
        A dense view comes as a dense array, a sparse one as CSR, whose estimated rows store all columns.
    """
    learnt, parts = _calibration(self), _measured(self, X, observed)
    return _joined([imputed(chunk, rows, model, learnt, work) for chunk, rows, model, work in parts])


def labels_frame(
    self: ViewPass,
    X: Any,
    observed: Any = None,
    *,
    keep: Sequence[str] = (),
    names: Sequence[str] = (),
    proba: bool = False,
    explain: bool = False,
    kind: str = "pandas",
) -> Any:
    """Rows with their labels as a frame: what a label file holds, in memory.

    Its columns are the id under its own name (or row numbers, as `id`), those of `keep`, then `cluster`,
    `distance`, `margin`, `views_seen`, `has_views` (their names) and `confidence`.

    Parameters
    ----------
    X, observed : as for `predict`
    keep : list of str
        Columns of a table (`vp.scan`) to have beside the labels.
    names : list of str
        Columns of the table (text, categories, numbers) to name clusters by; they are kept, and
        `cluster_name` is added. Or views whose columns have names (frames, MuData): clusters are named by
        the features that differ most from the mean of all rows.
    proba : bool, default=False
        Also `probability_0`, `probability_1` and so on.
    explain : bool, default=False
        Also `runner_up`, `part_` and the name of each view (its part of the margin), `outlier_score`,
        `outlier` (as `is_outlier`) and `stable`.
    kind : {"pandas", "polars", "arrow"}, default="pandas"

    Returns
    -------
    frame
    """
    check_is_fitted(self)
    source = self._read(X, observed, reset=False)
    return frames.labels_frame(self, source, keep, names, proba, explain, kind=kind)


def _calibration(estimator: ViewPass) -> Calibration:
    check_is_fitted(estimator)
    learnt = calibration_of(estimator._fitted_model(), estimator._workspace())
    if learnt is None:
        raise NotCalibratedError(
            "probabilities, outlier scores and estimates are learnt from the model's sample, and it has "
            "none: it was saved by save(rows=False), or no row had a view."
        )
    return learnt


def _measured(
    estimator: ViewPass, X: Any, observed: Any
) -> Iterator[tuple[Chunk, MeasuredRows, Model, Workspace]]:
    """The rows chunk by chunk: as given, and as the model compares them."""
    check_is_fitted(estimator)
    source = estimator._read(X, observed, reset=False)
    model, workspace = estimator._fitted_model(), estimator._workspace(source)
    for chunk in estimator._blocks_of(source):
        yield chunk, prepare(chunk, model, workspace).measure(workspace.n_threads), model, workspace


def _joined(parts: Sequence[T]) -> T:
    """Results of consecutive rows as one; what is no array or list of arrays is that of the first."""

    def whole(values: list[Any]) -> Any:
        if isinstance(values[0], list):
            return [whole(list(each)) for each in zip(*values, strict=True)]
        return _stacked(values) if hasattr(values[0], "dtype") else values[0]

    first: Any = parts[0]
    joined: T = type(first)(*(whole([getattr(part, own.name) for part in parts]) for own in fields(first)))
    return joined


def _stacked(parts: list[Matrix]) -> Matrix:
    if any(map(scipy.sparse.issparse, parts)):
        return scipy.sparse.vstack([scipy.sparse.csr_array(part) for part in parts], format="csr")
    return np.concatenate(parts)
