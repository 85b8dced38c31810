"""The table of clusters that `fit` ends with and `inspect` shows."""

from __future__ import annotations

from viewpass.errors import printable
from viewpass.report.summary.fields import ClusterSummary, Summary

SHOWN = 20  # clusters, unless all are asked for
WIDTH = 44  # characters of a name, and of a row
SHORT = 18  # of a value of a row


def cluster_lines(found: Summary, most: int | None = None) -> list[str]:
    """Name, size, share, confidence and a typical row of each cluster, the largest first."""
    clusters = sorted(found["clusters"], key=lambda cluster: (-cluster["rows"], cluster["cluster"]))
    named = any(cluster["name"] for cluster in clusters)
    head = ["cluster", *(["name"] if named else []), "rows", "share", "confidence", "a typical row"]
    table = [head, *(_cells(cluster, named=named) for cluster in clusters[:most])]
    widths = [max(len(row[column]) for row in table) for column in range(len(head))]
    left = {"name", "a typical row"}
    lines = [
        "  "
        + "  ".join(
            cell.ljust(width) if title in left else cell.rjust(width)
            for cell, width, title in zip(row, widths, head, strict=True)
        ).rstrip()
        for row in table
    ]
    more = len(clusters) - len(table) + 1
    if more > 0:
        lines.append(f"  and {more:,} smaller clusters (viewpass inspect RUN --all shows all)")
    return lines


def _cells(cluster: ClusterSummary, *, named: bool) -> list[str]:
    sure = cluster["confidence"]
    row = cluster["typical"][0]["shown"] if cluster["typical"] else {}
    values = ", ".join(_short(str(value), SHORT) for value in row.values() if value is not None)
    name = [_short(cluster["name"] or "", WIDTH)] if named else []
    share = f"{cluster['share']:.1%}"
    certain = "" if sure is None else f"{sure:.2f}"
    return [str(cluster["cluster"]), *name, f"{cluster['rows']:,}", share, certain, _short(values, WIDTH)]


def _short(text: str, length: int) -> str:
    text = printable(text)
    return text if len(text) <= length else text[: length - 3] + "..."
