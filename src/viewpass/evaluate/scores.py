"""Scores of a clustering against known classes.

No score depends on the names of clusters and classes. Labels are integers or strings.
In `predicted`, -1 means a row without any view, as in `labels_`: `accuracy` counts such rows as
errors, never matched to a class; for the other scores they are an ordinary cluster.
"""

from __future__ import annotations

from numbers import Integral
from typing import Any, Literal, TypeAlias, get_args

import numpy as np
import numpy.typing as npt
from scipy.optimize import linear_sum_assignment
from sklearn.metrics import adjusted_rand_score, normalized_mutual_info_score
from sklearn.metrics.cluster import contingency_matrix

from viewpass.errors import DataError, SettingError

Average: TypeAlias = Literal["geometric", "max", "arithmetic"]
Codes: TypeAlias = npt.NDArray[np.int64]

UNSEEN = -1


def accuracy(true: npt.ArrayLike, predicted: npt.ArrayLike) -> float:
    """Share of rows that are right under the best one-to-one match of clusters to classes.

    This is the AC or ACC of the multi-view papers. The numbers of clusters and classes may differ:
    rows of a cluster left without a class are errors, and so are rows predicted -1.

    Parameters
    ----------
    true : array-like of shape (n_rows,)
        Known classes.
    predicted : array-like of shape (n_rows,)
        Clusters; -1 for a row without any view.

    Returns
    -------
    float
        Between 0 and 1.

    Raises
    ------
    DataError
        If the two differ in length, are empty or not one-dimensional, or contain invalid labels.

    Examples
    --------
    >>> from viewpass.evaluate import accuracy
    >>> accuracy([0, 0, 1, 1], [5, 5, 3, 5])
    0.75
    >>> accuracy(["cat", "cat", "dog", "dog"], [0, 0, 1, -1])
    0.75
    """
    return _accuracy(*_coded(true, predicted))


def nmi(true: npt.ArrayLike, predicted: npt.ArrayLike, *, average: Average = "geometric") -> float:
    """Mutual information of clusters and classes, divided by an average of their entropies.

    Papers differ in the average, and results are ordered max <= arithmetic <= geometric: state
    which one you report. The OPIMC paper most probably uses the geometric one.

    Arguments and errors are as in `accuracy`, but -1 is a cluster like any other.

    Parameters
    ----------
    average : {"geometric", "max", "arithmetic"}
        The average of the two entropies to divide by.

    Returns
    -------
    float
        Between 0 and 1.

    Examples
    --------
    >>> from viewpass.evaluate import nmi
    >>> round(nmi([0, 0, 1, 1], [0, 0, 1, 2]), 3)
    0.816
    >>> round(nmi([0, 0, 1, 1], [0, 0, 1, 2], average="max"), 3)
    0.667
    """
    if average not in get_args(Average):
        raise SettingError(f"average is {average!r}. Pass one of {', '.join(map(repr, get_args(Average)))}.")
    return _nmi(*_coded(true, predicted), average)


def ari(true: npt.ArrayLike, predicted: npt.ArrayLike) -> float:
    """Adjusted Rand index: agreement on pairs of rows, 0 on average for random labels.

    Between -0.5 and 1. Arguments and errors are as in `accuracy`, but -1 is a cluster like any other.

    Examples
    --------
    >>> from viewpass.evaluate import ari
    >>> ari([0, 0, 1, 1], [1, 1, 0, 0])
    1.0
    """
    return _ari(*_coded(true, predicted))


def purity(true: npt.ArrayLike, predicted: npt.ArrayLike) -> float:
    """Share of rows that belong to the largest class of their cluster.

    It grows with the number of clusters, up to 1 for one cluster per row: compare it at equal numbers
    only.

    Above 0, and at most 1. Arguments and errors are as in `accuracy`, but -1 is a cluster like any other.

    Examples
    --------
    >>> from viewpass.evaluate import purity
    >>> purity([0, 0, 1, 1], [0, 0, 0, 1])
    0.75
    """
    return _purity(*_coded(true, predicted))


def pair_f(true: npt.ArrayLike, predicted: npt.ArrayLike) -> float:
    """F score over pairs of rows: precision and recall of "both in one cluster" for "both of one class".

    Between 0 and 1. Arguments and errors are as in `accuracy`, but -1 is a cluster like any other.

    Examples
    --------
    >>> from viewpass.evaluate import pair_f
    >>> pair_f([0, 0, 1, 1], [1, 1, 0, 0]), round(pair_f([0, 0, 1, 1], [0, 0, 0, 1]), 3)
    (1.0, 0.4)
    """
    return _pair_f(*_coded(true, predicted))


