"""What to try next, in plain words, each with the figure behind it."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from viewpass.report.findings import DOUBTFUL, Summary, counted, filled, view_shares
from viewpass.report.wording import VIEW, cluster_name, listed, number, percent, short


class Advice(NamedTuple):
    """Something to try, why, and the figure behind it."""

    what: str
    why: str
    figure: str


def advice(found: Summary) -> list[Advice]:
    """What to try next; nothing where nothing stands out."""
    makers = (
        *(_weak_clusters, _weak_patterns, _idle_view, _other_number),
        *(_large_cluster, _falling_loss, _unnamed),
    )
    return [each for make in makers for each in make(found)]


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
            f"Labels in {names}{more} are rather wrong than right. Often these are rows with few views; "
            "filter label files by confidence, or ask for fewer clusters.",
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
    shares = [(view.separates, view.name) for view in view_shares(found) if view.separates is not None]
    share, name = min(shares, key=lambda one: one[0], default=(1.0, ""))
    if len(shares) > 1 and share <= 0.05:
        yield Advice(
            f"Try without the view {name}, or give it more weight.",
            "It hardly takes part in separating clusters: either it says little about them, or its scale "
            "hides it (--view-weights).",
            f"{percent(share)} of what separates clusters",
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
                "Labels of so many clusters tell more about hidden views than those of this number; the "
                "curve above shows by how much.",
                f"{score:.3f} at {best}, {scores[own][0]:.3f} at {own} (nats)",
            )


def _large_cluster(found: Summary) -> Iterator[Advice]:
    clusters = filled(found)
    if len(clusters) > 2 and clusters[0]["share"] >= max(0.3, 3.0 / len(clusters)):
        yield Advice(
            "Split the largest cluster.",
            f"{cluster_name(clusters[0], 40)} holds far more rows than the others: more clusters (-k), or a "
            "fit of its rows alone, may show what is in it.",
            f"{percent(clusters[0]['share'])} of the rows in one of {len(clusters)} clusters",
        )


def _falling_loss(found: Summary) -> Iterator[Advice]:
    curve = found["loss_curve"]
    if len(curve) < 8:
        return
    late, whole = curve[len(curve) * 3 // 4] - curve[-1], max(curve) - min(curve)
    if whole > 0 and late / whole >= 0.15:
        yield Advice(
            "Try a second pass (--passes 2).",
            "The average loss was still falling when the rows ended.",
            f"{percent(late / whole)} of the fall came in the last quarter of the chunks",
        )


def _unnamed(found: Summary) -> Iterator[Advice]:
    clusters = found["clusters"]
    if any(each["typical"] for each in clusters) and not any(each["name"] for each in clusters):
        yield Advice(
            "Give clusters names.",
            "--show title,year puts columns of the table on this page, and --name-by subjects names clusters "
            "by the words of a column.",
            f"{counted(len(filled(found)), 'cluster')} without a name",
        )
