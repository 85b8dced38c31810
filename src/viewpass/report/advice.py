"""What to try next, in plain words, each with the figure behind it."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from viewpass.report.findings import DOUBTFUL, Summary, counted, filled, idle_views, repeated_views
from viewpass.report.wording import VIEW, cluster_name, listed, number, percent, short


class Advice(NamedTuple):
    """Something to try, why, and the figure behind it."""

    what: str
    why: str
    figure: str


def advice(found: Summary) -> list[Advice]:
    """What to try next; nothing where nothing stands out. Each has a test in which following it helps."""
    makers = (
        *(repeated_view_advice, _weak_clusters, _weak_patterns, _idle_view),
        *(_other_number, _large_cluster, _unnamed),
    )
    return [each for make in makers for each in make(found)]


def repeated_view_advice(found: Summary) -> Iterator[Advice]:
    """What to try where a view of repeated values takes over."""
    for view in repeated_views(found):
        yield Advice(
            f"Try without the view {view.name} (--view-weights {view.name}=0).",
            "Many rows have the same value in it, and it separates clusters far more than its part: clusters "
            "may be its values, and not what rows have in common in the other views.",
            f"{percent(view.separates)} of what separates clusters; {percent(view.distinct)} of its sampled "
            "rows are different",
        )


def _weak_clusters(found: Summary) -> Iterator[Advice]:
    weak = [
        each for each in filled(found) if each["confidence"] is not None and each["confidence"] < DOUBTFUL
    ]
    if weak:
        names = listed([f"{each['cluster']} ({cluster_name(each, 32)})" for each in weak[:3]])
        more = f" and {len(weak) - 3} more" if len(weak) > 3 else ""
        rows = number(sum(each["rows"] for each in weak))
        yield Advice(
            "Do not rely on the rows of uncertain clusters.",
            f"Labels in {names}{more} are more often wrong than right. Often these are rows with few views; "
            "leave them out by the column confidence of the label file.",
            f"{counted(len(weak), 'cluster')}, {rows} rows with a mean confidence below {DOUBTFUL}",
        )


def _weak_patterns(found: Summary) -> Iterator[Advice]:
    common = [each for each in found["patterns"] if each["views"] and each["share"] >= 0.02]
    weak = [each for each in common if (each["confidence"] or 1.0) < 0.6]
    if weak:
        worst = min(weak, key=lambda each: each["confidence"])
        yield Advice(
            f"Look for the missing views of rows that have only {short(worst['views'], VIEW)}.",
            "What they have does not tell their cluster; one more view would help more than other settings.",
            f"{number(worst['rows'])} rows with a mean confidence of {worst['confidence']:.2f}",
        )


def _idle_view(found: Summary) -> Iterator[Advice]:
    for view in idle_views(found):
        yield Advice(
            f"Try without the view {view.name} (--view-weights {view.name}=0).",
            "Clusters hardly differ in it: what it adds to distances is mostly noise.",
            f"{percent(view.separates)} of what separates clusters",
        )


def _other_number(found: Summary) -> Iterator[Advice]:
    curve, own = found["curve"], found["n_clusters"]
    if curve is None:
        return
    measured = zip(curve["numbers"], curve["values"], curve["errors"], strict=True)
    scores = {n: (value, error or 0.0) for n, value, error in measured if value is not None}
    if own in scores:
        best = min(scores, key=lambda n: (-scores[n][0], n))
        score, error = scores[best]
        if score - scores[own][0] > 2.0 * error:
            yield Advice(
                f"Try {best} clusters.",
                "Its labels predict hidden views better than those of this number; the curve above shows by "
                "how much.",
                f"{score:.3f} at {best}, {scores[own][0]:.3f} at {own} (nats)",
            )


def _large_cluster(found: Summary) -> Iterator[Advice]:
    clusters = filled(found)
    if len(clusters) > 2 and clusters[0]["share"] >= max(0.3, 3.0 / len(clusters)):
        yield Advice(
            "Split the largest cluster.",
            f"{cluster_name(clusters[0], 40)} holds far more rows than the others: more clusters (-k) may "
            "show what is in it.",
            f"{percent(clusters[0]['share'])} of the rows in one of {len(clusters)} clusters",
        )


def _unnamed(found: Summary) -> Iterator[Advice]:
    clusters = found["clusters"]
    if any(each["typical"] for each in clusters) and not any(each["name"] for each in clusters):
        yield Advice(
            "Give clusters names.",
            "--keep title,year puts columns of the table on this page, and --name-by subjects names clusters "
            "by the words of a column.",
            f"{counted(len(filled(found)), 'cluster')} without a name",
        )
