"""The summary of a model and its rows: one typed dict that JSON can hold, which pages and tables draw."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np

from viewpass.kernels.portable import ordered_sum
from viewpass.model.choice import Choice, Curve
from viewpass.model.model import Model
from viewpass.report.charts import timeline_summary
from viewpass.report.findings import apart
from viewpass.report.layout import mean_distances
from viewpass.report.summary.fields import (
    ChoiceSummary,
    CurveSummary,
    Summary,
    TimelineSummary,
    ViewSummary,
)
from viewpass.report.summary.gatherer import RowGatherer, plain
from viewpass.report.summary.row_sample import row_reasons
from viewpass.sample.keys import view_hashes
from viewpass.sample.sample import Sampler
from viewpass.sums.centres import Centres
from viewpass.sums.statistics import Statistics, squares_of
from viewpass.version import __version__

VERSION = 2
FINAL, STREAM = "final", "stream"  # labels, as label files name them
NEAREST = 3
BLOCK = 256  # clusters compared with all at a time


def summarise(
    estimator: Any,
    tables: Iterable[Any] = (),
    *,
    rows: bool = True,
    which: str | None = None,
    sampler: Sampler | None = None,
    names: Mapping[int, str] | None = None,
) -> Summary:
    """The summary of a fitted estimator.

    Sizes, growth, patterns and rows are those of the label tables. Without tables, sizes and growth are
    those of `labels_`, or were counted while rows were read, as patterns were. `sampler` has the sampled rows
    of the tables, `names` those of the clusters, by default the model's.
    """
    model: Model = estimator._fitted_model()
    names = getattr(estimator, "cluster_names_", {}) if names is None else names
    gatherer = RowGatherer(model.clusters.n_clusters, rows=rows, sampler=sampler, names=names)
    for table in tables:
        gatherer.add(table)
    if gatherer.n_rows == 0:
        which = take_labels(estimator, model, gatherer)
    if not gatherer.patterns():
        gatherer.take_patterns(model)
    reasons = row_reasons(gatherer.sampler.sample, model, estimator._workspace()) if rows else {}
    curve = model.curve
    settings = {key: repr(value) for key, value in estimator.get_params().items() if key != "n_threads"}
    return Summary(
        version=VERSION,
        library=__version__,
        estimator=type(estimator).__name__,
        settings=settings,
        rows=model.n_rows,
        rows_without_any_view=model.read.n_without_views,
        n_clusters=model.clusters.n_clusters,
        consensus=model.consensus,
        n_anchors=None if model.cut is None else model.total.n_clusters,
        choices=[_choice(choice) for choice in model.choices],
        curve=None if curve is None else _curve(curve),
        loss_curve=[float(loss) for loss in model.loss_curve],
        views=view_summaries(model, distinct=_distinct(model)),
        labels=which,
        clusters=gatherer.clusters(nearest_clusters(model), apart(model), reasons),
        growth=gatherer.census.counts.T.tolist(),
        growth_rows=gatherer.census.width,
        timeline=timeline_of(estimator),
        patterns=gatherer.patterns(),
        sample=gatherer.sample(reasons),
    )


def timeline_of(estimator: Any) -> TimelineSummary | None:
    """The timeline of a stream in which something happened to clusters."""
    events = getattr(estimator, "events_", ())
    return timeline_summary(estimator.timeline_, events) if events else None


def take_labels(estimator: Any, model: Model, gatherer: RowGatherer) -> str | None:
    """Count rows without label tables; gives whose labels they have."""
    labels = vars(estimator).get("labels_")
    by_chunk = vars(estimator).get("_by_chunk", False)  # labels of the last chunk, as the stream decided them
    if labels is not None and len(labels) == model.n_rows and not by_chunk:
        gatherer.census, gatherer.n_rows = gatherer.census.added(labels, 0), len(labels)
        return FINAL
    if model.census is None:
        return None
    gatherer.take_pass(model)
    return STREAM


def _choice(choice: Choice) -> ChoiceSummary:
    scores = {name: plain(float(score)) for name, score in choice.scores.items()}
    error, reason = plain(float(choice.error)), choice.reason
    return ChoiceSummary(what=choice.what, chosen=choice.chosen, scores=scores, error=error, reason=reason)


def _curve(curve: Curve) -> CurveSummary:
    values, errors = ([plain(float(x)) for x in each] for each in (curve.values, curve.errors))
    return CurveSummary(numbers=curve.numbers.tolist(), values=values, errors=errors)


def view_summaries(model: Model, distinct: Mapping[str, float] | None = None) -> dict[str, ViewSummary]:
    """Each view that has a weight: gaps, scale, loss, share of the separation, share of different rows."""
    losses, between = _losses(model)
    whole = float(ordered_sum(np.array(between)))
    names, zero = model.schema.names, model.zero_rows
    return {
        name: ViewSummary(
            columns=width,
            missing=missing,
            all_zero=zero[name],
            gaps=model.gap_counts[name]._asdict() if any(model.gap_counts[name]) else None,
            scale=scale,
            alpha=model.ridges[name],
            weight=weight,
            loss=losses[v],
            say=between[v] / whole if whole > 0 else None,
            distinct=(distinct or {}).get(name),
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
        if weight
    }


def _distinct(model: Model) -> dict[str, float]:
    """The share of different rows among the sampled rows of each view."""
    found, sample = dict[str, float](), model.rows
    for v, name in enumerate(model.schema.names if sample is not None else ()):
        assert sample is not None
        present = sample.wanted(v) if sample.views[v] is not None else np.zeros(0, dtype=bool)
        if present.any():
            found[name] = len(np.unique(view_hashes(sample, v)[present])) / int(present.sum())
    return found


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
    """The clusters nearest to each, by the mean over views of the distance between their means."""
    total = model.clusters
    values = [total.sums(v) / np.maximum(counts, 1)[:, None] for v, counts in enumerate(total.counts)]
    means = Centres(values, [counts > 0 for counts in total.counts])
    nearest: list[list[int]] = []
    for start in range(0, total.n_clusters, BLOCK):
        some = np.arange(start, min(start + BLOCK, total.n_clusters))
        apart = mean_distances(means.take(some), means)
        apart[np.arange(len(some)), some] = np.nan
        order = np.argsort(apart, axis=1, kind="stable")[:, :NEAREST]
        known = np.isfinite(np.take_along_axis(apart, order, axis=1))
        nearest += [own[there].tolist() for own, there in zip(order, known, strict=True)]
    return nearest
