"""How a command shows what it is doing: live on a terminal, lines elsewhere, JSON for machines."""

from __future__ import annotations

import json
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np
import typer
from rich.console import Console, Group
from rich.live import Live
from rich.progress import BarColumn, Progress, TaskProgressColumn, TextColumn, TimeRemainingColumn
from rich.text import Text

LINE_SECONDS = 5.0  # between lines where there is no terminal
BARS = " ▁▂▃▄▅▆▇█"
SHOWN_CLUSTERS = 60
SHOWN_WORKERS = 8


class Display:
    """Tells how far a command is; one of the kinds below."""

    def __init__(self) -> None:
        self._began = self._told = time.perf_counter()
        self._first: int | None = None  # rows behind when this command began
        self._rates: dict[str, float] = {}

    def _speed(self, done: int) -> float:
        """Rows a second since this command began."""
        seconds = time.perf_counter() - self._began
        return (done - (self._first or 0)) / seconds if seconds > 0 else 0.0

    def begin(self, done: int) -> None:
        """Rows that were behind already."""
        self._began, self._first = time.perf_counter(), done

    def show(self, done: int, total: int | None, label: str, loss: float | None, sizes: Any) -> None:
        """`done` of `total` rows; `label` says of what."""

    def workers(self, rates: dict[str, float]) -> None:
        """Rows a second of each worker, where there are several."""

    def say(self, text: str) -> None:
        """A line for people."""
        typer.echo(text)

    def end(self, event: str, **figures: Any) -> None:
        """What came out, for machines."""


def told_rates(rates: dict[str, float]) -> str:
    """Rates of the workers in a line.

    >>> told_rates({"tcp://a:1": 5200.4, "tcp://b:2": 900.0})
    'workers: tcp://a:1 5,200 rows/s, tcp://b:2 900 rows/s'
    """
    few = [f"{worker} {rate:,.0f} rows/s" for worker, rate in list(rates.items())[:SHOWN_WORKERS]]
    more = len(rates) - SHOWN_WORKERS
    return f"workers: {', '.join(few)}{f' and {more} more' if more > 0 else ''}"


class Lines(Display):
    """A line now and then."""

    def workers(self, rates: dict[str, float]) -> None:
        """With the next line."""
        self._rates = rates

    def show(self, done: int, total: int | None, label: str, loss: float | None, sizes: Any) -> None:
        """Say it if some seconds have passed."""
        now = time.perf_counter()
        if now - self._told < LINE_SECONDS:
            return
        self._told = now
        parts = [
            f"{label}: {done:,}{f' of {total:,}' if total else ''} rows",
            f"{self._speed(done):,.0f} rows/s",
        ]
        if loss is not None:
            parts.append(f"loss {loss:.6f}")
        if total and self._speed(done) > 0:
            parts.append(f"{(total - done) / self._speed(done):.0f} s left")
        typer.echo(", ".join(parts))
        if self._rates:
            typer.echo(f"  {told_rates(self._rates)}")


class Json(Display):
    """One JSON object a line, on standard output; nothing else goes there."""

    def workers(self, rates: dict[str, float]) -> None:
        """With the next object."""
        self._rates = rates

    def show(self, done: int, total: int | None, label: str, loss: float | None, sizes: Any) -> None:
        """Say it once a second at most."""
        now = time.perf_counter()
        if now - self._told < 1.0:
            return
        self._told = now
        self.end(
            "progress",
            step=label,
            rows=done,
            of=total,
            rows_per_second=round(self._speed(done), 1),
            loss=loss,
            clusters=np.asarray(sizes).tolist(),
            **({"workers": self._rates} if self._rates else {}),
        )

    def say(self, text: str) -> None:
        """Nothing: people are not reading."""

    def end(self, event: str, **figures: Any) -> None:
        """Say what came out."""
        typer.echo(json.dumps({"event": event, **figures}))


class Terminal(Display):
    """A bar, and the clusters as they grow."""

    def __init__(self, console: Console) -> None:
        super().__init__()
        self._bar = Progress(
            TextColumn("{task.description}"),
            BarColumn(),
            TaskProgressColumn(),
            TextColumn("{task.fields[rows]} rows, {task.fields[speed]} rows/s"),
            TimeRemainingColumn(),
            console=console,
        )
        self._task = self._bar.add_task("reading", total=None, rows="0", speed="0")
        self._below = Text("")
        self._label = ""
        self.live = Live(Group(self._bar, self._below), console=console, refresh_per_second=4, transient=True)

    def workers(self, rates: dict[str, float]) -> None:
        """Below the clusters."""
        self._rates = rates

    def show(self, done: int, total: int | None, label: str, loss: float | None, sizes: Any) -> None:
        """Draw it; the display refreshes itself."""
        if label != self._label:
            self._label = label
            self._bar.reset(self._task)
        self._bar.update(
            self._task,
            completed=done,
            total=total,
            description=label,
            rows=f"{done:,}",
            speed=f"{self._speed(done):,.0f}",
        )
        told = "" if loss is None else f"loss {loss:.6f}   "
        below = f"\n{told_rates(self._rates)}" if self._rates else ""
        self._below.plain = f"{told}clusters {bars(sizes)}{below}"


def bars(sizes: Any) -> str:
    """Sizes as a row of bars, the first of many.

    >>> bars([0, 4, 8])
    ' ▄█'
    """
    shown = np.asarray(sizes)[:SHOWN_CLUSTERS]
    heights = np.ceil(shown * (len(BARS) - 1) / max(int(shown.max(initial=0)), 1)).astype(int)
    return "".join(BARS[height] for height in heights) + (" ..." if len(sizes) > SHOWN_CLUSTERS else "")


@contextmanager
def display(*, as_json: bool) -> Iterator[Display]:
    """The kind of display that fits where the output goes."""
    console = Console()
    if as_json:
        yield Json()
    elif not console.is_terminal:
        yield Lines()
    else:
        terminal = Terminal(console)
        with terminal.live:
            yield terminal
