"""The summary of a model and its rows: one typed dict that JSON can hold, which pages and tables draw.

What is in it of the rows is gathered from label tables in one pass, in bounded memory: sizes, presence
patterns, a uniform sample, and a few rows of each cluster. All of it follows from the labels alone, so it is
the same for any number of threads or workers, and after any interruption.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from types import MappingProxyType
from typing import Any, TypedDict

import numpy as np

from viewpass.cluster.apart import Apart, apart
from viewpass.cluster.runs.sampled_rows import RowReasons, RowSampler, read_reasons
from viewpass.cluster.runs.shuffling import SAMPLE, shuffled
from viewpass.core.consensus.number_of_clusters import Curve
from viewpass.core.model import Model
from viewpass.core.state.choice import Choice
from viewpass.core.state.statistics import Statistics, squares_of
from viewpass.kernels.grid import Array, Floats, Integers
from viewpass.kernels.reference.exact import ordered_sum
from viewpass.version import __version__

VERSION = 1
ROWS = 2**18  # of label files, at a time
EACH = 3  # typical and doubtful rows of a cluster
NEAREST = 3
SPARE = 5  # further candidates for the nearest
BLOCK = 256  # clusters compared with all at a time
PATTERNS = 64  # whose clusters are counted
EACH_PATTERNS = 3  # of a cluster
SHOWN = 200  # characters of a value
PICTURE = 2**16  # characters of a picture as a data URI, of typical and doubtful rows
PICTURED = 200  # clusters, at most, for rows to have pictures
FAR = 1e300  # a key that is not known
UNIT = 2**20  # confidence is added up in whole numbers of 1 / this


class RowSummary(TypedDict):
    """A row: its number, cluster and confidence, and its id and kept columns by name."""

    row: int
    cluster: int
    confidence: float | None
    shown: dict[str, Any]


class SampledRow(RowSummary, total=False):
    """A row of the sample, with what it showed when it was read for its label (absent in earlier runs)."""

    reasons: RowReasons


class ClusterSummary(TypedDict):
    """A cluster; `typical` rows have the largest margins, `doubtful` ones the lowest confidence.

    `patterns` are its most frequent presence patterns, with their rows; `apart` is what sets it apart.
    """

    cluster: int
    name: str | None
    rows: int
    share: float
    confidence: float | None
    nearest: list[int]
    apart: Apart
    patterns: dict[str, int]
    typical: list[RowSummary]
    doubtful: list[RowSummary]


class ViewSummary(TypedDict):
    """A view: mean squared distance to the centres (`loss`), share of what separates clusters (`say`)."""

    columns: int | None
    missing: int
    all_zero: int
    scale: str
    alpha: float
    weight: float
    loss: float | None
    say: float | None


class PatternSummary(TypedDict):
    """Rows that have the same views."""

    views: str
    rows: int
    share: float
    confidence: float | None


class CurveSummary(TypedDict):
    """The score of each number of clusters, and its error."""

    numbers: list[int]
    values: list[float | None]
    errors: list[float | None]


class ChoiceSummary(TypedDict):
    """Something that was chosen from the first rows (`viewpass.core.state.choice.Choice`)."""

    what: str
    chosen: str
    scores: dict[str, float | None]
    error: float | None
    reason: str


class Summary(TypedDict):
    """All of it; `sample` is a uniform sample of the rows."""

    version: int
    library: str
    estimator: str
    settings: dict[str, str]
    rows: int
    rows_without_any_view: int
    n_clusters: int
    consensus: str
    n_anchors: int | None
    choices: list[ChoiceSummary]
    curve: CurveSummary | None
    loss_curve: list[float]
    views: dict[str, ViewSummary]
    clusters: list[ClusterSummary]
    patterns: list[PatternSummary]
    sample: list[SampledRow]


Ranked = tuple[int, float, int, Any]  # cluster, key, row number, and the row once it is kept


class RowGatherer:
    """What label tables show, table by table."""

    def __init__(self, n_clusters: int, *, rows: bool = True) -> None:
        self._sizes = np.zeros(n_clusters, dtype=np.int64)
        self._sure = np.zeros(n_clusters, dtype=np.int64)
        self._names: list[str | None] = [None] * n_clusters
        self._patterns: dict[str, list[int]] = {}  # rows, sum of confidence
        self._clusters_of: dict[str, Integers] = {}  # patterns: rows of each cluster
        self._rows = rows
        self._kept: dict[str, list[Ranked]] = {}
        self._sample: list[tuple[float, Any]] = []  # keys, and rows
        self.n_rows = self.n_without_views = 0

    def add(self, table: Any) -> None:
        """Gather the next rows."""
        clusters = np.asarray(table["cluster"])
        has = "confidence" in table.column_names
        sure = np.asarray(table["confidence"], dtype=np.float64) if has else np.full(len(table), np.nan)
        seen = clusters >= 0
        steps = np.where(np.isnan(sure), 0, np.rint(np.nan_to_num(sure) * UNIT)).astype(np.int64)
        self._sizes += np.bincount(clusters[seen], minlength=len(self._sizes))
        np.add.at(self._sure, clusters[seen], steps[seen])
        self.n_without_views += int((~seen).sum())
        if "has_views" in table.column_names:
            coded = table["has_views"].combine_chunks().dictionary_encode()
            codes = np.asarray(coded.indices)
            for code, name in enumerate(coded.dictionary.to_pylist()):
                entry = self._patterns.setdefault(name, [0, 0])
                entry[0] += int((codes == code).sum())
                entry[1] += int(steps[codes == code].sum())
                if name in self._clusters_of or len(self._clusters_of) < PATTERNS:
                    mine = np.bincount(clusters[seen & (codes == code)], minlength=len(self._sizes))
                    self._clusters_of[name] = self._clusters_of.get(name, 0) + mine
        if "cluster_name" in table.column_names:
            self._take_names(clusters, table["cluster_name"])
        if self._rows:
            self._take_rows(table, clusters, sure)
        self.n_rows += len(table)

    def _take_names(self, clusters: Array, names: Any) -> None:
        found, first = np.unique(clusters, return_index=True)
        for cluster, row in zip(found.tolist(), first.tolist(), strict=True):
            if cluster >= 0:
                self._names[cluster] = names[row].as_py()

    def _take_rows(self, table: Any, clusters: Array, sure: Floats) -> None:
        numbers = np.arange(self.n_rows, self.n_rows + len(table), dtype=np.int64)
        made: dict[int, RowSummary] = {}

        def row_of(number: int) -> RowSummary:
            if number not in made:
                row = _row(table, number - self.n_rows, self.n_rows, clusters, sure)
                if len(self._sizes) > PICTURED:
                    row["shown"] = {name: _cut(value) for name, value in row["shown"].items()}
                made[number] = row
            return made[number]

        keys = shuffled(numbers, 0)
        order = np.flatnonzero(keys < (self._sample[-1][0] if len(self._sample) == SAMPLE else 2.0))
        order = order[np.argsort(keys[order], kind="stable")[:SAMPLE]]
        drawn = [*self._sample, *zip(keys[order].tolist(), numbers[order].tolist(), strict=True)]
        drawn = sorted(drawn, key=lambda item: item[0])[:SAMPLE]
        self._sample = [(key, row_of(row) if isinstance(row, int) else row) for key, row in drawn]
        margin = np.asarray(table["margin"], dtype=np.float64)
        for kind, key in (("typical", -margin), ("doubtful", sure)):
            key = np.where(np.isnan(key), FAR, key)
            nearer = np.flatnonzero((clusters >= 0) & (key < self._least(kind)[clusters]))
            order = nearer[np.lexsort((numbers[nearer], key[nearer], clusters[nearer]))]
            begins = np.searchsorted(clusters[order], clusters[order])
            order = order[np.arange(len(order)) - begins < EACH]
            found = zip(clusters[order].tolist(), key[order].tolist(), numbers[order].tolist(), strict=True)
            kept = _first([*self._kept.get(kind, ()), *((*each, None) for each in found)])
            self._kept[kind] = [(*item[:3], item[3] or row_of(item[2])) for item in kept]

    def _least(self, kind: str) -> Floats:
        """Keys that a row must be below, for each cluster, to be kept."""
        least, numbers = np.full(len(self._sizes), np.inf), np.zeros(len(self._sizes), dtype=int)
        for cluster, key, *_ in self._kept.get(kind, ()):
            numbers[cluster] += 1
            if numbers[cluster] == EACH:
                least[cluster] = key
        return least

    def _patterns_of(self, cluster: int) -> dict[str, int]:
        found = [(name, int(sizes[cluster])) for name, sizes in self._clusters_of.items()]
        found = sorted((item for item in found if item[1]), key=lambda item: (-item[1], item[0]))
        return dict(found[:EACH_PATTERNS])

    def clusters(self, nearest: Sequence[Sequence[int]], apart: Sequence[Apart]) -> list[ClusterSummary]:
        """The clusters."""
        kept: dict[str, list[list[RowSummary]]] = {}
        for kind in ("typical", "doubtful"):
            kept[kind] = [[] for _ in self._sizes]
            for cluster, _, _, row in self._kept.get(kind, ()):
                kept[kind][cluster].append(row)
        whole = max(int(self._sizes.sum()), 1)
        return [
            ClusterSummary(
                cluster=k,
                name=self._names[k],
                rows=int(size),
                share=float(size / whole),
                confidence=_mean(int(self._sure[k]), int(size)),
                nearest=list(nearest[k]),
                apart=apart[k],
                patterns=self._patterns_of(k),
                typical=kept["typical"][k],
                doubtful=kept["doubtful"][k],
            )
            for k, size in enumerate(self._sizes.tolist())
        ]

    def patterns(self) -> list[PatternSummary]:
        """Presence patterns, the most frequent first."""
        order = sorted(self._patterns.items(), key=lambda item: (-item[1][0], item[0]))
        return [
            PatternSummary(
                views=name, rows=n, share=n / max(self.n_rows, 1), confidence=_mean(sure, n) if name else None
            )
            for name, (n, sure) in order
        ]

    def sample(self, reasons: Mapping[int, RowReasons]) -> list[SampledRow]:
        """The uniform sample, in the order of the rows, with what they showed."""
        rows: list[SampledRow] = sorted(
            (row.copy() for _, row in self._sample), key=lambda row: int(row["row"])
        )
        for row in rows:
            row["shown"] = {name: _cut(value) for name, value in row["shown"].items()}
            if row["row"] in reasons:
                row["reasons"] = reasons[row["row"]]
        return rows


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
    from viewpass.cluster.runs.reason_columns import OWN

    shown = [name for name in table.column_names if name not in OWN]
    return RowSummary(
        row=start + place,
        cluster=int(clusters[place]),
        confidence=None if np.isnan(sure[place]) else float(sure[place]),
        shown={name: _plain(table[name][place].as_py()) for name in shown},
    )


def _plain(value: Any) -> Any:
    """A value that JSON can hold, not too long."""
    if value is None or isinstance(value, bool | int | float):
        return None if isinstance(value, float) and not np.isfinite(value) else value
    text = str(value)
    is_picture = text.startswith("data:image/") and len(text) <= PICTURE
    return text if is_picture else _cut(text)


def _cut(value: Any) -> Any:
    return value[:SHOWN] if isinstance(value, str) else value


def summarise(
    estimator: Any,
    tables: Iterable[Any] = (),
    *,
    rows: bool = True,
    reasons: RowSampler | Mapping[int, RowReasons] = MappingProxyType({}),
) -> Summary:
    """The summary of a fitted estimator; sizes, patterns and rows are those of the label tables.

    `reasons` are what sampled rows show, or the sampler that takes them from the rows of the tables.
    """
    model: Model = estimator._fitted_model()
    gatherer = RowGatherer(model.clusters.n_clusters, rows=rows)
    for table in tables:
        gatherer.add(table)
    if isinstance(reasons, RowSampler):
        reasons = reasons.reasons(estimator._workspace()) if rows else {}
    curve = model.curve
    settings = {key: repr(value) for key, value in estimator.get_params().items() if key != "n_threads"}
    return Summary(
        version=VERSION,
        library=__version__,
        estimator=type(estimator).__name__,
        settings=settings,
        rows=model.n_rows,
        rows_without_any_view=model.n_without_views,
        n_clusters=model.clusters.n_clusters,
        consensus=model.consensus,
        n_anchors=None if model.cut is None else model.total.n_clusters,
        choices=[_choice(choice) for choice in model.choices],
        curve=None if curve is None else _curve(curve),
        loss_curve=[float(loss) for loss in model.loss_curve],
        views=view_summaries(model),
        clusters=gatherer.clusters(nearest_clusters(model), apart(model)),
        patterns=gatherer.patterns(),
        sample=gatherer.sample(reasons),
    )


def _choice(choice: Choice) -> ChoiceSummary:
    scores = {name: _plain(float(score)) for name, score in choice.scores.items()}
    error, reason = _plain(float(choice.error)), choice.reason
    return ChoiceSummary(what=choice.what, chosen=choice.chosen, scores=scores, error=error, reason=reason)


def _curve(curve: Curve) -> CurveSummary:
    values, errors = ([_plain(float(x)) for x in each] for each in (curve.values, curve.errors))
    return CurveSummary(numbers=curve.numbers.tolist(), values=values, errors=errors)


def view_summaries(model: Model) -> dict[str, ViewSummary]:
    """Each view: gaps, scale, loss, share of what separates clusters."""
    losses, between = _losses(model)
    whole = float(ordered_sum(np.array(between)))
    names, zero = model.schema.names, model.zero_rows
    return {
        name: ViewSummary(
            columns=width,
            missing=missing,
            all_zero=zero[name],
            scale=scale,
            alpha=model.ridges[name],
            weight=weight,
            loss=losses[v],
            say=between[v] / whole if whole > 0 else None,
        )
        for v, (name, width, missing, scale, weight) in enumerate(
            zip(
                names,
                model.schema.widths,
                model.n_missing,
                model.scaling.names,
                model.view_weights,
                strict=True,
            )
        )
    }


def _losses(model: Model) -> tuple[list[float | None], list[float]]:
    """Per view: the mean squared distance of rows to the mean of their cluster, and of these to the mean."""
    total: Statistics = model.clusters
    within, between = list[float | None](), list[float]()
    for v, square in enumerate(squares_of(total, model.row_squares)):
        counts, sums = total.counts[v].astype(np.float64), total.sums(v)
        number = float(counts.sum())
        if number == 0:
            within.append(None)
            between.append(0.0)
            continue
        norms = ordered_sum(sums * sums)
        explained = float(ordered_sum(np.divide(norms, counts, out=np.zeros_like(norms), where=counts > 0)))
        overall = sums.sum(axis=0)
        around = float(ordered_sum(overall * overall)) / number
        within.append(max(square - explained, 0.0) / number * model.square_unit)
        between.append(max(explained - around, 0.0) / number * model.square_unit)
    return within, between


def nearest_clusters(model: Model) -> list[list[int]]:
    """The clusters nearest to each, by the mean over views of the distance between their means.

    Fast products find a few candidates; which of them are nearest is decided in an exact order.
    """
    total = model.clusters
    number = total.n_clusters
    means = [total.sums(v) / np.maximum(counts, 1)[:, None] for v, counts in enumerate(total.counts)]
    short = [mean.astype(np.float32) for mean in means]
    there = [counts > 0 for counts in total.counts]
    nearest: list[list[int]] = []
    for start in range(0, number, BLOCK):
        some = np.arange(start, min(start + BLOCK, number))
        rough = _between(short, there, some)
        rough[np.arange(len(some)), some] = np.inf
        few = min(NEAREST + SPARE, number - 1)
        close = np.sort(np.argpartition(rough, few - 1, axis=1)[:, :few], axis=1) if few else rough[:, :0]
        apart = np.where(np.take_along_axis(rough, close.astype(np.int64), axis=1) < np.inf, 0.0, np.inf)
        shared = np.zeros_like(apart)
        for mean, own in zip(means, there, strict=True):
            both = own[some][:, None] & own[close.astype(np.int64)]
            for place in range(close.shape[1]):
                differences = mean[some] - mean[close[:, place].astype(np.int64)]
                apart[:, place] += np.where(both[:, place], ordered_sum(differences * differences), 0.0)
            shared += both
        apart = np.divide(apart, shared, out=np.full_like(apart, np.inf), where=shared > 0)
        order = np.argsort(apart, axis=1, kind="stable")[:, :NEAREST]
        for row, kept in enumerate(order):
            nearest.append([int(close[row, place]) for place in kept if np.isfinite(apart[row, place])])
    return nearest


def _between(means: Sequence[Array], there: Sequence[Array], some: Integers) -> Array:
    """Mean squared distances between the means of some clusters and all, over the views both have."""
    distance = np.zeros((len(some), len(there[0])), dtype=np.float32)
    shared = np.zeros_like(distance)
    for mean, own in zip(means, there, strict=True):
        squares = (mean * mean).sum(axis=1)
        apart = mean[some] @ mean.T
        apart *= -2.0
        apart += squares[some, None]
        apart += squares[None, :]
        if not own.all():
            apart[~own[some]] = 0.0
            apart[:, ~own] = 0.0
        distance += apart
        shared += np.outer(own[some], own)
    return np.divide(distance, shared, out=np.full_like(distance, np.inf), where=shared > 0)


def summary(run: Any, *, rows: bool = True) -> Summary:
    """The summary of a finished run, from its model and its label file.

    Parameters
    ----------
    run : path of a run folder
    rows : bool, default=True
        Whether it may hold rows (ids, kept columns); False for data that must not leave.

    Returns
    -------
    Summary
        A dict that JSON can hold; `viewpass.cluster.summary` documents its fields.
    """
    from pathlib import Path

    from viewpass.cluster.persistence import load
    from viewpass.cluster.runs.run_labels import RunLabels
    from viewpass.store.folder import RunFolder

    path = Path(run)
    labels, folder = RunLabels(path), RunFolder(path)
    model = load(folder.model)
    reasons = read_reasons(folder.sample, model._fitted_model()) if rows else {}
    return summarise(model, labels.tables(ROWS), rows=rows, reasons=reasons)
