"""The phases that decide rows: the first look at a chunk, and the looks again (Eq. 15-16)."""

from __future__ import annotations

import numpy as np
from numba import njit

from viewpass.kernels.bounds import MOST_VIEWS
from viewpass.kernels.chunk.desk import (
    ADD,
    ADDRESSES,
    BUILT,
    CLUSTERS,
    COMPLETE,
    DISTANCE,
    DOTS,
    EXACT,
    FALL,
    FALLS,
    FAR,
    FOUR,
    HERE,
    INVERSE,
    LABELS,
    LANES_ROOM,
    LISTED,
    LOOK,
    LOOKED,
    MARGINS,
    MEASURE,
    MOVED,
    N_CLUSTERS,
    N_ROWS,
    N_SEEN,
    N_VIEWS,
    NARROW,
    OLD,
    OLD_SLACK,
    PAD,
    PAIR,
    PART_COUNTS,
    PART_STEPS,
    PICK,
    READY,
    RISE,
    RISES,
    ROOM_HERE,
    ROOM_SLOTS,
    SHIFTS,
    SLACK,
    SLOTS,
    SPARSE,
    SQUARES,
    STALE,
    STARTS,
    SUBSET,
    SUBSET_SQUARES,
    TILE_ROWS,
    VALUES,
    WHICH,
    WIDTHS,
)
from viewpass.kernels.chunk.memory import call, flags_at, floats_at, labels_at, whole_at
from viewpass.kernels.grid import ABSENT, LANES

FEW = 6  # a part of the clusters so small is sooner looked at one by one,
MOST_PAIRS = 16  # if it is not more than this
MOST_OF = 0.85  # of the rows in doubt: look at all of them, so that every distance is known again


def measure(table, _room, begin, end, _c, _d, _e, _f, _g):
    """Norms and kinds of rows begin..end in every view; gives the worst kind.  INOUT N_SEEN."""
    desk, room = whole_at(table, SLOTS), np.empty(ROOM_SLOTS, dtype=np.int64)
    lanes = np.empty(LANES)
    room[LANES_ROOM] = lanes.ctypes.data
    worst = 0
    for v in range(desk[N_VIEWS]):
        if whole_at(desk[ADDRESSES], 3 * desk[N_VIEWS])[3 * v] != 0:
            kind = call(desk[MEASURE], table, room.ctypes.data, v, begin, end, 0, 0, 0, 0)
            worst = max(worst, kind)
    return worst


@njit(nogil=True)
def _settle(desk, room, means, i, n_listed):
    """The nearest of the LISTED clusters by float64 distances, the lowest among equals."""
    n_rows, n_views, n_clusters = desk[N_ROWS], desk[N_VIEWS], desk[N_CLUSTERS]
    starts, dots = whole_at(desk[STARTS], n_views), floats_at(room[FOUR], 4)
    inverse = floats_at(desk[INVERSE], n_views * n_rows)
    ready = flags_at(desk[means + READY], n_views)
    squares = floats_at(desk[means + SQUARES], n_views * n_clusters)
    listed, far = whole_at(room[LISTED], n_listed), floats_at(room[EXACT], n_listed)
    for p in range(n_listed):
        far[p] = 0.0
    for v in range(n_views):
        scale = inverse[v * n_rows + i]
        if not (scale > 0.0 and ready[v]):
            continue
        values = desk[means + VALUES] + 8 * n_clusters * starts[v]
        for p in range(0, n_listed, 4):
            group = min(4, n_listed - p)
            a = listed[p]
            b = listed[p + min(1, group - 1)]
            c = listed[p + min(2, group - 1)]
            d = listed[p + group - 1]
            call(desk[DOTS], desk[HERE], room[ROOM_HERE], v, i, values, a, b, c, d)
            line = v * n_clusters
            far[p] += squares[line + a] - 2.0 * dots[0]
            if group > 1:
                far[p + 1] += squares[line + b] - 2.0 * dots[1]
            if group > 2:
                far[p + 2] += squares[line + c] - 2.0 * dots[2]
            if group > 3:
                far[p + 3] += squares[line + d] - 2.0 * dots[3]
    best = 0
    for p in range(1, n_listed):
        if far[p] < far[best]:
            best = p
    return listed[best]


