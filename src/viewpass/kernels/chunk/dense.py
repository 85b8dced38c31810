"""What is done to the rows of one dense view, for a type of numbers. All arguments are whole numbers."""

from __future__ import annotations

from typing import Any

import numpy as np
from numba import njit

from viewpass.kernels.chunk.desk import (
    ADDRESSES,
    BASE_AT,
    BLOCK,
    ERRORS,
    EXACT,
    FAR_AT,
    FOUR,
    INVERSE,
    LOOK_SQUARES,
    N_ROWS,
    N_SEEN,
    PAD,
    PLACES,
    PRODUCT,
    PRODUCT_AT,
    ROW_AT,
    SLACK,
    STATUS,
    TILE,
    TWICE,
    WANTED,
    WIDTHS,
    ZERO_AT,
    ZEROS,
)
from viewpass.kernels.chunk.memory import flags_at, floats_at, narrow_at, numbers_at, whole_at
from viewpass.kernels.chunk.vector import ROWS, look_at_eight, look_at_sixteen
from viewpass.kernels.compiling import part
from viewpass.kernels.dense import norm_of
from viewpass.kernels.grid import ABSENT, ROUNDER, ROUNDER_BITS
from viewpass.kernels.lanes import bits_of, new_lanes

SAFE = 1e18  # lengths beyond it, or their inverse, may take float32 products out of its range


@njit(nogil=True, fastmath={"reassoc", "contract", "nsz"})
def two_dots(row, one, two, width):
    """Products with two centres; the order of adding does not matter, since a bound covers it."""
    a = b = 0.0
    for j in range(width):
        value = np.float64(row[j])
        a += value * one[j]
        b += value * two[j]
    return a, b


@njit(nogil=True, fastmath={"reassoc", "contract", "nsz"})
def two_narrow_dots(row, one, two, width):
    """Float32 products with two centres of some columns."""
    a = b = np.float32(0.0)
    for j in range(width):
        a += row[j] * one[j]
        b += row[j] * two[j]
    return np.float64(a), np.float64(b)


@part
def _row(desk, v, i, value, item):
    """A row's values, how many they are, and what scales them to unit length."""
    width = whole_at(desk[WIDTHS])[v]
    row = numbers_at(whole_at(desk[ADDRESSES])[3 * v] + item * i * width, value)
    return row, width, floats_at(desk[INVERSE])[v * desk[N_ROWS] + i]


@part
def _look_at_panels(room, height, n_columns, centres, width, n_clusters, line):
    """Products of some columns with all clusters, sixteen at a time; the last ones by way of PRODUCT."""
    known, wanted, twice = room[BASE_AT], room[FAR_AT], room[TWICE]
    n_whole = n_clusters // PAD * PAD
    for k in range(0, n_whole, PAD):
        panel = centres + 4 * k * width
        for first in range(0, 8 * height, 8 * ROWS):
            look_at_sixteen(
                *(room[ROW_AT] + first, n_columns, panel),
                *(known + first, wanted + first, 8 * k, line + 8 * k, twice + first),
            )
    n_dots = n_clusters - n_whole
    if n_dots == 0:
        return
    panel = centres + 4 * n_whole * width
    bases, targets, squares = whole_at(known), whole_at(wanted), floats_at(line)
    for first in range(0, height, ROWS):
        at = 8 * first
        if n_dots > PAD // 2:
            look_at_sixteen(
                *(room[ROW_AT] + at, n_columns, panel),
                *(room[ZERO_AT], room[PRODUCT_AT], 0, room[ZEROS], twice + at),
            )
        else:
            look_at_eight(
                *(room[ROW_AT] + at, n_columns, panel),
                *(room[ZERO_AT], room[PRODUCT_AT], 0, room[ZEROS], twice + at),
            )
        for h in range(first, min(first + ROWS, height)):
            before, after = floats_at(bases[h]), floats_at(targets[h])
            products = floats_at(room[PRODUCT] + 8 * PAD * (h - first))
            for one in range(n_dots):
                k = n_whole + one
                after[k] = (before[k] + squares[k]) + products[one]


