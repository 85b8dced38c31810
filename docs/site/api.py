"""Writes the pages of the API reference: one for each public name, from its docstring."""

from __future__ import annotations

import inspect
import re
from pathlib import Path
from types import FunctionType, ModuleType
from typing import Any

from docs.site.pages import contents

import viewpass
from viewpass import evaluate
from viewpass.errors import DataWarning, RepeatedIdsWarning

NAMED = re.compile(r"^- `([\w.]+)`$", re.MULTILINE)


def public() -> dict[str, Any]:
    """Every public object by the name that people write after `viewpass.`."""
    found = {name: getattr(viewpass, name) for name in viewpass.__all__}
    rooms: dict[str, ModuleType] = {
        "evaluate": evaluate,
        "dask": viewpass.dask,
        "distributed": viewpass.distributed,
    }
    for room, module in rooms.items():
        found |= {f"{room}.{name}": getattr(module, name) for name in module.__all__}
    warnings = (DataWarning, RepeatedIdsWarning)
    return found | {f"errors.{warning.__name__}": warning for warning in warnings}


def members(cls: type) -> list[str]:
    """Public methods, then properties, that viewpass wrote for a class or its bases."""
    homes = {name: base for base in reversed(cls.__mro__) for name in vars(base)}
    kinds = (
        FunctionType,
        classmethod,
        staticmethod,
        property,
    )  # not what scikit-learn adds to its subclasses
    found = [
        name
        for name, base in homes.items()
        if not name.startswith("_")
        and base.__module__.startswith("viewpass")
        and isinstance(vars(base)[name], kinds)
    ]
    return sorted(found, key=lambda name: isinstance(vars(homes[name])[name], property))


def page(name: str, thing: Any) -> str:
    """The page of one public object, in Markdown with one directive."""
    home = f"viewpass.{name}"
    kind = "autoclass" if inspect.isclass(thing) else "autofunction"
    lines = [f"# {name}", "", "```{eval-rst}", f".. {kind}:: {home}", ""]
    if inspect.isclass(thing) and not issubclass(thing, BaseException):
        for member in members(thing):
            what = "autoproperty" if isinstance(getattr(thing, member), property) else "automethod"
            lines.append(f"   .. {what}:: {home}.{member}")
    return "\n".join([*lines, "```", ""])


def linked(overview: str) -> str:
    """The overview with the names in its lists as links to their pages, and what each is.

    >>> print(linked("- `OPIMC`"))
    - [`OPIMC`](api/OPIMC.md): One-pass incomplete multi-view clustering, as published
    """
    found = public()

    def entry(match: re.Match[str]) -> str:
        summary = (inspect.getdoc(found[match[1]]) or "").partition("\n\n")[0]
        return f"- [`{match[1]}`](api/{match[1]}.md): {' '.join(summary.split()).rstrip('.')}"

    return NAMED.sub(entry, overview)


def write(folder: Path) -> None:
    """Write all pages into a folder of staged ones, and link the overview to them."""
    (folder / "api").mkdir()
    for name, thing in public().items():
        (folder / "api" / f"{name}.md").write_text(page(name, thing))
    overview = folder / "api.md"
    text = overview.read_text()
    overview.write_text(linked(text) + contents([f"api/{name}" for name in NAMED.findall(text)]))
