"""What is done to the rows of one dense view, for a type of numbers. All arguments are whole numbers."""

from __future__ import annotations

from typing import Any

import numpy as np
from numba import njit

from viewpass.kernels.chunk.desk import (
    ADDRESSES,
    BLOCK,
    ERRORS,
    FOUR,
    INVERSE,
    LANES_ROOM,
    N_ROWS,
    N_SEEN,
    N_VIEWS,
    PAD,
    PLACES,
    PRODUCT,
    ROOM_SLOTS,
    ROW_AT,
    SLACK,
    SLOTS,
    STATUS,
    TILE,
    WANTED,
    WIDTHS,
)
from viewpass.kernels.chunk.memory import flags_at, floats_at, matrix_at, narrow_at, vector_at, whole_at
from viewpass.kernels.chunk.vector import ROWS, dots_with_eight, dots_with_sixteen, take_sixteen
from viewpass.kernels.dense import _norm
from viewpass.kernels.grid import ABSENT, LANES, ROUNDER, ROUNDER_BITS

SAFE = 1e18  # lengths beyond it, or their inverse, may take float32 products out of its range


@njit(nogil=True, fastmath={"reassoc", "contract", "nsz"})
def dot(row, centre):
    """A product whose order of adding does not matter, since a bound covers it."""
    total = 0.0
    for j in range(centre.shape[0]):
        total += np.float64(row[j]) * centre[j]
    return total


