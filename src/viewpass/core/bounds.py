"""Which rows can have changed cluster after the centres moved.

With |x| = 1 a view's distance |u|^2 - 2 x.u changes by (|u'|^2 - |u|^2) - 2 x.(u' - u), which lies
within 2 |u' - u| of its first part. A row whose margin exceeds what its own centre can have lost
against every other need not be looked at again: its label would be the same. (Rows of a view that
weighs less are shorter, which changes nothing.)
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


def doubtful_rows(
    rows: MeasuredRows, decision: Decision, before: Centres, after: Centres, moves: Floats
) -> Integers:
    """Rows that must be looked at again; margins are lowered by what the moves may have cost."""
    rises, falls = np.zeros_like(moves), np.zeros_like(moves)
    for v, (old, new) in enumerate(zip(before.views, after.views, strict=True)):
        if old is new:
            continue
        if old is None or new is None:
            return np.flatnonzero(rows.n_seen > 0)
        rounding = np.where(moves[v] > 0, ROUNDING * (new.values.shape[1] + 16), 0.0)
        reach = 2.0 * LENGTH_ALLOWANCE * moves[v] + rounding  # 0 for a centre that did not move
        rises[v] = new.squares - old.squares + reach
        falls[v] = new.squares - old.squares - reach
    known = decision.distance if decision.complete else None
    return loosen(
        *(rises, falls, rows.inverse, decision.labels),
        *(decision.slack, decision.margins, known),
    )
