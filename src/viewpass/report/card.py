"""A fitted model in a few words: what `repr` and a notebook show of it. Needs no other library."""

from __future__ import annotations

import html
from collections.abc import Mapping, Sequence
from typing import Any

from viewpass.report.findings import filled, view_shares
from viewpass.report.wording import percent, short

SHOWN = 6  # views


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


def card_html(lines: Sequence[str]) -> str:
    """The same as a small card for notebooks."""
    settings, clusters, views = map(html.escape, lines)
    return (
        '<div style="font:14px/1.5 system-ui,sans-serif;border:1px solid #8886;border-radius:10px;'
        'padding:12px 16px;display:inline-block;max-width:640px;overflow-wrap:anywhere">'
        f'<div style="font-weight:600">{clusters}</div>'
        f'<div style="opacity:.75">{settings}<br>{views}</div></div>'
    )
