"""The phases that follow the labels: sums, centres and what their moves may cost (Eq. 12-13, 17).

Each works on a share of the clusters: those from `lot` on in steps of `n_lots`.
"""

from __future__ import annotations

import numpy as np
from numba import njit

from viewpass.kernels.chunk.desk import (
    ADD,
    ALPHA,
    BEGIN,
    BLOCK,
    BOUNDS,
    CENTRE,
    CHANGED,
    COUNTS,
    END,
    ERRORS,
    FALLS,
    INVERSE,
    KNOWN,
    LABELS,
    LANES_ROOM,
    LAY_OUT,
    LOSS,
    MEAN,
    MORE_LANES,
    MOVED,
    N_CLUSTERS,
    N_LOOKS,
    N_ROWS,
    N_VIEWS,
    NARROW,
    NEW,
    NUMBERS,
    OLD,
    ORDER,
    PAD,
    PART_COUNTS,
    PART_STEPS,
    READY,
    RISES,
    ROOM_SLOTS,
    ROOMS,
    SEEN,
    SHIFTS,
    SLOTS,
    SPARSE,
    SQUARES,
    STARTS,
    STEPS,
    TOTAL_COUNTS,
    TOTAL_STEPS,
    TRACES,
    TRACES_NOW,
    VALUES,
    WIDTHS,
)
from viewpass.kernels.chunk.memory import call, flags_at, floats_at, labels_at, narrow_at, whole_at
from viewpass.kernels.grid import LANES, STEP
from viewpass.kernels.lanes import fold
from viewpass.kernels.sparse import FLOAT32_ERROR

LENGTH_ALLOWANCE = 1.0 + 1e-5  # rows rounded to the grid may be a little longer than 1
ROUNDING = 2.0**-51  # what each column may add to the rounding of a distance
SPREAD_COLUMNS = 1024  # laid out together for sparse rows: they stay in cache
ZERO, MEAN_OF_CHUNK, LAST_CENTRE = range(3)  # what an empty cluster's centre becomes


def join(table, _room, lot, n_lots, n_parts, _d, _e, _f, _g):
    """The sums with this chunk: those before it and the threads' parts.

    IN TOTAL_STEPS, TOTAL_COUNTS, ROOMS (the threads' tables, with their PART sums); OUT STEPS, COUNTS.
    """
    desk = whole_at(table, SLOTS)
    n_views, n_clusters = desk[N_VIEWS], desk[N_CLUSTERS]
    starts, widths = whole_at(desk[STARTS], n_views), whole_at(desk[WIDTHS], n_views)
    before = whole_at(desk[TOTAL_COUNTS], n_views * n_clusters)
    counts = whole_at(desk[COUNTS], n_views * n_clusters)
    for v in range(n_views):
        width = widths[v]
        for k in range(lot, n_clusters, n_lots):
            at = 8 * (n_clusters * starts[v] + k * width)
            whole = whole_at(desk[STEPS] + at, width)
            total = whole_at(desk[TOTAL_STEPS] + at, width)
            line = v * n_clusters + k
            counts[line] = before[line]
            filled = False
            for part in range(n_parts):
                room = whole_at(whole_at(desk[ROOMS], n_parts)[part], ROOM_SLOTS)
                number = whole_at(room[PART_COUNTS], n_views * n_clusters)[line]
                if number > 0:
                    counts[line] += number
                    more = whole_at(room[PART_STEPS] + at, width)
                    for j in range(width):
                        whole[j] = (whole[j] if filled else total[j]) + more[j]
                    filled = True
            if not filled:
                for j in range(width):
                    whole[j] = total[j]
    return 0


