"""The phases that renew the centres, and what their moves may have done to distances (Eq. 13, 17).

Each works on a share of the clusters: those from `lot` on in steps of `n_lots`.
"""

from __future__ import annotations

import numpy as np

from viewpass.kernels.chunk.desk import (
    AGE,
    ALPHA,
    BLOCK,
    CENTRE,
    CHANGED,
    COUNTS,
    ERRORS,
    FALLEN,
    FALLS,
    FLAT,
    FOUR,
    KNOWN,
    LENGTHS,
    LOSS,
    MAKE,
    MEAN,
    MOST_AGE,
    N_CLUSTERS,
    N_VIEWS,
    NARROW,
    NARROW_PAIR,
    NEW,
    NUMBERS,
    PAD,
    READY,
    RISEN,
    RISES,
    SEEN,
    SHIFTS,
    SPARSE,
    SQUARES,
    STARTS,
    STEPS,
    TRACE,
    TRACES,
    TRACES_NOW,
    VALUES,
    WIDEST,
    WIDTHS,
)
from viewpass.kernels.chunk.memory import call, copy, flags_at, floats_at, narrow_at, whole_at, wipe
from viewpass.kernels.compiling import part
from viewpass.kernels.grid import LANES, STEP
from viewpass.kernels.lanes import clear, fold, new_lanes
from viewpass.kernels.sparse import FLOAT32_ERROR

LENGTH_ALLOWANCE = 1.0 + 1e-5  # rows rounded to the grid may be a little longer than 1
ROUNDING = 2.0**-51  # what each column may add to the rounding of a distance
DENSE_COLUMNS, SPARSE_COLUMNS = 128, 1024  # laid out together for rows of a kind: they stay in cache
ZERO, MEAN_OF_CHUNK, LAST_CENTRE = range(3)  # what an empty cluster's centre becomes


def trace(_table, _room, centre, steps, width, out, _e, _f, _g):
    """u.R of a cluster in the order of `lane_sum`.  IN centre, steps (its sums); OUT out."""
    u, r, lanes = floats_at(centre), whole_at(steps), new_lanes()
    whole = width // LANES * LANES
    clear(lanes)
    for j in range(0, whole, LANES):
        for lane in range(LANES):
            lanes[lane] += u[j + lane] * (np.float64(r[j + lane]) * STEP)
    for j in range(whole, width):
        lanes[j - whole] += u[j] * (np.float64(r[j]) * STEP)
    floats_at(out)[0] = fold(lanes)
    return 0


def lengths(_table, _room, centre, last, width, out, _e, _f, _g):
    """|u|^2 and |u - last|^2 of a centre in the order of `lane_sum`.  IN centre, last; OUT out."""
    u, before, square, shift = floats_at(centre), floats_at(last), new_lanes(), new_lanes()
    whole = width // LANES * LANES
    clear(square)
    clear(shift)
    for j in range(0, whole, LANES):
        for lane in range(LANES):
            value = u[j + lane]
            move = value - before[j + lane]
            square[lane] += value * value
            shift[lane] += move * move
    for j in range(whole, width):
        value = u[j]
        move = value - before[j]
        square[j - whole] += value * value
        shift[j - whole] += move * move
    both = floats_at(out)
    both[0], both[1] = fold(square), fold(shift)
    return 0


def make(table, _room, last, fill, v, k, target, _f, _g):
    """The centre of a cluster: the mean of its rows, or what stands in for it.  OUT target."""
    desk = whole_at(table)
    n_clusters, start, width = desk[N_CLUSTERS], whole_at(desk[STARTS])[v], whole_at(desk[WIDTHS])[v]
    line, at = v * n_clusters + k, 8 * (n_clusters * start + k * width)
    count = whole_at(desk[COUNTS])[line]
    if count > 0:
        steps, centre = whole_at(desk[STEPS] + at), floats_at(target)
        factor = STEP / (np.float64(count) + floats_at(desk[NUMBERS])[ALPHA])
        for j in range(width):
            centre[j] = np.float64(steps[j]) * factor
    elif fill == ZERO:
        wipe(target, 8 * width)
    else:
        source = desk[MEAN] + 8 * start
        if fill == LAST_CENTRE and flags_at(desk[KNOWN])[line] and flags_at(desk[last + READY])[v]:
            source = desk[last + VALUES] + at
        copy(source, target, 8 * width)
    return 0


