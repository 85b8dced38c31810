"""One 2-D array whose columns are cut into views: the door for Pipeline and GridSearchCV."""

from __future__ import annotations

from collections.abc import Sequence
from numbers import Integral
from typing import Any

import numpy as np
import scipy.sparse

from viewpass.errors import DataError, SettingError
from viewpass.views.checks import check_columns


def block_widths(views: Any, n_columns: int) -> list[int]:
    """Turn `views=` into column counts: None (one view), a number of near-equal blocks, or widths.

    >>> block_widths([2, -1], 5)
    [2, 3]
    >>> block_widths(2, 5)
    [3, 2]
    """
    if views is None:
        return [n_columns]
    if isinstance(views, Integral) and not isinstance(views, bool):
        n_views = int(views)
        if n_views < 1:
            raise SettingError(f"views={views!r}: at least one block of columns is needed.")
        part, rest = divmod(n_columns, n_views)
        return [part + (v < rest) for v in range(n_views)]
    if isinstance(views, np.ndarray) and views.ndim == 1:
        views = views.tolist()
    if not isinstance(views, Sequence) or isinstance(views, str | bytes):
        raise SettingError(_explain(views))
    if not all(isinstance(width, int | np.integer) and not isinstance(width, bool) for width in views):
        raise SettingError(_explain(views))
    widths = [int(width) for width in views]
    if not widths or min(widths) < -1 or widths.count(-1) > 1:
        raise SettingError(_explain(views))
    if -1 in widths:
        rest = n_columns - sum(width for width in widths if width >= 0)
        widths[widths.index(-1)] = rest
    if min(widths) < 0 or sum(widths) != n_columns:
        raise DataError(
            f"views={list(views)!r} do not add up to the {n_columns} columns of X. "
            "Give one of the widths as -1 to let it take the rest."
        )
    return widths


def _explain(views: Any) -> str:
    return (
        f"views={views!r}: expected the width of each block (one of them may be -1 for the rest), "
        "or the number of near-equal blocks."
    )


def cut(X: Any, views: Any) -> list[Any]:
    """Cut the columns of a 2-D array or CSR matrix; an empty block is an absent view."""
    widths = block_widths(views, X.shape[1])
    if scipy.sparse.issparse(X):
        check_columns(X, "X")  # cutting would drop what lies outside
    blocks = []
    start = 0
    for width in widths:
        blocks.append(X[:, start : start + width] if width else None)
        start += width
    return blocks
