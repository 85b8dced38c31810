"""The clusters that a fit can run on, by name; their libraries are imported when one is asked for."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager
from importlib import import_module
from typing import Any, NamedTuple

from viewpass.engines.interface import Engine
from viewpass.errors import SettingError, missing_extra
from viewpass.sources.source import Source

LIBRARIES = {"dask": "distributed", "ray": "ray", "spark": "pyspark"}  # by engine, and by extra


class Cluster(NamedTuple):
    """A cluster that is there: what makes an engine over the rows of a source, and a line about it."""

    engine: Callable[[Source], Engine]
    about: str = ""


def connected(name: str, address: str | None, n_workers: int | None) -> AbstractContextManager[Cluster]:
    """The cluster at an address; without one, a cluster on this machine for the time being."""
    check_workers(n_workers)
    check_installed(name)
    found: AbstractContextManager[Cluster] = import_module(f"viewpass.engines.{name}.cluster").connected(
        address, n_workers
    )
    return found


def check_installed(name: str) -> None:
    """Refuse an engine whose library is missing."""
    try:
        import_module(LIBRARIES[name])
    except ImportError:
        raise missing_extra(LIBRARIES[name], name, f"the engine {name!r}") from None


def check_workers(n_workers: Any) -> None:
    """Refuse a number of workers that is none."""
    if n_workers is not None and (
        isinstance(n_workers, bool) or not isinstance(n_workers, int) or n_workers < 1
    ):
        raise SettingError(f"n_workers={n_workers!r}: a number of at least 1 was expected.")
