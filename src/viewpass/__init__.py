"""viewpass clusters multi-modal rows in one pass, even when modalities are missing.

Public names are resolved when first used: `import viewpass` loads nothing heavy.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

from viewpass.version import __version__ as __version__

_HOMES = {
    "ViewPass": "viewpass.estimators.viewpass",
    "OPIMC": "viewpass.estimators.opimc",
    "IMC": "viewpass.estimators.imc",
    "DAIMC": "viewpass.baselines.daimc",
    "MIC": "viewpass.baselines.mic",
    "MultiNMF": "viewpass.baselines.multinmf",
    "OMVC": "viewpass.baselines.omvc",
    "ONMF": "viewpass.baselines.onmf",
    "BatchPredictor": "viewpass.estimators.batches",
    "Statistics": "viewpass.sums.statistics",
    "frames": "viewpass.sources.frames",
    "from_mudata": "viewpass.sources.mudata",
    "load": "viewpass.estimators.persistence",
    "load_bundle": "viewpass.sources.bundle",
    "load_mat": "viewpass.sources.mat",
    "audit": "viewpass.evaluate.audit",
    "scan": "viewpass.sources.scan",
    "merge": "viewpass.estimators.merging",
    "summary": "viewpass.runs.summary",
    "track": "viewpass.runs.track",
    "write_labels": "viewpass.estimators.annotations",
    "DataError": "viewpass.errors",
    "EngineError": "viewpass.errors",
    "FileError": "viewpass.errors",
    "MissingExtraError": "viewpass.errors",
    "NoLabelsError": "viewpass.errors",
    "NotCalibratedError": "viewpass.errors",
    "SettingError": "viewpass.errors",
    "ViewpassError": "viewpass.errors",
}

_ROOMS = {  # names that are modules
    "dask": "viewpass.estimators.dask",
    "distributed": "viewpass.estimators.distributed",
    "evaluate": "viewpass.evaluate",
    "ray": "viewpass.estimators.ray",
    "spark": "viewpass.estimators.spark",
}

__all__ = sorted(_HOMES)

if TYPE_CHECKING:
    from viewpass import evaluate as evaluate
    from viewpass.baselines.daimc import DAIMC as DAIMC
    from viewpass.baselines.mic import MIC as MIC
    from viewpass.baselines.multinmf import MultiNMF as MultiNMF
    from viewpass.baselines.omvc import OMVC as OMVC
    from viewpass.baselines.onmf import ONMF as ONMF
    from viewpass.errors import DataError as DataError
    from viewpass.errors import EngineError as EngineError
    from viewpass.errors import FileError as FileError
    from viewpass.errors import MissingExtraError as MissingExtraError
    from viewpass.errors import NoLabelsError as NoLabelsError
    from viewpass.errors import NotCalibratedError as NotCalibratedError
    from viewpass.errors import SettingError as SettingError
    from viewpass.errors import ViewpassError as ViewpassError
    from viewpass.estimators import dask as dask
    from viewpass.estimators import distributed as distributed
    from viewpass.estimators import ray as ray
    from viewpass.estimators import spark as spark
    from viewpass.estimators.annotations import write_labels as write_labels
    from viewpass.estimators.batches import BatchPredictor as BatchPredictor
    from viewpass.estimators.imc import IMC as IMC
    from viewpass.estimators.merging import merge as merge
    from viewpass.estimators.opimc import OPIMC as OPIMC
    from viewpass.estimators.persistence import load as load
    from viewpass.estimators.viewpass import ViewPass as ViewPass
    from viewpass.evaluate.audit import audit as audit
    from viewpass.runs.summary import summary as summary
    from viewpass.runs.track import track as track
    from viewpass.sources.bundle import load_bundle as load_bundle
    from viewpass.sources.frames import frames as frames
    from viewpass.sources.mat import load_mat as load_mat
    from viewpass.sources.mudata import from_mudata as from_mudata
    from viewpass.sources.scan import scan as scan
    from viewpass.sums.statistics import Statistics as Statistics


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
