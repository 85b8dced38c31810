"""Lists of numbers out of the pages of a Parquet column: levels read run by run, values moved row by row.

A page holds, for each entry, whether it begins a row (repetition, one bit), what is there (definition, one
or two bits), and the values. Levels come in runs of equal ones or packed in groups of eight. Whatever is
not a row of exactly `width` values, or none, is left to others: ODD. No byte outside a page is read.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numba import types

from viewpass.kernels.chunk.memory import copy, flags_at, labels_at, whole_at, wipe
from viewpass.kernels.compiling import called, compiled, once

# Where reading stands, by column. Two decoders of levels: where the next run begins and where the last
# ends (addresses), entries left in this run, their value (-1: packed), the next bit of the packed ones.
AT, END, LEFT, VALUE, BIT = range(5)
REPEATED, DEFINED = 0, 5
# Entries left in the page, the next value and the end of the values (addresses), values that the present
# row still lacks, rows done, those that are there.
ENTRIES, NEXT, LAST, LACKING, ROW, N_PRESENT = range(10, 16)
N_STATES = 16

GO_ON, ODD = 0, 1
MOST_SHIFT = 28  # of a run's length: no page has more than 2^31 entries


@called
def _run_head(at, end):
    """(a run's length and whether it is packed, in one number, 0 if that is odd; where the run begins)."""
    head = shift = np.int64(0)
    while at < end and shift <= MOST_SHIFT:
        byte = np.int64(flags_at(at)[0])
        at += 1
        head |= (byte & 127) << shift
        shift += 7
        if byte < 128:
            return head, at
    return np.int64(0), at


@called
def _begin_run(state, d, bits):
    """The next run of the levels whose decoder is at `d`; whether there is one."""
    end = state[d + END]
    head, at = _run_head(state[d + AT], end)
    number = head >> 1
    if number == 0:
        return False
    if head & 1:
        if number * bits > end - at:
            return False
        state[d + LEFT], state[d + VALUE], state[d + BIT] = 8 * number, -1, 8 * at
        state[d + AT] = at + number * bits
    else:
        if at >= end:
            return False
        state[d + LEFT], state[d + VALUE] = number, np.int64(flags_at(at)[0])
        state[d + AT] = at + 1
    return True


@called
def _equal(state, d, bits, value, most):
    """Pass over at most so many levels that have this value; gives their number, -1 if the levels end."""
    n = np.int64(0)
    mask = (1 << bits) - 1
    while n < most:
        if state[d + LEFT] == 0 and not _begin_run(state, d, bits):
            return -1
        if state[d + VALUE] >= 0:
            if state[d + VALUE] != value:
                return n
            here = min(state[d + LEFT], most - n)
            state[d + LEFT] -= here
            n += here
            continue
        bit, left = state[d + BIT], state[d + LEFT]
        same = True
        while same and n < most and left > 0:
            byte = np.int64(flags_at(bit >> 3)[0])
            if value == mask and bit & 7 == 0 and byte == 255 and min(most - n, left) * bits >= 8:
                here = 8 // bits
            else:
                same = (byte >> (bit & 7)) & mask == value
                here = np.int64(same)
            n += here
            left -= here
            bit += here * bits
        state[d + BIT], state[d + LEFT] = bit, left
        if not same:
            return n
    return n


@called
def _one(state, d, bits):
    """The next level; -1 if there is none."""
    if state[d + LEFT] == 0 and not _begin_run(state, d, bits):
        return -1
    state[d + LEFT] -= 1
    if state[d + VALUE] >= 0:
        return state[d + VALUE]
    bit = state[d + BIT]
    state[d + BIT] = bit + bits
    return (np.int64(flags_at(bit >> 3)[0]) >> (bit & 7)) & ((1 << bits) - 1)


@called
def _move(state, target, n_bytes):
    """The next values; whether there are as many."""
    if state[NEXT] + n_bytes > state[LAST]:
        return False
    copy(state[NEXT], target, n_bytes)
    state[NEXT] += n_bytes
    return True


def _place(address, rows, present, n_rows, width, item, whole, least):
    """Move rows out of a page, until it or the room is at its end; GO_ON, or ODD.

    `whole` is the definition level of a value, `least` that of a list that holds something: with a lower
    one the row is absent, and zero. INOUT the state at `address`; OUT rows (n_rows x width), present.
    """
    state, there = whole_at(address), flags_at(present)
    row_bytes, bits = width * item, 1 if whole == 1 else 2
    row, lacking = state[ROW], state[LACKING]
    while state[ENTRIES] > 0 and (row < n_rows or lacking > 0):
        if lacking == 0:
            if _equal(state, REPEATED, 1, 0, 1) != 1:
                return ODD
            number = min(width, state[ENTRIES])
            found = _equal(state, DEFINED, bits, whole, number)
            if found == 0:
                level = _one(state, DEFINED, bits)
                if level < 0 or level >= least:
                    return ODD
                wipe(rows + row * row_bytes, row_bytes)
                there[row] = 0
                state[ENTRIES] -= 1
                row += 1
                continue
            if found != number or _equal(state, REPEATED, 1, 1, number - 1) != number - 1:
                return ODD
            there[row] = 1
            state[N_PRESENT] += 1
            lacking = width
            row += 1
        else:  # begun in the page before
            number = min(lacking, state[ENTRIES])
            if _equal(state, DEFINED, bits, whole, number) != number:
                return ODD
            if _equal(state, REPEATED, 1, 1, number) != number:
                return ODD
        if not _move(state, rows + row * row_bytes - lacking * item, number * item):
            return ODD
        lacking -= number
        state[ENTRIES] -= number
    state[ROW], state[LACKING] = row, lacking
    return GO_ON


def _length(address, whole, least):
    """The length of a page's first list that holds something; 0 if it cannot be told.  INOUT the state."""
    state, bits = whole_at(address), 1 if whole == 1 else 2
    while state[ENTRIES] > 0:
        state[ENTRIES] -= 1
        if _one(state, REPEATED, 1) != 0:
            return 0
        level = _one(state, DEFINED, bits)
        if level >= least:
            more = _equal(state, REPEATED, 1, 1, state[ENTRIES])
            return more + 1 if 0 <= more < state[ENTRIES] else 0
        if level < 0:
            return 0
    return 0


def _look_up(source, n_bytes, n_most, known, n_known, target, item):
    """Values of a dictionary by their numbers, packed in runs after a byte that says in how many bits.

    IN source, known (n_known values); OUT target (at most n_most). Gives how many there are; -1: odd.
    """
    if n_bytes < 1:
        return 0
    bits, at, end = np.int64(flags_at(source)[0]), source + 1, source + n_bytes
    if bits > 24:
        return -1
    narrow, narrow_known = labels_at(target), labels_at(known)
    wide, wide_known = whole_at(target), whole_at(known)
    n, run_bytes, mask = np.int64(0), (bits + 7) // 8, (1 << bits) - 1
    while n < n_most and at < end:
        head, at = _run_head(at, end)
        number = head >> 1
        packed = head & 1
        length = number * bits if packed else run_bytes
        if number == 0 or length > end - at:
            return -1
        here = min(8 * number if packed else number, n_most - n)
        value = held = have = np.int64(0)
        from_here = at
        for _ in range(1 if not packed else here):
            if packed:
                while have < bits:
                    held |= np.int64(flags_at(from_here)[0]) << have
                    from_here += 1
                    have += 8
                value = held & mask
                held >>= bits
                have -= bits
            else:
                for b in range(run_bytes):
                    value |= np.int64(flags_at(at)[b]) << (8 * b)
            if value >= n_known:
                return -1
            for _again in range(1 if packed else here):
                if item == 4:
                    narrow[n] = narrow_known[value]
                else:
                    wide[n] = wide_known[value]
                n += 1
        at += length
    return n


_KERNELS: dict[str, tuple[Callable[..., Any], int]] = {
    "place": (_place, 8),
    "length": (_length, 3),
    "look_up": (_look_up, 7),
}


@once
def kernel(name: str) -> Callable[..., Any]:
    """`place`, `length` or `look_up`, compiled; all arguments are whole numbers."""
    function, n_arguments = _KERNELS[name]
    return compiled(function, types.int64(*[types.int64] * n_arguments))
