"""`viewpass diff`: which clusters of two runs correspond, and which rows moved where."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import Any, TypedDict

import numpy as np
import pyarrow as pa

from viewpass.errors import DataError
from viewpass.kernels.grid import Array, Integers
from viewpass.kernels.portable import log
from viewpass.labels.columns import NAME
from viewpass.runs.labels import ROWS, RunLabels, RunRows, plain
from viewpass.streams.events import NO_CLUSTER, Event
from viewpass.streams.matching import Shared, matching

MOVES = 40
SAME = 0.8  # of the rows of both clusters together that both have

Overlap = Counter[tuple[int, int]]


class Pair(TypedDict):
    """A cluster of each run; None where it has no counterpart. `share`: of their rows together, in both."""

    first: int | None
    second: int | None
    first_name: str | None
    second_name: str | None
    first_rows: int
    second_rows: int
    rows: int
    share: float


class Move(TypedDict):
    """Rows of a cluster that are in another one than its counterpart."""

    first: int
    second: int
    rows: int
    share: float


class Change(TypedDict):
    """What became of clusters: "merged" into one, "split" into several, "died" (scattered) or "born"."""

    what: str
    first: list[int]
    second: list[int]
    rows: int  # in both runs, of these clusters


class Comparison(TypedDict):
    """Two runs; `moved` are the rows that are not in the counterpart of their cluster."""

    first: str
    second: str
    rows: int
    only_first: int
    only_second: int
    moved: int
    nmi: float
    ari: float
    pairs: list[Pair]
    moves: list[Move]
    changes: list[Change]


def compare(one: RunLabels, two: RunLabels) -> Comparison:
    """Compare the labels of two runs: by id where both have ids, otherwise row by row."""
    names: tuple[dict[int, str], dict[int, str]] = ({}, {})
    overlap, only = _counted(one, two, names)
    pairs, rows = np.array(sorted(overlap)), np.array([overlap[pair] for pair in sorted(overlap)])
    (ones, old), (twos, new) = (np.unique(side, return_inverse=True) for side in pairs.T)
    found = matching(Shared(old, new, rows, len(ones), len(twos)))
    goes_on = {int(twos[new]): int(ones[old]) for new, old in enumerate(found.continues) if old != NO_CLUSTER}
    sizes = [
        dict(zip(ids.tolist(), np.bincount(own, rows).astype(int).tolist(), strict=True))
        for ids, own in ((ones, old), (twos, new))
    ]

    def pair(a: int | None, b: int | None) -> Pair:
        n = overlap[a, b] if a is not None and b is not None else 0
        first, second = (0 if k is None else own[k] for k, own in zip((a, b), sizes, strict=True))
        said = [None if k is None else own.get(k) for k, own in zip((a, b), names, strict=True)]
        return Pair(
            first=a,
            second=b,
            first_name=said[0],
            second_name=said[1],
            first_rows=first,
            second_rows=second,
            rows=n,
            share=n / (first + second - n),
        )

    alone = [(a, None) for a in sizes[0] if a not in goes_on.values()]
    every = [
        *((a, b) for b, a in goes_on.items()),
        *alone,
        *((None, b) for b in sizes[1] if b not in goes_on),
    ]
    moved = [(n, a, b) for (a, b), n in overlap.items() if goes_on.get(b) != a]
    moves = sorted(moved, key=lambda move: (-move[0], *move[1:]))[:MOVES]
    return Comparison(
        first=str(one.path),
        second=str(two.path),
        rows=int(rows.sum()),
        only_first=only[0],
        only_second=only[1],
        moved=sum(n for n, *_ in moved),
        nmi=_nmi(old, new, rows),
        ari=_ari(old, new, rows),
        pairs=sorted(
            (pair(a, b) for a, b in every),
            key=lambda pair: (-max(pair["first_rows"], pair["second_rows"]), pair["first"] or 0),
        ),
        moves=[Move(first=a, second=b, rows=n, share=n / sizes[0][a]) for n, a, b in moves],
        changes=_changes(overlap, found.events(ones, twos, int(rows.sum())), goes_on),
    )


def _counted(
    one: RunLabels, two: RunLabels, names: tuple[dict[int, str], dict[int, str]]
) -> tuple[Overlap, tuple[int, int]]:
    """Rows of each pair of clusters, and rows that only one run has."""
    if (one.id_name is None) != (two.id_name is None) or (not one.id_name and one.n_rows != two.n_rows):
        raise DataError(
            f"{one.path} has {one.n_rows:,} rows and {two.path} has {two.n_rows:,}, and not both have ids to "
            "match them by. Compare runs over the same rows, or fit with --id."
        )
    overlap: Overlap = Counter()
    rows, n_both = RunRows(one, _columns(one), once=True), 0
    for table in two.tables(ROWS, [*_columns(two), *([two.id_name] if two.id_name else [])]):
        found = rows.find(plain(table[two.id_name]) if two.id_name else None, len(table))
        both = np.flatnonzero(found.numbers >= 0)
        pair = found.labels.take(pa.array(both)), table.take(pa.array(both))
        _add(overlap, *(_clusters(labels, own) for labels, own in zip(pair, names, strict=True)))
        n_both += len(both)
    if not overlap:
        raise DataError(
            f"{one.path} and {two.path} have no row in common that both have put into a cluster: there is "
            f"nothing to compare.{'' if n_both or not one.id_name else _other_ids(one, two)}"
        )
    return overlap, (one.n_rows - n_both, two.n_rows - n_both)


def _other_ids(*runs: RunLabels) -> str:
    first = [next(run.tables(1, [run.id_name]))[0][0].as_py() for run in runs if run.id_name]
    return f" Ids are such as {first[0]!r} in the first and {first[1]!r} in the second."


def _columns(labels: RunLabels) -> list[str]:
    return [name for name in ("cluster", NAME) if name in labels.names]


def _clusters(table: Any, names: dict[int, str]) -> Array:
    """The clusters of some rows; names of clusters are noted."""
    clusters = np.asarray(table["cluster"]).astype(np.int64)
    if NAME in table.column_names:
        found, rows = np.unique(clusters, return_index=True)
        for cluster, row in zip(found.tolist(), rows.tolist(), strict=True):
            name = table[NAME][row].as_py()
            if name:
                names[cluster] = name
    return clusters


def _add(overlap: Overlap, a: Array, b: Array) -> None:
    seen = (a >= 0) & (b >= 0)
    pairs, counts = np.unique(np.column_stack((a[seen], b[seen])), axis=0, return_counts=True)
    for (x, y), count in zip(pairs.tolist(), counts.tolist(), strict=True):
        overlap[x, y] += count


def _changes(overlap: Overlap, events: Sequence[Event], goes_on: dict[int, int]) -> list[Change]:
    """What became of clusters."""
    matched = {a: b for b, a in goes_on.items()}
    changes = []
    for event in events:
        first, second = list[int | None](), list[int | None]()
        if event.what in ("died", "split"):
            first = [event.cluster]
        if event.what in ("born", "merged"):
            second = [event.cluster]
        if event.what == "split":
            second = [matched.get(event.cluster), *event.others]
        if event.what == "merged":
            first = [goes_on.get(event.cluster), *event.others]
        ones, twos = (sorted(k for k in side if k is not None) for side in (first, second))
        rows = sum(
            n for (a, b), n in overlap.items() if (not ones or a in ones) and (not twos or b in twos)
        )  # of either run where none of the other is named
        changes.append(Change(what=event.what, first=ones, second=twos, rows=rows))
    return sorted(changes, key=lambda change: (-change["rows"], change["what"], change["first"]))


def _nmi(old: Integers, new: Integers, rows: Integers) -> float:
    parts = [np.bincount(side, rows) / rows.sum() for side in (old, new)]
    both = rows / rows.sum()
    shared = float((both * log(both / (parts[0][old] * parts[1][new]))).sum())
    whole = -sum(float((part * log(part)).sum()) for part in parts) / 2.0
    return 1.0 if whole <= 0 else max(0.0, shared / whole)


def _ari(old: Integers, new: Integers, rows: Integers) -> float:
    counts = rows, np.bincount(old, rows), np.bincount(new, rows), rows.sum()
    both, one, two, whole = (float((n * (n - 1) / 2.0).sum()) for n in counts)
    expected = one * two / whole if whole else 0.0
    return 1.0 if (one + two) / 2.0 == expected else (both - expected) / ((one + two) / 2.0 - expected)
