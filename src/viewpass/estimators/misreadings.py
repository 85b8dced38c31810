"""Input that could be misread, or has no reading: refused with the call that says what is meant."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Set, ValuesView
from numbers import Number
from typing import Any

import numpy as np
import scipy.sparse

from viewpass.errors import DataError, SettingError, callers
from viewpass.sources.blocks import names_columns
from viewpass.sources.bundle import Bundle
from viewpass.sources.frames import holds_lists, is_frame, is_series
from viewpass.sources.modalities import is_anndata, is_mudata
from viewpass.sources.source import Source


def is_views(X: Any) -> bool:
    """Whether X is a collection of views rather than one 2-D array (which may be nested lists)."""
    if isinstance(X, Mapping | Bundle):
        return True
    return isinstance(X, list | tuple) and (not X or any(map(_is_view, X)))


def _is_view(x: Any) -> bool:
    """Whether an element of a list is a view; otherwise it is a row."""
    if isinstance(x, list | tuple):
        return bool(x) and (isinstance(x[0], list | tuple) or getattr(x[0], "ndim", 0) > 0)
    return x is None or isinstance(x, Mapping) or getattr(x, "ndim", 0) > 1 or is_frame(x)


def refuse_misreadings(X: Any) -> None:
    """Refuse what estimators would read wrongly or not at all; only lists and dicts are iterated over."""
    if isinstance(X, Source):
        return
    if isinstance(X, np.ndarray):
        _refuse_array(X)
    elif is_series(X):
        raise DataError(
            f"X is a {type(X).__name__}, one column. If its rows are lists, give it a name, as in "
            "{'text': X}; if they are numbers, give a frame (`X.to_frame()`)."
        )
    elif X is None or isinstance(X, Number | bytes | Set | ValuesView | Iterator):
        raise DataError(
            f"X is of type {type(X).__name__}; expected a list or dict with one matrix per view (`list(X)` "
            "of an iterator), one 2-D array, a frame or table, or the path of a file."
        )
    elif isinstance(X, list | tuple | Mapping):
        _refuse_collection(X)


def _refuse_array(X: Any) -> None:
    if isinstance(X, np.ma.MaskedArray):
        raise DataError("X is a masked array. Fill it with NaN (`.filled(np.nan)`), or pass observed=.")
    parts = X if X.dtype == object and X.ndim == 1 else ()
    n_dims = max((np.ndim(part) for part in parts if isinstance(part, list | np.ndarray)), default=0)
    if n_dims > 1 or X.ndim > 2:
        raise DataError(
            f"X has {X.ndim} dimension(s){' of matrices' if n_dims else ''}, 2 (rows x columns) were "
            "expected. If its parts are views, give a list of them: `list(X)`."
        )
    if n_dims:
        raise DataError("X is an array of rows, each an object of its own. Stack them: `np.stack(X)`.")


def _refuse_collection(X: Any) -> None:
    parts = X.values() if isinstance(X, Mapping) else X
    for part in parts:
        if is_anndata(part) or is_mudata(part):
            raise DataError(_of_omics(part, X))
    if isinstance(X, Mapping):
        return
    if is_views(X):
        _refuse_rows_as_dicts(X)
        _refuse_split_views(X)
    elif any(isinstance(x, np.ndarray) or (is_series(x) and not holds_lists(x)) for x in X):
        raise DataError(
            f"X is a list of {len(X)} one-dimensional arrays, which could be the rows of one matrix or views "
            "of one column each. Give `np.stack(X)` if they are rows, `[np.reshape(x, (-1, 1)) for x in X]` "
            "if they are views, and `[np.reshape(x, (1, -1)) for x in X]` for one row of every view."
        )


def _refuse_rows_as_dicts(X: Any) -> None:
    if X and all(isinstance(x, Mapping) and not scipy.sparse.issparse(x) for x in X):
        raise DataError(
            f"X is a list of {len(X)} dicts. If each is a row, give a table of them: `pandas.DataFrame(X)`; "
            "views go into one dict, {'image': matrix, 'text': matrix}."
        )


def _refuse_split_views(X: Any) -> None:
    """Refuse part of a list of views that scikit-learn's model selection took for a list of rows.

    It hands the estimator an ordinary list, so that only its own call says what it was given.
    """
    for frame in callers():
        if frame.f_globals.get("__name__", "").startswith("sklearn.model_selection."):
            given = frame.f_locals.get("X")
            if isinstance(given, list | tuple) and is_views(given):
                raise DataError(
                    f"scikit-learn's model selection splits a list of views into {len(given)} samples: each "
                    f"fit gets {len(X)} of the views, with all rows. Give one 2-D array, np.hstack(views) "
                    "with NaN for missing views, to an estimator with views=[x.shape[1] for x in views]."
                )


def refuse_ignored(X: Any, views: Any) -> None:
    """Refuse names of columns for data that has its views already."""
    if names_columns(views) and (isinstance(X, Source) or is_views(X)):
        where = "vp.scan(..., views=...)" if isinstance(X, Source) else "a dict, {'image': matrix, ...}"
        raise SettingError(
            f"views={views!r} names columns of one table, but X has its views already. "
            f"Name them there: {where}."
        )


def _of_omics(x: Any, within: Any) -> str:
    """What to give instead of a list or dict of AnnData or MuData."""
    mods = "X" if isinstance(within, Mapping) else "{'rna': X[0], ...}"
    return (
        f"X is a {type(within).__name__} of {type(x).__name__}. To match the rows of several AnnData by "
        f"their names, give vp.frames({mods}); a MuData may be given as it is."
    )
