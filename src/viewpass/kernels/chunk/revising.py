"""The phases that look again, at the rows whose label the centres' moves may have changed."""

from __future__ import annotations

import numpy as np

from viewpass.kernels.bounds import MOST_VIEWS
from viewpass.kernels.chunk.deciding import close_ones, exactness
from viewpass.kernels.chunk.dense import SAFE
from viewpass.kernels.chunk.desk import (
    ADDRESSES,
    AGE,
    APPLIED,
    BUILT,
    CHOOSE,
    CLUSTERS,
    COMPARE,
    COMPLETE,
    DISTANCE,
    ERRORS,
    EXACT,
    FAR,
    GATHER,
    GATHERED,
    INVERSE,
    LABELS,
    LINE,
    LISTED,
    LOOK_AT,
    LOOKED,
    LOOSEN,
    MARGINS,
    MOST_AGE,
    MOVED,
    N_CLUSTERS,
    N_COLUMNS,
    N_ITER,
    N_ROWS,
    N_VIEWS,
    NARROW,
    NARROW_PAIR,
    NEAR,
    NOTE,
    OLD,
    OLD_SLACK,
    PAD,
    PICK,
    READY,
    SETTLE,
    SHIFTS,
    SLACK,
    SPAN_MOVED,
    SPARSE,
    SQUARES,
    STALE,
    STARTS,
    SUBSET,
    SUBSET_SQUARES,
    TILE_ROWS,
    WHICH,
    WIDTHS,
)
from viewpass.kernels.chunk.eights import LANES as EIGHT
from viewpass.kernels.chunk.eights import lowest_bit
from viewpass.kernels.chunk.memory import call, copy, fetch, flags_at, floats_at, labels_at, whole_at, wipe
from viewpass.kernels.chunk.scanning import eight_within
from viewpass.kernels.chunk.vector import LANES
from viewpass.kernels.compiling import part
from viewpass.kernels.lanes import new_lanes

FEW = 6  # a part of the clusters so small is sooner looked at one by one,
MOST_PAIRS = 16  # if it is not more than this
TOGETHER = 16  # rows whose bounds are lowered, and which are compared, in turn
NONZEROS = 32  # of a sparse row, supposed
MOST_OF = 0.85  # of the rows in doubt: look at all of them, so that every distance is known again


@part
def _list_near(line, n_clusters, reach, most, listed, lanes):
    """(how many clusters are within reach, -1 if more than `most`; the nearest beyond it).

    IN line: where the distances lie; OUT listed; lanes: room to work.
    """
    known, n_listed, n_whole = floats_at(line), 0, n_clusters // EIGHT * EIGHT
    for lane in range(EIGHT):
        lanes[lane] = np.inf
    for k in range(0, n_whole, EIGHT):
        within = eight_within(line + 8 * k, reach, lanes)
        while within != 0:
            if n_listed == most:
                return -1, np.inf
            listed[n_listed] = k + lowest_bit(within)
            n_listed += 1
            within &= within - 1
    rest = np.inf
    for lane in range(EIGHT):
        rest = min(rest, lanes[lane])
    for k in range(n_whole, n_clusters):
        if known[k] > reach:
            rest = min(rest, known[k])
        elif n_listed < most:
            listed[n_listed] = k
            n_listed += 1
        else:
            return -1, rest
    return n_listed, rest


@part
def _narrow_error(desk, means, i):
    """What distances by NARROW_PAIR may be off by; inf where float32 will not do."""
    inverse, errors = floats_at(desk[INVERSE] + 8 * i), floats_at(desk[means + ERRORS])
    off = 0.0 if desk[NARROW_PAIR] != 0 else np.inf
    for v in range(desk[N_VIEWS]):
        scale = inverse[v * desk[N_ROWS]]
        if scale > 0.0:
            off += errors[v] if 1.0 / SAFE < scale < SAFE else np.inf
    return off


@part
def _fetch(desk, i):
    """Have a row of float32 views brought near."""
    inverse, addresses = floats_at(desk[INVERSE] + 8 * i), whole_at(desk[ADDRESSES])
    for v in range(desk[N_VIEWS]):
        if inverse[v * desk[N_ROWS]] > 0.0:
            n_bytes = 4 * whole_at(desk[WIDTHS])[v]
            row = addresses[3 * v] + i * n_bytes
            for at in range(row, row + n_bytes, LINE):
                fetch(at)


@part
def _least_two(far, n_listed):
    """(place of the least, the least, the second)."""
    best, least, second = 0, np.inf, np.inf
    for p in range(n_listed):
        second = min(second, max(least, far[p]))
        best = p if far[p] < least else best
        least = min(least, far[p])
    return best, least, second


