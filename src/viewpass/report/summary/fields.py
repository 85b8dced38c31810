"""The fields of a summary: dicts that JSON can hold."""

from __future__ import annotations

from typing import Any, TypedDict

from viewpass.report.findings import Apart
from viewpass.report.summary.row_sample import RowReasons


class RowSummary(TypedDict):
    """A row: its number, cluster and confidence, and its id and kept columns by name."""

    row: int
    cluster: int
    confidence: float | None
    shown: dict[str, Any]


class SampledRow(RowSummary):
    """A row of the sample, with what it shows under the final centres."""

    reasons: RowReasons


class ClusterSummary(TypedDict):
    """A cluster; `typical` rows are near its largest anchors, `doubtful` ones have the lowest confidence.

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
    """A view: mean squared distance to the centres (`loss`), share of what separates clusters (`say`).

    `distinct` is the share of different rows among the sampled rows that have the view, where it was counted.
    """

    columns: int | None
    missing: int
    all_zero: int
    gaps: dict[str, int] | None  # values missing inside rows, where there are any
    scale: str
    alpha: float
    weight: float
    loss: float | None
    say: float | None
    distinct: float | None


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
    """Something that was chosen from the first rows (`viewpass.model.choice.Choice`)."""

    what: str
    chosen: str
    scores: dict[str, float | None]
    error: float | None
    reason: str


class TimelineSummary(TypedDict):
    """A stream whose clusters changed: `sizes` by lasting id when `rows` had been read, and `events`."""

    rows: list[int]
    sizes: dict[str, list[int]]
    events: list[dict[str, Any]]


class Summary(TypedDict):
    """All of it; `sample` is a uniform sample of the rows.

    `labels` says whose sizes, growth and rows these are: "final" (under the final centres), "stream" (as
    decided while the rows were read) or None (of no rows). `growth` has a list per cluster: its rows in each
    bin of `growth_rows` rows of the data, one after the other.
    `timeline` is None where no event was found.
    """

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
    labels: str | None
    clusters: list[ClusterSummary]
    growth: list[list[int]]
    growth_rows: int
    timeline: TimelineSummary | None
    patterns: list[PatternSummary]
    sample: list[SampledRow]