def functions(value: Any) -> dict[str, Any]:
    """The functions for rows of float32 or float64."""
    item = np.dtype(value).itemsize

    def measure(table, room_table, v, first, last, _d, _e, _f, _g):
        """Norms and kinds of rows first..last; gives the worst kind.  OUT INVERSE, STATUS; INOUT N_SEEN."""
        desk, room = whole_at(table, SLOTS), whole_at(room_table, ROOM_SLOTS)
        n_rows, n_views = desk[N_ROWS], desk[N_VIEWS]
        width = whole_at(desk[WIDTHS], n_views)[v]
        x = matrix_at(whole_at(desk[ADDRESSES], 3 * n_views)[3 * v], n_rows, width, value)
        inverse = floats_at(desk[INVERSE] + 8 * v * n_rows, n_rows)
        status = whole_at(desk[STATUS] + 8 * v * n_rows, n_rows)
        n_seen = whole_at(desk[N_SEEN], n_rows)
        everyone = desk[WANTED] == 0
        wanted = flags_at(desk[WANTED] + v * n_rows, n_rows)
        lanes = floats_at(room[LANES_ROOM], LANES)
        worst = ABSENT
        for i in range(first, last):
            scale = 0.0
            kind = ABSENT
            if everyone or wanted[i]:
                scale, kind = _norm(x, i, lanes)
            inverse[i] = scale
            status[i] = kind
            n_seen[i] += scale > 0.0
            worst = max(worst, kind)
        return worst

    def look(table, room_table, v, means, rows, n_which, centres, n_clusters, far):
        """Take twice the float32 products with the centres from the distances.

        IN rows (n_which of them), centres (a view's, in panels); INOUT far (n_clusters for each of the
        rows), SLACK (by row of the chunk).
        """
        desk, room = whole_at(table, SLOTS), whole_at(room_table, ROOM_SLOTS)
        n_rows, n_views = desk[N_ROWS], desk[N_VIEWS]
        width = whole_at(desk[WIDTHS], n_views)[v]
        x = whole_at(desk[ADDRESSES], 3 * n_views)[3 * v]
        inverse = floats_at(desk[INVERSE] + 8 * v * n_rows, n_rows)
        error = floats_at(desk[means + ERRORS], n_views)[v]
        slack, which = floats_at(desk[SLACK], n_rows), whole_at(rows, n_which)
        places, row_at = whole_at(room[PLACES], n_which), whole_at(room[ROW_AT], n_which + ROWS)
        height = 0
        for r in range(n_which):
            scale = inverse[which[r]]
            if scale > 0.0:
                places[height] = r
                slack[which[r]] += error if item == 8 or 1.0 / SAFE < scale < SAFE else np.inf
                height += 1
        for column in range(0, width if height > 0 else 0, BLOCK):
            n_columns = min(BLOCK, width - column)
            for h in range(height):
                i = which[places[h]]
                row_at[h] = x + item * (i * width + column)
                if item == 8:  # float32 rows are read where they lie
                    row, scale = vector_at(row_at[h], n_columns, value), inverse[i]
                    row_at[h] = room[TILE] + 4 * h * n_columns
                    target = narrow_at(row_at[h], n_columns)
                    for j in range(n_columns):
                        target[j] = np.float32(np.float64(row[j]) * scale)
            for h in range(height, height + ROWS):
                row_at[h] = row_at[height - 1]
            for k in range(0, n_clusters, PAD):
                panel = centres + 4 * (k * width + PAD * column)
                n_dots = min(PAD, n_clusters - k)
                for first in range(0, height, ROWS):
                    if n_dots > PAD // 2:
                        dots_with_sixteen(room[ROW_AT] + 8 * first, n_columns, panel, room[PRODUCT])
                    else:
                        dots_with_eight(room[ROW_AT] + 8 * first, n_columns, panel, room[PRODUCT])
                    for h in range(first, min(first + ROWS, height)):
                        there = far + 8 * (places[h] * n_clusters + k)
                        products = room[PRODUCT] + 4 * PAD * (h - first)
                        twice = 2.0 if item == 8 else 2.0 * inverse[which[places[h]]]
                        if n_dots == PAD:
                            take_sixteen(products, twice, there)
                        else:
                            distance, dots = floats_at(there, n_dots), narrow_at(products, n_dots)
                            for one in range(n_dots):
                                distance[one] -= twice * np.float64(dots[one])
        return height

    def pair(table, _room, v, i, clusters, n_listed, matrix, out, _g):
        """Take twice x_i.u of some clusters, in float64 but in any order, from `out` (one for each).

        IN clusters, matrix (a view's centres); INOUT out.
        """
        desk = whole_at(table, SLOTS)
        n_rows, n_views = desk[N_ROWS], desk[N_VIEWS]
        width = whole_at(desk[WIDTHS], n_views)[v]
        row = vector_at(whole_at(desk[ADDRESSES], 3 * n_views)[3 * v] + item * i * width, width, value)
        scale = floats_at(desk[INVERSE] + 8 * v * n_rows, n_rows)[i]
        listed, distance = whole_at(clusters, n_listed), floats_at(out, n_listed)
        for p in range(n_listed):
            centre = floats_at(matrix + 8 * listed[p] * width, width)
            distance[p] -= 2.0 * scale * dot(row, centre)
        return 0

    def dots(table, room_table, v, i, matrix, a, b, c, d):
        """x_i.u of four clusters in float64, column after column: each sum must wait for its last addition.

        IN matrix (a view's centres); OUT FOUR.
        """
        desk, room = whole_at(table, SLOTS), whole_at(room_table, ROOM_SLOTS)
        n_rows, n_views = desk[N_ROWS], desk[N_VIEWS]
        width = whole_at(desk[WIDTHS], n_views)[v]
        row = vector_at(whole_at(desk[ADDRESSES], 3 * n_views)[3 * v] + item * i * width, width, value)
        scale = floats_at(desk[INVERSE] + 8 * v * n_rows, n_rows)[i]
        first, second = floats_at(matrix + 8 * a * width, width), floats_at(matrix + 8 * b * width, width)
        third, fourth = floats_at(matrix + 8 * c * width, width), floats_at(matrix + 8 * d * width, width)
        four = (0.0, 0.0, 0.0, 0.0)
        for j in range(width):
            one = (np.float64(row[j]) * scale + ROUNDER) - ROUNDER
            four = (
                four[0] + one * first[j],
                four[1] + one * second[j],
                four[2] + one * third[j],
                four[3] + one * fourth[j],
            )
        out = floats_at(room[FOUR], 4)
        out[0], out[1], out[2], out[3] = four
        return 0

    def add(table, _room, v, i, sign, target, _e, _f, _g):
        """Add (1) or take away (-1) a row in grid steps.  INOUT target: a cluster's sums."""
        desk = whole_at(table, SLOTS)
        n_rows, n_views = desk[N_ROWS], desk[N_VIEWS]
        width = whole_at(desk[WIDTHS], n_views)[v]
        row = vector_at(whole_at(desk[ADDRESSES], 3 * n_views)[3 * v] + item * i * width, width, value)
        scale = floats_at(desk[INVERSE] + 8 * v * n_rows, n_rows)[i]
        sums = whole_at(target, width)
        if sign > 0:
            for j in range(width):
                rounded = np.float64(np.float64(row[j]) * scale + ROUNDER)
                sums[j] += rounded.view(np.int64) - ROUNDER_BITS
        else:
            for j in range(width):
                rounded = np.float64(np.float64(row[j]) * scale + ROUNDER)
                sums[j] -= rounded.view(np.int64) - ROUNDER_BITS
        return 0

    return {"measure": measure, "look": look, "pair": pair, "dots": dots, "add": add}


def lay_out(_table, _room, centre, width, k, n_clusters, target, _f, _g):
    """Centre k in float32, where the look wants it.  IN centre; OUT target: a view's."""
    values = floats_at(centre, width)
    panel = narrow_at(target + 4 * (k // PAD) * PAD * width, PAD * width)
    place = np.uintp(k % PAD)
    for j in range(width):
        panel[place] = np.float32(values[j])
        place += np.uintp(PAD)
    return 0


def pick(_table, _room, source, width, n_clusters, clusters, n_picked, target, _g):
    """Some clusters' centres of a view as if they were all there are.  IN source, clusters; OUT target."""
    picked = whole_at(clusters, n_picked)
    for c in range(n_picked):
        k = picked[c]
        whole = narrow_at(source + 4 * (k // PAD) * PAD * width, PAD * width)
        panel = narrow_at(target + 4 * (c // PAD) * PAD * width, PAD * width)
        there, place = np.uintp(k % PAD), np.uintp(c % PAD)
        for _ in range(width):
            panel[place] = whole[there]
            place += np.uintp(PAD)
            there += np.uintp(PAD)
    return 0
