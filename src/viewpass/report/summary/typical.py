"""Typical rows of a cluster: near the anchors that have most of its rows, and unlike each other."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from statistics import median

from viewpass.report.summary.fields import RowSummary, SampledRow
from viewpass.report.wording import title_of


def typical_rows(sample: Sequence[SampledRow], others: Iterable[RowSummary], most: int) -> list[RowSummary]:
    """At most so many rows of a cluster, given its sampled rows; `others` follow where these are too few.

    Rows that are no more unusual than half of the cluster come first, and of these rows with the most views.
    Among them anchors (or centres) take turns, those of most rows first, each with the row nearest to it.
    Rows whose first shown column repeats come last.
    """
    rows = [row for row in sample if row["reasons"]["near"]]
    half = median([_unusual(row) for row in rows] or [0.0])
    sizes = Counter(_place(row) for row in rows)
    turns, taken = list[tuple[bool, int, int, int, int, RowSummary]](), Counter[tuple[int, int]]()
    for sampled in sorted(rows, key=lambda row: (-row["reasons"]["weights"][0], row["row"])):
        place = missing, anchor = _place(sampled)
        turns.append((_unusual(sampled) > half, missing, taken[place], -sizes[place], anchor, sampled))
        taken[place] += 1
    ordered = [turn[-1] for turn in sorted(turns, key=lambda turn: turn[:-1])]
    known = {row["row"] for row in ordered}
    ordered += [row for row in others if row["row"] not in known]
    new, repeated, titles = list[RowSummary](), list[RowSummary](), set[object]()
    for row in ordered:
        title = title_of(row)
        (repeated if title in titles else new).append(row)
        titles.add(title)
    return [
        RowSummary(row=row["row"], cluster=row["cluster"], confidence=row["confidence"], shown=row["shown"])
        for row in [*new, *repeated][:most]
    ]


def _unusual(row: SampledRow) -> float:
    """How unusual a row is, given the views that it has."""
    return row["reasons"]["outlier"] or 0.0


def _place(row: SampledRow) -> tuple[int, int]:
    """How many views a row lacks, and its nearest anchor."""
    return sum(part is None for part in row["reasons"]["parts"]), row["reasons"]["near"][0]
