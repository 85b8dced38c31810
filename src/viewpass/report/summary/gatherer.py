"""What a summary says of rows, gathered from label tables in one pass and bounded memory.

Typical rows of a cluster are near the anchors that have most of its rows, and unlike each other.

Sizes, growth, presence patterns, the rows of a sample, and a few rows of each cluster. It is the same for any
number of threads or workers, and after any interruption.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from statistics import median
from typing import Any

import numpy as np

from viewpass.kernels.grid import Array, Floats, Integers
from viewpass.model.model import Model
from viewpass.report.findings import Apart
from viewpass.report.summary.fields import ClusterSummary, PatternSummary, RowSummary, SampledRow
from viewpass.report.summary.row_sample import RowReasons, row_sampler
from viewpass.report.wording import title_of
from viewpass.sample.sample import Sampler
from viewpass.sums.row_counts import Census, pattern_text


def typical_rows(sample: Sequence[SampledRow], others: Iterable[RowSummary], most: int) -> list[RowSummary]:
    """At most so many rows of a cluster, given its sampled rows; `others` follow where these are too few.

    Rows that are no more unusual and no less sure than half of the cluster come first, and of these rows with
    the most views.
    Among them anchors (or centres) take turns, those of most rows first, each with the row nearest to it.
    Rows whose first shown column repeats come last.
    """
    rows = [row for row in sample if row["reasons"]["near"]]
    unusual, unsure = (median([key(row) for row in rows] or [0.0]) for key in (_unusual, _unsure))
    sizes = Counter(_place(row) for row in rows)
    turns, taken = list[tuple[int, int, int, int, int, RowSummary]](), Counter[tuple[int, int]]()
    for sampled in sorted(rows, key=lambda row: (-row["reasons"]["weights"][0], row["row"])):
        place = missing, anchor = _place(sampled)
        odd = (_unusual(sampled) > unusual) + (_unsure(sampled) > unsure)
        turns.append((odd, missing, taken[place], -sizes[place], anchor, sampled))
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


def _unsure(row: SampledRow) -> float:
    """How far the confidence in a label is from 1."""
    return 1.0 - (row["confidence"] or 0.0)


def _place(row: SampledRow) -> tuple[int, int]:
    """How many views a row lacks, and its nearest anchor."""
    return sum(part is None for part in row["reasons"]["parts"]), row["reasons"]["near"][0]


EACH = 3  # typical and doubtful rows of a cluster
SHOWN = 200  # characters of a value
PICTURE = 2**16  # characters of a picture as a data URI, of typical and doubtful rows
PICTURED = 200  # clusters, at most, for rows to have pictures
PATTERNS = 64  # whose clusters are counted
EACH_PATTERNS = 3  # of a cluster
FAR = 1e300  # a key that is not known
OTHER = "other combinations"  # of views, that were not counted one by one
UNIT = 2**20  # confidence is added up in whole numbers of 1 / this

Ranked = tuple[int, float, int, Any]  # cluster, key, row number, and the row once it is kept


class RowGatherer:
    """What label tables show, table by table."""

    def __init__(
        self,
        n_clusters: int,
        *,
        rows: bool = True,
        sampler: Sampler | None = None,
        names: Mapping[int, str] | None = None,
    ) -> None:
        self.census = Census.none(n_clusters)
        self._sure = np.zeros(n_clusters, dtype=np.int64)
        self._names = dict(names or {})
        self._patterns: dict[str, list[int]] = {}  # rows, sum of confidence
        self._clusters_of: dict[str, Integers] = {}  # patterns: rows of each cluster
        self._rows = rows
        self._kept: dict[str, list[Ranked]] = {}
        self.sampler = sampler or row_sampler()  # which rows are sampled: it has seen those of each table
        self._sampled: dict[int, RowSummary] = {}
        self._has_confidence = False
        self.n_rows = self.n_without_views = 0

    def add(self, table: Any) -> None:
        """Gather the next rows."""
        clusters = np.asarray(table["cluster"])
        sure = np.full(len(table), np.nan)
        if "confidence" in table.column_names:
            sure, self._has_confidence = np.asarray(table["confidence"], dtype=np.float64), True
        seen = clusters >= 0
        steps = np.rint(np.nan_to_num(sure) * UNIT)
        self.census = self.census.added(clusters, self.n_rows)
        self._sure += _sums(steps, clusters + 1, len(self._sure) + 1)[1:]
        self.n_without_views += int((~seen).sum())
        if "has_views" in table.column_names:
            coded = table["has_views"].combine_chunks().dictionary_encode()
            codes, names = np.asarray(coded.indices), coded.dictionary.to_pylist()
            numbers, sums = np.bincount(codes, minlength=len(names)), _sums(steps, codes, len(names))
            for code, name in enumerate(names):
                entry = self._patterns.setdefault(name, [0, 0])
                entry[0] += int(numbers[code])
                entry[1] += int(sums[code])
                if name in self._clusters_of or len(self._clusters_of) < PATTERNS:
                    mine = np.bincount(clusters[codes == code] + 1, minlength=len(self._sure) + 1)[1:]
                    self._clusters_of[name] = self._clusters_of.get(name, 0) + mine
        if self._rows:
            self._take_rows(table, clusters, sure)
        self.n_rows += len(table)

    def _take_rows(self, table: Any, clusters: Array, sure: Floats) -> None:
        numbers = np.arange(self.n_rows, self.n_rows + len(table), dtype=np.int64)
        made: dict[int, RowSummary] = {}

        def row_of(number: int) -> RowSummary:
            if number not in made:
                row = _row(table, number - self.n_rows, self.n_rows, clusters, sure)
                if len(self._sure) > PICTURED:
                    row["shown"] = {name: _cut(value) for name, value in row["shown"].items()}
                made[number] = row
            return made[number]

        sampled = self.sampler.sample.numbers
        mine = sampled[(sampled >= self.n_rows) & (sampled < self.n_rows + len(table))].tolist()
        self._sampled |= {number: row_of(number) for number in mine}
        if "margin" not in table.column_names:  # labels of a stream
            return
        margin = np.asarray(table["margin"], dtype=np.float64)
        for kind, key in (("typical", -margin), ("doubtful", sure)):
            key = np.where(np.isnan(key), FAR, key)
            kept = _nearest(self._kept.get(kind, []), clusters, key, numbers)
            self._kept[kind] = [(*item[:3], item[3] or row_of(item[2])) for item in kept]

    def _patterns_of(self, cluster: int) -> dict[str, int]:
        found = [(name, int(sizes[cluster])) for name, sizes in self._clusters_of.items()]
        found = sorted((item for item in found if item[1]), key=lambda item: (-item[1], item[0]))
        return dict(found[:EACH_PATTERNS])

    def clusters(
        self, nearest: Sequence[Sequence[int]], apart: Sequence[Apart], reasons: Mapping[int, RowReasons]
    ) -> list[ClusterSummary]:
        """The clusters; `reasons` are what sampled rows show."""
        kept: dict[str, list[list[RowSummary]]] = {}
        for kind in ("typical", "doubtful"):
            kept[kind] = [[] for _ in self._sure]
            for cluster, _, _, row in self._kept.get(kind, ()):
                kept[kind][cluster].append(row)
        sampled: list[list[SampledRow]] = [[] for _ in self._sure]
        for one in self.sample(reasons):
            if one["cluster"] >= 0:
                sampled[one["cluster"]].append(one)
        sizes = self.census.sizes.tolist()
        whole = max(sum(sizes), 1)
        return [
            ClusterSummary(
                cluster=k,
                name=self._names.get(k),
                rows=size,
                share=size / whole,
                confidence=_mean(int(self._sure[k]), size) if self._has_confidence else None,
                nearest=list(nearest[k]),
                apart=apart[k],
                patterns=self._patterns_of(k),
                typical=typical_rows(sampled[k], kept["typical"][k], EACH),
                doubtful=kept["doubtful"][k],
            )
            for k, size in enumerate(sizes)
        ]

    def take_pass(self, model: Model) -> None:
        """Take over what was counted while rows were read, in place of tables."""
        assert model.cluster_census is not None
        self.census = model.cluster_census
        self.n_rows = model.n_rows

    def take_patterns(self, model: Model) -> None:
        """Take over the presence patterns that were counted while rows were read."""
        if model.census is None:
            return
        names = {pattern_text(pattern, model.schema.names): n for pattern, n in model.census.patterns.items()}
        names |= {OTHER: model.census.n_other} if model.census.n_other else {}
        self._patterns = {name: [n, 0] for name, n in names.items()}

    def patterns(self) -> list[PatternSummary]:
        """Presence patterns, the most frequent first."""
        order = sorted(self._patterns.items(), key=lambda item: (-item[1][0], item[0]))
        return [
            PatternSummary(
                views=name,
                rows=n,
                share=n / max(self.n_rows, 1),
                confidence=_mean(sure, n) if name and self._has_confidence else None,
            )
            for name, (n, sure) in order
        ]

    def sample(self, reasons: Mapping[int, RowReasons]) -> list[SampledRow]:
        """The sampled rows, in the order of the rows, with what they showed."""
        rows = [self._sampled[number] for number in sorted(self._sampled.keys() & reasons.keys())]
        return [
            SampledRow(
                row=row["row"],
                cluster=row["cluster"],
                confidence=row["confidence"],
                shown={name: _cut(value) for name, value in row["shown"].items()},
                reasons=reasons[row["row"]],
            )
            for row in rows
        ]


def _sums(steps: Floats, groups: Array, n_groups: int) -> Integers:
    """Sums of whole numbers by group: exact, since they stay far below 2^53."""
    return np.bincount(groups, weights=steps, minlength=n_groups).astype(np.int64)


def _nearest(kept: list[Ranked], clusters: Array, key: Floats, numbers: Integers) -> list[Ranked]:
    """The rows of the lowest keys of each cluster, given those so far and the next rows."""
    least, n_kept = np.full(int(clusters.max(initial=-1)) + 2, np.inf), dict[int, int]()
    for cluster, last, *_ in kept:
        n_kept[cluster] = n_kept.get(cluster, 0) + 1
        if n_kept[cluster] == EACH and cluster < len(least) - 1:
            least[cluster] = last
    least[-1] = -np.inf  # of rows without a cluster
    nearer = np.flatnonzero(key < least[clusters])
    order = nearer[np.lexsort((numbers[nearer], key[nearer], clusters[nearer]))]
    begins = np.searchsorted(clusters[order], clusters[order])
    order = order[np.arange(len(order)) - begins < EACH]
    found = zip(clusters[order].tolist(), key[order].tolist(), numbers[order].tolist(), strict=True)
    return _first([*kept, *((*each, None) for each in found)])


def _first(kept: list[Ranked]) -> list[Ranked]:
    """The lowest keys of each cluster."""
    found, numbers = [], dict[int, int]()
    for item in sorted(kept, key=lambda item: item[:3]):
        numbers[item[0]] = numbers.get(item[0], 0) + 1
        if numbers[item[0]] <= EACH:
            found.append(item)
    return found


def _mean(total: int, number: int) -> float | None:
    return total / UNIT / number if number else None


def _row(table: Any, place: int, start: int, clusters: Array, sure: Floats) -> RowSummary:
    from viewpass.labels.columns import OWN

    shown = [name for name in table.column_names if name not in OWN]
    return RowSummary(
        row=start + place,
        cluster=int(clusters[place]),
        confidence=None if np.isnan(sure[place]) else float(sure[place]),
        shown={name: plain(table[name][place].as_py()) for name in shown},
    )


def plain(value: Any) -> Any:
    """A value that JSON can hold, not too long."""
    if value is None or isinstance(value, bool | int | float):
        return None if isinstance(value, float) and not np.isfinite(value) else value
    text = str(value)
    is_picture = text.startswith("data:image/") and len(text) <= PICTURE
    return text if is_picture else _cut(text)


def _cut(value: Any) -> Any:
    return value[:SHOWN] if isinstance(value, str) else value