@njit(nogil=True)
def _exactness(desk, means):
    """What a distance by PAIR may be off by: it is not rounded to the grid, and added in any order."""
    n_views, n_clusters = desk[N_VIEWS], desk[N_CLUSTERS]
    widths = whole_at(desk[WIDTHS], n_views)
    off = 1e-30
    for v in range(n_views):
        squares = floats_at(desk[means + SQUARES] + 8 * v * n_clusters, n_clusters)
        longest = 0.0
        for k in range(n_clusters):
            longest = max(longest, squares[k])
        off += 2.01 * np.sqrt(longest) * (np.sqrt(widths[v]) * 2.0**-34 + (widths[v] + 16) * 2.0**-52)
    return off


@njit(nogil=True)
def _distances_of(desk, room, means, i, n_listed):
    """Distances of a row from the LISTED clusters, by PAIR.  OUT EXACT."""
    n_rows, n_views, n_clusters = desk[N_ROWS], desk[N_VIEWS], desk[N_CLUSTERS]
    starts, inverse = whole_at(desk[STARTS], n_views), floats_at(desk[INVERSE], n_views * n_rows)
    ready = flags_at(desk[means + READY], n_views)
    listed, far = whole_at(room[LISTED], n_listed), floats_at(room[EXACT], n_listed)
    for p in range(n_listed):
        far[p] = 0.0
    for v in range(n_views):
        if inverse[v * n_rows + i] > 0.0 and ready[v]:
            squares = floats_at(desk[means + SQUARES] + 8 * v * n_clusters, n_clusters)
            for p in range(n_listed):
                far[p] += squares[listed[p]]
            values = desk[means + VALUES] + 8 * n_clusters * starts[v]
            call(desk[PAIR], desk[HERE], 0, v, i, room[LISTED], n_listed, values, room[EXACT], 0)


@njit(nogil=True)
def _close_ones(room, n_listed, least, off):
    """Leave in LISTED the clusters whose distance in EXACT is not surely more than the least."""
    listed, far = whole_at(room[LISTED], n_listed), floats_at(room[EXACT], n_listed)
    n_close = 0
    for p in range(n_listed):
        if not far[p] > least + 2.0 * off:
            listed[n_close] = listed[p]
            n_close += 1
    return n_close


@njit(nogil=True)
def _choose(desk, room, means, i, distance, off):
    """Label a row by its distances; float64 decides where float32 cannot.  OUT LABELS, MARGINS."""
    n_rows, n_clusters = desk[N_ROWS], desk[N_CLUSTERS]
    labels = labels_at(desk[LABELS], n_rows)
    margins = floats_at(desk[MARGINS], n_rows)
    if whole_at(desk[N_SEEN], n_rows)[i] == 0:
        labels[i] = -1
        margins[i] = np.inf
        return
    best = 0
    least = distance[0]
    second = np.inf
    for k in range(1, n_clusters):
        value = distance[k]
        # Without branches: which is nearest is anyone's guess to the processor.
        second = min(second, max(least, value))
        best = k if value < least else best
        least = min(least, value)
    doubt = 2.0 * floats_at(desk[SLACK], n_rows)[i]
    labels[i] = best
    margins[i] = second - least - doubt
    if doubt > 0.0 and not second - least > doubt:
        listed = whole_at(room[LISTED], n_clusters)
        n_listed = 0
        for k in range(n_clusters):
            if not distance[k] > least + doubt:
                listed[n_listed] = k
                n_listed += 1
        _distances_of(desk, room, means, i, n_listed)
        far = floats_at(room[EXACT], n_listed)
        least = np.inf
        for p in range(n_listed):
            least = min(least, far[p])
        n_close = _close_ones(room, n_listed, least, off)
        labels[i] = listed[0] if n_close == 1 else _settle(desk, room, means, i, n_close)
        margins[i] = 0.0