def renew(table, room_table, lot, n_lots, last, fill, _e, _f, _g):
    """Eq. 13 for a share of the clusters, and what the move may have done to distances.

    IN SEEN, CHANGED, STEPS, COUNTS, MEAN, the centres from `last` on (LAST, or NEW in place); OUT the
    NEW centres, SHIFTS, RISES, FALLS.
    """
    desk, room = whole_at(table), whole_at(room_table)
    n_clusters, starts, widths = desk[N_CLUSTERS], whole_at(desk[STARTS]), whole_at(desk[WIDTHS])
    seen, changed, ready = flags_at(desk[SEEN]), flags_at(desk[CHANGED]), flags_at(desk[last + READY])
    shifts, rises, falls = floats_at(desk[SHIFTS]), floats_at(desk[RISES]), floats_at(desk[FALLS])
    before, squares = floats_at(desk[last + SQUARES]), floats_at(desk[NEW + SQUARES])
    counts, traces = whole_at(desk[COUNTS]), desk[NEW + TRACES]
    for v in range(desk[N_VIEWS]):
        width, fresh = widths[v], seen[v] and not ready[v]
        for k in range(lot, n_clusters, n_lots):
            line, at = v * n_clusters + k, 8 * (n_clusters * starts[v] + k * width)
            old, new = desk[last + VALUES] + at, desk[NEW + VALUES] + at
            shifts[line] = rises[line] = falls[line] = 0.0
            if seen[v] and (changed[k] or fresh):
                centre = room[CENTRE] if last == NEW else new
                call(desk[MAKE], table, 0, last, fill, v, k, centre, 0, 0)
                call(desk[LENGTHS], 0, 0, centre, old, width, room[FOUR], 0, 0, 0)
                square, shift = floats_at(room[FOUR])[0], floats_at(room[FOUR])[1]
                if fresh:
                    shifts[line] = rises[line] = np.inf
                    falls[line] = -np.inf
                elif shift > 0.0:
                    change = square - before[line]
                    reach = 2.0 * LENGTH_ALLOWANCE * np.sqrt(shift) + ROUNDING * (width + 16)
                    shifts[line] = shift
                    rises[line] = change + reach
                    falls[line] = change - reach
                if last == NEW:
                    copy(centre, new, 8 * width)
                squares[line] = square
                weight = np.float64(counts[line]) + floats_at(desk[NUMBERS])[ALPHA]
                # u.R = u.u (T + alpha)
                floats_at(traces)[line] = weight * square if counts[line] > 0 else 0.0
            elif last != NEW:
                copy(old, new, 8 * width)
                squares[line] = before[line]
                # Rows may have moved after these centres were made.
                call(desk[TRACE], 0, 0, new, desk[STEPS] + at, width, traces + 8 * line, 0, 0, 0)
    return 0


def spread(table, _room, lot, n_lots, last, _d, _e, _f, _g):
    """Lay renewed centres out for the look, some columns of all clusters at a time: these share cache lines.

    IN the centres from `last` on (as for `renew`), CHANGED; OUT NARROW of NEW, FLAT.
    """
    desk = whole_at(table)
    n_clusters, starts, widths = desk[N_CLUSTERS], whole_at(desk[STARTS]), whole_at(desk[WIDTHS])
    sparse, changed = desk[SPARSE] != 0, flags_at(desk[CHANGED])
    n_padded = (n_clusters + PAD - 1) // PAD * PAD
    n_together, stride = (SPARSE_COLUMNS, n_clusters) if sparse else (DENSE_COLUMNS, np.int64(PAD))
    for v in range(desk[N_VIEWS]):
        width = widths[v]
        for first in range(lot * n_together, width, n_lots * n_together):
            n_columns = min(n_together, width - first)
            for k in range(n_clusters):
                if changed[k] or last != NEW:
                    at = n_clusters * starts[v] + k * width + first
                    values, flat = floats_at(desk[NEW + VALUES] + 8 * at), narrow_at(desk[FLAT] + 4 * at)
                    place = k if sparse else k // PAD * PAD * width + k % PAD
                    there = n_padded * starts[v] + first * stride + place
                    narrow = narrow_at(desk[NEW + NARROW] + 4 * there)
                    if desk[NARROW_PAIR] != 0:
                        for j in range(n_columns):
                            flat[j] = np.float32(values[j])
                    for j in range(n_columns):
                        narrow[stride * j] = np.float32(values[j])
    return 0


