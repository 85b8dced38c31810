"""A fitted model in a few words: what `repr` and a notebook show of it. Needs no other library."""

from __future__ import annotations

import html
from collections.abc import Mapping, Sequence
from typing import Any

from viewpass.report.findings import filled, view_shares
from viewpass.report.wording import VIEW, cluster_name, percent, short

SHOWN = 6  # views and clusters
BARS = 60


def card_lines(found: Mapping[str, Any], settings: str) -> list[str]:
    """Three lines: settings and rows; clusters; views."""
    clusters = filled(found)
    sizes = [each["rows"] for each in clusters]
    of = f", {found['consensus']} of {found['n_anchors']:,} anchors" if found["n_anchors"] else ""
    rows = f"{found['rows']:,} rows" + (
        f" ({found['rows_without_any_view']:,} without any view)" if found["rows_without_any_view"] else ""
    )
    range_of = f" of {sizes[-1]:,} to {sizes[0]:,} rows" if sizes and sizes[0] else ""
    views = [
        f"{view.name} {percent(view.separates)}"
        + (f", missing {percent(view.missing)}" if view.missing else "")
        for view in view_shares(found)
    ]
    more = f"; {len(views) - SHOWN} more" if len(views) > SHOWN else ""
    return [
        f"{short(settings, 120)} fitted to {rows}",
        f"{found['n_clusters']:,} clusters{range_of}{of}",
        f"separated by {'; '.join(views[:SHOWN])}{more}",
    ]


def card_html(found: Mapping[str, Any], settings: str) -> str:
    """The same as a small card, with the sizes of the clusters as bars."""
    lines = [html.escape(line) for line in card_lines(found, settings)]
    return (
        '<div style="font:14px/1.5 system-ui,sans-serif;border:1px solid #8886;border-radius:10px;'
        'padding:12px 16px;display:inline-block;max-width:640px;overflow-wrap:anywhere">'
        f'<div style="font-weight:600">{lines[1]}</div><div style="opacity:.75">{lines[0]}</div>'
        f'<div style="opacity:.75">{lines[2]}</div>{_bars(filled(found))}</div>'
    )


def _bars(clusters: Sequence[Mapping[str, Any]]) -> str:
    if not clusters or not clusters[0]["rows"]:
        return ""
    largest, some = clusters[0]["rows"], clusters[:BARS]
    width = 8
    bars = "".join(
        f'<rect x="{i * (width + 2)}" y="{40 - (height := max(1, round(40 * each["rows"] / largest)))}" '
        f'width="{width}" height="{height}" rx="1"><title>{html.escape(cluster_name(each, VIEW))}: '
        f"{each['rows']:,} rows</title></rect>"
        for i, each in enumerate(some)
    )
    return (
        f'<svg width="{len(some) * (width + 2)}" height="40" style="margin-top:8px;fill:#3b6fb0;'
        f'max-width:100%" role="img" aria-label="sizes of the clusters">{bars}</svg>'
    )
