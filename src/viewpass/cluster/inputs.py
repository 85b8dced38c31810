"""The inputs of estimators as sources: lists of views, frames, or one 2-D array cut into views."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import scipy.sparse

from viewpass.errors import DataError
from viewpass.sources.arrays import ArraySource
from viewpass.sources.blocks import cut
from viewpass.sources.bundle import Bundle
from viewpass.sources.frames import is_frame
from viewpass.sources.source import Source
from viewpass.views.checks import as_view


def is_views(X: Any) -> bool:
    """Whether X is a collection of views rather than one 2-D array (which may be nested lists).

    What scikit-learn would misread as an array is refused here.
    """
    if isinstance(X, Mapping | Bundle):
        return True
    if isinstance(X, list | tuple):
        return not X or any(_is_view(x) for x in X)
    if isinstance(X, np.ma.MaskedArray):
        raise DataError("X is a masked array. Fill it with NaN (`.filled(np.nan)`), or pass observed=.")
    if hasattr(X, "collect_schema") and not is_frame(X):
        raise DataError(f"X is a {type(X).__name__}; give vp.scan(X), or collect it first.")
    return False


def _is_view(x: Any) -> bool:
    """Whether an element of a list is a view; otherwise it is a row."""
    if isinstance(x, list | tuple):
        return bool(x) and (isinstance(x[0], list | tuple) or getattr(x[0], "ndim", 0) > 0)
    return x is None or isinstance(x, Mapping) or getattr(x, "ndim", 0) > 1 or is_frame(x)


def views_source(X: Any, observed: Any, names: tuple[str, ...] | None) -> Source:
    """A source of several views; `names` are those of a fitted model, whose order it takes."""
    if isinstance(X, Source):
        if observed is not None:
            raise DataError("observed= is for arrays: this source knows which views are missing.")
        source: Source = X
    elif isinstance(X, Bundle):
        source = ArraySource(X.views, X.observed if observed is None else observed)
    else:
        source = ArraySource(X, observed)
    return source if names is None else source.arranged(names)


def matrix_source(
    X: Any, observed: Any, views: Any, names: tuple[str, ...] | None, *, labelled: bool
) -> Source:
    """A source of one 2-D array that scikit-learn has validated, cut as `views` says."""
    if scipy.sparse.issparse(X):
        X = as_view(X, "X")
    blocks = cut(X, views)
    if all(block is None for block in blocks):
        blocks = [np.zeros((X.shape[0], 0)) for _ in blocks]
    source = ArraySource(blocks, observed)
    return source if names is None or not labelled else source.arranged(names)
