"""Writes the measurements as Markdown tables, aligned to be readable as plain text."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from benchmarks.bars import MEBIBYTE, bars

BUSY = 0.3
NOTES = """\
Seconds: least of the runs, each method in a process of its own (those of viewpass in one, in turn).
"x pass": seconds over those of one distance pass; for viewpass the least of the distance passes before
and after each of its fits, in the same process. "default settings": ViewPass with the number of clusters
and nothing else set, final labels included. "published OPIMC": chunk size and passes of the workload, the
stream's labels. MB: peak resident memory above what the process held with the data loaded and a tiny fit
done; for peers with their prepared copy of the data. prepare: seconds to scale, impute and join the data for
a peer, NOT included in its seconds; viewpass takes the data as it is, and everything it does is included.
FAISS's search for labels is not included either. NMI: of these labels, against the classes. Absent views of
sparse data are zeros for MiniBatchKMeans. ~: measured on fewer rows (in brackets) and scaled linearly."""


def text(found: dict[str, Any]) -> str:
    """All sections."""
    parts = [_heading(found)]
    if found["rows"]:
        parts += [_methods(found["rows"]), *_failures(found["rows"]), NOTES]
    if found.get("threads"):
        parts.append(_threads(found["threads"]))
    if found.get("scaling"):
        parts.append(_scaling(found["scaling"]))
    if found.get("first_call"):
        parts.append(_first_call(found["first_call"]))
    parts.append(_bars(found))
    return "\n\n".join(parts) + "\n"


def grid(head: Sequence[str], lines: Iterable[Sequence[str]], left: int = 1) -> str:
    """A Markdown table; the first `left` columns are left-aligned, the others right-aligned."""
    cells = [list(head), *(list(line) for line in lines)]
    widths = [max(len(line[i]) for line in cells) for i in range(len(head))]
    rule = ["-" * width if i < left else "-" * (width - 1) + ":" for i, width in enumerate(widths)]
    cells.insert(1, rule)
    return "\n".join(
        "| "
        + " | ".join(
            cell.ljust(width) if i < left else cell.rjust(width)
            for i, (cell, width) in enumerate(zip(line, widths, strict=True))
        )
        + " |"
        for line in cells
    )


def short(value: float | None) -> str:
    """Three significant digits."""
    if value is None:
        return ""
    if abs(value) >= 100:
        return f"{value:,.0f}"
    return f"{value:.1f}" if abs(value) >= 10 else f"{value:.2f}" if abs(value) >= 1 else f"{value:.3f}"


def _heading(found: dict[str, Any]) -> str:
    facts, size = found["machine"], "full size" if found["share"] == 1 else f"{found['share']:g} of the rows"
    versions = ", ".join(f"{name} {number}" for name, number in facts["libraries"].items() if number)
    busy = f"; load of other work at the start: {facts['load']:.1f}" if facts["load"] >= BUSY else ""
    return (
        f"{size}, {found['n_threads']} threads, least of {found['runs']} runs{busy}\n"
        f"{facts['processor']}, {facts['cores']} cores; Python {facts['python']}, {versions}"
    )


def _methods(rows: list[dict[str, Any]]) -> str:
    head = ("workload", "method", "seconds", "x pass", "MB", "NMI", "prepare")
    lines, last = [], None
    for row in rows:
        workload = "" if row["workload"] == last else row["workload"]
        last = row["workload"]
        lines.append((workload, *_line(row)))
    return grid(head, lines, left=2)


def _failures(rows: list[dict[str, Any]]) -> list[str]:
    failed = [f"{row['workload']}, {row['method']}: {row['failed']}" for row in rows if "failed" in row]
    return ["failed:\n" + "\n".join(failed)] if failed else []


def _line(row: dict[str, Any]) -> tuple[str, ...]:
    if "seconds" not in row:
        return (f"{row['method']}: {row.get('note', 'failed')}", *[""] * 5)
    about = "~" if "scaled_from" in row else ""
    method = row["method"] + (f" ({row['scaled_from']:,} rows)" if about else "")
    above = row.get("bytes_above")
    return (
        method,
        about + short(row["seconds"]),
        about + short(row["ratio"]),
        "" if above is None else about + f"{above / MEBIBYTE:,.0f}",
        "" if row.get("nmi") is None else f"{row['nmi']:.3f}",
        "" if "prepare_seconds" not in row else about + short(row["prepare_seconds"]),
    )


def _threads(rows: list[dict[str, Any]]) -> str:
    lines = [
        (row["workload"], short(min(row["one"])), short(min(row["several"])), short(row["gain"]))
        for row in rows
        if "gain" in row
    ]
    return grid(("default settings", "1 thread", "all threads", "gain"), lines)


def _scaling(found: dict[str, Any]) -> str:
    if "failed" in found:
        return f"scaling failed: {found['failed']}"
    lines = [(what, short(times["ours"]), short(times["pass"])) for what, times in found["growth"].items()]
    return grid((f"from {found['base_rows']:,} rows", "times the time", "of one distance pass"), lines)


def _first_call(rows: list[dict[str, Any]]) -> str:
    lines = []
    for row in rows:
        if "failed" in row:
            lines.append((f"{row['data']}: {row['failed'][:60]}", "", "", ""))
            continue
        seconds = (row["import"], row["first_fit"], min(row["later_fits"]))
        lines.append((row["data"], *map(short, seconds)))
    return grid(("1,000 rows", "import s", "first fit s", "later fits s"), lines)


def _bars(found: dict[str, Any]) -> str:
    lines = [
        (bar.what, short(bar.value), ("at least " if bar.at_least else "at most ") + short(bar.bound), met)
        for bar in bars(found)
        for met in ("yes" if bar.met else "NO",)
    ]
    if not lines:
        return ""
    size = "" if found["share"] == 1 else " (set for the full size)"
    return grid((f"target{size}", "measured", "bound", "met"), lines)