def fold_in(table, _room, lot, n_lots, _c, _d, _e, _f, _g):
    """Add rows cluster by cluster and view by view, each sum while it is in cache.

    IN ORDER, BOUNDS: rows by cluster; INOUT STEPS, COUNTS.
    """
    desk = whole_at(table, SLOTS)
    n_rows, n_views, n_clusters = desk[N_ROWS], desk[N_VIEWS], desk[N_CLUSTERS]
    starts, widths = whole_at(desk[STARTS], n_views), whole_at(desk[WIDTHS], n_views)
    counts = whole_at(desk[COUNTS], n_views * n_clusters)
    rows, ends = whole_at(desk[ORDER], n_rows), whole_at(desk[BOUNDS], n_clusters + 1)
    for unit in range(lot, n_views * n_clusters, n_lots):
        v, k = unit // n_clusters, unit % n_clusters
        inverse = floats_at(desk[INVERSE] + 8 * v * n_rows, n_rows)
        sums = desk[STEPS] + 8 * (n_clusters * starts[v] + k * widths[v])
        for p in range(ends[k], ends[k + 1]):
            if inverse[rows[p]] > 0.0:
                counts[unit] += 1
                call(desk[ADD], table, 0, v, rows[p], 1, sums, 0, 0, 0)
    return 0


@njit(nogil=True)
def _trace(centre, steps, lanes):
    """u.R in the order of `lane_sum`.  OUT lanes: room."""
    width = centre.shape[0]
    whole = width // LANES * LANES
    for lane in range(LANES):
        lanes[lane] = 0.0
    for j in range(0, whole, LANES):
        for lane in range(LANES):
            lanes[lane] += centre[j + lane] * (np.float64(steps[j + lane]) * STEP)
    for j in range(whole, width):
        lanes[j - whole] += centre[j] * (np.float64(steps[j]) * STEP)
    return fold(lanes)


def follow(table, room_table, lot, n_lots, n_moved, _d, _e, _f, _g):
    """Let the sums follow the rows that changed cluster; u.R of the clusters that touched.

    IN MOVED, OLD, LABELS, CHANGED, the NEW centres; INOUT STEPS, COUNTS, TRACES_NOW.
    """
    desk, room = whole_at(table, SLOTS), whole_at(room_table, ROOM_SLOTS)
    n_rows, n_views, n_clusters = desk[N_ROWS], desk[N_VIEWS], desk[N_CLUSTERS]
    starts, widths = whole_at(desk[STARTS], n_views), whole_at(desk[WIDTHS], n_views)
    inverse = floats_at(desk[INVERSE], n_views * n_rows)
    moved, old = whole_at(desk[MOVED], n_moved), labels_at(desk[OLD], n_rows)
    labels, counts = labels_at(desk[LABELS], n_rows), whole_at(desk[COUNTS], n_views * n_clusters)
    for p in range(n_moved):
        i = moved[p]
        for sign in (-1, 1):
            k = np.int64(old[i]) if sign < 0 else np.int64(labels[i])
            if k < 0 or k % n_lots != lot:
                continue
            for v in range(n_views):
                if inverse[v * n_rows + i] > 0.0:
                    counts[v * n_clusters + k] += sign
                    sums = desk[STEPS] + 8 * (n_clusters * starts[v] + k * widths[v])
                    call(desk[ADD], table, room_table, v, i, sign, sums, 0, 0, 0)
    ready, changed = flags_at(desk[NEW + READY], n_views), flags_at(desk[CHANGED], n_clusters)
    traces = floats_at(desk[TRACES_NOW], n_views * n_clusters)
    lanes = floats_at(room[LANES_ROOM], LANES)
    for v in range(n_views):
        for k in range(lot, n_clusters, n_lots):
            if changed[k] and ready[v]:
                at = 8 * (n_clusters * starts[v] + k * widths[v])
                centre = floats_at(desk[NEW + VALUES] + at, widths[v])
                traces[v * n_clusters + k] = _trace(centre, whole_at(desk[STEPS] + at, widths[v]), lanes)
    return 0


@njit(nogil=True)
def _square_and_shift(new, last, square, shift):
    """|new|^2 and |new - last|^2 in the order of `lane_sum`.  OUT square, shift: room."""
    width = new.shape[0]
    whole = width // LANES * LANES
    for lane in range(LANES):
        square[lane] = 0.0
        shift[lane] = 0.0
    for j in range(0, whole, LANES):
        for lane in range(LANES):
            value = new[j + lane]
            move = value - last[j + lane]
            square[lane] += value * value
            shift[lane] += move * move
    for j in range(whole, width):
        value = new[j]
        move = value - last[j]
        square[j - whole] += value * value
        shift[j - whole] += move * move
    return fold(square), fold(shift)


