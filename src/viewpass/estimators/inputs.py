"""What users give estimators, as sources: lists of views, files, tables, or one 2-D array cut into views.

Input that could be misread, or has no reading, is refused with the call that says what is meant.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence, Set, ValuesView
from contextlib import contextmanager
from numbers import Number
from typing import Any

import narwhals.stable.v1 as nw
import numpy as np
import scipy.sparse

from viewpass.errors import DataError, SettingError, callers, warn
from viewpass.sources.arrays import ArraySource
from viewpass.sources.blocks import columns_of, cut, listed, named_views, pick
from viewpass.sources.bundle import Bundle
from viewpass.sources.ids import MOST_NAMED
from viewpass.sources.kinds import (
    holds_lists,
    is_anndata,
    is_frame,
    is_mudata,
    is_path,
    is_relation,
    is_series,
    list_columns,
    names_columns,
)
from viewpass.sources.masks import as_mask
from viewpass.sources.mudata import from_mudata
from viewpass.sources.scan import scan
from viewpass.sources.source import Source
from viewpass.views.checks import as_view
from viewpass.views.chunk import Schema, default_names


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


def opened(X: Any, views: Any, names: tuple[str, ...] | None = None, columns: Any = None) -> Any:
    """Make a source of what `vp.scan` reads; arrays, and frames of numbers, are returned.

    `names` and `columns` are the views and the columns of a fitted model. Of a frame whose columns `views=`
    names, only these are returned.
    """
    if scipy.sparse.issparse(X):
        return X.tocsr() if X.format == "dok" else X  # which is a dict, too
    if is_mudata(X) or is_anndata(X):
        return _of_modalities(X, views)
    if reads_once(X):
        return _scanned(X, views)
    refuse_misreadings(X)
    if isinstance(X, Source | Bundle | np.ndarray):
        return X
    if is_path(X) or (isinstance(X, list | tuple | Mapping) and any(map(is_path, _parts(X)))):
        return _scanned(X, views)
    if isinstance(X, list | tuple | Mapping):
        parts = list(_parts(X))
        if not parts or not all(is_series(x) and holds_lists(x) for x in parts):
            return X
        if not isinstance(X, Mapping):
            places = names if names and len(names) == len(parts) else default_names(len(parts))
            X = dict(zip(places, parts, strict=True))
        return scan(X)
    if is_frame(X):
        return _frame(X, views, names, columns)
    return X


def reads_once(X: Any) -> bool:
    """Whether X is a stream, a relation or a lazy frame."""
    if is_frame(X) or is_series(X):
        return False
    return hasattr(X, "collect_schema") or hasattr(X, "__arrow_c_stream__") or is_relation(X)


def _parts(X: Any) -> Any:
    return X.values() if isinstance(X, Mapping) else X


def _scanned(X: Any, views: Any) -> Source:
    if views is not None and not names_columns(views):
        raise SettingError(
            f"views={views!r} cuts the columns of an array, but X is read as a table. Name the columns of "
            "each view, as in views={'image': 'image_emb', 'text': 'txt_*'}, or leave views= out to take "
            "every column of lists."
        )
    return scan(X, views)


def _of_modalities(X: Any, views: Any) -> Source:
    if views is not None:
        raise SettingError(
            f"views={views!r}: the views of a {type(X).__name__} are its modalities. Choose some of them "
            "with vp.from_mudata(X, modalities=[...]), and leave views= out."
        )
    return from_mudata(X)


def _frame(X: Any, views: Any, names: tuple[str, ...] | None, columns: Any) -> Any:
    """A frame of numbers, or the source of a frame that has lists."""
    if not names_columns(views):
        return _scanned(X, views) if list_columns(X) else X
    if columns is None and (names is not None or list_columns(X)):
        return scan(X, views)
    table = nw.from_native(X, eager_only=True)
    place = {column: number for number, column in enumerate(table.columns)}
    if columns is None:
        each = (columns_of(list(place), name, given) for name, given in named_views(views).items())
        columns = dict.fromkeys(column for own in each for column in own)
    for column in columns:
        if column not in place:
            raise DataError(f"X has no column {column!r}; {listed(list(place))}.")
    return table[:, [place[column] for column in columns]].to_native()


def warn_left_out(source: Source, views: Any) -> None:
    """Say which columns of a table are no views, unless `views=` says which are."""
    if not source.left_out or views is not None:
        return
    several = len(source.left_out) > 1
    warn(
        f"column{'s' if several else ''} {_few(source.left_out)} hold{'' if several else 's'} no lists and "
        f"{'were' if several else 'was'} left out; the views are {_few(source.schema.names)}. "
        "vp.scan(X, views=[...], id=...) chooses views and id, and does not warn."
    )


def _few(names: Sequence[Any]) -> str:
    more = len(names) - MOST_NAMED
    return ", ".join(map(repr, names[:MOST_NAMED])) + (f" and {more} more" if more > 0 else "")


def views_source(X: Any, observed: Any, names: tuple[str, ...] | None) -> Source:
    """A source of several views; `names` are those of a fitted model, which views in a list have."""
    if isinstance(X, Source):
        if observed is not None:
            raise DataError("observed= is for arrays: this source knows which views are missing.")
        return X
    if isinstance(X, Bundle):
        return ArraySource(X.views, X.observed if observed is None else observed)
    if isinstance(X, Mapping) or names is None or len(names) != len(X):
        return ArraySource(X, observed)
    return ArraySource(X, observed, names=names)


def index_of(X: Any) -> Any:
    """The index (or the ids) of the rows of several views; None where they have none."""
    if isinstance(X, Source):
        return X.row_ids
    if is_mudata(X) or is_anndata(X):
        return X.obs_names
    views = X.values() if isinstance(X, Mapping) else X if isinstance(X, list | tuple) else ()
    return next((x.index for x in views if is_frame(x) and hasattr(x, "index")), None)


def matrix_source(
    X: Any, given: Any, observed: Any, views: Any, *, names: tuple[str, ...] | None, columns: Any
) -> Source:
    """A source of one 2-D array that scikit-learn has validated, cut as `views` says.

    `given` is what it was made of; `names` are the views of a fitted model, `columns` those of the array.
    """
    if scipy.sparse.issparse(X):
        X = as_view(X, "X")
    own = None
    if names_columns(views):
        if columns is None:
            raise SettingError(
                f"views={views!r} names columns, but X is an array without names. Give a frame (of a "
                'ColumnTransformer with `.set_output(transform="pandas")`), or the widths of the views.'
            )
        blocks = pick(X, list(columns), views)
        own, parts = tuple(blocks), list(blocks.values())
    else:
        parts = cut(X, views)
        if all(block is None for block in parts):
            parts = [np.zeros((X.shape[0], 0)) for _ in parts]
    if observed is not None:
        index = given.index if is_frame(given) and hasattr(given, "index") else None
        observed = as_mask(observed, own or names or default_names(len(parts)), index)
    return ArraySource(parts, observed, names=own)


@contextmanager
def explaining(X: Any, fitted: Callable[[], str] | None) -> Iterator[None]:
    """Errors about data that does not fit, scikit-learn's included, as DataErrors that say what would."""
    try:
        yield
    except SettingError:
        raise
    except ValueError as problem:
        text = str(problem).rstrip()
        if is_frame(X) and "convert" in text:
            text = _text_column(X) or text
        if fitted is not None:
            text += ("\n" if "\n" in text else " ") + fitted()
        raise DataError.of_lines(text) from None


def _text_column(X: Any) -> str:
    """What to do about the first column of a frame that holds no numbers; "" if there is none."""
    for column, dtype in nw.from_native(X, eager_only=True).schema.items():
        if not (dtype.is_numeric() or dtype in (nw.Boolean, nw.Unknown)):
            return (
                f"X, column {column!r} holds text or other values that are no numbers. Leave it out, or name "
                "the columns of each view, as in views={'image': 'img_*', 'text': ['t0', 't1']}."
            )
    return ""


def fitted_on(schema: Schema, one_array: bool, n_columns: int, columns: Any) -> str:
    """A sentence on what a model was fitted on, for errors about data that does not fit it."""
    widths = (
        f"{name!r} ({'no row had it' if width is None else f'{width} columns'})"
        for name, width in zip(schema.names, schema.widths, strict=True)
    )
    views = ", ".join(widths)
    if one_array:
        named = "" if columns is None else f" ({_few(list(columns))})"
        cut = f", cut into the views {views}" if len(schema.names) > 1 else ""
        return f"The model was fitted on one array or frame of {n_columns} columns{named}{cut}."
    return (
        f"The model was fitted on the views {views}. Give a list of these, a dict by name (absent ones may "
        "be left out), or a table with columns of these names."
    )
