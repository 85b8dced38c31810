"""The desk a chunk is worked on: where each array lies, under a name the phases know.

Views lie behind one another in the flat arrays: view v's columns are those from STARTS[v] on, and a
matrix of K clusters of it begins at K * STARTS[v]. Matrices with a line a view are flat, too.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from viewpass.kernels.bounds import MOST_VIEWS
from viewpass.kernels.chunk.vector import ROWS
from viewpass.kernels.grid import Array, Integers

BLOCK = 256  # columns of one product: the shorter, the less float32 can be off by
PAD = 16  # clusters are padded to a multiple of this in float32: two vectors of eight side by side
LINE = 64  # bytes that a processor takes at once

# Sizes, in place of an address.
N_ROWS, N_VIEWS, N_CLUSTERS, N_COLUMNS = range(4)
# The rows: where their matrices lie (views x 3: of the matrix, or of data, indices and indptr; 0: the
# chunk has no such view), which the caller lets count (views x rows, 0: all), and what is known of them.
ADDRESSES, WIDTHS, STARTS, WANTED, INVERSE, STATUS, N_SEEN = range(4, 11)
# What has been decided of them; DISTANCE is 0 where distances (rows x K) are not kept.
LABELS, MARGINS, SLACK, DISTANCE, OLD, MOVED = range(11, 17)
# R in grid steps and T, before this chunk and with it.
TOTAL_STEPS, TOTAL_COUNTS, STEPS, COUNTS = range(17, 21)
# How the last renewal moved the centres (views x K): |u' - u|^2, the most a distance can have risen or
# fallen; whether a cluster ever had a centre; u.R as it is now.
SHIFTS, RISES, FALLS, KNOWN, TRACES_NOW = range(21, 26)
# Views with a row in this chunk, clusters whose sums changed, the chunk's mean (0 until wanted).
SEEN, CHANGED, MEAN = range(26, 29)
# Two sets of centres, each from LAST or NEW on: whether a view has any; in float64 (K x d a view); in
# float32 (dense: panels of d x PAD clusters; CSR: d x K); |u|^2; u.R of the sums they were made
# from; what float32 may be off by (CSR: by each value of a row).
READY, VALUES, NARROW, SQUARES, TRACES, ERRORS = range(6)
LAST, NEW = 29, 35
# What is done to the rows of one view, by functions for their kind (kinds.py).
MEASURE, LOOK, PAIR, DOTS, ADD, PICK = range(41, 47)
NARROW_PAIR, FLAT = 122, 123  # 0 if rows are not float32; the NEW centres in float32, K x d a view
# Phases that call each other (step.py); the last two are for CSR only.
FIRST, LOOK_AT, CHOOSE, DECIDE, NEAR, SETTLE, SUM_UP = range(47, 54)
LOOSEN, BOUND, AGAIN, COMPARE, GATHER, NOTE = range(54, 60)
JOIN, MARK, FOLLOW, TRACE, RENEW, MAKE, LENGTHS, RENEWED, WANTS_MEAN, WEIGH = range(60, 70)
SPREAD, WHETHER, ITERATE, REST, SORT, FOLD_IN = range(70, 76)
# Numbers with a fraction (a vector of them).
NUMBERS = 76
ALPHA, TOL, LOSS, N_LOOKS, WIDEST = range(5)
# By span of rows: clusters that some row has not been compared with since they moved (spans x K),
# whether DISTANCE holds all its rows, rows looked at times clusters, rows that changed cluster.
STALE, COMPLETE, LOOKED, SPAN_MOVED = range(77, 81)
# What the crew is to do: on rows BEGIN..END, in N_SPANS spans; rooms for at most N_ROOMS threads.
BEGIN, END, N_SPANS, ROOMS, N_ROOMS, FRESH, SUMMING, FILL, MAX_ITER = range(81, 90)
# Where it stands: updates done, which centres are the last (LAST or NEW), the worst kind of row met,
# whether the chunk's mean is wanted to go on, whether to go on, rows that moved.
N_ITER, CENTRES_AT, WORST, WANTS, GO, N_MOVED = range(90, 96)
ORDER, BOUNDS = 96, 97  # rows by cluster
SYNC, YIELD = 98, 99  # numbers that threads share; the system's function that lets others run (or 0)
JOINED, TEAM, ARRIVED, ROUND, NEXT = (64 * n for n in range(5))  # a cache line each, from SYNC on
LOSSES = 100  # of chunks that are worked on one after another
SPARSE = 101  # whether views are CSR
# Rows as mixtures of the anchors they are near when first looked at (kernels/links.py): the phase that
# makes them (0: they are not wanted), anchors and weights of each row, how many.
MIX, MIXED_NEAR, MIXED_WEIGHTS, N_MIXED = range(102, 106)
# How far the bounds on each row's distances have been brought: a row's state is as of update APPLIED[i] of
# those counted by AGE, from 0 to at most MOST_AGE; RISEN and FALLEN hold the sums of RISES and FALLS up to
# each (AGE + 1 times views x K), WIDEST their greatest value.
AGE, MOST_AGE, APPLIED, RISEN, FALLEN = range(106, 111)
# Chunks that come one after another: distances of one of them (0: not kept), other sums and centres to
# write to in turn, how many have been done, whether to stop there.
KEPT, SPARE_STEPS, SPARE_COUNTS, SPARE, N_DONE, STOP = 111, 112, 113, 114, 120, 121
SLOTS = 124

# A thread's own table: room to work, and sums of its own.
TILE_ROWS, TILE, PRODUCT, PLACES, WHICH, FAR, LISTED, EXACT = range(8)
RISE, FALL, BUILT, SUBSET, CLUSTERS, OLD_SLACK, ROW_AT = range(8, 15)
PART_STEPS, PART_COUNTS, CENTRE, SUBSET_SQUARES, FOUR = range(15, 20)
# Of each pattern's FALL: the least, the least of the others, which the least is. What SUBSET was made of:
# the update, the number of clusters, and which.
LOWEST, GATHERED = 20, 21
# For a look: where |u|^2 of the clusters lie (views x clusters), where each row's distances are read from and
# written to, what its products are multiplied by; as many zeros as clusters; and for clusters that do not
# fill a vector, in place of rows': where zeros lie, and PRODUCT's lines.
LOOK_SQUARES, BASE_AT, FAR_AT, TWICE, ZEROS, ZERO_AT, PRODUCT_AT = range(22, 29)
ROOM_SLOTS = 29


def address_of(array: Array) -> int:
    """Where an array lies, whole and in C order."""
    interface = array.__array_interface__
    assert interface["strides"] is None
    address: int = interface["data"][0]
    return address


class Desk:
    """A table of addresses that keeps alive what it points to."""

    def __init__(self, n_slots: int) -> None:
        self.table: Integers = np.zeros(n_slots, dtype=np.int64)
        self.address = address_of(self.table)
        self._held: list[Any] = [None] * n_slots

    def put(self, slot: int, array: Array, address: int | None = None) -> None:
        """Lay an array down, whole and in C order; to ask where it lies takes longer than all else."""
        self._held[slot] = array
        self.table[slot] = address_of(array) if address is None else address

    def furnish(self, wanted: Sequence[tuple[int, int, Any]], *, zeroed: bool = False) -> None:
        """Lay new arrays down: slot, size and type of each.

        In one piece, each from a cache line of its own on: threads write here all the time.
        """
        sizes = [size * np.dtype(dtype).itemsize for _, size, dtype in wanted]
        whole = sum(sizes) + LINE * (len(sizes) + 1)
        piece = np.zeros(whole, dtype=np.uint8) if zeroed else np.empty(whole, dtype=np.uint8)
        begin = address_of(piece)
        at = -begin % LINE
        for (slot, _, dtype), size in zip(wanted, sizes, strict=True):
            self.put(slot, piece[at : at + size].view(dtype), begin + at)
            at += -(-size // LINE) * LINE

    def held(self, slot: int) -> Array:
        """The array that lies in a slot."""
        array: Array = self._held[slot]
        return array

    def put_all(self, first: int, arrays: Any) -> None:
        """Lay arrays down side by side."""
        for number, array in enumerate(arrays):
            self.put(first + number, array)


def padded(n_clusters: int) -> int:
    """Clusters a float32 matrix has room for."""
    return -(-n_clusters // PAD) * PAD


def narrow_size(n_clusters: int, n_columns: int) -> int:
    """Values of a NARROW: a vector may reach over the end of the last column."""
    return padded(n_clusters) * n_columns + 4 * PAD


def new_room(n_views: int, n_clusters: int, n_columns: int, n_rows: int, tile_rows: int) -> Desk:
    """Room for a thread whose share is at most `n_rows` rows, looked at `tile_rows` at a time."""
    n_patterns = 2**n_views if n_views <= MOST_VIEWS else 1
    most = 3 * n_clusters // 4  # clusters looked at by themselves
    wanted = (
        (TILE, tile_rows * min(BLOCK, max(n_columns, 1)), np.float32),
        (PRODUCT, ROWS * PAD, np.float64),
        (PLACES, tile_rows, np.int64),
        (ROW_AT, tile_rows + ROWS, np.int64),
        (BASE_AT, tile_rows + ROWS, np.int64),
        (FAR_AT, tile_rows + ROWS, np.int64),
        (TWICE, tile_rows + ROWS, np.float64),
        (ZEROS, n_clusters + PAD, np.float64),
        (ZERO_AT, ROWS, np.int64),
        (PRODUCT_AT, ROWS, np.int64),
        (WHICH, n_rows, np.int64),
        (FAR, tile_rows * n_clusters, np.float64),
        (LISTED, n_clusters, np.int64),
        (EXACT, n_clusters, np.float64),
        (RISE, n_patterns * n_clusters, np.float64),
        (FALL, n_patterns * n_clusters, np.float64),
        (BUILT, n_patterns, np.bool_),
        (LOWEST, 3 * n_patterns, np.float64),
        (GATHERED, 2 + n_clusters, np.int64),
        (SUBSET, narrow_size(most, n_columns), np.float32),
        (CLUSTERS, n_clusters, np.int64),
        (OLD_SLACK, tile_rows, np.float64),
        (CENTRE, n_columns, np.float64),
        (SUBSET_SQUARES, n_views * most, np.float64),
        (FOUR, 4, np.float64),
        (PART_COUNTS, n_views * n_clusters, np.int64),
    )
    room = Desk(ROOM_SLOTS)
    room.table[TILE_ROWS] = tile_rows
    room.furnish(wanted)
    room.held(ZEROS)[:] = 0.0
    room.held(ZERO_AT)[:] = room.table[ZEROS]
    room.held(PRODUCT_AT)[:] = room.table[PRODUCT] + 8 * PAD * np.arange(ROWS)
    return room