@njit(nogil=True)
def _copy(source, target):
    for j in range(target.shape[0]):
        target[j] = source[j]


@njit(nogil=True)
def _empty_centre(desk, last, fill, v, k, centre, start):
    """The centre of a cluster without rows.  OUT centre."""
    n_views, n_clusters, width = desk[N_VIEWS], desk[N_CLUSTERS], centre.shape[0]
    if fill == ZERO:
        for j in range(width):
            centre[j] = 0.0
        return
    known = flags_at(desk[KNOWN], n_views * n_clusters)[v * n_clusters + k]
    if fill == LAST_CENTRE and known and flags_at(desk[last + READY], n_views)[v]:
        at = 8 * (n_clusters * start + k * width)
        _copy(floats_at(desk[last + VALUES] + at, width), centre)
    else:
        _copy(floats_at(desk[MEAN] + 8 * start, width), centre)


def renew(table, room_table, lot, n_lots, last, fill, _e, _f, _g):
    """Eq. 13 for a share of the clusters, and what the move may have done to distances.

    IN SEEN, CHANGED, STEPS, COUNTS, MEAN, the centres from `last` on (LAST, or NEW in place); OUT the
    NEW centres, SHIFTS, RISES, FALLS.
    """
    desk, room = whole_at(table, SLOTS), whole_at(room_table, ROOM_SLOTS)
    n_views, n_clusters = desk[N_VIEWS], desk[N_CLUSTERS]
    starts, widths = whole_at(desk[STARTS], n_views), whole_at(desk[WIDTHS], n_views)
    seen, changed = flags_at(desk[SEEN], n_views), flags_at(desk[CHANGED], n_clusters)
    ready = flags_at(desk[last + READY], n_views)
    n_both = n_views * n_clusters
    counts = whole_at(desk[COUNTS], n_both)
    shifts, rises, falls = (
        floats_at(desk[SHIFTS], n_both),
        floats_at(desk[RISES], n_both),
        floats_at(desk[FALLS], n_both),
    )
    old_squares, squares = floats_at(desk[last + SQUARES], n_both), floats_at(desk[NEW + SQUARES], n_both)
    traces = floats_at(desk[NEW + TRACES], n_both)
    lanes, more_lanes = floats_at(room[LANES_ROOM], LANES), floats_at(room[MORE_LANES], LANES)
    n_padded = (n_clusters + PAD - 1) // PAD * PAD
    alpha = floats_at(desk[NUMBERS], N_LOOKS + 1)[ALPHA]
    sparse = desk[SPARSE] != 0  # `spread` lays these out
    for v in range(n_views):
        width = widths[v]
        fresh = seen[v] and not ready[v]
        narrow = desk[NEW + NARROW] + 4 * n_padded * starts[v]
        for k in range(lot, n_clusters, n_lots):
            line = v * n_clusters + k
            at = 8 * (n_clusters * starts[v] + k * width)
            before = floats_at(desk[last + VALUES] + at, width)
            there = floats_at(desk[NEW + VALUES] + at, width)
            shifts[line] = rises[line] = falls[line] = 0.0
            if not (seen[v] and (changed[k] or fresh)):
                if last != NEW:
                    _copy(before, there)
                    squares[line] = old_squares[line]
                    # Rows may have moved after these centres were made.
                    traces[line] = _trace(there, whole_at(desk[STEPS] + at, width), lanes)
                    if not sparse:
                        call(
                            desk[LAY_OUT],
                            table,
                            0,
                            desk[NEW + VALUES] + at,
                            width,
                            k,
                            n_clusters,
                            narrow,
                            0,
                            0,
                        )
                continue
            centre = floats_at(room[CENTRE], width) if last == NEW else there
            weight = np.float64(counts[line]) + alpha
            if counts[line] > 0:
                factor = STEP / weight
                steps = whole_at(desk[STEPS] + at, width)
                for j in range(width):
                    centre[j] = np.float64(steps[j]) * factor
            else:
                _empty_centre(desk, last, fill, v, k, centre, starts[v])
            square, shift = _square_and_shift(centre, before, lanes, more_lanes)
            change = square - old_squares[line]
            if last == NEW:
                _copy(centre, there)
            squares[line] = square
            traces[line] = weight * square if counts[line] > 0 else 0.0  # u.R = u.u (T + alpha)
            if not sparse:
                call(desk[LAY_OUT], table, 0, desk[NEW + VALUES] + at, width, k, n_clusters, narrow, 0, 0)
            if fresh:
                shifts[line] = rises[line] = np.inf
                falls[line] = -np.inf
            elif shift > 0.0:
                reach = 2.0 * LENGTH_ALLOWANCE * np.sqrt(shift) + ROUNDING * (width + 16)
                shifts[line] = shift
                rises[line] = change + reach
                falls[line] = change - reach
    return 0


