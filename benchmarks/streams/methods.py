"""The methods: each takes a stream in its order and gives every row a label as it is read."""

from __future__ import annotations

import time
import warnings
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import partial
from importlib import import_module
from typing import Any

import numpy as np
from sklearn.cluster import Birch, MiniBatchKMeans

import viewpass as vp
from benchmarks.streams.sets import SCALED_BY, StreamSet
from viewpass.streams.events import Event

CHUNK = 500  # rows given at a time
WINDOW = 2000  # rows, of all streams

Settings = Mapping[str, Any]


@dataclass(frozen=True)
class Labelled:
    """Labels of the rows that were read in time, and what was told on the way."""

    labels: Any
    seconds: float  # of the processor
    n_clusters: int
    events: tuple[Event, ...] = ()


@dataclass(frozen=True)
class Method:
    """A method: `start` makes what labels chunk after chunk. `ranges`: settings that are tuned, and where."""

    name: str
    start: Callable[[StreamSet, int, Settings], Callable[[tuple[Any, ...]], Any]]
    ranges: Mapping[str, tuple[float, float] | tuple[int, int]] = field(default_factory=dict)
    library: str | None = None
    note: str = ""
    seeded: bool = True


def label(method: Method, stream: StreamSet, seed: int, settings: Settings, limit: float) -> Labelled:
    """Read the stream until it ends, or until so many processor seconds have passed."""
    begin, found = time.process_time(), list[Any]()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        read = method.start(stream, seed, settings)
        for start in range(0, len(stream.classes), CHUNK):
            found.append(read(tuple(view[start : start + CHUNK] for view in stream.views)))
            if time.process_time() - begin > limit:
                break
    labels = np.concatenate(found)
    events = getattr(getattr(read, "model", None), "events_", ())
    return Labelled(labels, time.process_time() - begin, len(np.unique(labels)), tuple(events))


class ViewPassReader:
    """Rows are labelled as `partial_fit` reads them, under ids that last."""

    def __init__(self, given: Settings, stream: StreamSet, seed: int, settings: Settings) -> None:
        known = {"n_clusters": stream.n_classes} | dict(given)
        self.model = vp.ViewPass(**known, random_state=seed, n_threads=1)

    def __call__(self, views: tuple[Any, ...]) -> Any:
        return self.model.partial_fit(list(views)).stream_ids_


class Scaled:
    """Columns of all views beside each other, between 0 and 1 in the first rows; what is missing is 1/2."""

    def __init__(self, stream: StreamSet) -> None:
        first = np.hstack([view[:SCALED_BY] for view in stream.views]).astype(np.float64)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            self._low, high = np.nanmin(first, axis=0), np.nanmax(first, axis=0)
        self._width = np.where(high > self._low, high - self._low, 1.0)

    def __call__(self, views: tuple[Any, ...]) -> Any:
        return np.nan_to_num((np.hstack(views) - self._low) / self._width, nan=0.5)


def _sklearn(kind: Any, stream: StreamSet, seed: int, settings: Settings) -> Any:
    scaled = Scaled(stream)
    given = {"n_clusters": stream.n_classes} | dict(settings)
    model = kind(**given, **({"random_state": seed} if kind is MiniBatchKMeans else {}))

    def read(views: tuple[Any, ...]) -> Any:
        rows = scaled(views)
        try:
            return model.partial_fit(rows).predict(rows)
        except ValueError:  # fewer subclusters than clusters so far
            return np.zeros(len(rows), dtype=np.int64)

    return read


def _river(kind: str, stream: StreamSet, seed: int, settings: Settings) -> Any:
    scaled, given = Scaled(stream), dict(settings)
    if kind == "CluStream":
        given |= {"n_macro_clusters": stream.n_classes, "seed": seed}
    if kind == "STREAMKMeans":
        given |= {"n_clusters": stream.n_classes, "seed": seed}
    model = getattr(import_module("river.cluster"), kind)(**given)
    names = list(range(sum(view.shape[1] for view in stream.views)))

    def read(views: tuple[Any, ...]) -> Any:
        found = []
        for row in scaled(views).tolist():
            one = dict(zip(names, row, strict=True))
            model.learn_one(one)
            try:
                found.append(int(model.predict_one(one)))
            except (KeyError, ValueError, IndexError, AttributeError):  # no clusters so far
                found.append(0)
        return np.array(found)

    return read


def _sdo(stream: StreamSet, seed: int, settings: Settings) -> Any:
    scaled = Scaled(stream)
    model = import_module("SDOstreamclust.clustering").SDOstreamclust(**dict(settings), seed=seed)
    return lambda views: np.asarray(model.fit_predict(scaled(views))[0], dtype=np.int64)


def _viewpass(name: str, **given: Any) -> Method:
    return Method(f"viewpass, {name}", partial(ViewPassReader, given))


K_MEANS = {"halflife": (0.1, 0.9), "sigma": (0.1, 5.0), "mu": (0.0, 1.0)}
METHODS = (
    _viewpass(f"K given, window {WINDOW}", window=WINDOW),
    _viewpass(f"grow, window {WINDOW}", n_clusters="grow", window=WINDOW),
    Method(
        "CluStream",
        partial(_river, "CluStream"),
        {
            "time_window": (200, 1000),
            "max_micro_clusters": (20, 100),
            "micro_cluster_r_factor": (1.5, 4.0),
            **K_MEANS,
        },
        "river",
        note="K given",
    ),
    Method(
        "STREAMKMeans",
        partial(_river, "STREAMKMeans"),
        {"chunk_size": (10, 500), **K_MEANS},
        "river",
        note="K given",
    ),
    Method(
        "DBSTREAM",
        partial(_river, "DBSTREAM"),
        {
            "clustering_threshold": (0.01, 1.0),
            "fading_factor": (0.001, 0.5),
            "intersection_factor": (0.1, 0.9),
            "minimum_weight": (0.1, 0.9),
        },
        "river",
        seeded=False,
    ),
    Method(
        "DenStream",
        partial(_river, "DenStream"),
        {"decaying_factor": (0.1, 0.9), "beta": (0.1, 0.9), "mu": (2.0, 20.0), "epsilon": (0.01, 0.3)},
        "river",
        note="river's issues 2004 and 2006 are faults of its DenStream",
        seeded=False,
    ),
    Method(
        "SDOstreamclust",
        _sdo,
        {"T": (100, 1000), "outlier_threshold": (2, 7), "k": (100, 500)},
        "pysdoclust-stream",
    ),
    Method(
        "BIRCH",
        partial(_sklearn, Birch),
        {"threshold": (0.01, 0.5)},
        "scikit-learn",
        note="K given",
        seeded=False,
    ),
    Method(
        "MiniBatchKMeans",
        partial(_sklearn, MiniBatchKMeans),
        {"reassignment_ratio": (0.0, 0.1)},
        "scikit-learn",
        note="K given",
    ),
)
