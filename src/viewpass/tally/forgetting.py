"""Rows taken out of what was learnt, as if they had never been read.

While the sample holds all rows, it is left without these, solved and added up again: what a fit of the other
rows gives.
"""

from __future__ import annotations

from collections import deque
from dataclasses import replace

import numpy as np

from viewpass.errors import DataError
from viewpass.kernels.grid import Array, Integers
from viewpass.sample.keys import id_keys
from viewpass.sample.sample import chosen
from viewpass.streams.identities import Memory
from viewpass.sums.rules import Workspace
from viewpass.tally.learning import Learning
from viewpass.tally.merging import continuing
from viewpass.views.chunk import format_id


def keys_of(rows: Array) -> Array:
    """The keys of rows by their ids (or numbers, where rows have no ids), each once."""
    if rows.ndim != 1 or rows.dtype == bool:
        raise DataError(
            f"rows to forget: a list of ids (or of row numbers) was expected, not an array of shape "
            f"{rows.shape} and type {rows.dtype}. Of a mask give np.flatnonzero(mask), or the ids where it "
            "is true."
        )
    keys = id_keys(rows)
    if len(np.unique(keys)) < len(keys):
        raise DataError("an id is given more than once: give each row to forget once.")
    return keys


def check_left(keys: Array, n_rows: int, n_left: int, ids: Array | None) -> None:
    """Refuse data that is not that of `n_rows` rows without those of these keys."""
    if ids is not None and np.isin(keys, id_keys(ids)).any():
        raise DataError("data still holds rows to forget: leave them out of it.")
    if n_left != n_rows - len(keys):
        raise DataError(
            f"data has {n_left:,} rows: of {n_rows:,} read, {n_rows - len(keys):,} are left without "
            f"the {len(keys):,} to forget. Give these. For other data fit anew, with continue_ids=."
        )


def without(learning: Learning, rows: Array, workspace: Workspace) -> Learning:
    """What was learnt without these rows; the sample holds all rows."""
    keys, sample = keys_of(rows), learning.sample
    unknown = ~np.isin(keys, sample.keys)
    if unknown.any():
        some = ", ".join(format_id(row) for row in rows[unknown][:3])
        raise DataError(f"{int(unknown.sum()):,} of the rows to forget were never read: {some} ...")
    left = ~np.isin(sample.keys, keys)
    if int(left.sum()) == sample.n_rows - len(keys):
        return _left(learning, np.flatnonzero(left), workspace)
    raise DataError("rows that share an id were read: none of them can be told from the others.")


def _left(learning: Learning, which: Integers, workspace: Workspace) -> Learning:
    """What was learnt from some of the sampled rows alone."""
    kept = chosen(learning.sample, which)
    numbers = np.empty(len(which), dtype=np.int64)
    numbers[np.argsort(kept.numbers, kind="stable")] = np.arange(len(which))
    rest = Learning(learning.plan, learning.seed, replace(kept, numbers=numbers))
    rest.schema, rest.n_rows = learning.schema, len(which)
    if learning.solved is not None:
        deque(rest.solve(Workspace(workspace.n_threads)), maxlen=0)
    else:
        rest.solve_early(workspace)
        if rest.early is None:  # too few rows are left
            return rest
    before = learning.twin()
    before.buckets, before.n_rows, before._seen = rest.buckets, rest.n_rows, None
    before.identities = replace(learning.identities, memory=Memory())
    return continuing(rest, before, workspace)
