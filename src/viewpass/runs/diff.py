"""`viewpass diff`: which clusters of two runs correspond, and which rows moved where."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterator
from typing import Any, TypedDict

import numpy as np
import pyarrow as pa

from viewpass.errors import DataError
from viewpass.kernels.grid import Array
from viewpass.labels.columns import NAME
from viewpass.runs.labels import ROWS, RunLabels, RunRows, plain
from viewpass.streams.events import BORN, DIED, MERGED, SPLIT
from viewpass.streams.matching import GONE, Matching, Shared, matching

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
    first = _sizes(overlap, 0)
    second = _sizes(overlap, 1)
    found, ones, twos = _matching(overlap)
    matched = _counterparts(found, ones, twos)
    rows = sum(overlap.values())
    pairs = [
        Pair(
            first=a,
            second=b,
            first_name=None if a is None else names[0].get(a),
            second_name=None if b is None else names[1].get(b),
            first_rows=0 if a is None else first[a],
            second_rows=0 if b is None else second[b],
            rows=overlap[a, b] if a is not None and b is not None else 0,
            share=0.0 if a is None or b is None else overlap[a, b] / (first[a] + second[b] - overlap[a, b]),
        )
        for a, b in _all(matched, first, second)
    ]
    moved = {pair: count for pair, count in overlap.items() if matched.get(pair[0]) != pair[1]}
    order = sorted(moved.items(), key=lambda item: (-item[1], item[0]))[:MOVES]
    return Comparison(
        first=str(one.path),
        second=str(two.path),
        rows=rows,
        only_first=only[0],
        only_second=only[1],
        moved=sum(moved.values()),
        nmi=_nmi(overlap, first, second, rows),
        ari=_ari(overlap, first, second, rows),
        pairs=sorted(
            pairs, key=lambda pair: (-max(pair["first_rows"], pair["second_rows"]), pair["first"] or 0)
        ),
        moves=[Move(first=a, second=b, rows=n, share=n / first[a]) for (a, b), n in order],
        changes=_changes(overlap, found, ones, twos),
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


def _sizes(overlap: Overlap, side: int) -> Counter[int]:
    sizes: Counter[int] = Counter()
    for pair, count in overlap.items():
        sizes[pair[side]] += count
    return sizes


def _matching(overlap: Overlap) -> tuple[Matching, list[int], list[int]]:
    """The matching of the clusters, and which clusters of the two runs its numbers are."""
    ones, twos = (sorted({pair[side] for pair in overlap}) for side in (0, 1))
    places = {k: i for i, k in enumerate(ones)}, {k: i for i, k in enumerate(twos)}
    order = sorted(overlap)
    old, new = (np.array([places[side][pair[side]] for pair in order], dtype=np.int64) for side in (0, 1))
    rows = np.array([overlap[pair] for pair in order], dtype=np.int64)
    return matching(Shared(old, new, rows, len(ones), len(twos))), ones, twos


def _changes(overlap: Overlap, found: Matching, ones: list[int], twos: list[int]) -> list[Change]:
    """What became of clusters."""
    matched = _counterparts(found, ones, twos)
    goes_on = {b: a for a, b in matched.items()}
    changes = []
    for event in found.events(np.array(ones), np.array(twos), sum(overlap.values())):
        cluster, others = event.cluster, event.others
        first, second = list[int | None](), list[int | None]()
        if event.what in (DIED, SPLIT):
            first = [cluster]
        if event.what in (BORN, MERGED):
            second = [cluster]
        if event.what == SPLIT:
            second = [matched.get(cluster), *others]
        if event.what == MERGED:
            first = [goes_on.get(cluster), *others]
        both = [sorted(k for k in side if k is not None) for side in (first, second)]
        changes.append(
            Change(what=event.what, first=both[0], second=both[1], rows=_rows(overlap, both[0], both[1]))
        )
    return sorted(changes, key=lambda change: (-change["rows"], change["what"], change["first"]))


def _counterparts(found: Matching, ones: list[int], twos: list[int]) -> dict[int, int]:
    """The cluster of the second run that each one of the first goes on as."""
    return {ones[old]: twos[new] for new, old in enumerate(found.continues.tolist()) if old != GONE}


def _rows(overlap: Overlap, ones: list[int], twos: list[int]) -> int:
    """Rows of these clusters, of either run where none of the other is named."""
    return sum(n for (a, b), n in overlap.items() if (not ones or a in ones) and (not twos or b in twos))


def _all(
    matched: dict[int, int], first: Counter[int], second: Counter[int]
) -> Iterator[tuple[int | None, int | None]]:
    """Pairs, then clusters without a counterpart."""
    yield from sorted(matched.items())
    for a in sorted(set(first) - set(matched)):
        yield a, None
    for b in sorted(set(second) - set(matched.values())):
        yield None, b


def _nmi(overlap: Overlap, first: Counter[int], second: Counter[int], rows: int) -> float:
    entropy = [-sum(n / rows * math.log(n / rows) for n in sizes.values()) for sizes in (first, second)]
    shared = sum(n / rows * math.log(n * rows / (first[a] * second[b])) for (a, b), n in overlap.items())
    whole = (entropy[0] + entropy[1]) / 2.0
    return 1.0 if whole <= 0 else max(0.0, shared / whole)


def _ari(overlap: Overlap, first: Counter[int], second: Counter[int], rows: int) -> float:
    both, one, two = (sum(n * (n - 1) / 2.0 for n in sizes.values()) for sizes in (overlap, first, second))
    whole = rows * (rows - 1) / 2.0
    expected = one * two / whole if whole else 0.0
    return 1.0 if (one + two) / 2.0 == expected else (both - expected) / ((one + two) / 2.0 - expected)
