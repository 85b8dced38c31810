"""Cutting the columns of one 2-D array into views, as Pipeline and GridSearchCV need it."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import accumulate
from numbers import Integral
from typing import Any

import numpy as np
import scipy.sparse

from viewpass.errors import DataError, SettingError
from viewpass.views.checks import check_columns


def block_widths(views: Any, n_columns: int) -> list[int]:
    """Convert `views=` to widths: from None (one view), a number of near-equal blocks, or widths.

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
    if (
        not isinstance(views, Sequence)
        or isinstance(views, str | bytes)
        or not all(isinstance(width, int | np.integer) and not isinstance(width, bool) for width in views)
        or not len(views)
        or min(views) < -1
        or list(views).count(-1) > 1
    ):
        raise SettingError(
            f"views={views!r}: expected the width of each block (one of them may be -1 for the rest), "
            "or the number of near-equal blocks."
        )
    widths = [int(width) for width in views]
    if -1 in widths:
        widths[widths.index(-1)] = n_columns - sum(width for width in widths if width >= 0)
    if min(widths) < 0 or sum(widths) != n_columns:
        raise DataError(
            f"views={list(views)!r} do not add up to the {n_columns} columns of X. "
            "Give one of the widths as -1 to let it take the rest."
        )
    return widths


def cut(X: Any, views: Any) -> list[Any]:
    """Cut the columns of a 2-D array or CSR matrix into views; an empty block is an absent view."""
    widths = block_widths(views, X.shape[1])
    if scipy.sparse.issparse(X):
        check_columns(X, "X")  # slicing would drop entries outside
    stops = accumulate(widths)
    return [X[:, stop - width : stop] if width else None for width, stop in zip(widths, stops, strict=True)]
