"""Which rows can have changed cluster after the centres moved.

With |x| = 1 a view's distance |u|^2 - 2 x.u changes by (|u'|^2 - |u|^2) - 2 x.(u' - u), which lies
within 2 |u' - u| of its first part. A row whose margin exceeds what its own centre can have lost
against every other need not be looked at again: its label would be the same.
"""

from __future__ import annotations

import numpy as np

from viewpass.core.assign import Decision
from viewpass.core.centres import Centres
from viewpass.kernels.bounds import loosen
from viewpass.kernels.grid import Floats, Integers
from viewpass.views.rows import MeasuredRows

LENGTH_ALLOWANCE = 1.0 + 1e-5  # rows rounded to the grid may be a little longer than 1
ROUNDING = 2.0**-51  # what each column may add to the rounding of a distance


def doubtful_rows(rows: MeasuredRows, decision: Decision, before: Centres, after: Centres) -> Integers | None:
    """Rows that must be looked at again, or None for all; margins are lowered accordingly."""
    n_views, n_clusters = len(after.values), len(after.known[0])
    rises: Floats = np.zeros((n_views, n_clusters))
    falls: Floats = np.zeros((n_views, n_clusters))
    for v in range(n_views):
        old, new = before.values[v], after.values[v]
        if old is new:
            continue
        if old is None or new is None:
            return None
        old_squares, new_squares = before.squares[v], after.squares[v]
        assert old_squares is not None
        assert new_squares is not None
        shift = 2.0 * LENGTH_ALLOWANCE * np.sqrt(np.square(new - old).sum(axis=1))
        shift += ROUNDING * (new.shape[1] + 16)
        rises[v] = new_squares - old_squares + shift
        falls[v] = new_squares - old_squares - shift
    return loosen(rises, falls, rows.inverse, decision.labels, decision.margins)
