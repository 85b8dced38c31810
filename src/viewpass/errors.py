"""One family of errors: each message says what, where (view, row), what was expected, what to do."""

from __future__ import annotations


class ViewpassError(Exception):
    """What every error raised on purpose by viewpass derives from."""


class DataError(ViewpassError, ValueError):
    """The data given cannot be used; nothing was changed."""


class SettingError(ViewpassError, ValueError):
    """A setting has a value that makes no sense."""


class FileError(ViewpassError):
    """A file of ours is damaged, does not belong here, or could not be written."""


class EngineError(ViewpassError):
    """The machines could not do the work; what was saved is as it was."""


class MissingExtraError(ViewpassError, ImportError):
    """An optional library is needed; the message names the extra that brings it."""


def missing_extra(library: str, extra: str, purpose: str) -> MissingExtraError:
    """Say which extra to install for an optional library."""
    return MissingExtraError(
        f"{purpose} needs {library}, which is not installed. Run: pip install 'viewpass[{extra}]'"
    )