def compare(table, room_table, means, place, n_which, most, begin, span, _g):
    """Decide rows by their distances from the few clusters that can be nearest.

    INOUT place (where n_which rows lie; those are left of which more than `most` clusters can be
    nearest), DISTANCE (bounds become distances), LABELS, MARGINS, SLACK, MOVED (from `begin` on),
    SPAN_MOVED; OUT OLD. Gives the number of rows left.
    """
    desk, room = whole_at(table), whole_at(room_table)
    n_clusters, which, old = desk[N_CLUSTERS], whole_at(place), labels_at(desk[OLD])
    labels, margins, slack = labels_at(desk[LABELS]), floats_at(desk[MARGINS]), floats_at(desk[SLACK])
    listed, far, moved = whole_at(room[LISTED]), floats_at(room[EXACT]), whole_at(desk[MOVED] + 8 * begin)
    exact, lanes, count = exactness(desk, means), new_lanes(), whole_at(desk[SPAN_MOVED] + 8 * span)
    n_left = 0
    for r in range(n_which):
        i = which[r]
        if r + 1 < n_which and desk[NARROW_PAIR] != 0:
            _fetch(desk, which[r + 1])
        old[i] = labels[i]
        line = desk[DISTANCE] + 8 * i * n_clusters
        known = floats_at(line)
        reach = known[labels[i]] + 2.0 * slack[i]
        n_listed, beyond = _list_near(line, n_clusters, reach, most, listed, lanes)
        if n_listed < 0:
            which[n_left] = i
            n_left += 1
            continue
        off = _narrow_error(desk, means, i)
        best, least, second = 0, np.inf, np.inf
        if off < np.inf:
            call(desk[NEAR], table, room_table, means, i, n_listed, 1, 0, 0, 0)
            best, least, second = _least_two(far, n_listed)
        if off < np.inf and second - least > 2.0 * off:
            slack[i] = max(slack[i], off)
        else:
            off = exact
            call(desk[NEAR], table, room_table, means, i, n_listed, 0, 0, 0, 0)
            best, least, second = _least_two(far, n_listed)
        for p in range(n_listed):
            known[listed[p]] = far[p]
        if second - least > 2.0 * off:
            labels[i] = listed[best]
            margins[i] = min(second - least - 2.0 * off, beyond - least - 2.0 * slack[i] - off)
        else:
            n_close = close_ones(room, n_listed, least, off)
            labels[i] = call(desk[SETTLE], table, room_table, means, i, n_close, 0, 0, 0, 0)
            margins[i] = 0.0
        if labels[i] != old[i]:
            moved[count[0]] = i
            count[0] += 1
    return n_left


@part
def _movers(desk, span):
    """Mark the clusters that moved just now.  INOUT STALE."""
    n_clusters, shifts = desk[N_CLUSTERS], floats_at(desk[SHIFTS])
    stale = flags_at(desk[STALE] + span * n_clusters)
    for v in range(desk[N_VIEWS]):
        for k in range(n_clusters):
            if shifts[v * n_clusters + k] > 0.0:
                stale[k] = True


@part
def _gathered(desk, room, n_picked):
    """Whether SUBSET is of these CLUSTERS as they are now.  INOUT GATHERED."""
    clusters, known = whole_at(room[CLUSTERS]), whole_at(room[GATHERED])
    same = known[0] == desk[N_ITER] and known[1] == n_picked
    known[0], known[1] = desk[N_ITER], n_picked
    for c in range(n_picked):
        same = same and known[2 + c] == clusters[c]
        known[2 + c] = clusters[c]
    return same


def gather(table, room_table, means, n_picked, _c, _d, _e, _f, _g):
    """Lay the centres of n_picked CLUSTERS out by themselves, if they do not lie so.  OUT the SUBSET."""
    desk, room = whole_at(table), whole_at(room_table)
    if _gathered(desk, room, n_picked):
        return 0
    n_clusters, addresses, ready = desk[N_CLUSTERS], whole_at(desk[ADDRESSES]), flags_at(desk[means + READY])
    starts, widths = whole_at(desk[STARTS]), whole_at(desk[WIDTHS])
    clusters, squares = whole_at(room[CLUSTERS]), floats_at(desk[means + SQUARES])
    some_squares = floats_at(room[SUBSET_SQUARES])
    n_padded = (n_picked + PAD - 1) // PAD * PAD
    all_padded = (n_clusters + PAD - 1) // PAD * PAD
    for v in range(desk[N_VIEWS]):
        for c in range(n_picked):
            some_squares[v * n_picked + c] = squares[v * n_clusters + clusters[c]]
        if addresses[3 * v] != 0 and ready[v]:
            source = desk[means + NARROW] + 4 * all_padded * starts[v]
            target = room[SUBSET] + 4 * n_padded * starts[v]
            call(desk[PICK], 0, 0, source, widths[v], n_clusters, room[CLUSTERS], n_picked, target, 0)
    return 0