@njit(nogil=True)
def _look_at(desk, room, means, rows, n_which, narrow, n_clusters, line, far):
    """Distances of rows from centres, without |x|^2.

    IN rows (n_which), narrow and line (where their float32 values and |u|^2 lie); OUT far (n_clusters
    for each row), SLACK.
    """
    n_rows, n_views = desk[N_ROWS], desk[N_VIEWS]
    addresses, starts = whole_at(desk[ADDRESSES], 3 * n_views), whole_at(desk[STARTS], n_views)
    ready, slack = flags_at(desk[means + READY], n_views), floats_at(desk[SLACK], n_rows)
    which = whole_at(rows, n_which)
    n_padded = (n_clusters + PAD - 1) // PAD * PAD
    for r in range(n_which):
        slack[which[r]] = 0.0
        distance = floats_at(far + 8 * r * n_clusters, n_clusters)
        for k in range(n_clusters):
            distance[k] = 0.0
    for v in range(n_views):
        if addresses[3 * v] == 0 or not ready[v]:
            continue
        inverse = floats_at(desk[INVERSE] + 8 * v * n_rows, n_rows)
        squares = floats_at(line + 8 * v * n_clusters, n_clusters)
        for r in range(n_which):
            if inverse[which[r]] > 0.0:
                distance = floats_at(far + 8 * r * n_clusters, n_clusters)
                for k in range(n_clusters):
                    distance[k] += squares[k]
        centres = narrow + 4 * n_padded * starts[v]
        call(desk[LOOK], desk[HERE], room[ROOM_HERE], v, means, rows, n_which, centres, n_clusters, far)


def first(table, room_table, means, begin, end, fresh, summing, _f, _g):
    """Measure rows begin..end (if `fresh`), look at them, choose, and add them to the PART sums.

    OUT INVERSE, STATUS, N_SEEN, LABELS, MARGINS, SLACK, DISTANCE, PART_STEPS (of clusters that have a
    count); INOUT PART_COUNTS. Gives the worst kind of row met: nothing may be believed if it is a fault.
    """
    desk, room = whole_at(table, SLOTS), whole_at(room_table, ROOM_SLOTS)
    n_rows, n_views, n_clusters = desk[N_ROWS], desk[N_VIEWS], desk[N_CLUSTERS]
    addresses = whole_at(desk[ADDRESSES], 3 * n_views)
    starts, widths = whole_at(desk[STARTS], n_views), whole_at(desk[WIDTHS], n_views)
    inverse, n_seen = floats_at(desk[INVERSE], n_views * n_rows), whole_at(desk[N_SEEN], n_rows)
    labels = labels_at(desk[LABELS], n_rows)
    counts = whole_at(room[PART_COUNTS], n_views * n_clusters)
    worst, off = ABSENT, _exactness(desk, means)
    tile_rows = room[TILE_ROWS]
    which = whole_at(room[WHICH], tile_rows)
    for start in range(begin, end, tile_rows):
        stop = min(start + tile_rows, end)
        if fresh:
            for i in range(start, stop):
                n_seen[i] = 0
            for v in range(n_views):
                if addresses[3 * v] != 0:
                    kind = call(desk[MEASURE], table, room_table, v, start, stop, 0, 0, 0, 0)
                    worst = max(worst, kind)
        for r in range(stop - start):
            which[r] = start + r
        far = room[FAR] if desk[DISTANCE] == 0 else desk[DISTANCE] + 8 * start * n_clusters
        narrow, line = desk[means + NARROW], desk[means + SQUARES]
        _look_at(desk, room, means, room[WHICH], stop - start, narrow, n_clusters, line, far)
        for i in range(start, stop):
            _choose(desk, room, means, i, floats_at(far + 8 * (i - start) * n_clusters, n_clusters), off)
        for v in range(n_views if summing else 0):
            for i in range(start, stop):
                k = np.int64(labels[i])
                if k >= 0 and inverse[v * n_rows + i] > 0.0:
                    sums = room[PART_STEPS] + 8 * (n_clusters * starts[v] + k * widths[v])
                    if counts[v * n_clusters + k] == 0:
                        empty = whole_at(sums, widths[v])
                        for j in range(widths[v]):
                            empty[j] = 0
                    counts[v * n_clusters + k] += 1
                    call(desk[ADD], table, room_table, v, i, 1, sums, 0, 0, 0)
    return worst


