"""Ctrl-C and SIGTERM: what they do at each stage of a command, and the exit codes they give.

It imports nothing slow: signals are taken over before everything else is imported.
"""

from __future__ import annotations

import os
import signal
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import FrameType

UNCHANGED = "stopped; no existing file was changed."


class StopSignals:
    """Handles both signals of this process, from the first import to the exit.

    While modules are imported and arguments are read, nothing has been begun: a signal ends the process at
    once. A command that has begun chooses what a signal does: `interrupting` or `asked_to_stop`.
    """

    def __init__(self) -> None:
        self._begin()

    def _begin(self) -> None:
        self.message = UNCHANGED  # what is said when a signal ends the command
        self._number: int = signal.SIGINT
        self._exit: Callable[[], None] | None = self._leave  # None: the command has begun
        self._waiting = False  # the first signal is noted, and the command ends itself
        self._noted = 0

    @property
    def code(self) -> int:
        """The exit code of a command ended by the latest signal, as a shell gives it."""
        return 128 + self._number

    def take_over(self) -> None:
        """Handle the signals from now on; a process that runs a command has them to itself."""
        self._begin()
        for number in (signal.SIGINT, signal.SIGTERM):
            signal.signal(number, self._handle)

    def ended(self, code: int) -> None:
        """The command has ended: a signal only hurries the interpreter's own end."""
        self._exit = lambda: os._exit(code)

    @contextmanager
    def interrupting(self) -> Iterator[None]:
        """Within this, a signal raises KeyboardInterrupt; a further one ends the process."""
        with self._during(None):
            yield

    @contextmanager
    def finishing(self) -> Iterator[None]:
        """Within this, signals have no effect: what is being written is completed."""
        with self._during(lambda: None):
            yield

    @contextmanager
    def _during(self, exit: Callable[[], None] | None) -> Iterator[None]:
        before, self._exit = self._exit, exit
        try:
            yield
        finally:
            self._exit = before

    @contextmanager
    def asked_to_stop(self) -> Iterator[Callable[[], bool]]:
        """Give a function that tells whether there was a signal; a second signal raises KeyboardInterrupt."""
        with self.interrupting():
            self._waiting = True
            try:
                yield lambda: self._noted > 0
            finally:
                self._waiting = False

    def _handle(self, number: int, frame: FrameType | None) -> None:
        self._number, self._noted = number, self._noted + 1
        if self._exit is not None:
            self._exit()
        elif self._noted > 1 + self._waiting:
            self._leave()
        elif self._noted == 1 + self._waiting:
            raise KeyboardInterrupt

    def _leave(self) -> None:
        """End the process without running any more Python: an exception amid an import leaves a trace."""
        cursor = "\r\x1b[K\x1b[?25h" if os.isatty(2) else ""  # a progress bar may have hidden it
        os.write(2, f"{cursor}viewpass: {self.message}\n".encode(errors="backslashreplace"))
        os._exit(self.code)


signals = StopSignals()


def how_to_go_on() -> str:
    """The current command line, with --resume."""
    import shlex

    given = [word for word in sys.argv[1:] if word != "--resume"]
    return shlex.join(["viewpass", *given, "--resume"])
