"""Delays Ctrl-C until the state can be saved."""

from __future__ import annotations

import shlex
import signal
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import FrameType

STOPPED = 130  # exit code of a stopped command


@contextmanager
def asked_to_stop() -> Iterator[Callable[[], bool]]:
    """Yield a function that tells whether Ctrl-C was pressed; a second Ctrl-C stops at once."""
    pressed = False
    before = {number: signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM)}

    def note(number: int, frame: FrameType | None) -> None:
        nonlocal pressed
        pressed = True
        signal.signal(number, signal.default_int_handler)

    for number in before:
        signal.signal(number, note)
    try:
        yield lambda: pressed
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


def how_to_go_on() -> str:
    """The current command line, with --resume."""
    given = [word for word in sys.argv[1:] if word != "--resume"]
    return shlex.join(["viewpass", *given, "--resume"])
