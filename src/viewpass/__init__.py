"""viewpass clusters multi-modal rows in one pass, even when modalities are missing.

Public names are resolved when first used: `import viewpass` loads nothing heavy.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

from viewpass.version import __version__ as __version__

_HOMES = {
    "ViewPass": "viewpass.cluster.viewpass",
    "OPIMC": "viewpass.cluster.opimc",
    "IMC": "viewpass.cluster.imc",
    "DAIMC": "viewpass.baselines.daimc",
    "MIC": "viewpass.baselines.mic",
    "MultiNMF": "viewpass.baselines.multinmf",
    "OMVC": "viewpass.baselines.omvc",
    "ONMF": "viewpass.baselines.onmf",
    "BatchPredictor": "viewpass.cluster.tables",
    "Statistics": "viewpass.core.state.statistics",
    "frames": "viewpass.sources.frames",
    "from_mudata": "viewpass.sources.mudata",
    "load": "viewpass.cluster.persistence",
    "load_bundle": "viewpass.sources.bundle",
    "scan": "viewpass.sources.scan",
    "merge": "viewpass.cluster.merging",
    "summary": "viewpass.cluster.summary",
    "write_labels": "viewpass.cluster.annotations",
    "DataError": "viewpass.errors",
    "EngineError": "viewpass.errors",
    "FileError": "viewpass.errors",
    "MissingExtraError": "viewpass.errors",
    "NoLabelsError": "viewpass.errors",
    "NotCalibratedError": "viewpass.errors",
    "SettingError": "viewpass.errors",
    "ViewpassError": "viewpass.errors",
}

_ROOMS = {"dask": "viewpass.cluster.distributed"}  # names that are modules

__all__ = sorted(_HOMES)

if TYPE_CHECKING:
    from viewpass.baselines.daimc import DAIMC as DAIMC
    from viewpass.baselines.mic import MIC as MIC
    from viewpass.baselines.multinmf import MultiNMF as MultiNMF
    from viewpass.baselines.omvc import OMVC as OMVC
    from viewpass.baselines.onmf import ONMF as ONMF
    from viewpass.cluster import distributed as dask  # noqa: F401
    from viewpass.cluster.annotations import write_labels as write_labels
    from viewpass.cluster.imc import IMC as IMC
    from viewpass.cluster.merging import merge as merge
    from viewpass.cluster.opimc import OPIMC as OPIMC
    from viewpass.cluster.persistence import load as load
    from viewpass.cluster.summary import summary as summary
    from viewpass.cluster.tables import BatchPredictor as BatchPredictor
    from viewpass.cluster.viewpass import ViewPass as ViewPass
    from viewpass.core.state.statistics import Statistics as Statistics
    from viewpass.errors import DataError as DataError
    from viewpass.errors import EngineError as EngineError
    from viewpass.errors import FileError as FileError
    from viewpass.errors import MissingExtraError as MissingExtraError
    from viewpass.errors import NoLabelsError as NoLabelsError
    from viewpass.errors import NotCalibratedError as NotCalibratedError
    from viewpass.errors import SettingError as SettingError
    from viewpass.errors import ViewpassError as ViewpassError
    from viewpass.sources.bundle import load_bundle as load_bundle
    from viewpass.sources.frames import frames as frames
    from viewpass.sources.mudata import from_mudata as from_mudata
    from viewpass.sources.scan import scan as scan


def __getattr__(name: str) -> Any:
    if name in _ROOMS:
        return import_module(_ROOMS[name])
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    value = getattr(import_module(_HOMES[name]), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted(["__version__", *_HOMES, *_ROOMS])