@njit(nogil=True)
def _bounds_of(desk, room, i):
    """Which line of RISE and FALL holds what may have happened to this row's distances."""
    n_rows, n_views, n_clusters = desk[N_ROWS], desk[N_VIEWS], desk[N_CLUSTERS]
    inverse = floats_at(desk[INVERSE], n_views * n_rows)
    pattern = 0
    if n_views <= MOST_VIEWS:
        for v in range(n_views):
            pattern |= int(inverse[v * n_rows + i] > 0.0) << v
        built = flags_at(room[BUILT], 1 << n_views)
        if built[pattern]:
            return pattern
        built[pattern] = True
    rise = floats_at(room[RISE] + 8 * pattern * n_clusters, n_clusters)
    fall = floats_at(room[FALL] + 8 * pattern * n_clusters, n_clusters)
    rises = floats_at(desk[RISES], n_views * n_clusters)
    falls = floats_at(desk[FALLS], n_views * n_clusters)
    for k in range(n_clusters):
        rise[k] = 0.0
        fall[k] = 0.0
    for v in range(n_views):
        if inverse[v * n_rows + i] > 0.0:
            for k in range(n_clusters):
                rise[k] += rises[v * n_clusters + k]
                fall[k] += falls[v * n_clusters + k]
    return pattern


@njit(nogil=True)
def _loosen(desk, room, begin, end, complete, n_movers):
    """Lower margins by what the centres' moves may have cost; list the rows it may have overturned.

    IN CLUSTERS: the n_movers that moved; INOUT MARGINS, DISTANCE: with all distances at hand every
    cluster is held to what it moved itself, and the own distance becomes the most it can be now, the
    others the least. OUT WHICH.
    """
    n_rows, n_views, n_clusters = desk[N_ROWS], desk[N_VIEWS], desk[N_CLUSTERS]
    labels, margins = labels_at(desk[LABELS], n_rows), floats_at(desk[MARGINS], n_rows)
    slack, which = floats_at(desk[SLACK], n_rows), whole_at(room[WHICH], end - begin)
    movers = whole_at(room[CLUSTERS], n_movers)
    built = flags_at(room[BUILT], 1 << n_views if n_views <= MOST_VIEWS else 1)
    for pattern in range(built.shape[0]):
        built[pattern] = False
    few = 4 * n_movers <= n_clusters
    n_doubtful = 0
    for i in range(begin, end):
        own = labels[i]
        if own < 0:
            continue
        line = 8 * n_clusters * _bounds_of(desk, room, i)
        rise = floats_at(room[RISE] + line, n_clusters)
        fall = floats_at(room[FALL] + line, n_clusters)
        lowest = np.inf
        if complete:
            distance = floats_at(desk[DISTANCE] + 8 * i * n_clusters, n_clusters)
            mine = distance[own] + rise[own]
            distance[own] = np.inf
            if few:  # the clusters that stayed are as far ahead as they were
                margin = margins[i] - rise[own]
                for m in range(n_movers):
                    value = distance[movers[m]] + fall[movers[m]]
                    distance[movers[m]] = value
                    lowest = min(lowest, value)
                margins[i] = min(margin, lowest - mine - 2.0 * slack[i])
            else:
                for k in range(n_clusters):
                    value = distance[k] + fall[k]
                    distance[k] = value
                    lowest = min(lowest, value)
                margins[i] = lowest - mine - 2.0 * slack[i]
            distance[own] = mine
        else:
            for k in range(n_clusters):
                lowest = min(lowest, fall[k] if k != own else np.inf)
            margins[i] += lowest - rise[own]
        if not margins[i] > 0.0:
            which[n_doubtful] = i
            n_doubtful += 1
    return n_doubtful


