"""The phases that add rows to the sums, and let the sums follow the rows (Eq. 12).

Each works on a share of the clusters: those from `lot` on in steps of `n_lots`.
"""

from __future__ import annotations

import numpy as np

from viewpass.kernels.chunk.desk import (
    ADD,
    BEGIN,
    BOUNDS,
    CHANGED,
    COUNTS,
    END,
    INVERSE,
    LABELS,
    LOOKED,
    MOVED,
    N_CLUSTERS,
    N_LOOKS,
    N_MOVED,
    N_ROWS,
    N_SPANS,
    N_VIEWS,
    NEW,
    NUMBERS,
    OLD,
    ORDER,
    PART_COUNTS,
    PART_STEPS,
    READY,
    ROOMS,
    SPAN_MOVED,
    STARTS,
    STEPS,
    TOTAL_COUNTS,
    TOTAL_STEPS,
    TRACE,
    TRACES_NOW,
    VALUES,
    WIDTHS,
)
from viewpass.kernels.chunk.memory import call, copy, flags_at, floats_at, labels_at, whole_at, wipe


def join(table, _room, lot, n_lots, n_parts, _d, _e, _f, _g):
    """The sums with this chunk: those before it and the threads' parts.

    IN TOTAL_STEPS, TOTAL_COUNTS, ROOMS (the threads' tables, with their PART sums); OUT STEPS, COUNTS.
    """
    desk = whole_at(table)
    n_views, n_clusters = desk[N_VIEWS], desk[N_CLUSTERS]
    starts, widths = whole_at(desk[STARTS]), whole_at(desk[WIDTHS])
    before = whole_at(desk[TOTAL_COUNTS])
    counts = whole_at(desk[COUNTS])
    for v in range(n_views):
        width = widths[v]
        for k in range(lot, n_clusters, n_lots):
            at = 8 * (n_clusters * starts[v] + k * width)
            whole = whole_at(desk[STEPS] + at)
            total = whole_at(desk[TOTAL_STEPS] + at)
            line = v * n_clusters + k
            counts[line] = before[line]
            filled = False
            for part in range(n_parts):
                room = whole_at(whole_at(desk[ROOMS])[part])
                number = whole_at(room[PART_COUNTS])[line]
                if number > 0:
                    counts[line] += number
                    more = whole_at(room[PART_STEPS] + at)
                    for j in range(width):
                        whole[j] = (whole[j] if filled else total[j]) + more[j]
                    filled = True
            if not filled:
                copy(desk[TOTAL_STEPS] + at, desk[STEPS] + at, 8 * width)
    return 0


def sort(table, _room, _a, _b, _c, _d, _e, _f, _g):
    """Rows BEGIN..END by cluster, in order.  IN LABELS; OUT ORDER, BOUNDS (one more than clusters)."""
    desk = whole_at(table)
    n_clusters, labels = desk[N_CLUSTERS], labels_at(desk[LABELS])
    rows, ends = whole_at(desk[ORDER]), whole_at(desk[BOUNDS])
    wipe(desk[BOUNDS], 8 * (n_clusters + 1))
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


def fold_in(table, _room, lot, n_lots, _c, _d, _e, _f, _g):
    """The sums with this chunk's rows, cluster by cluster and view by view, each while it is in cache.

    IN TOTAL_STEPS, TOTAL_COUNTS, ORDER, BOUNDS: rows by cluster; OUT STEPS, COUNTS.
    """
    desk = whole_at(table)
    n_rows, n_views, n_clusters = desk[N_ROWS], desk[N_VIEWS], desk[N_CLUSTERS]
    starts, widths = whole_at(desk[STARTS]), whole_at(desk[WIDTHS])
    before, counts = whole_at(desk[TOTAL_COUNTS]), whole_at(desk[COUNTS])
    rows, ends = whole_at(desk[ORDER]), whole_at(desk[BOUNDS])
    for unit in range(lot, n_views * n_clusters, n_lots):
        v, k = unit // n_clusters, unit % n_clusters
        inverse = floats_at(desk[INVERSE] + 8 * v * n_rows)
        at = 8 * (n_clusters * starts[v] + k * widths[v])
        sums = desk[STEPS] + at
        copy(desk[TOTAL_STEPS] + at, sums, 8 * widths[v])
        counts[unit] = before[unit]
        for p in range(ends[k], ends[k + 1]):
            if inverse[rows[p]] > 0.0:
                counts[unit] += 1
                call(desk[ADD], table, 0, v, rows[p], 1, sums, 0, 0, 0)
    return 0


def mark(table, _room, _a, _b, _c, _d, _e, _f, _g):
    """Put the rows that moved in all spans behind one another; mark the clusters they left or came to.

    IN SPAN_MOVED, LOOKED, OLD, LABELS; INOUT MOVED, N_LOOKS; OUT N_MOVED, CHANGED.
    """
    desk = whole_at(table)
    moved, by_span, looked = whole_at(desk[MOVED]), whole_at(desk[SPAN_MOVED]), whole_at(desk[LOOKED])
    changed, old, labels = flags_at(desk[CHANGED]), labels_at(desk[OLD]), labels_at(desk[LABELS])
    n_rows, n_spans, there = desk[END] - desk[BEGIN], desk[N_SPANS], 0
    wipe(desk[CHANGED], desk[N_CLUSTERS])
    for number in range(n_spans):
        begin = desk[BEGIN] + n_rows * number // n_spans
        for place in range(begin, begin + by_span[number]):
            i = moved[place]
            moved[there] = i
            changed[old[i]] = True
            changed[labels[i]] = True
            there += 1
        floats_at(desk[NUMBERS])[N_LOOKS] += looked[number] / desk[N_CLUSTERS]
    desk[N_MOVED] = there
    return 0


def follow(table, room_table, lot, n_lots, n_moved, _d, _e, _f, _g):
    """Let the sums follow the rows that changed cluster; u.R of the clusters that touched.

    IN MOVED, OLD, LABELS, CHANGED, the NEW centres; INOUT STEPS, COUNTS, TRACES_NOW.
    """
    desk = whole_at(table)
    n_rows, n_views, n_clusters = desk[N_ROWS], desk[N_VIEWS], desk[N_CLUSTERS]
    starts, widths = whole_at(desk[STARTS]), whole_at(desk[WIDTHS])
    inverse = floats_at(desk[INVERSE])
    moved, old = whole_at(desk[MOVED]), labels_at(desk[OLD])
    labels, counts = labels_at(desk[LABELS]), whole_at(desk[COUNTS])
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
    ready, changed = flags_at(desk[NEW + READY]), flags_at(desk[CHANGED])
    for v in range(n_views):
        for k in range(lot, n_clusters, n_lots):
            if changed[k] and ready[v]:
                at = 8 * (n_clusters * starts[v] + k * widths[v])
                centre, out = desk[NEW + VALUES] + at, desk[TRACES_NOW] + 8 * (v * n_clusters + k)
                call(desk[TRACE], 0, 0, centre, desk[STEPS] + at, widths[v], out, 0, 0, 0)
    return 0
