"""What people hand to an estimator, turned into a source: views, frames, or one 2-D array cut into blocks."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import scipy.sparse

from viewpass.errors import DataError
from viewpass.sources.arrays import ArraySource
from viewpass.sources.blocks import cut
from viewpass.sources.source import Source


def is_views(X: Any) -> bool:
    """Whether X is a collection of views rather than one 2-D array (which may be nested lists)."""
    if isinstance(X, Mapping):
        return True
    if not isinstance(X, list | tuple):
        return False
    return any(x is None or getattr(x, "ndim", None) is not None or _is_frame(x) for x in X) and not (
        all(getattr(x, "ndim", None) == 0 or getattr(x, "ndim", None) == 1 for x in X)
    )


def _is_frame(x: Any) -> bool:
    return hasattr(x, "columns") and hasattr(x, "shape")


def views_source(X: Any, observed: Any, names: tuple[str, ...] | None) -> Source:
    """A source of several views; `names` are those of a fitted model, whose order it takes."""
    if isinstance(X, Source):
        if observed is not None:
            raise DataError("observed= goes with arrays; this source knows what is missing.")
        source: Source = X
    else:
        source = ArraySource(X, observed)
    return source if names is None else source.arranged(names)


def matrix_source(
    X: Any, observed: Any, views: Any, names: tuple[str, ...] | None, *, labelled: bool
) -> Source:
    """A source of one 2-D array that scikit-learn has validated, cut as `views` says."""
    if scipy.sparse.issparse(X):
        X = scipy.sparse.csr_array(X)
    blocks = cut(X, views)
    if all(block is None for block in blocks):
        blocks = [np.zeros((X.shape[0], 0)) for _ in blocks]
    source = ArraySource(blocks, observed)
    return source if names is None or not labelled else source.arranged(names)