@njit(nogil=True)
def _compare(desk, room, means, i, most, off):
    """Decide a row by its distances from the few clusters that can be nearest; False if they are not few.

    INOUT DISTANCE (bounds become distances), LABELS, MARGINS.
    """
    n_rows, n_clusters = desk[N_ROWS], desk[N_CLUSTERS]
    labels, slack = labels_at(desk[LABELS], n_rows), floats_at(desk[SLACK], n_rows)
    known = floats_at(desk[DISTANCE] + 8 * i * n_clusters, n_clusters)
    listed, far = whole_at(room[LISTED], n_clusters), floats_at(room[EXACT], n_clusters)
    reach = known[labels[i]] + 2.0 * slack[i]
    n_listed = 0
    rest = np.inf
    for k in range(n_clusters):
        if known[k] > reach:
            rest = min(rest, known[k])
        elif n_listed < most:
            listed[n_listed] = k
            n_listed += 1
        else:
            return False
    _distances_of(desk, room, means, i, n_listed)
    best, least, second = 0, far[0], np.inf
    for p in range(n_listed):
        known[listed[p]] = far[p]
        if p > 0:
            second = min(second, max(least, far[p]))
            best = p if far[p] < least else best
            least = min(least, far[p])
    margins = floats_at(desk[MARGINS], n_rows)
    if second - least > 2.0 * off:
        labels[i] = listed[best]
        margins[i] = min(second - least - 2.0 * off, rest - least - 2.0 * slack[i] - off)
    else:
        n_close = _close_ones(room, n_listed, least, off)
        labels[i] = _settle(desk, room, means, i, n_close)
        margins[i] = 0.0
    return True


@njit(nogil=True)
def _list_movers(desk, room, stale):
    """List the clusters that moved just now in CLUSTERS, and mark them in `stale`; gives their number."""
    n_views, n_clusters = desk[N_VIEWS], desk[N_CLUSTERS]
    clusters = whole_at(room[CLUSTERS], n_clusters)
    shifts = floats_at(desk[SHIFTS], n_views * n_clusters)
    n_movers = 0
    for k in range(n_clusters):
        moved = False
        for v in range(n_views):
            moved |= shifts[v * n_clusters + k] > 0.0
        if moved:
            stale[k] = True
            clusters[n_movers] = k
            n_movers += 1
    return n_movers


@njit(nogil=True)
def _pick_clusters(desk, room, means, clusters):
    """Lay some clusters' centres out by themselves.  OUT SUBSET, SUBSET_SQUARES."""
    n_views, n_clusters = desk[N_VIEWS], desk[N_CLUSTERS]
    addresses = whole_at(desk[ADDRESSES], 3 * n_views)
    starts, widths = whole_at(desk[STARTS], n_views), whole_at(desk[WIDTHS], n_views)
    ready = flags_at(desk[means + READY], n_views)
    squares = floats_at(desk[means + SQUARES], n_views * n_clusters)
    n_picked = clusters.shape[0]
    some_squares = floats_at(room[SUBSET_SQUARES], n_views * n_picked)
    n_padded = (n_picked + PAD - 1) // PAD * PAD
    all_padded = (n_clusters + PAD - 1) // PAD * PAD
    for v in range(n_views):
        for c in range(n_picked):
            some_squares[v * n_picked + c] = squares[v * n_clusters + clusters[c]]
        if addresses[3 * v] != 0 and ready[v]:
            source = desk[means + NARROW] + 4 * all_padded * starts[v]
            target = room[SUBSET] + 4 * n_padded * starts[v]
            here, there = desk[HERE], room[ROOM_HERE]
            call(desk[PICK], here, there, source, widths[v], n_clusters, room[CLUSTERS], n_picked, target, 0)