def error_of(sparse: bool, width: int, longest: float) -> float:
    """What the float32 look may be off by (sparse rows: by each value).

    Each of the products and additions of a block of columns, and the rounding of both factors, loses
    at most 2^-24 of |x| |u|; rows lie on a grid of 2^-33.
    """
    if sparse:
        return longest * FLOAT32_ERROR
    relative = (min(width, BLOCK) + 4) * 2.0**-24
    relative /= 1.0 - relative
    return 2.0 * longest * (relative + np.sqrt(width) * 2.0**-34) * 1.001 + 1e-30


_error_of = part(error_of)


@part
def _remember(desk):
    """Another update's RISES and FALLS into the sums of them; every row is brought up to MOST_AGE."""
    n_lines, numbers = desk[N_VIEWS] * desk[N_CLUSTERS], floats_at(desk[NUMBERS])
    rises, falls = floats_at(desk[RISES]), floats_at(desk[FALLS])
    if desk[AGE] == desk[MOST_AGE]:
        desk[AGE] = 0
        numbers[WIDEST] = 0.0
    then, now = 8 * n_lines * desk[AGE], 8 * n_lines * (desk[AGE] + 1)
    risen, fallen = floats_at(desk[RISEN] + then), floats_at(desk[FALLEN] + then)
    rising, falling = floats_at(desk[RISEN] + now), floats_at(desk[FALLEN] + now)
    widest = numbers[WIDEST]
    for line in range(n_lines):
        # Where a view is new, every row that has it is looked at: nobody asks for what was before.
        known = rises[line] < np.inf
        rising[line] = risen[line] + rises[line] if known else 0.0
        falling[line] = fallen[line] + falls[line] if known else 0.0
        widest = max(widest, max(abs(rising[line]), abs(falling[line])))
    numbers[WIDEST] = widest
    desk[AGE] += 1


def renewed(table, _room, last, fill, _c, _d, _e, _f, _g):
    """What is known once all clusters are renewed.

    OUT READY and ERRORS of NEW, TRACES_NOW; INOUT KNOWN, AGE, RISEN, FALLEN.
    """
    desk = whole_at(table)
    n_views, n_clusters = desk[N_VIEWS], desk[N_CLUSTERS]
    widths, seen = whole_at(desk[WIDTHS]), flags_at(desk[SEEN])
    before, ready = flags_at(desk[last + READY]), flags_at(desk[NEW + READY])
    squares, errors = floats_at(desk[NEW + SQUARES]), floats_at(desk[NEW + ERRORS])
    counts, known = whole_at(desk[COUNTS]), flags_at(desk[KNOWN])
    for v in range(n_views):
        ready[v] = before[v] or seen[v]
        longest = 0.0
        for line in range(v * n_clusters, (v + 1) * n_clusters):
            longest = max(longest, squares[line])
            if seen[v] and (fill != ZERO or counts[line] > 0):
                known[line] = True
        errors[v] = _error_of(desk[SPARSE] != 0, widths[v], np.sqrt(longest))
    copy(desk[NEW + TRACES], desk[TRACES_NOW], 8 * n_views * n_clusters)
    _remember(desk)
    return 0


def wants_mean(table, _room, last, fill, _c, _d, _e, _f, _g):
    """Whether a cluster without rows is to take the mean of the chunk."""
    desk = whole_at(table)
    n_views, n_clusters = desk[N_VIEWS], desk[N_CLUSTERS]
    if fill == ZERO:
        return 0
    seen, changed = flags_at(desk[SEEN]), flags_at(desk[CHANGED])
    ready, known = flags_at(desk[last + READY]), flags_at(desk[KNOWN])
    counts = whole_at(desk[COUNTS])
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
    desk = whole_at(table)
    n_views, n_clusters = desk[N_VIEWS], desk[N_CLUSTERS]
    squares, traces = floats_at(desk[NEW + SQUARES]), floats_at(desk[TRACES_NOW])
    counts, ready = whole_at(desk[COUNTS]), flags_at(desk[NEW + READY])
    numbers = floats_at(desk[NUMBERS])
    alpha = numbers[ALPHA]
    value = 0.0
    for v in range(n_views):
        if ready[v]:
            for line in range(v * n_clusters, (v + 1) * n_clusters):
                value += squares[line] * (np.float64(counts[line]) + alpha) - 2.0 * traces[line]
    numbers[LOSS] = value
    return 0
