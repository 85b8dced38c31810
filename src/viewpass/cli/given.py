"""What people type for data and views, as `vp.scan` takes it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from typer import BadParameter

from viewpass.errors import SettingError
from viewpass.sources.scan import scan
from viewpass.sources.source import Source


def open_data(data: Sequence[str], views: Sequence[str], id: str | None) -> Source:
    """The rows that a command is to read."""
    return scan(_paths(data), views=parsed_views(views), id=id)


def _paths(data: Sequence[str]) -> Any:
    """One path, several, or NAME=FILE.npy for each view."""
    if all("=" in path and path.endswith(".npy") for path in data):
        return dict(path.split("=", 1) for path in data)
    return data[0] if len(data) == 1 else list(data)


def parsed_views(given: Sequence[str]) -> Any:
    """Each NAME=COLUMNS is a view; COLUMNS is COLUMN, PREFIX*, FIRST:LAST, A,B,C or COLUMN/WIDTH.

    >>> parsed_views(["image=pix_*", "text=t0,t1", "tokens=words/30000"])
    {'image': 'pix_*', 'text': ['t0', 't1'], 'tokens': ('words', 30000)}
    """
    if not given:
        return None
    views: dict[str, Any] = {}
    for text in given:
        name, equals, columns = text.partition("=")
        if not equals:
            columns = name
        if not name or not columns:
            raise SettingError(f"--views {text}: NAME=COLUMNS was expected, as in --views image=image_emb.")
        if name in views:
            raise SettingError(f"--views: two views are named {name!r}. Give each a name of its own.")
        views[name] = _columns(columns)
    return views


def parsed_number(given: str, option: str) -> int | str | None:
    """A number, "auto", or None for "none" (where there may be none).

    >>> parsed_number("12", "-k"), parsed_number("auto", "-k"), parsed_number("none", "--anchors")
    (12, 'auto', None)
    """
    if given.isdigit() and int(given) > 0:
        return int(given)
    if given == "auto":
        return given
    if given == "none" and option != "-k":
        return None
    none = "" if option == "-k" else ", none"
    raise BadParameter(f"{given!r} is not a number from 1 on, or auto{none}.", param_hint=option)


def parsed_scale(given: str) -> Any:
    """A name, or VIEW=NAME for each view.

    >>> parsed_scale("auto"), parsed_scale("image=standard,words=idf")
    ('auto', {'image': 'standard', 'words': 'idf'})
    """
    if "=" not in given:
        return given
    scale: dict[str, str] = {}
    for text in given.split(","):
        view, equals, name = text.rpartition("=")
        if not (view and equals and name) or view in scale:
            raise SettingError(f"--scale {given}: NAME, or VIEW=NAME once for each view, was expected.")
        scale[view] = name
    return scale


def parsed_weights(given: str) -> Any:
    """None for "none", "auto", or VIEW=WEIGHT for each view.

    >>> parsed_weights("auto"), parsed_weights("image=2,words=0.5")
    ('auto', {'image': 2.0, 'words': 0.5})
    """
    if "=" not in given:
        if given in ("none", "auto"):
            return None if given == "none" else given
        raise SettingError(f"--view-weights {given}: auto, none, or VIEW=WEIGHT for each view was expected.")
    weights: dict[str, float] = {}
    for text in given.split(","):
        view, _, number = text.rpartition("=")
        try:
            weight = float(number)
        except ValueError:
            weight = -1.0
        if not view or view in weights or not weight >= 0:
            raise SettingError(
                f"--view-weights {given}: VIEW=WEIGHT once for each view, a number from 0 on, was expected."
            )
        weights[view] = weight
    return weights


def _columns(text: str) -> Any:
    column, slash, width = text.rpartition("/")
    if slash and column and width.isdigit():
        return column, int(width)
    return text.split(",") if "," in text else text
