"""What a mask of missing views really is."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from viewpass.errors import DataError

SHOWN = 12  # views in the text


@dataclass(frozen=True)
class Audit:
    """Shares of a mask; `str()` shows them as a table.

    `missing`: of cells (rows x views); `complete`, `single`, `without`: of rows with all views, with one
    only, with none; `views`: by name, of rows that lack the view; `pairs[i][j]`: of rows with views i and j.
    """

    n_rows: int
    missing: float
    complete: float
    single: float
    without: float
    views: dict[str, float]
    pairs: tuple[tuple[float, ...], ...]

    @property
    def line(self) -> str:
        """The most important shares in a line, to stand beside a table."""
        least = min((self.pairs[i][j] for i in range(len(self.pairs)) for j in range(i)), default=1.0)
        return (
            f"{self.missing:.1%} of cells missing, {self.complete:.1%} of rows complete, {self.single:.1%} "
            f"with one view only, views {min(self.views.values()):.1%} to {max(self.views.values()):.1%} "
            f"missing, any two views together in {least:.1%} of rows or more"
        )

    def __str__(self) -> str:
        names = list(self.views)[:SHOWN]
        width = max(map(len, names))
        lines = [f"{self.n_rows:,} rows: {self.line}"]
        lines.append(f"  {'':<{width}}  missing  together with")
        for place, name in enumerate(names):
            shares = "".join(f"{self.pairs[place][other]:>7.1%}" for other in range(len(names)))
            lines.append(f"  {name:<{width}}  {self.views[name]:>7.1%}{shares}")
        if len(self.views) > SHOWN:
            lines.append(f"  and {len(self.views) - SHOWN} more views")
        return "\n".join(lines)


def audit(observed: npt.ArrayLike, names: Sequence[str] | None = None) -> Audit:
    """Describe a mask: shares of missing cells and complete rows, per view and per pair of views.

    Parameters
    ----------
    observed : array-like of bool of shape (n_rows, n_views)
        True where a row has the view.
    names : sequence of str, optional
        Names of the views.

    Returns
    -------
    Audit
        Its fields are shares; printed, it is a table.

    Examples
    --------
    >>> import viewpass as vp
    >>> print(vp.audit([[True, True], [True, False], [False, True], [True, True]], ["image", "text"]))
    4 rows: 25.0% of cells missing, 50.0% of rows complete, 50.0% with one view only, views 25.0% to 25.0% \
missing, any two views together in 50.0% of rows or more
             missing  together with
      image    25.0%  75.0%  50.0%
      text     25.0%  50.0%  75.0%
    """
    mask = np.asarray(observed)
    if mask.dtype != np.bool_ or mask.ndim != 2 or not mask.size:
        raise DataError(
            f"observed is of type {mask.dtype} and shape {mask.shape}. Pass a bool array of rows x views, "
            "True where a row has the view."
        )
    n_rows, n_views = mask.shape
    shown = [f"view {number}" for number in range(n_views)] if names is None else list(names)
    if len(shown) != n_views:
        raise DataError(f"{len(shown)} names for {n_views} views. Pass one per view.")
    counts = mask.sum(axis=1)
    pairs = (mask.T.astype(np.float64) @ mask) / n_rows
    return Audit(
        n_rows,
        1 - float(mask.mean()),
        float((counts == n_views).mean()),
        float((counts == 1).mean()),
        float((counts == 0).mean()),
        dict(zip(shown, (1 - mask.mean(axis=0)).tolist(), strict=True)),
        tuple(map(tuple, pairs.tolist())),
    )
