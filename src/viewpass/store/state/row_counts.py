"""Stores the counts of rows; files without weights, zero rows or gaps do not mention these."""

from __future__ import annotations

from typing import Any

from viewpass.store.container.fields import Fields
from viewpass.sums.row_counts import RowCounts
from viewpass.views.chunk import Schema
from viewpass.views.gaps import GapCounts


def pack_counts(read: RowCounts) -> dict[str, Any]:
    """The counts as plain values."""
    return {
        "n_rows": read.n_rows,
        "n_unseen": read.n_without_views,
        **({} if read.n_copies is None else {"n_copies": read.n_copies}),
        **({"n_all_zero": list(read.n_all_zero)} if any(read.n_all_zero) else {}),
        **({"n_gaps": [list(own) for own in read.n_gaps]} if any(map(any, read.n_gaps)) else {}),
    }


def unpack_counts(stored: Fields, schema: Schema | None) -> RowCounts:
    """Restore the counts of rows that have these views."""
    n_rows, n_without_views = stored.number("n_rows"), stored.number("n_unseen")
    stored.need(n_without_views <= n_rows, "n_unseen")
    n_copies = stored.number("n_copies") if "n_copies" in stored.values else None
    return RowCounts(
        n_rows, n_without_views, n_copies, _all_zero(stored, schema, n_rows), _gaps(stored, schema, n_rows)
    )


def _all_zero(stored: Fields, schema: Schema | None, n_rows: int) -> tuple[int, ...]:
    if "n_all_zero" not in stored.values:
        return ()
    counts = stored.list("n_all_zero", int)
    n_views = 0 if schema is None else len(schema.names)
    stored.need(len(counts) == n_views and all(0 <= n <= n_rows for n in counts), "n_all_zero")
    return tuple(counts)


def _gaps(stored: Fields, schema: Schema | None, n_rows: int) -> tuple[GapCounts, ...]:
    if "n_gaps" not in stored.values or schema is None:
        return ()
    counts = stored.list("n_gaps", list)
    stored.need(len(counts) == len(schema.names), "n_gaps")
    for own, width in zip(counts, schema.widths, strict=True):
        stored.need(len(own) == 3 and all(type(n) is int and n >= 0 for n in own), "n_gaps")
        rows, values, too_few = own
        sound = rows + too_few <= n_rows and rows <= values <= rows * (width or 0)
        stored.need(sound, "n_gaps")
    return tuple(GapCounts(*own) for own in counts)
