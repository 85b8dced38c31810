"""Shows the progress of a command: live on a terminal, as lines elsewhere, or as JSON."""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np
import typer
from rich.console import Console, Group
from rich.live import Live
from rich.progress import BarColumn, Progress, TaskProgressColumn, TextColumn, TimeRemainingColumn
from rich.text import Text

from viewpass.cli.stopping import signals
from viewpass.errors import printable

LINE_SECONDS = 5.0  # between lines, without a terminal
BARS = " ▁▂▃▄▅▆▇█"
SHOWN_CLUSTERS = 60


class Display:
    """Base of the displays below; it shows nothing but text."""

    def __init__(self) -> None:
        self._began = self._shown = time.perf_counter()
        self._first = 0  # rows done before this command began

    def _speed(self, done: int) -> float:
        """Rows per second since this command began."""
        seconds = time.perf_counter() - self._began
        return (done - self._first) / seconds if seconds > 0 else 0.0

    def begin(self, done: int) -> None:
        """Start the clock; `done` rows were read before."""
        self._began, self._first = time.perf_counter(), done

    def show(self, done: int, total: int | None, label: str, sizes: Any) -> None:
        """Show that `done` of `total` rows are done; `label` names the step."""

    def wait(self, label: str) -> None:
        """Show a step whose length is not known."""

    def _due(self, seconds: float) -> bool:
        """Whether the last output is that long ago; if so, the clock restarts."""
        now = time.perf_counter()
        if now - self._shown < seconds:
            return False
        self._shown = now
        return True

    def say(self, text: str) -> None:
        """Print a line for people."""
        typer.echo("\n".join(map(printable, text.split("\n"))))

    def end(self, event: str, **figures: Any) -> None:
        """Print a result for programs."""


class Lines(Display):
    """Prints a line every few seconds."""

    def show(self, done: int, total: int | None, label: str, sizes: Any) -> None:
        """Print it if some seconds have passed."""
        if not self._due(LINE_SECONDS):
            return
        parts = [
            f"{label}: {done:,}{f' of {total:,}' if total else ''} rows",
            f"{self._speed(done):,.0f} rows/s",
        ]
        if total and self._speed(done) > 0:
            parts.append(f"{(total - done) / self._speed(done):.0f} s left")
        typer.echo(", ".join(parts))


class Json(Display):
    """Prints one JSON object per line on standard output, and nothing else."""

    def show(self, done: int, total: int | None, label: str, sizes: Any) -> None:
        """Print it once a second at most."""
        if not self._due(1.0):
            return
        self.end(
            "progress",
            step=label,
            rows=done,
            of=total,
            rows_per_second=round(self._speed(done), 1),
            **({} if sizes is None else {"clusters": np.asarray(sizes).tolist()}),
        )

    def say(self, text: str) -> None:
        """Print nothing: lines for people are left out."""

    def end(self, event: str, **figures: Any) -> None:
        """Print the result."""
        typer.echo(json.dumps({"event": event, **figures}))


class Terminal(Display):
    """A progress bar, and the cluster sizes as they grow."""

    def __init__(self, console: Console) -> None:
        super().__init__()
        self._bar = Progress(
            TextColumn("{task.description}"),
            BarColumn(),
            TaskProgressColumn(),
            TextColumn("{task.fields[rows]}"),
            TimeRemainingColumn(),
            console=console,
        )
        self._task = self._bar.add_task("reading", total=None, rows="")
        self._below = Text("")
        self._label = ""
        self.live = Live(Group(self._bar, self._below), console=console, refresh_per_second=4, transient=True)

    def say(self, text: str) -> None:
        """Print a line above the bar: what is written past it, its next redraw would erase."""
        lines = "\n".join(map(printable, text.split("\n")))
        self.live.console.print(lines, markup=False, highlight=False, emoji=False, soft_wrap=True)

    def show(self, done: int, total: int | None, label: str, sizes: Any) -> None:
        """Update it; the display refreshes itself."""
        if label != self._label:
            self._label = label
            self._bar.reset(self._task)
        self._bar.update(
            self._task,
            completed=done,
            total=total,
            description=label,
            rows=f"{done:,} rows, {self._speed(done):,.0f} rows/s",
        )
        self._below.plain = "" if sizes is None else f"clusters {bars(sizes)}"

    def wait(self, label: str) -> None:
        """A bar without an end, until rows are shown again."""
        self._label, self._below.plain = label, ""
        self._bar.reset(self._task, total=None, description=label, rows="")


def bars(sizes: Any) -> str:
    """Cluster sizes as a row of bars; of many clusters, the first ones.

    >>> bars([0, 4, 8])
    ' ▄█'
    """
    shown = np.asarray(sizes)[:SHOWN_CLUSTERS]
    heights = np.ceil(shown * (len(BARS) - 1) / max(int(shown.max(initial=0)), 1)).astype(int)
    return "".join(BARS[height] for height in heights) + (" ..." if len(sizes) > SHOWN_CLUSTERS else "")


Show = Callable[..., None]  # of rows done, rows in all, what is done, and rows of each cluster


@contextmanager
def working(*, as_json: bool) -> Iterator[tuple[Display, Show]]:
    """The display, and what shows progress on it and stops the command if a signal has asked for that."""
    with display(as_json=as_json) as shown, signals.asked_to_stop() as stopping:

        def show(done: int, total: int | None, label: str, sizes: Any = None) -> None:
            shown.show(done, total, label, sizes)
            if stopping():
                raise KeyboardInterrupt

        yield shown, show


@contextmanager
def display(*, as_json: bool) -> Iterator[Display]:
    """The display that suits the output."""
    console = Console()
    if as_json:
        yield Json()
    elif not console.is_terminal:
        yield Lines()
    else:
        terminal = Terminal(console)
        with terminal.live:
            yield terminal