def again(table, room_table, means, begin, end, span, _e, _f, _g):
    """Decide those of rows begin..end anew whose label the centres' moves may have changed.

    INOUT LABELS, MARGINS, SLACK, DISTANCE, and by span STALE (clusters that some row has not been compared
    with since they moved), COMPLETE (whether DISTANCE holds every row); OUT OLD (labels before, of rows
    looked at), MOVED (rows that changed cluster, from `begin` on), LOOKED (rows times clusters). Gives the
    number of rows moved.
    """
    desk, room = whole_at(table, SLOTS), whole_at(room_table, ROOM_SLOTS)
    n_rows, n_clusters = desk[N_ROWS], desk[N_CLUSTERS]
    stale = flags_at(desk[STALE] + span * n_clusters, n_clusters)
    complete = whole_at(desk[COMPLETE] + 8 * span, 1)
    n_movers = _list_movers(desk, room, stale)
    n_doubtful = _loosen(desk, room, begin, end, complete[0] != 0, n_movers)
    whole_at(desk[LOOKED] + 8 * span, 1)[0] = 0
    if n_doubtful == 0:
        return 0
    labels, old = labels_at(desk[LABELS], n_rows), labels_at(desk[OLD], n_rows)
    moved, slack = whole_at(desk[MOVED], n_rows), floats_at(desk[SLACK], n_rows)
    which, clusters = whole_at(room[WHICH], end - begin), whole_at(room[CLUSTERS], n_clusters)
    kept = desk[DISTANCE] != 0
    n_moved = n_decided = 0
    off = _exactness(desk, means)
    most = min(n_clusters // FEW, MOST_PAIRS)
    if complete[0] != 0 and most > 1 and desk[SPARSE] == 0:
        n_left = 0
        for r in range(n_doubtful):
            i = which[r]
            old[i] = labels[i]
            if not _compare(desk, room, means, i, most, off):
                which[n_left] = i
                n_left += 1
            elif labels[i] != old[i]:
                moved[begin + n_moved] = i
                n_moved += 1
        n_decided = n_doubtful - n_left
        whole_at(desk[LOOKED] + 8 * span, 1)[0] = n_decided * most // 2
        n_doubtful = n_left
        if n_doubtful == 0:
            return n_moved
    everyone = n_decided == 0 and n_doubtful > MOST_OF * (end - begin)
    if everyone:
        n_doubtful = end - begin
        for r in range(n_doubtful):
            which[r] = begin + r
    n_compared = 0
    for k in range(n_clusters):
        if stale[k]:
            clusters[n_compared] = k
            n_compared += 1
    some = complete[0] != 0 and 4 * n_compared <= 3 * n_clusters and n_doubtful >= PAD
    if some:
        _pick_clusters(desk, room, means, clusters[:n_compared])
        narrow, squares = room[SUBSET], room[SUBSET_SQUARES]
    else:
        n_compared = n_clusters
        narrow, squares = desk[means + NARROW], desk[means + SQUARES]
    tile_rows = room[TILE_ROWS]
    old_slack = floats_at(room[OLD_SLACK], tile_rows)
    for start in range(0, n_doubtful, tile_rows):
        part = which[start : min(start + tile_rows, n_doubtful)]
        for r in range(part.shape[0]):
            old_slack[r] = slack[part[r]]
        rows = room[WHICH] + 8 * start
        _look_at(desk, room, means, rows, part.shape[0], narrow, n_compared, squares, room[FAR])
        for r in range(part.shape[0]):
            i = part[r]
            old[i] = labels[i]
            line = floats_at(room[FAR] + 8 * r * n_compared, n_compared)
            if kept:
                known = floats_at(desk[DISTANCE] + 8 * i * n_clusters, n_clusters)
                if some:  # the other clusters' distances are those of an earlier look
                    slack[i] = max(slack[i], old_slack[r])
                    for c in range(n_compared):
                        known[clusters[c]] = line[c]
                else:
                    for k in range(n_clusters):
                        known[k] = line[k]
                line = known
            _choose(desk, room, means, i, line, off)
            if labels[i] != old[i]:
                moved[begin + n_moved] = i
                n_moved += 1
    if everyone:
        for k in range(n_clusters):
            stale[k] = False
        complete[0] = kept
    whole_at(desk[LOOKED] + 8 * span, 1)[0] += n_doubtful * n_compared
    return n_moved