def scores(true: npt.ArrayLike, predicted: npt.ArrayLike) -> dict[str, float]:
    """Compute all scores at once.

    Arguments and errors are as in `accuracy`.

    Returns
    -------
    dict of str to float
        "acc", "nmi" (geometric), "nmi_max", "nmi_arithmetic", "ari", "purity" and "f" (`pair_f`).

    Examples
    --------
    >>> from viewpass.evaluate import scores
    >>> found = scores([0, 0, 1, 1], [0, 0, 1, 2])
    >>> found["acc"], round(found["nmi_arithmetic"], 3), found["purity"]
    (0.75, 0.8, 1.0)
    """
    classes, clusters = _coded(true, predicted)
    return {
        "acc": _accuracy(classes, clusters),
        "nmi": _nmi(classes, clusters, "geometric"),
        "nmi_max": _nmi(classes, clusters, "max"),
        "nmi_arithmetic": _nmi(classes, clusters, "arithmetic"),
        "ari": _ari(classes, clusters),
        "purity": _purity(classes, clusters),
        "f": _pair_f(classes, clusters),
    }


def _accuracy(classes: Codes, clusters: Codes) -> float:
    seen = clusters != UNSEEN
    if not seen.any():
        return 0.0
    counts = contingency_matrix(classes[seen], clusters[seen])
    matched = counts[linear_sum_assignment(counts, maximize=True)]
    return float(matched.sum() / classes.size)


def _nmi(classes: Codes, clusters: Codes, average: Average) -> float:
    value = normalized_mutual_info_score(classes, clusters, average_method=average)
    # Rounding can give a perfect score slightly above 1.
    return float(np.clip(value, 0.0, 1.0))


def _ari(classes: Codes, clusters: Codes) -> float:
    return float(adjusted_rand_score(classes, clusters))


def _purity(classes: Codes, clusters: Codes) -> float:
    # Sparse: with one cluster per row, which is allowed, a dense table would be rows x classes.
    counts = contingency_matrix(classes, clusters, sparse=True)
    return float(counts.max(axis=0).sum() / classes.size)


def _pair_f(classes: Codes, clusters: Codes) -> float:
    counts = contingency_matrix(classes, clusters, sparse=True).astype(np.float64)

    def pairs(sizes: Any) -> float:
        return float((np.square(sizes) - sizes).sum() / 2)

    together = pairs(counts.sum(axis=0)) + pairs(counts.sum(axis=1))
    return 2 * pairs(counts.data) / together if together else 1.0


def _coded(true: npt.ArrayLike, predicted: npt.ArrayLike) -> tuple[Codes, Codes]:
    """Check both labelings and number their labels; rows without any view stay -1."""
    classes = _checked("true", true)
    clusters = _checked("predicted", predicted)
    if classes.size != clusters.size:
        raise DataError(
            f"true has {classes.size} labels and predicted has {clusters.size}. "
            "Both must describe the same rows: pass one label per row, in the same order."
        )
    class_codes = _numbered(classes)
    cluster_codes = _numbered(clusters)
    if clusters.dtype.kind not in "US":
        cluster_codes[clusters == UNSEEN] = UNSEEN
    return class_codes, cluster_codes


def _numbered(labels: npt.NDArray[Any]) -> Codes:
    return np.unique(labels, return_inverse=True)[1].astype(np.int64)


def _checked(name: str, labels: npt.ArrayLike) -> npt.NDArray[Any]:
    try:
        array = np.asarray(labels)
    except ValueError as error:  # lists of unequal lengths
        raise DataError(f"{name} is not a flat list of labels. Pass one label per row.") from error
    if array.ndim != 1:
        raise DataError(
            f"{name} has shape {array.shape}. "
            "Labels must be one-dimensional: pass one label per row, for example with .ravel()."
        )
    if array.size == 0:
        raise DataError(f"{name} is empty. Pass the label of at least one row.")
    wrong = _not_labels(array)
    if wrong.any():
        row = int(wrong.argmax())
        raise DataError(
            f"{name}, row {row}: {array[row]!s} is not a label. "
            "Labels are integers, or all strings: drop such rows, or give them a class."
        )
    return array


def _not_labels(array: npt.NDArray[Any]) -> npt.NDArray[np.bool_]:
    kind = array.dtype.kind
    if kind in "biuUS":
        return np.zeros(array.size, dtype=np.bool_)
    if kind == "f":
        return np.asarray(~np.isfinite(array) | (array != np.rint(array)))
    if kind == "O":  # pandas gives strings, and integers with missing values, as objects
        wanted = str if isinstance(array[0], str) else Integral
        return np.array([not isinstance(label, wanted) for label in array], dtype=np.bool_)
    return np.ones(array.size, dtype=np.bool_)
