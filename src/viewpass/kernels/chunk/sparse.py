"""What is done to the rows of one CSR view, for types of values and columns; arguments are whole numbers."""

from __future__ import annotations

from typing import Any

import numpy as np

from viewpass.kernels.chunk.dense import SAFE
from viewpass.kernels.chunk.desk import (
    ADDRESSES,
    ERRORS,
    FOUR,
    INVERSE,
    LOOK_SQUARES,
    N_ROWS,
    N_SEEN,
    PRODUCT,
    SLACK,
    STATUS,
    WANTED,
    WIDTHS,
    ZEROS,
)
from viewpass.kernels.chunk.memory import flags_at, floats_at, narrow_at, numbers_at, whole_at
from viewpass.kernels.chunk.vector import LANES, sparse_dots
from viewpass.kernels.compiling import part
from viewpass.kernels.grid import ABSENT, ROUNDER, ROUNDER_BITS
from viewpass.kernels.lanes import bits_of, new_lanes
from viewpass.kernels.sparse import WIDEST, norm_of


@part
def _view(desk, v, value, place):
    """A view's values, their columns, and where each row begins."""
    parts = whole_at(desk[ADDRESSES] + 24 * v)
    return numbers_at(parts[0], value), numbers_at(parts[1], place), numbers_at(parts[2], place)


@part
def _row(desk, v, i, value, place):
    """A view's values and columns, where those of a row begin and end, and what scales it to unit length."""
    data, columns, starts = _view(desk, v, value, place)
    scale = floats_at(desk[INVERSE])[v * desk[N_ROWS] + i]
    return data, columns, np.int64(starts[i]), np.int64(starts[i + 1]), scale


def functions(value: Any, place: Any) -> dict[str, Any]:
    """The functions for values of float32 or float64 and columns of int32 or int64."""

    def measure(table, _room, v, first, last, _d, _e, _f, _g):
        """Norms and kinds of rows first..last; gives the worst kind.  OUT INVERSE, STATUS; INOUT N_SEEN."""
        desk, lanes = whole_at(table), new_lanes()
        data, columns, starts = _view(desk, v, value, place)
        n_rows, width = desk[N_ROWS], whole_at(desk[WIDTHS])[v]
        inverse, status = floats_at(desk[INVERSE] + 8 * v * n_rows), whole_at(desk[STATUS] + 8 * v * n_rows)
        n_seen, wanted = whole_at(desk[N_SEEN]), flags_at(desk[WANTED] + v * n_rows)
        everyone = desk[WANTED] == 0
        worst = ABSENT
        for i in range(first, last):
            scale = 0.0
            kind = ABSENT
            begin, end = np.int64(starts[i]), np.int64(starts[i + 1])
            if end > begin and (everyone or wanted[i]):
                scale, kind = norm_of(data, columns, begin, end, width, lanes)
            inverse[i] = scale
            status[i] = kind
            n_seen[i] += scale > 0.0
            worst = max(worst, kind)
        return worst

    def look(table, room_table, v, means, rows, n_which, centres, n_clusters, far):
        """Add |u|^2 less twice the float32 products with the centres to the distances.

        IN rows (n_which of them), centres (a view's, column by column), LOOK_SQUARES; INOUT far
        (n_clusters for each of the rows, undefined while its SLACK is below 0), SLACK (by row of the chunk).
        """
        desk, room = whole_at(table), whole_at(room_table)
        out, squares = room[PRODUCT], floats_at(room[LOOK_SQUARES] + 8 * v * n_clusters)
        data, columns, starts = _view(desk, v, value, place)
        inverse, error = floats_at(desk[INVERSE] + 8 * v * desk[N_ROWS]), floats_at(desk[means + ERRORS])[v]
        slack, which, eight = floats_at(desk[SLACK]), whole_at(rows), narrow_at(out)
        for r in range(n_which):
            i = which[r]
            scale = inverse[i]
            if not scale > 0.0:
                continue
            first, last = np.int64(starts[i]), np.int64(starts[i + 1])
            safe = last - first < WIDEST and 1.0 / SAFE < scale < SAFE
            known = floats_at(far + 8 * r * n_clusters if slack[i] >= 0.0 else room[ZEROS])
            distance = floats_at(far + 8 * r * n_clusters)
            slack[i] = max(slack[i], 0.0)
            slack[i] += error * (last - first + 6) if safe else np.inf
            for k in range(0, n_clusters, LANES):
                sparse_dots(data, columns, first, last, np.float32(scale), centres + 4 * k, n_clusters, out)
                for one in range(min(LANES, n_clusters - k)):
                    distance[k + one] = known[k + one] + squares[k + one] - 2.0 * np.float64(eight[one])
        return 0

    def pair(table, _room, v, i, clusters, n_listed, matrix, out, _g):
        """Take twice x_i.u of some clusters, in float64, from `out` (one for each).

        IN clusters, matrix (a view's centres); INOUT out.
        """
        desk = whole_at(table)
        data, columns, first, last, scale = _row(desk, v, i, value, place)
        listed, distance, width = whole_at(clusters), floats_at(out), whole_at(desk[WIDTHS])[v]
        for p in range(n_listed):
            centre = floats_at(matrix + 8 * listed[p] * width)
            total = 0.0
            for q in range(first, last):
                total += np.float64(data[q]) * centre[columns[q]]
            distance[p] -= 2.0 * scale * total
        return 0

    def dots(table, room_table, v, i, matrix, a, b, c, d):
        """x_i.u of four clusters in float64, column after column.  IN matrix (a view's centres); OUT FOUR."""
        desk = whole_at(table)
        data, columns, first, last, scale = _row(desk, v, i, value, place)
        width = whole_at(desk[WIDTHS])[v]
        one, two = floats_at(matrix + 8 * a * width), floats_at(matrix + 8 * b * width)
        three, four = floats_at(matrix + 8 * c * width), floats_at(matrix + 8 * d * width)
        e = f = g = h = 0.0
        for p in range(first, last):
            x = (np.float64(data[p]) * scale + ROUNDER) - ROUNDER
            j = columns[p]
            e += x * one[j]
            f += x * two[j]
            g += x * three[j]
            h += x * four[j]
        out = floats_at(whole_at(room_table)[FOUR])
        out[0], out[1], out[2], out[3] = e, f, g, h
        return 0

    def add(table, _room, v, i, sign, target, _e, _f, _g):
        """Add (1) or take away (-1) a row in grid steps.  INOUT target: a cluster's sums."""
        data, columns, first, last, scale = _row(whole_at(table), v, i, value, place)
        sums = whole_at(target)
        if sign > 0:
            for p in range(first, last):
                rounded = np.float64(np.float64(data[p]) * scale + ROUNDER)
                sums[columns[p]] += bits_of(rounded) - ROUNDER_BITS
        else:
            for p in range(first, last):
                rounded = np.float64(np.float64(data[p]) * scale + ROUNDER)
                sums[columns[p]] -= bits_of(rounded) - ROUNDER_BITS
        return 0

    return {"measure": measure, "look": look, "pair": pair, "dots": dots, "add": add}


def pick(_table, _room, source, width, n_clusters, clusters, n_picked, target, _g):
    """Some clusters' centres of a view as if they were all there are.  IN source, clusters; OUT target."""
    narrow, subset, picked = narrow_at(source), narrow_at(target), whole_at(clusters)
    for j in range(width):
        for c in range(n_picked):
            subset[j * n_picked + c] = narrow[j * n_clusters + picked[c]]
    return 0
