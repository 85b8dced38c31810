"""The report: a summary and the places of its rows, drawn as one HTML file that needs nothing else."""

from __future__ import annotations

import base64
import hashlib
import html
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from pathlib import Path
from typing import Any

import numpy as np

from viewpass.errors import missing_extra
from viewpass.kernels.grid import Floats, Integers
from viewpass.report import findings, wording
from viewpass.report.advice import advice
from viewpass.report.charts import growth_of, line_chart, timeline_chart
from viewpass.report.images import Pictures
from viewpass.report.layout import places_of
from viewpass.store.container.files import naming, replacing

SCRIPTS = ("functions.js", "map.js", "page.js")  # in this order, as one
CARDS = 100  # clusters that have one; the rest are in a table
GRID = 9999  # steps of a coordinate
LARGEST = 2_000_000  # bytes of a page
LENGTHS = (60, 30, 0)  # characters of a value on the map, the next where a page would be too large
COLOURS = 10  # of the palette, in page.css
NEIGHBOURS = 6  # clusters that should have other colours


@dataclass(frozen=True)
class Places:
    """Where centres lie on the map, and of which cluster they are."""

    centres: Floats  # (centres, 2)
    clusters: Integers  # (centres,)
    sizes: Integers  # (centres,)


class Page:
    """A page as text; a notebook shows it."""

    def __init__(self, text: str) -> None:
        self.text = text

    def write(self, path: Path, growing: Path | None = None) -> None:
        """Write the page to a file: whole or not at all; `growing` is its name until then."""
        with replacing(path, growing) as file, naming(path):
            file.write(self.text.encode())

    def _repr_html_(self) -> str:
        given = html.escape(self.text, quote=True)
        style = "width:100%;height:80vh;min-height:600px;border:1px solid #8884;border-radius:8px"
        about = f'title="viewpass report" sandbox="allow-scripts" style="{style}"'
        return f'<iframe {about} srcdoc="{given}"></iframe>'

    def __repr__(self) -> str:
        return f"<viewpass report, {len(self.text) / 1e3:,.0f} kB>"


def report_page(found: findings.Summary, places: Places) -> Page:
    """Draw a summary."""
    for length in LENGTHS:
        text = _drawn("page.html", _content(found, places, length))
        if len(text.encode()) <= LARGEST:
            break
    return Page(text)


def comparison_page(found: Mapping[str, Any]) -> Page:
    """Draw the comparison of two runs."""
    names = [
        {pair[side]: pair[f"{side}_name"] for pair in found["pairs"] if pair[side] is not None}
        for side in ("first", "second")
    ]
    return Page(_drawn("comparison.html", {"found": found, "names": names}))


@cache
def _part(name: str) -> str:
    return (files("viewpass.report") / name).read_text(encoding="utf-8")


@cache
def _environment() -> Any:
    try:
        import jinja2
    except ImportError:
        raise missing_extra("jinja2", "report", "the report") from None
    names = ("page.html", "comparison.html", "frame.html", "parts.html")
    made = jinja2.Environment(
        loader=jinja2.DictLoader({name: _part(name) for name in names}),
        autoescape=True,
        trim_blocks=True,
        lstrip_blocks=True,
        undefined=jinja2.StrictUndefined,
    )
    made.filters |= {
        name: getattr(wording, name) for name in ("short", "percent", "number", "cluster_name", "listed")
    }
    made.globals |= {"growth_of": growth_of}
    return made


def _drawn(name: str, content: Mapping[str, Any]) -> str:
    """The template with its content; only our own script may run, and nothing may be fetched."""
    script = "\n" + "\n".join(map(_part, SCRIPTS))
    allowed = base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()
    shared = {"script": script, "style": _part("page.css"), "script_hash": allowed}
    text: str = _environment().get_template(name).render(**shared, **content)
    return text


def _content(found: findings.Summary, places: Places, length: int) -> dict[str, Any]:
    clusters = findings.filled(found)
    names = {each["cluster"]: wording.cluster_name(each) for each in found["clusters"]}
    spots = cluster_spots(places, len(found["clusters"]))
    colours = cluster_colours(clusters, spots)
    pictures = Pictures()
    cards = _cards(clusters[:CARDS], pictures)
    curve = found["curve"]
    losses = found["loss_curve"]
    return {
        "found": found,
        "headline": findings.headline(found),
        "sentences": findings.sentences(found),
        "mean_confidence": findings.mean_confidence(found),
        "doubtful_share": findings.doubtful_share(found),
        "limit": f"{findings.DOUBTFUL:g}",
        "views": findings.view_shares(found),
        "view_names": list(found["views"]),
        "disagreements": findings.disagreements(found),
        "advice": advice(found),
        "unusual": [_row(row, pictures, 100) for row in findings.unusual_rows(found)],
        "doubtful": [_row(row, pictures, 100) for row in findings.doubtful_rows(found)],
        "cards": cards,
        "n_rest": max(len(clusters) - CARDS, 0),
        "names": names,
        "colours": colours,
        "timeline": timeline_chart(found["timeline"]),
        "loss_chart": line_chart(range(1, len(losses) + 1), losses, label="average loss after each chunk"),
        "curve_chart": None
        if curve is None
        else line_chart(
            curve["numbers"],
            curve["values"],
            curve["errors"],
            mark=found["n_clusters"],
            label="information of labels about hidden views, by number of clusters",
            dots=True,
        ),
        "data": _data(found, places, clusters, spots, colours, length),
    }