def spread(table, _room, lot, n_lots, last, _d, _e, _f, _g):
    """Lay renewed centres out for sparse rows, some columns at a time: all clusters share them.

    IN the centres from `last` on (as for `renew`), CHANGED; OUT NARROW of NEW.
    """
    desk = whole_at(table, SLOTS)
    n_views, n_clusters = desk[N_VIEWS], desk[N_CLUSTERS]
    starts, widths = whole_at(desk[STARTS], n_views), whole_at(desk[WIDTHS], n_views)
    changed = flags_at(desk[CHANGED], n_clusters)
    n_padded = (n_clusters + PAD - 1) // PAD * PAD
    for v in range(n_views):
        width = widths[v]
        for first in range(lot * SPREAD_COLUMNS, width, n_lots * SPREAD_COLUMNS):
            n_columns = min(SPREAD_COLUMNS, width - first)
            there = desk[NEW + NARROW] + 4 * (n_padded * starts[v] + first * n_clusters)
            narrow = narrow_at(there, n_columns * n_clusters)
            for k in range(n_clusters):
                if changed[k] or last != NEW:
                    at = n_clusters * starts[v] + k * width + first
                    values = floats_at(desk[NEW + VALUES] + 8 * at, n_columns)
                    place = np.uintp(k)
                    for j in range(n_columns):
                        narrow[place] = np.float32(values[j])
                        place += np.uintp(n_clusters)
    return 0


@njit(nogil=True)
def error_of(sparse, width, longest):
    """What the float32 look may be off by (sparse rows: by each value).

    Each of the products and additions of a block of columns, and the rounding of both factors, loses
    at most 2^-24 of |x| |u|; rows lie on a grid of 2^-33.
    """
    if sparse:
        return longest * FLOAT32_ERROR
    relative = (min(width, BLOCK) + 4) * 2.0**-24
    relative /= 1.0 - relative
    return 2.0 * longest * (relative + np.sqrt(width) * 2.0**-34) * 1.001 + 1e-30


def renewed(table, _room, last, fill, _c, _d, _e, _f, _g):
    """What is known once all clusters are renewed.  OUT READY and ERRORS of NEW, TRACES_NOW; INOUT KNOWN."""
    desk = whole_at(table, SLOTS)
    n_views, n_clusters = desk[N_VIEWS], desk[N_CLUSTERS]
    n_both = n_views * n_clusters
    widths, seen = whole_at(desk[WIDTHS], n_views), flags_at(desk[SEEN], n_views)
    before, ready = flags_at(desk[last + READY], n_views), flags_at(desk[NEW + READY], n_views)
    squares, errors = floats_at(desk[NEW + SQUARES], n_both), floats_at(desk[NEW + ERRORS], n_views)
    counts, known = whole_at(desk[COUNTS], n_both), flags_at(desk[KNOWN], n_both)
    for v in range(n_views):
        ready[v] = before[v] or seen[v]
        longest = 0.0
        for line in range(v * n_clusters, (v + 1) * n_clusters):
            longest = max(longest, squares[line])
            if seen[v] and (fill != ZERO or counts[line] > 0):
                known[line] = True
        errors[v] = error_of(desk[SPARSE] != 0, widths[v], np.sqrt(longest))
    _copy(floats_at(desk[NEW + TRACES], n_both), floats_at(desk[TRACES_NOW], n_both))
    return 0


