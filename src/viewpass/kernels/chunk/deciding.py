"""The phases that decide rows: float32 distances filter, float64 distances settle the rest (Eq. 15-16)."""

from __future__ import annotations

import numpy as np

from viewpass.kernels.chunk.desk import (
    ADD,
    ADDRESSES,
    CHOOSE,
    DECIDE,
    DISTANCE,
    DOTS,
    EXACT,
    FAR,
    FLAT,
    FOUR,
    FRESH,
    INVERSE,
    LABELS,
    LISTED,
    LOOK,
    LOOK_AT,
    LOOK_SQUARES,
    MARGINS,
    MEASURE,
    MIX,
    N_CLUSTERS,
    N_ROWS,
    N_SEEN,
    N_VIEWS,
    NARROW,
    NARROW_PAIR,
    NEAR,
    PAD,
    PAIR,
    PART_COUNTS,
    PART_STEPS,
    READY,
    SETTLE,
    SLACK,
    SQUARES,
    STARTS,
    SUM_UP,
    SUMMING,
    TILE_ROWS,
    VALUES,
    WHICH,
    WIDTHS,
    WORST,
)
from viewpass.kernels.chunk.eights import LANES as EIGHT
from viewpass.kernels.chunk.memory import call, flags_at, floats_at, labels_at, shared_max, whole_at, wipe
from viewpass.kernels.chunk.scanning import least_two_of_eights
from viewpass.kernels.compiling import part
from viewpass.kernels.grid import ABSENT


def measure(table, _room, begin, end, _c, _d, _e, _f, _g):
    """Norms and kinds of rows begin..end in every view; gives the worst kind.  INOUT N_SEEN."""
    desk = whole_at(table)
    addresses, worst = whole_at(desk[ADDRESSES]), ABSENT
    for v in range(desk[N_VIEWS]):
        if addresses[3 * v] != 0:
            worst = max(worst, call(desk[MEASURE], table, 0, v, begin, end, 0, 0, 0, 0))
    return worst


@part
def exactness(desk, means):
    """What a distance by PAIR may be off by: it is not rounded to the grid, and added in any order."""
    n_clusters, widths = desk[N_CLUSTERS], whole_at(desk[WIDTHS])
    off = 1e-30
    for v in range(desk[N_VIEWS]):
        squares = floats_at(desk[means + SQUARES] + 8 * v * n_clusters)
        longest = 0.0
        for k in range(n_clusters):
            longest = max(longest, squares[k])
        off += 2.01 * np.sqrt(longest) * (np.sqrt(widths[v]) * 2.0**-34 + (widths[v] + 16) * 2.0**-52)
    return off


def near(table, room_table, means, i, n_listed, narrow, _e, _f, _g):
    """Distances of a row from the LISTED clusters, by PAIR, or NARROW_PAIR of the NEW ones.  OUT EXACT."""
    desk, room = whole_at(table), whole_at(room_table)
    n_clusters, starts = desk[N_CLUSTERS], whole_at(desk[STARTS])
    inverse, ready = floats_at(desk[INVERSE] + 8 * i), flags_at(desk[means + READY])
    listed, far = whole_at(room[LISTED]), floats_at(room[EXACT])
    wipe(room[EXACT], 8 * n_listed)
    for v in range(desk[N_VIEWS]):
        if inverse[v * desk[N_ROWS]] > 0.0 and ready[v]:
            squares = floats_at(desk[means + SQUARES] + 8 * v * n_clusters)
            for p in range(n_listed):
                far[p] += squares[listed[p]]
            function, values = desk[PAIR], desk[means + VALUES] + 8 * n_clusters * starts[v]
            if narrow:
                function, values = desk[NARROW_PAIR], desk[FLAT] + 4 * n_clusters * starts[v]
            call(function, table, 0, v, i, room[LISTED], n_listed, values, room[EXACT], 0)
    return 0


