"""Tables of what was measured, as Markdown."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from typing import Any

import numpy as np

Cell = dict[str, Any]


def tables(cells: list[Cell], methods: Sequence[str]) -> str:
    """Scores, speed and events; methods in this order."""
    sets = list(dict.fromkeys(cell["set"] for cell in cells))
    found = {(cell["method"], cell["settings"]) for cell in cells}
    rows = sorted(found, key=lambda row: (methods.index(row[0]), row[1]))
    by_place = defaultdict[tuple[str, str, str], list[Cell]](list)
    for cell in cells:
        by_place[cell["set"], cell["method"], cell["settings"]].append(cell)
    lines = ["| method | settings | " + " | ".join(sets) + " |", "|---|---|" + "---|" * len(sets)]
    for method, settings in rows:
        scores = [_score(by_place[name, method, settings]) for name in sets]
        lines.append(f"| {method} | {settings} | " + " | ".join(scores) + " |")
    lines += ["", "Rows per second of the processor:", "", *_speed(by_place, sets, rows)]
    return "\n".join([*lines, *_events(cells)]) + "\n"


def _score(cells: list[Cell]) -> str:
    if not cells:
        return "–"
    if any("failed" in cell for cell in cells):
        return "fails"
    values = [cell["score"] for cell in cells]
    spread = f" ± {np.std(values):.2f}" if len(values) > 1 else ""
    cut = "*" if any(cell["share"] < 1 for cell in cells) else ""
    return f"{np.mean(values):.3f}{spread} ({len(values)}){cut}"


def _speed(by_place: Any, sets: list[str], rows: list[tuple[str, str]]) -> list[str]:
    lines = ["| method | " + " | ".join(sets) + " |", "|---|" + "---|" * len(sets)]
    for method, settings in rows:
        if settings != "default":
            continue
        found = []
        for name in sets:
            cells = [cell for cell in by_place[name, method, settings] if "failed" not in cell]
            read, seconds = sum(cell["rows"] for cell in cells), sum(cell["seconds"] for cell in cells)
            found.append(f"{read / seconds:,.0f}" if cells else "–")
        lines.append(f"| {method} | " + " | ".join(found) + " |")
    return lines


def _events(cells: list[Cell]) -> list[str]:
    told = [cell for cell in cells if cell.get("events")]
    if not told:
        return []
    lines = [
        "",
        "Events, beside the history:",
        "",
        "| stream | method | streams | told | precision | recall | delay in rows |",
        "|---|---|---|---|---|---|---|",
    ]
    groups = defaultdict[tuple[str, str], list[Cell]](list)
    for cell in told:
        groups[cell["set"], cell["method"]].append(cell["events"])
    for (name, method), found in groups.items():
        right, given, true = (sum(each[key] for each in found) for key in ("n_right", "n_found", "n_true"))
        delay = sum(each["delay"] * each["n_right"] for each in found if each["n_right"]) / max(right, 1)
        shares = " | ".join(f"{right / n:.2f}" if n else "–" for n in (given, true))
        late = f"{delay:,.0f}" if right else "–"
        lines.append(f"| {name} | {method} | {len(found)} | {given} | {shares} | {late} |")
    return lines