def note(table, room_table, place, n_here, n_compared, some, _e, _f, _g):
    """Before rows are chosen for: their labels until now, and what has become of their distances.

    IN place (where the n_here rows lie), FAR, OLD_SLACK, CLUSTERS (the n_compared that were looked at, if
    only `some`); OUT OLD; INOUT DISTANCE, SLACK.
    """
    desk, room, rows = whole_at(table), whole_at(room_table), whole_at(place)
    n_clusters, labels, old = desk[N_CLUSTERS], labels_at(desk[LABELS]), labels_at(desk[OLD])
    slack, old_slack, clusters = floats_at(desk[SLACK]), floats_at(room[OLD_SLACK]), whole_at(room[CLUSTERS])
    for r in range(n_here):
        i = rows[r]
        old[i] = labels[i]
        line = floats_at(room[FAR] + 8 * r * n_compared)
        known = floats_at(desk[DISTANCE] + 8 * i * n_clusters)
        if some:  # the other clusters' distances are those of an earlier look
            slack[i] = max(slack[i], old_slack[r])
            for c in range(n_compared):
                known[clusters[c]] = line[c]
        elif desk[DISTANCE] != 0:
            copy(room[FAR] + 8 * r * n_clusters, desk[DISTANCE] + 8 * i * n_clusters, 8 * n_clusters)
    return 0


def again(table, room_table, means, begin, end, span, _e, _f, _g):
    """Decide those of rows begin..end anew whose label the centres' moves may have changed.

    INOUT LABELS, MARGINS, SLACK, DISTANCE, and by span STALE (clusters that some row has not been compared
    with since they moved), COMPLETE (whether DISTANCE holds every row); OUT OLD (labels before, of rows
    looked at), MOVED (rows that changed cluster, from `begin` on), SPAN_MOVED (their number), LOOKED (rows
    times clusters).
    """
    desk, room = whole_at(table), whole_at(room_table)
    n_clusters, which, clusters = desk[N_CLUSTERS], whole_at(room[WHICH]), whole_at(room[CLUSTERS])
    stale = flags_at(desk[STALE] + span * n_clusters)
    complete, looked = whole_at(desk[COMPLETE] + 8 * span), whole_at(desk[LOOKED] + 8 * span)
    count = whole_at(desk[SPAN_MOVED] + 8 * span)
    _movers(desk, span)
    wipe(room[BUILT], 1 << desk[N_VIEWS] if desk[N_VIEWS] <= MOST_VIEWS else 1)
    count[0] = looked[0] = 0
    most = min(n_clusters // FEW, MOST_PAIRS)
    comparing = complete[0] != 0 and most > 1 and desk[SPARSE] == 0
    n_doubtful = n_compared = 0
    for first in range(begin, end, TOGETHER):  # while their distances are in cache
        place, stop = room[WHICH] + 8 * n_doubtful, min(first + TOGETHER, end)
        n_here = call(desk[LOOSEN], table, room_table, first, stop, complete[0], place, 0, 0, 0)
        if comparing and n_here > 0:
            n_left = call(desk[COMPARE], table, room_table, means, place, n_here, most, begin, span, 0)
            n_compared += n_here - n_left
            n_here = n_left
        n_doubtful += n_here
    looked[0] = n_compared * most // 2
    everyone = n_compared == 0 and n_doubtful > MOST_OF * (end - begin)
    if n_doubtful == 0:
        return 0
    if everyone:
        n_doubtful = end - begin
        applied, age = labels_at(desk[APPLIED]), 0 if desk[AGE] == desk[MOST_AGE] else desk[AGE]
        for r in range(n_doubtful):
            which[r] = begin + r
            applied[begin + r] = age
    n_compared = 0
    for k in range(n_clusters):
        if stale[k]:
            clusters[n_compared] = k
            n_compared += 1
    some = complete[0] != 0 and 4 * n_compared <= 3 * n_clusters and n_doubtful >= PAD
    if desk[SPARSE] != 0:  # wide centres may be more to pick from than there is to look at
        fewer = (n_compared + LANES - 1) // LANES < (n_clusters + LANES - 1) // LANES
        some = some and fewer and NONZEROS * n_doubtful > desk[N_COLUMNS]
    narrow, squares = desk[means + NARROW], desk[means + SQUARES]
    if some:
        call(desk[GATHER], table, room_table, means, n_compared, 0, 0, 0, 0, 0)
        narrow, squares = room[SUBSET], room[SUBSET_SQUARES]
    else:
        n_compared = n_clusters
    labels, old, moved = labels_at(desk[LABELS]), labels_at(desk[OLD]), whole_at(desk[MOVED] + 8 * begin)
    slack, old_slack = floats_at(desk[SLACK]), floats_at(room[OLD_SLACK])
    n_moved = count[0]
    for start in range(0, n_doubtful, room[TILE_ROWS]):
        n_here, place = min(room[TILE_ROWS], n_doubtful - start), room[WHICH] + 8 * start
        rows = whole_at(place)
        for r in range(n_here):
            old_slack[r] = slack[rows[r]]
        call(desk[LOOK_AT], table, room_table, means, place, n_here, narrow, n_compared, squares, room[FAR])
        call(desk[NOTE], table, room_table, place, n_here, n_compared, some, 0, 0, 0)
        call(desk[CHOOSE], table, room_table, means, place, n_here, 0, 0, 0, 0)
        for r in range(n_here):
            if labels[rows[r]] != old[rows[r]]:
                moved[n_moved] = rows[r]
                n_moved += 1
    if everyone:
        wipe(desk[STALE] + span * n_clusters, n_clusters)
        complete[0] = desk[DISTANCE] != 0
    looked[0] += n_doubtful * n_compared
    count[0] = n_moved
    return 0