def settle(table, room_table, means, i, n_listed, _d, _e, _f, _g):
    """The nearest of the LISTED clusters by float64 distances, the lowest among equals.  OUT EXACT."""
    desk, room = whole_at(table), whole_at(room_table)
    n_clusters, starts, dots = desk[N_CLUSTERS], whole_at(desk[STARTS]), floats_at(room[FOUR])
    inverse, ready = floats_at(desk[INVERSE] + 8 * i), flags_at(desk[means + READY])
    listed, far = whole_at(room[LISTED]), floats_at(room[EXACT])
    wipe(room[EXACT], 8 * n_listed)
    for v in range(desk[N_VIEWS]):
        if not (inverse[v * desk[N_ROWS]] > 0.0 and ready[v]):
            continue
        squares = floats_at(desk[means + SQUARES] + 8 * v * n_clusters)
        values = desk[means + VALUES] + 8 * n_clusters * starts[v]
        for p in range(0, n_listed, 4):
            last = min(4, n_listed - p) - 1  # what is over is the last of them again
            a, b = listed[p], listed[p + min(1, last)]
            c, d = listed[p + min(2, last)], listed[p + last]
            call(desk[DOTS], table, room_table, v, i, values, a, b, c, d)
            for q in range(last + 1):
                far[p + q] += squares[listed[p + q]] - 2.0 * dots[q]
    best = 0
    for p in range(1, n_listed):
        if far[p] < far[best]:
            best = p
    return listed[best]


@part
def close_ones(room, n_listed, least, off):
    """Leave in LISTED the clusters whose distance in EXACT is not surely more than the least."""
    listed, far = whole_at(room[LISTED]), floats_at(room[EXACT])
    n_close = 0
    for p in range(n_listed):
        if not far[p] > least + 2.0 * off:
            listed[n_close] = listed[p]
            n_close += 1
    return n_close


def decide(table, room_table, means, i, distance, _d, _e, _f, _g):
    """The nearest of the clusters that float32 cannot tell from the nearest, by float64.  IN distance."""
    desk, room = whole_at(table), whole_at(room_table)
    known, listed, far = floats_at(distance), whole_at(room[LISTED]), floats_at(room[EXACT])
    least = np.inf
    for k in range(desk[N_CLUSTERS]):
        least = min(least, known[k])
    reach = least + 2.0 * floats_at(desk[SLACK])[i]
    n_listed = 0
    for k in range(desk[N_CLUSTERS]):
        if not known[k] > reach:
            listed[n_listed] = k
            n_listed += 1
    call(desk[NEAR], table, room_table, means, i, n_listed, 0, 0, 0, 0)
    least = np.inf
    for p in range(n_listed):
        least = min(least, far[p])
    n_close = close_ones(room, n_listed, least, exactness(desk, means))
    return listed[0] if n_close == 1 else call(desk[SETTLE], table, room_table, means, i, n_close, 0, 0, 0, 0)


