"""Errors and warnings of viewpass; a message says what is wrong, where (view, row), and what to do."""

from __future__ import annotations

import sys
import warnings
from collections.abc import Iterator
from types import FrameType


class ViewpassError(Exception):
    """Base class of all errors that viewpass raises deliberately."""


class DataError(ViewpassError, ValueError):
    """The given data cannot be used; nothing was changed."""


class DataWarning(UserWarning):
    """The data can be used, but perhaps not as it was meant; the message says what to do in that case."""


class SettingError(ViewpassError, ValueError):
    """A setting has an invalid value, or does not apply to what it was given with."""


class NoLabelsError(ViewpassError, AttributeError):
    """A model does not have the labels asked for; the message says why, and what gives them."""


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


def warn(message: str) -> None:
    """Warn at the line of the user's code that called viewpass."""
    level = 1
    for frame in callers():
        if frame.f_globals.get("__name__", "").partition(".")[0] != "viewpass":
            break
        level += 1
    warnings.warn(message, DataWarning, stacklevel=level)


def callers() -> Iterator[FrameType]:
    """Yield the frames of the calls that led here, the function that asks first."""
    frame: FrameType | None = sys._getframe(1)
    while frame is not None:
        yield frame
        frame = frame.f_back
