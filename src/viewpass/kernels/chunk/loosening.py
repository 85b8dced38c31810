"""The phase that tells which rows the centres' moves may have overturned, by bounds on their distances."""

from __future__ import annotations

import numpy as np

from viewpass.kernels.bounds import MOST_VIEWS
from viewpass.kernels.chunk.desk import (
    AGE,
    APPLIED,
    BOUND,
    BUILT,
    DISTANCE,
    FALL,
    FALLEN,
    FALLS,
    INVERSE,
    LABELS,
    LOWEST,
    MARGINS,
    MOST_AGE,
    N_CLUSTERS,
    N_ROWS,
    N_VIEWS,
    NUMBERS,
    RISE,
    RISEN,
    RISES,
    SLACK,
    WIDEST,
)
from viewpass.kernels.chunk.eights import LANES as EIGHT
from viewpass.kernels.chunk.memory import call, flags_at, floats_at, labels_at, whole_at, wipe
from viewpass.kernels.chunk.scanning import lower_eights
from viewpass.kernels.compiling import part

GUARD = 2.0**-44  # of sums of moves: more than adding and subtracting them can lose


def bound(table, room_table, i, pattern, _c, _d, _e, _f, _g):
    """What may just have happened to distances of rows with the views of this.

    OUT the pattern's line of RISE, FALL and LOWEST.
    """
    desk, room = whole_at(table), whole_at(room_table)
    n_clusters, inverse = desk[N_CLUSTERS], floats_at(desk[INVERSE] + 8 * i)
    line, lowest = 8 * n_clusters * pattern, floats_at(room[LOWEST] + 24 * pattern)
    rise, fall = floats_at(room[RISE] + line), floats_at(room[FALL] + line)
    wipe(room[RISE] + line, 8 * n_clusters)
    wipe(room[FALL] + line, 8 * n_clusters)
    for v in range(desk[N_VIEWS]):
        if inverse[v * desk[N_ROWS]] > 0.0:
            rises = floats_at(desk[RISES] + 8 * v * n_clusters)
            falls = floats_at(desk[FALLS] + 8 * v * n_clusters)
            for k in range(n_clusters):
                rise[k] += rises[k]
                fall[k] += falls[k]
    least, second, best = np.inf, np.inf, 0
    for k in range(n_clusters):
        second = min(second, max(least, fall[k]))
        best = k if fall[k] < least else best
        least = min(least, fall[k])
    lowest[0], lowest[1], lowest[2] = least, second, best
    return 0


@part
def _catch_up(desk, i, own, then):
    """Bring the bounds on a row's distances from update `then` to the last but one, but for its own cluster.

    INOUT DISTANCE; gives what its own distance may have risen by, and what rounding may have spoilt.
    """
    n_clusters, n_lines = desk[N_CLUSTERS], desk[N_VIEWS] * desk[N_CLUSTERS]
    before, now = 8 * n_lines * then, 8 * n_lines * (desk[AGE] - 1)
    inverse, distance = floats_at(desk[INVERSE] + 8 * i), floats_at(desk[DISTANCE] + 8 * i * n_clusters)
    risen = GUARD * desk[N_VIEWS] * floats_at(desk[NUMBERS])[WIDEST]
    for v in range(desk[N_VIEWS]):
        if inverse[v * desk[N_ROWS]] > 0.0:
            line = 8 * v * n_clusters
            fallen, falling = floats_at(desk[FALLEN] + before + line), floats_at(desk[FALLEN] + now + line)
            for k in range(n_clusters):
                distance[k] += falling[k] - fallen[k]
            risen += floats_at(desk[RISEN] + now + line)[own] - floats_at(desk[RISEN] + before + line)[own]
    return risen


def loosen(table, room_table, begin, end, complete, place, _e, _f, _g):
    """Lower margins by what the centres' moves may have cost; list the rows it may have overturned.

    INOUT MARGINS, DISTANCE, APPLIED: first a margin is lowered by the most any cluster can have come
    nearer. If that uses it up and all distances are at hand, every cluster is held to what it moved
    itself: the own distance becomes the most it can be now, the others the least. OUT place: where
    those rows are listed; gives their number.
    """
    desk, room = whole_at(table), whole_at(room_table)
    n_clusters, which, applied = desk[N_CLUSTERS], whole_at(place), labels_at(desk[APPLIED])
    labels, margins, slack = labels_at(desk[LABELS]), floats_at(desk[MARGINS]), floats_at(desk[SLACK])
    n_rows, n_views, inverse, built = (
        desk[N_ROWS],
        desk[N_VIEWS],
        floats_at(desk[INVERSE]),
        flags_at(room[BUILT]),
    )
    age, forced = desk[AGE], desk[AGE] == desk[MOST_AGE]
    n_doubtful = 0
    for i in range(begin, end):
        own = labels[i]
        if own < 0:
            continue
        pattern = 0
        if n_views <= MOST_VIEWS:
            for v in range(n_views):
                pattern |= np.int64(inverse[v * n_rows + i] > 0.0) << v
        if not built[pattern]:
            call(desk[BOUND], table, room_table, i, pattern, 0, 0, 0, 0, 0)
            built[pattern] = n_views <= MOST_VIEWS
        line, lowest = 8 * n_clusters * pattern, floats_at(room[LOWEST] + 24 * pattern)
        rise, fall = floats_at(room[RISE] + line), floats_at(room[FALL] + line)
        margin = margins[i] + ((lowest[1] if lowest[2] == own else lowest[0]) - rise[own])
        if complete and (forced or not margin > 0.0):
            distance = floats_at(desk[DISTANCE] + 8 * i * n_clusters)
            mine = distance[own] + rise[own]
            if applied[i] < age - 1:
                mine += _catch_up(desk, i, own, applied[i])
            distance[own] = np.inf
            least = lower_eights(desk[DISTANCE] + 8 * i * n_clusters, room[FALL] + line, n_clusters)
            for k in range(n_clusters // EIGHT * EIGHT, n_clusters):
                value = distance[k] + fall[k]
                distance[k] = value
                least = min(least, value)
            distance[own] = mine
            margin = least - mine - 2.0 * slack[i]
            applied[i] = 0 if forced else age
        margins[i] = margin
        if not margin > 0.0:
            which[n_doubtful] = i
            n_doubtful += 1
    return n_doubtful