def choose(table, room_table, means, rows, n_which, _d, _e, _f, _g):
    """Label rows by their distances; float64 decides where float32 cannot.

    IN rows (n_which of them), their distances (in DISTANCE, or in FAR one after another where these are
    not kept), SLACK; OUT LABELS, MARGINS.
    """
    desk, room, which = whole_at(table), whole_at(room_table), whole_at(rows)
    n_clusters, n_seen, found = desk[N_CLUSTERS], whole_at(desk[N_SEEN]), floats_at(room[FOUR])
    labels, margins, slack = labels_at(desk[LABELS]), floats_at(desk[MARGINS]), floats_at(desk[SLACK])
    for r in range(n_which):
        i = which[r]
        if n_seen[i] == 0:
            labels[i] = -1
            margins[i] = np.inf
            continue
        line = desk[DISTANCE] + 8 * i * n_clusters
        if desk[DISTANCE] == 0:
            line = room[FAR] + 8 * r * n_clusters
        distance = floats_at(line)
        least_two_of_eights(line, n_clusters, room[FOUR])
        least, second, best = found[0], found[1], np.int64(found[2])
        for k in range(n_clusters // EIGHT * EIGHT, n_clusters):
            value = distance[k]
            # Without branches: which is nearest is anyone's guess to the processor.
            second = min(second, max(least, value))
            best = k if value < least else best
            least = min(least, value)
        doubt = 2.0 * slack[i]
        labels[i] = best
        margins[i] = second - least - doubt
        if doubt > 0.0 and not second - least > doubt:
            labels[i] = call(desk[DECIDE], table, room_table, means, i, line, 0, 0, 0, 0)
            margins[i] = 0.0
    return 0


def look_at(table, room_table, means, rows, n_which, narrow, n_clusters, line, far):
    """Distances of rows from centres, without |x|^2.

    IN rows (n_which), narrow and line (where their float32 values and |u|^2 lie); OUT far (n_clusters
    for each row), SLACK.
    """
    desk, which = whole_at(table), whole_at(rows)
    addresses, starts = whole_at(desk[ADDRESSES]), whole_at(desk[STARTS])
    ready, slack = flags_at(desk[means + READY]), floats_at(desk[SLACK])
    n_padded = (n_clusters + PAD - 1) // PAD * PAD
    whole_at(room_table)[LOOK_SQUARES] = line
    for r in range(n_which):
        slack[which[r]] = -1.0  # until a view of the row has been met
    for v in range(desk[N_VIEWS]):
        if addresses[3 * v] != 0 and ready[v]:
            centres = narrow + 4 * n_padded * starts[v]
            call(desk[LOOK], table, room_table, v, means, rows, n_which, centres, n_clusters, far)
    for r in range(n_which):
        if slack[which[r]] < 0.0:
            slack[which[r]] = 0.0
            wipe(far + 8 * r * n_clusters, 8 * n_clusters)
    return 0


def first(table, room_table, means, begin, end, _span, _e, _f, _g):
    """Measure rows begin..end (if FRESH), look at them, choose, and add them to the PART sums (if SUMMING).

    OUT INVERSE, STATUS, N_SEEN, LABELS, MARGINS, SLACK, DISTANCE, the mixtures (if MIX), PART_STEPS (of
    clusters that have a count); INOUT PART_COUNTS, WORST: nothing may be believed if a row is at fault.
    """
    desk, room = whole_at(table), whole_at(room_table)
    n_clusters, n_views, addresses = desk[N_CLUSTERS], desk[N_VIEWS], whole_at(desk[ADDRESSES])
    which = whole_at(room[WHICH])
    narrow, squares = desk[means + NARROW], desk[means + SQUARES]
    worst = ABSENT
    for start in range(begin, end, room[TILE_ROWS]):
        n_here = min(room[TILE_ROWS], end - start)
        for r in range(n_here):
            which[r] = start + r
        if desk[FRESH]:
            wipe(desk[N_SEEN] + 8 * start, 8 * n_here)
            for v in range(n_views):
                if addresses[3 * v] != 0:
                    stop = start + n_here
                    kind = call(desk[MEASURE], table, 0, v, start, stop, 0, 0, 0, 0)
                    worst = max(worst, kind)
        rows, far = room[WHICH], room[FAR]
        if desk[DISTANCE] != 0:
            far = desk[DISTANCE] + 8 * start * n_clusters
        call(desk[LOOK_AT], table, room_table, means, rows, n_here, narrow, n_clusters, squares, far)
        call(desk[CHOOSE], table, room_table, means, rows, n_here, 0, 0, 0, 0)
        if desk[MIX] != 0:
            call(desk[MIX], table, room_table, start, n_here, far, 0, 0, 0, 0)
        if desk[SUMMING]:
            for v in range(n_views):
                call(desk[SUM_UP], table, room_table, v, start, start + n_here, 0, 0, 0, 0)
    shared_max(table + 8 * WORST, worst)
    return 0


def sum_up(table, room_table, v, begin, end, _d, _e, _f, _g):
    """Add a view's rows begin..end to the PART sums."""
    desk, room = whole_at(table), whole_at(room_table)
    n_clusters, width = desk[N_CLUSTERS], whole_at(desk[WIDTHS])[v]
    inverse, labels = floats_at(desk[INVERSE] + 8 * v * desk[N_ROWS]), labels_at(desk[LABELS])
    counts = whole_at(room[PART_COUNTS] + 8 * v * n_clusters)
    part_sums = room[PART_STEPS] + 8 * n_clusters * whole_at(desk[STARTS])[v]
    for i in range(begin, end):
        k = np.int64(labels[i])
        if k >= 0 and inverse[i] > 0.0:
            sums = part_sums + 8 * k * width
            if counts[k] == 0:
                wipe(sums, 8 * width)
            counts[k] += 1
            call(desk[ADD], table, 0, v, i, 1, sums, 0, 0, 0)
    return 0
