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
    LANES_ROOM,
    N_ROWS,
    N_SEEN,
    N_VIEWS,
    PRODUCT,
    ROOM_SLOTS,
    SLACK,
    SLOTS,
    STATUS,
    WANTED,
    WIDTHS,
)
from viewpass.kernels.chunk.memory import flags_at, floats_at, narrow_at, vector_at, whole_at
from viewpass.kernels.chunk.vector import LANES, sparse_dots
from viewpass.kernels.grid import ABSENT, ROUNDER, ROUNDER_BITS
from viewpass.kernels.grid import LANES as NORM_LANES
from viewpass.kernels.sparse import WIDEST, _norm


def functions(value: Any, place: Any) -> dict[str, Any]:
    """The functions for values of float32 or float64 and columns of int32 or int64."""

    def measure(table, room_table, v, first, last, _d, _e, _f, _g):
        """Norms and kinds of rows first..last; gives the worst kind.  OUT INVERSE, STATUS; INOUT N_SEEN."""
        desk, room = whole_at(table, SLOTS), whole_at(room_table, ROOM_SLOTS)
        n_rows, n_views = desk[N_ROWS], desk[N_VIEWS]
        addresses = whole_at(desk[ADDRESSES], 3 * n_views)
        indptr = vector_at(addresses[3 * v + 2], n_rows + 1, place)
        n_values = np.int64(indptr[n_rows])
        data = vector_at(addresses[3 * v], n_values, value)
        indices = vector_at(addresses[3 * v + 1], n_values, place)
        width = whole_at(desk[WIDTHS], n_views)[v]
        inverse = floats_at(desk[INVERSE] + 8 * v * n_rows, n_rows)
        status = whole_at(desk[STATUS] + 8 * v * n_rows, n_rows)
        n_seen = whole_at(desk[N_SEEN], n_rows)
        everyone = desk[WANTED] == 0
        wanted = flags_at(desk[WANTED] + v * n_rows, n_rows)
        lanes = floats_at(room[LANES_ROOM], NORM_LANES)
        worst = ABSENT
        for i in range(first, last):
            scale = 0.0
            kind = ABSENT
            if indptr[i + 1] > indptr[i] and (everyone or wanted[i]):
                scale, kind = _norm(data, indices, indptr[i], indptr[i + 1], width, lanes)
            inverse[i] = scale
            status[i] = kind
            n_seen[i] += scale > 0.0
            worst = max(worst, kind)
        return worst

    def look(table, room_table, v, means, rows, n_which, centres, n_clusters, far):
        """Take twice the float32 products with the centres from the distances.

        IN rows (n_which of them), centres (a view's, column by column); INOUT far (n_clusters for each
        of the rows), SLACK (by row of the chunk).
        """
        desk, room = whole_at(table, SLOTS), whole_at(room_table, ROOM_SLOTS)
        n_rows, n_views = desk[N_ROWS], desk[N_VIEWS]
        addresses = whole_at(desk[ADDRESSES], 3 * n_views)
        indptr = vector_at(addresses[3 * v + 2], n_rows + 1, place)
        n_values = np.int64(indptr[n_rows])
        data = vector_at(addresses[3 * v], n_values, value)
        indices = vector_at(addresses[3 * v + 1], n_values, place)
        inverse = floats_at(desk[INVERSE] + 8 * v * n_rows, n_rows)
        error = floats_at(desk[means + ERRORS], n_views)[v]
        slack = floats_at(desk[SLACK], n_rows)
        which = whole_at(rows, n_which)
        eight = narrow_at(room[PRODUCT], LANES)
        for r in range(n_which):
            i = which[r]
            scale = inverse[i]
            if not scale > 0.0:
                continue
            first, last = np.int64(indptr[i]), np.int64(indptr[i + 1])
            safe = last - first < WIDEST and 1.0 / SAFE < scale < SAFE
            slack[i] += error * (last - first + 6) if safe else np.inf
            for k in range(0, n_clusters, LANES):
                at, out = centres + 4 * k, room[PRODUCT]
                sparse_dots(data, indices, first, last, np.float32(scale), at, n_clusters, out)
                n_dots = min(LANES, n_clusters - k)
                distance = floats_at(far + 8 * (r * n_clusters + k), n_dots)
                for one in range(n_dots):
                    distance[one] -= 2.0 * np.float64(eight[one])
        return 0

    def pair(table, _room, v, i, clusters, n_listed, matrix, out, _g):
        """Take twice x_i.u of some clusters, in float64, from `out` (one for each).

        IN clusters, matrix (a view's centres); INOUT out.
        """
        desk = whole_at(table, SLOTS)
        n_rows, n_views = desk[N_ROWS], desk[N_VIEWS]
        addresses = whole_at(desk[ADDRESSES], 3 * n_views)
        indptr = vector_at(addresses[3 * v + 2], n_rows + 1, place)
        n_values = np.int64(indptr[n_rows])
        data = vector_at(addresses[3 * v], n_values, value)
        indices = vector_at(addresses[3 * v + 1], n_values, place)
        width = whole_at(desk[WIDTHS], n_views)[v]
        scale = floats_at(desk[INVERSE] + 8 * v * n_rows, n_rows)[i]
        listed, distance = whole_at(clusters, n_listed), floats_at(out, n_listed)
        for p in range(n_listed):
            centre = floats_at(matrix + 8 * listed[p] * width, width)
            total = 0.0
            for q in range(indptr[i], indptr[i + 1]):
                total += np.float64(data[q]) * centre[np.uintp(indices[q])]
            distance[p] -= 2.0 * scale * total
        return 0

    def dots(table, room_table, v, i, matrix, a, b, c, d):
        """x_i.u of four clusters in float64, column after column.  IN matrix (a view's centres); OUT FOUR."""
        desk, room = whole_at(table, SLOTS), whole_at(room_table, ROOM_SLOTS)
        n_rows, n_views = desk[N_ROWS], desk[N_VIEWS]
        addresses = whole_at(desk[ADDRESSES], 3 * n_views)
        indptr = vector_at(addresses[3 * v + 2], n_rows + 1, place)
        n_values = np.int64(indptr[n_rows])
        data = vector_at(addresses[3 * v], n_values, value)
        indices = vector_at(addresses[3 * v + 1], n_values, place)
        width = whole_at(desk[WIDTHS], n_views)[v]
        scale = floats_at(desk[INVERSE] + 8 * v * n_rows, n_rows)[i]
        first, second = floats_at(matrix + 8 * a * width, width), floats_at(matrix + 8 * b * width, width)
        third, fourth = floats_at(matrix + 8 * c * width, width), floats_at(matrix + 8 * d * width, width)
        four = (0.0, 0.0, 0.0, 0.0)
        for p in range(indptr[i], indptr[i + 1]):
            one = (np.float64(data[p]) * scale + ROUNDER) - ROUNDER
            j = np.uintp(indices[p])
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
        addresses = whole_at(desk[ADDRESSES], 3 * n_views)
        indptr = vector_at(addresses[3 * v + 2], n_rows + 1, place)
        n_values = np.int64(indptr[n_rows])
        data = vector_at(addresses[3 * v], n_values, value)
        indices = vector_at(addresses[3 * v + 1], n_values, place)
        scale = floats_at(desk[INVERSE] + 8 * v * n_rows, n_rows)[i]
        sums = whole_at(target, whole_at(desk[WIDTHS], n_views)[v])
        for p in range(np.uintp(indptr[i]), np.uintp(indptr[i + 1])):
            rounded = np.float64(np.float64(data[p]) * scale + ROUNDER)
            sums[np.uintp(indices[p])] += sign * (rounded.view(np.int64) - ROUNDER_BITS)
        return 0

    return {"measure": measure, "look": look, "pair": pair, "dots": dots, "add": add}


def lay_out(_table, _room, centre, width, k, n_clusters, target, _f, _g):
    """Centre k in float32, where the look wants it.  IN centre; OUT target: a view's."""
    values, narrow = floats_at(centre, width), narrow_at(target, width * n_clusters)
    at = np.uintp(k)
    for j in range(width):
        narrow[at] = np.float32(values[j])
        at += np.uintp(n_clusters)
    return 0


def pick(_table, _room, source, width, n_clusters, clusters, n_picked, target, _g):
    """Some clusters' centres of a view as if they were all there are.  IN source, clusters; OUT target."""
    narrow, subset = narrow_at(source, width * n_clusters), narrow_at(target, width * n_picked)
    picked = whole_at(clusters, n_picked)
    for j in range(width):
        for c in range(n_picked):
            subset[j * n_picked + c] = narrow[j * n_clusters + picked[c]]
    return 0
