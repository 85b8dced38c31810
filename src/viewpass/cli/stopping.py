"""Ctrl-C at a place where everything can be saved."""

from __future__ import annotations

import shlex
import signal
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import FrameType

STOPPED = 130  # the exit code of a command that was asked to stop


@contextmanager
def asked_to_stop() -> Iterator[Callable[[], bool]]:
    """Give a function that says whether to stop; a second Ctrl-C stops at once."""
    asked = False
    before = {number: signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM)}

    def note(number: int, frame: FrameType | None) -> None:
        nonlocal asked
        asked = True
        signal.signal(number, signal.default_int_handler)

    for number in before:
        signal.signal(number, note)
    try:
        yield lambda: asked
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


def how_to_go_on() -> str:
    """The command that was given, with --resume."""
    given = [word for word in sys.argv[1:] if word != "--resume"]
    return shlex.join(["viewpass", *given, "--resume"])