def wants_mean(table, _room, last, fill, _c, _d, _e, _f, _g):
    """Whether a cluster without rows is to take the mean of the chunk."""
    desk = whole_at(table, SLOTS)
    n_views, n_clusters = desk[N_VIEWS], desk[N_CLUSTERS]
    if fill == ZERO:
        return 0
    seen, changed = flags_at(desk[SEEN], n_views), flags_at(desk[CHANGED], n_clusters)
    ready, known = flags_at(desk[last + READY], n_views), flags_at(desk[KNOWN], n_views * n_clusters)
    counts = whole_at(desk[COUNTS], n_views * n_clusters)
    for v in range(n_views):
        if seen[v]:
            for k in range(n_clusters):
                line = v * n_clusters + k
                kept = fill == LAST_CENTRE and ready[v] and known[line]
                if counts[line] == 0 and (changed[k] or not ready[v]) and not kept:
                    return 1
    return 0


def weigh(table, _room, _a, _b, _c, _d, _e, _f, _g):
    """LOSS = sum of |u|^2 (T + alpha) - 2 u.R, in this order, of the NEW centres."""
    desk = whole_at(table, SLOTS)
    n_views, n_clusters = desk[N_VIEWS], desk[N_CLUSTERS]
    n_both = n_views * n_clusters
    squares, traces = floats_at(desk[NEW + SQUARES], n_both), floats_at(desk[TRACES_NOW], n_both)
    counts, ready = whole_at(desk[COUNTS], n_both), flags_at(desk[NEW + READY], n_views)
    numbers = floats_at(desk[NUMBERS], N_LOOKS + 1)
    alpha = numbers[ALPHA]
    value = 0.0
    for v in range(n_views):
        if ready[v]:
            for line in range(v * n_clusters, (v + 1) * n_clusters):
                value += squares[line] * (np.float64(counts[line]) + alpha) - 2.0 * traces[line]
    numbers[LOSS] = value
    return 0


def mark(table, _room, n_moved, _b, _c, _d, _e, _f, _g):
    """The clusters that rows left or came to.  IN MOVED, OLD, LABELS; OUT CHANGED."""
    desk = whole_at(table, SLOTS)
    n_rows = desk[N_ROWS]
    changed, moved = flags_at(desk[CHANGED], desk[N_CLUSTERS]), whole_at(desk[MOVED], n_moved)
    old, labels = labels_at(desk[OLD], n_rows), labels_at(desk[LABELS], n_rows)
    for k in range(changed.shape[0]):
        changed[k] = False
    for p in range(n_moved):
        changed[old[moved[p]]] = True
        changed[labels[moved[p]]] = True
    return 0


def sort(table, _room, _a, _b, _c, _d, _e, _f, _g):
    """Rows BEGIN..END by cluster, in order.  IN LABELS; OUT ORDER, BOUNDS (one more than clusters)."""
    desk = whole_at(table, SLOTS)
    n_rows, n_clusters = desk[N_ROWS], desk[N_CLUSTERS]
    labels, rows = labels_at(desk[LABELS], n_rows), whole_at(desk[ORDER], n_rows)
    ends = whole_at(desk[BOUNDS], n_clusters + 1)
    for k in range(n_clusters + 1):
        ends[k] = 0
    for i in range(desk[BEGIN], desk[END]):
        if labels[i] >= 0:
            ends[labels[i]] += 1
    total = 0
    for k in range(n_clusters + 1):
        total += ends[k]
        ends[k] = total
    for i in range(desk[END] - 1, desk[BEGIN] - 1, -1):  # from behind: each end moves to its beginning
        k = labels[i]
        if k >= 0:
            ends[k] -= 1
            rows[ends[k]] = i
    return 0