def functions(value: Any) -> dict[str, Any]:
    """The functions for rows of float32 or float64."""
    item = np.dtype(value).itemsize

    def measure(table, _room, v, first, last, _d, _e, _f, _g):
        """Norms and kinds of rows first..last; gives the worst kind.  OUT INVERSE, STATUS; INOUT N_SEEN."""
        desk, lanes = whole_at(table), new_lanes()
        n_rows, width = desk[N_ROWS], whole_at(desk[WIDTHS])[v]
        x = whole_at(desk[ADDRESSES])[3 * v]
        inverse, status = floats_at(desk[INVERSE] + 8 * v * n_rows), whole_at(desk[STATUS] + 8 * v * n_rows)
        n_seen, wanted = whole_at(desk[N_SEEN]), flags_at(desk[WANTED] + v * n_rows)
        everyone = desk[WANTED] == 0
        worst = ABSENT
        for i in range(first, last):
            scale = 0.0
            kind = ABSENT
            if everyone or wanted[i]:
                scale, kind = norm_of(numbers_at(x + item * i * width, value), width, lanes)
            inverse[i] = scale
            status[i] = kind
            n_seen[i] += scale > 0.0
            worst = max(worst, kind)
        return worst

    def look(table, room_table, v, means, rows, n_which, centres, n_clusters, far):
        """Add |u|^2 less twice the float32 products with the centres to the distances.

        IN rows (n_which of them), centres (a view's, in panels), LOOK_SQUARES; INOUT far (n_clusters for
        each of the rows, undefined while its SLACK is below 0), SLACK (by row of the chunk).
        """
        desk, room = whole_at(table), whole_at(room_table)
        width, x = whole_at(desk[WIDTHS])[v], whole_at(desk[ADDRESSES])[3 * v]
        inverse, error = floats_at(desk[INVERSE] + 8 * v * desk[N_ROWS]), floats_at(desk[means + ERRORS])[v]
        slack, which, row_at = floats_at(desk[SLACK]), whole_at(rows), whole_at(room[ROW_AT])
        base_at, far_at, twice = whole_at(room[BASE_AT]), whole_at(room[FAR_AT]), floats_at(room[TWICE])
        places = whole_at(room[PLACES])
        height = 0
        for r in range(n_which):
            i = which[r]
            scale = inverse[i]
            if scale > 0.0:
                places[height] = i
                base_at[height] = far_at[height] = far + 8 * r * n_clusters
                twice[height] = 2.0 if item == 8 else 2.0 * scale
                if slack[i] < 0.0:
                    slack[i] = 0.0
                    base_at[height] = room[ZEROS]
                slack[i] += error if item == 8 or 1.0 / SAFE < scale < SAFE else np.inf
                height += 1
        if height == 0:
            return 0
        for h in range(height, height + ROWS):  # nobody reads what comes of these
            base_at[h], far_at[h], twice[h] = room[ZEROS], room[EXACT], 0.0
        line = room[LOOK_SQUARES] + 8 * v * n_clusters
        for column in range(0, width, BLOCK):
            n_columns = min(BLOCK, width - column)
            for h in range(height):
                row_at[h] = x + item * (places[h] * width + column)
                if item == 8:  # float32 rows are read where they lie
                    row, scale = numbers_at(row_at[h], value), inverse[places[h]]
                    row_at[h] = room[TILE] + 4 * h * n_columns
                    target = narrow_at(row_at[h])
                    for j in range(n_columns):
                        target[j] = np.float32(np.float64(row[j]) * scale)
            for h in range(height, height + ROWS):
                row_at[h] = row_at[height - 1]
            if column > 0:
                line = room[ZEROS]
                for h in range(height):
                    base_at[h] = far_at[h]
            _look_at_panels(room, height, n_columns, centres + 4 * PAD * column, width, n_clusters, line)
        return height

    def pair(table, _room, v, i, clusters, n_listed, matrix, out, _g):
        """Take twice x_i.u of some clusters, in float64 but in any order, from `out` (one for each).

        IN clusters, matrix (a view's centres); INOUT out.
        """
        row, width, scale = _row(whole_at(table), v, i, value, item)
        listed, distance = whole_at(clusters), floats_at(out)
        for p in range(0, n_listed, 2):
            q = min(p + 1, n_listed - 1)  # the last one, twice, if their number is odd
            one, two = matrix + 8 * listed[p] * width, matrix + 8 * listed[q] * width
            a, b = two_dots(row, floats_at(one), floats_at(two), width)
            distance[p] -= 2.0 * scale * a
            if q > p:
                distance[q] -= 2.0 * scale * b
        return 0

    def narrow_pair(table, _room, v, i, clusters, n_listed, matrix, out, _g):
        """The same in float32, a block of columns after another, as the look does it."""
        desk, listed, distance = whole_at(table), whole_at(clusters), floats_at(out)
        _values, width, scale = _row(desk, v, i, value, item)
        x = whole_at(desk[ADDRESSES])[3 * v] + item * i * width
        for p in range(0, n_listed, 2):
            q = min(p + 1, n_listed - 1)
            a = b = 0.0
            for column in range(0, width, BLOCK):
                row = numbers_at(x + item * column, value)
                one = narrow_at(matrix + 4 * (listed[p] * width + column))
                two = narrow_at(matrix + 4 * (listed[q] * width + column))
                c, d = two_narrow_dots(row, one, two, min(BLOCK, width - column))
                a += c
                b += d
            distance[p] -= 2.0 * scale * a
            if q > p:
                distance[q] -= 2.0 * scale * b
        return 0

    def dots(table, room_table, v, i, matrix, a, b, c, d):
        """x_i.u of four clusters in float64, column after column: each sum must wait for its last addition.

        IN matrix (a view's centres); OUT FOUR.
        """
        row, width, scale = _row(whole_at(table), v, i, value, item)
        one, two = floats_at(matrix + 8 * a * width), floats_at(matrix + 8 * b * width)
        three, four = floats_at(matrix + 8 * c * width), floats_at(matrix + 8 * d * width)
        e = f = g = h = 0.0
        for j in range(width):
            x = (np.float64(row[j]) * scale + ROUNDER) - ROUNDER
            e += x * one[j]
            f += x * two[j]
            g += x * three[j]
            h += x * four[j]
        out = floats_at(whole_at(room_table)[FOUR])
        out[0], out[1], out[2], out[3] = e, f, g, h
        return 0

    def add(table, _room, v, i, sign, target, _e, _f, _g):
        """Add (1) or take away (-1) a row in grid steps.  INOUT target: a cluster's sums."""
        row, width, scale = _row(whole_at(table), v, i, value, item)
        sums = whole_at(target)
        if sign > 0:
            for j in range(width):
                rounded = np.float64(np.float64(row[j]) * scale + ROUNDER)
                sums[j] += bits_of(rounded) - ROUNDER_BITS
        else:
            for j in range(width):
                rounded = np.float64(np.float64(row[j]) * scale + ROUNDER)
                sums[j] -= bits_of(rounded) - ROUNDER_BITS
        return 0

    made = {"measure": measure, "look": look, "pair": pair, "dots": dots, "add": add}
    return made | {"narrow_pair": narrow_pair}


def pick(_table, _room, source, width, n_clusters, clusters, n_picked, target, _g):
    """Some clusters' centres of a view as if they were all there are.  IN source, clusters; OUT target."""
    picked = whole_at(clusters)
    for c in range(n_picked):
        k = picked[c]
        whole = narrow_at(source + 4 * (k // PAD * PAD * width + k % PAD))
        panel = narrow_at(target + 4 * (c // PAD * PAD * width + c % PAD))
        for j in range(width):
            panel[PAD * j] = whole[PAD * j]
    return 0
