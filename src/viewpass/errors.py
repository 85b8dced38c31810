"""Errors raised by viewpass; a message says what is wrong, where (view, row), and what to do."""

from __future__ import annotations


class ViewpassError(Exception):
    """Base class of all errors that viewpass raises deliberately."""


class DataError(ViewpassError, ValueError):
    """The given data cannot be used; nothing was changed."""


class DataWarning(UserWarning):
    """The data can be used, but perhaps not as it was meant; the message says what to do in that case."""


class SettingError(ViewpassError, ValueError):
    """A setting has an invalid value, or does not apply to what it was given with."""


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
