"""Errors and warnings of viewpass; a message says what is wrong, where (view, row), and what to do."""

from __future__ import annotations

import os
import stat
import sys
import warnings
from collections.abc import Iterator
from types import FrameType
from typing import Self


def printable(text: object) -> str:
    r"""Return text from data (names, ids, paths) as it may be printed: what a terminal acts on is escaped.

    Escape sequences, line ends, marks of direction and undecodable bytes are shown as in Python's literals.

    >>> print(printable("text\x1b[2J"), printable("one\ntwo"), printable("größe"))
    text\x1b[2J one\ntwo größe
    """
    shown = str(text)
    if shown.isprintable():
        return shown
    return "".join(
        letter if letter.isprintable() else letter.encode("unicode_escape").decode() for letter in shown
    )


class ViewpassError(Exception):
    """Base class of all errors that viewpass raises deliberately; its message is printable."""

    def __init__(self, *arguments: object) -> None:
        super().__init__(*(printable(part) if isinstance(part, str) else part for part in arguments))

    @classmethod
    def of_lines(cls, text: str) -> Self:
        """Make an error whose message keeps its line ends; each line is printable."""
        error = cls()
        error.args = ("\n".join(map(printable, text.split("\n"))),)
        return error


class DataError(ViewpassError, ValueError):
    """The given data cannot be used; nothing was changed."""


class DataWarning(UserWarning):
    """The data can be used, but perhaps not as it was meant; the message says what to do in that case."""


class RepeatedIdsWarning(DataWarning):
    """Rows have ids of rows that a model has read before: they count again."""


class SettingError(ViewpassError, ValueError):
    """A setting has an invalid value, or does not apply to what it was given with."""


class NoLabelsError(ViewpassError, AttributeError):
    """A model does not have the labels asked for; the message says why, and what gives them."""


class NotCalibratedError(ViewpassError, ValueError):
    """A model does not hold what its probabilities would rest on; the message says why."""


class FileError(ViewpassError):
    """A file written by viewpass is damaged, belongs to something else, or could not be written."""


class EngineError(ViewpassError):
    """A distributed run failed; files that were already saved are unchanged."""


class MissingExtraError(ViewpassError, ImportError):
    """An optional library is not installed; the message names the extra that installs it."""


def missing_extra(library: str, extra: str, purpose: str) -> MissingExtraError:
    """Make the error that names the extra to install for an optional library."""
    return MissingExtraError(
        f"{purpose} needs {library}, which is not installed. Run: pip install 'viewpass[{extra}]'"
    )


def warn(message: str, category: type[Warning] = DataWarning) -> None:
    """Warn at the line of the user's code that called viewpass."""
    level = 1
    for frame in callers():
        if frame.f_globals.get("__name__", "").partition(".")[0] != "viewpass":
            break
        level += 1
    warnings.warn(printable(message), category, stacklevel=level)


def callers() -> Iterator[FrameType]:
    """Yield the frames of the calls that led here, the function that asks first."""
    frame: FrameType | None = sys._getframe(1)
    while frame is not None:
        yield frame
        frame = frame.f_back


SPECIAL = {
    stat.S_IFDIR: "a folder",
    stat.S_IFIFO: "a pipe",
    stat.S_IFCHR: "a device",
    stat.S_IFBLK: "a device",
}


def not_a_file(path: str | os.PathLike[str]) -> str | None:
    """Say what a path is, if it exists and is not a regular file; nothing is opened, so nothing can wait."""
    try:
        kind = stat.S_IFMT(os.stat(path).st_mode)
    except (OSError, ValueError):
        return None
    return None if kind == stat.S_IFREG else SPECIAL.get(kind, "a socket")