def _row(row: Mapping[str, Any], pictures: Pictures, length: int = wording.VALUE) -> dict[str, Any]:
    """A row as it is shown: pictures, title, other values by column, and its id, the first of them."""
    images, values = [], []
    for column, value in row["shown"].items():
        picture = pictures.of(value)
        if picture is not None:
            images.append(picture)
        elif value is not None and not str(value).startswith("data:image/"):
            values.append((wording.short(column, 30), wording.short(value, length)))
    own = values.pop(0)[1] if len(values) > 1 else None
    reasons = row.get("reasons")
    return {
        "images": images,
        "title": values.pop(0)[1] if values else f"row {row['row']:,}",
        "values": values,
        "id": own,
        "cluster": row["cluster"],
        "confidence": row["confidence"],
        "outlier": None if reasons is None else reasons["outlier"],
        "row": row["row"],
    }


def _cards(clusters: Sequence[Mapping[str, Any]], pictures: Pictures) -> list[dict[str, Any]]:
    cards = []
    for each in clusters:
        typical = [_row(row, pictures) for row in each["typical"]]
        shown = {row["row"] for row in typical}
        doubtful = [_row(row, pictures) for row in each["doubtful"] if row["row"] not in shown]
        cards.append(
            {
                "cluster": each,
                "typical": typical,
                "doubtful": doubtful,
                "apart": [
                    (wording.short(name, wording.VIEW), share)
                    for name, share in each["apart"]["views"].items()
                    if share is not None
                ],
                "patterns": [
                    (wording.short(name or "no view", 60), rows, rows / max(each["rows"], 1))
                    for name, rows in each["patterns"].items()
                ],
            }
        )
    return cards


def cluster_spots(places: Places, n_clusters: int) -> Floats:
    """Where the name of each cluster stands: at its largest centre."""
    spots = np.full((n_clusters, 2), 0.5)
    for centre in np.argsort(places.sizes, kind="stable"):
        spots[places.clusters[centre]] = places.centres[centre]
    return spots


def cluster_colours(clusters: Sequence[Mapping[str, Any]], spots: Floats) -> dict[int, int]:
    """A colour of the palette for each cluster, other than those of clusters near it on the map."""
    colours: dict[int, int] = {}
    done: list[int] = []
    for each in clusters:
        own = each["cluster"]
        if len(done) >= 500:  # names of more are not drawn
            colours[own] = own % COLOURS
            continue
        apart = ((spots[done] - spots[own]) ** 2).sum(axis=1) if done else np.empty(0)
        near = [colours[done[i]] for i in np.argsort(apart, kind="stable")[: COLOURS - 1]]
        used = np.bincount([colours[k] for k in done], minlength=COLOURS)
        free = [c for c in range(COLOURS) if c not in near[:NEIGHBOURS]]
        colours[own] = min(free, key=lambda c: (c in near, used[c], c))
        done.append(own)
    return colours


def _data(
    found: findings.Summary,
    places: Places,
    clusters: Sequence[Mapping[str, Any]],
    spots: Floats,
    colours: Mapping[int, int],
    length: int,
) -> dict[str, Any]:
    """What the script draws: points and clusters."""
    rows = [row for row in found["sample"] if row["reasons"]["near"]]
    if rows:
        given = [row["reasons"]["near"] for row in rows], [row["reasons"]["weights"] for row in rows]
        xy, labels = places_of(*given, places.centres), [row["cluster"] for row in rows]
        sure = [-1 if row["confidence"] is None else round(100 * row["confidence"]) for row in rows]
        texts = [wording.row_line(row["shown"], length) if length else "" for row in rows]
        numbers = [row["row"] for row in rows]
        size = [1.0] * len(rows)
    else:
        order = np.argsort(-places.sizes, kind="stable")[:2000]
        xy, labels = places.centres[order], places.clusters[order].tolist()
        whole = max(float(places.sizes[order].max(initial=1)), 1.0)
        size = [round(1 + 3 * float(np.sqrt(places.sizes[k] / whole)), 1) for k in order]
        sure, texts, numbers = [-1] * len(order), [], []
    low = np.minimum(xy.min(axis=0, initial=0.5), 0.0) if len(xy) else np.zeros(2)
    side = max(float((np.maximum(xy.max(axis=0, initial=0.5), 1.0) - low).max()), 1e-9) if len(xy) else 1.0

    def grid(values: Floats) -> list[list[int]]:
        steps: list[list[int]] = np.clip(np.rint((values - low) / side * GRID), 0, GRID).astype(int).tolist()
        return steps

    short = 40 if len(clusters) > 2000 else 60
    return {
        "points": {
            "xy": grid(xy),
            "cluster": labels,
            "sure": sure,
            "text": texts,
            "row": numbers,
            "size": size,
        },
        "clusters": [
            [
                each["cluster"],
                wording.cluster_name(each, short),
                each["rows"],
                -1 if each["confidence"] is None else round(each["confidence"], 3),
                *grid(spots[each["cluster"]][None])[0],
                colours[each["cluster"]],
            ]
            for each in clusters
        ],
        "rest": min(CARDS, len(clusters)),
        "rows": found["rows"],
        "of_rows": bool(rows),
    }
