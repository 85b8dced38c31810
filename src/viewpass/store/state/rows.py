"""Stores the rows of a sample, and counts of rows: those read, and those of each centre."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import scipy.sparse

from viewpass.errors import DataError, FileError
from viewpass.kernels.grid import MOST_ROWS, Array
from viewpass.store.container.fields import Fields, Rule
from viewpass.sums.row_counts import BINS, MOST_BITS, MOST_PATTERNS, Census, GapCounts, RowCounts
from viewpass.views.chunk import Chunk, Oddities, Schema
from viewpass.views.rows import MeasuredRows


def pack_counts(read: RowCounts) -> dict[str, Any]:
    """The counts as plain values."""
    return {
        "n_rows": read.n_rows,
        "n_unseen": read.n_without_views,
        "n_absent": read.n_absent,
        "n_copies": read.n_copies,
        "n_all_zero": list(read.n_all_zero),
        "n_gaps": [list(own) for own in read.n_gaps],
    }


def unpack_counts(stored: Fields, schema: Schema | None) -> RowCounts:
    """Restore the counts of rows that have these views."""
    n_rows, n_without_views = stored.number("n_rows"), stored.number("n_unseen")
    stored.need(n_without_views <= n_rows, "n_unseen")
    n_absent = stored.number("n_absent", most=n_without_views)
    n_views = 0 if schema is None else len(schema.names)
    zeros = stored.list("n_all_zero", int)
    stored.need(len(zeros) in (0, n_views) and all(0 <= n <= n_rows for n in zeros), "n_all_zero")
    gaps = stored.list("n_gaps", list)
    stored.need(len(gaps) in (0, n_views), "n_gaps")
    for own, width in zip(gaps, () if schema is None else schema.widths, strict=bool(gaps)):
        stored.need(len(own) == 3 and all(type(n) is int and n >= 0 for n in own), "n_gaps")
        rows, values, too_few = own
        stored.need(rows + too_few <= n_rows and rows <= values <= rows * (width or 0), "n_gaps")
    n_copies = stored.number_or_none("n_copies")
    by_view = tuple(zeros), tuple(GapCounts(*own) for own in gaps)
    return RowCounts(n_rows, n_without_views, n_copies, *by_view, n_absent)


BIN_ROWS = Rule(np.int64, "b K", 0, MOST_ROWS)
PATTERN_BITS = Rule(np.int64, "P", 0, 2 ** (MOST_BITS + 1) - 1)
PATTERN_ROWS = Rule(np.int64, "P", 1, MOST_ROWS)


def pack_census(census: Census | None, arrays: dict[str, Array]) -> dict[str, Any] | None:
    """Add the arrays to `arrays`; give what the JSON of the model says about them."""
    if census is None:
        return None
    patterns = sorted(census.patterns)
    arrays["census.counts"] = census.counts
    arrays["census.patterns"] = np.array(patterns, dtype=np.int64)
    arrays["census.numbers"] = np.array([census.patterns[name] for name in patterns], dtype=np.int64)
    return {"width": census.width, "other": census.n_other}


def unpack_census(stored: Fields, n_centres: int, n_rows: int) -> Census | None:
    """Restore them; None where the model had none."""
    if stored.get("census") is None:
        return None
    part = stored.part("census")
    width, n_other = part.number("width", least=1, most=MOST_ROWS), part.number("other", most=n_rows)
    part.need(width & (width - 1) == 0, "width")
    counts = stored.array("census.counts", BIN_ROWS, b=None, K=n_centres)
    patterns = stored.array("census.patterns", PATTERN_BITS, P=None)
    numbers = stored.array("census.numbers", PATTERN_ROWS, P=len(patterns))
    part.need(len(counts) <= BINS and len(patterns) <= MOST_PATTERNS, "census")
    part.need(bool((np.diff(patterns) > 0).all()), "census.patterns")
    inside = sum(counts.sum(axis=0).tolist()) <= n_rows and sum(numbers.tolist()) + n_other <= n_rows
    part.need(inside and (len(counts) - 1) * width < max(n_rows, 1), "census")
    return Census(width, counts, dict(zip(patterns.tolist(), numbers.tolist(), strict=True)), n_other)


FLOAT_KINDS, WHOLE_TYPES, CSR_PARTS = (np.float32, np.float64), (np.int32, np.int64), ("data", "indices")
ARRAYS = {  # n rows, d columns, v views, m stored numbers; NaN is a missing view
    "dense": Rule(FLOAT_KINDS, "n d", finite=False),
    "data": Rule(FLOAT_KINDS, "m", finite=False),
    "indices": Rule(WHOLE_TYPES, "m", 0),
    "indptr": Rule(WHOLE_TYPES, "n", 0),
    "observed": Rule(np.bool_, "n v"),
    "copies": Rule(np.int64, "n", 0, MOST_ROWS),
    "gaps": Rule(np.bool_, "n d"),
    "lacking": Rule(np.int32, "n v"),
}


def pack_chunk(chunk: Chunk, name: str, arrays: dict[str, Array]) -> dict[str, Any]:
    """Convert rows to JSON and arrays, in their own columns, without ids, which are not needed again."""
    kinds: list[str | None] = []
    for v, view in enumerate(chunk.own_views):
        if view is None:
            kinds.append(None)
        elif scipy.sparse.issparse(view):
            kinds.append("sparse")
            for part in ("data", "indices", "indptr"):
                arrays[f"{name}.{v}.{part}"] = getattr(view, part)
        else:
            kinds.append("dense")
            arrays[f"{name}.{v}"] = view
    if chunk.observed is not None:
        arrays[f"{name}.observed"] = chunk.observed
    if chunk.copies is not None:
        arrays[f"{name}.copies"] = chunk.copies
    for v, gaps in enumerate(chunk.gaps):
        if gaps is not None:
            arrays[f"{name}.gaps.{v}"] = gaps
    if chunk.odd.lacking is not None:
        arrays[f"{name}.lacking"] = chunk.odd.lacking
    return {
        "kinds": kinds,
        "widths": list(chunk.schema.widths),
        "n_rows": chunk.n_rows,
        "masked": chunk.observed is not None,
        "weighted": chunk.copies is not None,
        "stated": chunk.stated,
        "gaps": [gaps is not None for gaps in chunk.gaps],
    }


def unpack_chunk(stored: Fields, name: str, schema: Schema | None) -> Chunk:
    """Restore rows; refuse those that a stream would refuse."""
    kinds, widths = stored.list("kinds", str, None), stored.list("widths", int, None)
    stored.need(schema is not None and len(kinds) == len(widths) == len(schema.names), "kinds")
    assert schema is not None
    n_rows = stored.number("n_rows", least=1)
    observed = None
    if stored.truth("masked"):
        observed = stored.array(f"{name}.observed", ARRAYS["observed"], n=n_rows, v=len(kinds))
    try:
        views = [_view(stored, f"{name}.{v}", kinds[v], (n_rows, widths[v])) for v in range(len(kinds))]
        chunk = Chunk(tuple(views), schema.names, n_rows, observed)  # where no row has any view
        if any(kinds):
            chunk = Chunk.of(views, names=schema.names, observed=observed)
            schema.merged(chunk.schema)
            MeasuredRows(chunk).measure()
    except (DataError, ValueError, TypeError, IndexError, OverflowError) as problem:
        raise FileError(f"the rows it holds cannot be read ({problem}).") from problem
    chunk = replace(chunk, stated=stored.truth("stated"))
    if stored.truth("weighted"):
        copies = stored.array(f"{name}.copies", ARRAYS["copies"], n=n_rows)
        chunk = replace(chunk, copies=copies)
    if held := stored.list("gaps", bool):
        stored.need(
            len(held) == len(kinds) and all(kinds[v] == "dense" for v in np.flatnonzero(held)), "gaps"
        )
        rule, sizes = ARRAYS["gaps"], zip(held, widths, strict=True)
        gaps = (
            stored.array(f"{name}.gaps.{v}", rule, n=n_rows, d=width) if there else None
            for v, (there, width) in enumerate(sizes)
        )
        chunk = replace(chunk, gaps=tuple(gaps))
        if f"{name}.lacking" in stored.arrays:
            lacking = stored.array(f"{name}.lacking", ARRAYS["lacking"], n=n_rows, v=len(kinds))
            sound = all(
                (np.abs(own) <= (width or 0)).all() for own, width in zip(lacking.T, widths, strict=True)
            )
            stored.need(sound, "lacking")
            chunk = replace(chunk, odd=Oddities(lacking=lacking))
    return chunk


def _view(stored: Fields, name: str, kind: str | None, shape: tuple[int, int | None]) -> Any:
    stored.need(kind in ("dense", "sparse", None) and (kind is None) == (shape[1] is None), name)
    if kind is None:
        return None
    if kind == "dense":
        return stored.array(name, ARRAYS["dense"], n=shape[0], d=shape[1])
    starts = stored.array(f"{name}.indptr", ARRAYS["indptr"], n=shape[0] + 1)
    stored.need(bool((np.diff(starts) >= 0).all() and starts[0] == 0), name)
    data, indices = (stored.array(f"{name}.{part}", ARRAYS[part], m=int(starts[-1])) for part in CSR_PARTS)
    return scipy.sparse.csr_array((data, indices, starts), shape=shape)
