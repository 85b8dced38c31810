"""Every path to a label of fitted rows, and everything else that an accepted fit must be able to do."""

from __future__ import annotations

import json
import pickle
import shutil
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import numpy.testing as same
import pyarrow.parquet as pq
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning

import viewpass as vp
from odd_data import Data, n_rows_of, part
from viewpass.engines import interface
from viewpass.engines.interface import Engine
from viewpass.errors import DataWarning, NotCalibratedError
from viewpass.runs.folder import RunFolder
from viewpass.runs.run import Run, RunOptions, StoppedError
from viewpass.sample.sample import Sample
from viewpass.solve.solve import checked_rows
from viewpass.tally.fitting import Fitting


class Partitions(Engine):
    """An engine over chunks in this process: tasks run in any order, maybe twice."""

    def __init__(self, parts, rng):
        self.parts, self.rng = parts, rng
        self.n_rows = sum(part.n_rows for part in parts)

    def each(self, task):
        found = [None] * len(self.parts)
        for number in self.rng.permutation(len(self.parts)):
            for _ in range(1 + self.rng.integers(2)):  # a worker was lost, perhaps
                part, sent = pickle.loads(pickle.dumps((self.parts[number], task)))
                cut = int(self.rng.integers(part.n_rows + 1))
                blocks = [part.cut(*edge) for edge in ((0, cut), (cut, part.n_rows)) if edge[0] < edge[1]]
                found[number] = pickle.loads(pickle.dumps(sent(blocks)))
        return found

    def total(self, task, combine):
        found = self.each(task)
        return combine([found[number] for number in self.rng.permutation(len(found))])


def accepted(learn: Callable[..., Any], X: Any, beside: dict[str, Any]) -> bool:
    """Learn from X; False if the data or the settings are refused."""
    try:
        learn(X, **beside)
    except vp.ViewpassError:
        return False
    return True


@contextmanager
def quiet() -> Iterator[None]:
    """Warnings that viewpass gives on purpose are ignored, any other is an error."""
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        warnings.simplefilter("ignore", ConvergenceWarning)
        warnings.simplefilter("ignore", DataWarning)
        yield


def check(model: Any, X: Any, beside: dict[str, Any], folder: Path, rng: np.random.Generator) -> None:
    """The laws, for a model that was fitted to X."""
    given = {name: value for name, value in beside.items() if name == "observed"}
    labels = model.predict(X, **given)
    check_paths(model, X, given, labels)
    check_stored(model, X, given, labels, folder)
    if isinstance(model, vp.ViewPass):
        check_reasons(model, X, given, labels)
        check_learnt(model, X, beside, labels, rng)
        if not beside and "labels_" in vars(model):
            check_run(model, X, labels, folder, rng)
        if model._learnt.horizon.changing:
            check_chunks(model, Data(X, beside), folder, rng)
        else:
            check_continued(model, X, beside, labels, folder, rng)
        if rng.random() < 0.05:
            assert "</html>" in model.report(X=X, **given).text
        json.dumps(model.summary(X, **given), allow_nan=False)
        json.dumps(model.summary(), allow_nan=False)


def check_paths(model: Any, X: Any, given: dict[str, Any], labels: np.ndarray) -> None:
    """`labels_`, distances, reasons and tables have the labels of `predict`."""
    if "labels_" in vars(model):
        same.assert_array_equal(model.labels_, labels, "labels_")
    distances = model.transform(X, **given)
    same.assert_array_equal(np.isnan(distances).all(axis=1), labels < 0, "transform")
    assert not np.isinf(distances).any(), "transform: inf"
    assert not (distances < 0).any(), "transform: negative"


def check_reasons(model: Any, X: Any, given: dict[str, Any], labels: np.ndarray) -> None:
    """Probabilities and confidence are those of the labels, everywhere."""
    why = model.explain(X, **given)
    same.assert_array_equal(why.labels, labels, "explain")
    same.assert_array_equal(model.labels_frame(X, **given)["cluster"], labels, "labels_frame")
    try:
        probabilities = model.predict_proba(X, **given)
    except NotCalibratedError:
        sample = model._learnt.sample.chunk  # whose rows may have no view
        assert sample is None or not checked_rows(sample, model._learnt.plan, 1).counted.any()
        return
    there = labels >= 0
    same.assert_array_equal(np.isnan(probabilities).any(axis=1), ~there)
    same.assert_array_equal(probabilities[there].argmax(axis=1), labels[there], "predict_proba")
    same.assert_allclose(probabilities[there].sum(axis=1), 1.0, err_msg="predict_proba")
    assert (probabilities[there] >= 0).all()
    confidence = model.confidence(X, **given)
    same.assert_array_equal(confidence[there], probabilities[there].max(axis=1), "confidence")
    frame = model.labels_frame(X, **given, proba=True, explain=True)
    same.assert_array_equal(frame["confidence"].to_numpy(np.float64), confidence, "labels_frame, confidence")
    assert not np.isinf(why.margins).any(), "explain: inf"
    same.assert_allclose(why.views.sum(axis=1)[why.runners_up >= 0], why.margins[why.runners_up >= 0])
    for column in frame.select_dtypes("number").columns:
        assert not np.isinf(frame[column]).any(), f"labels_frame: inf in {column}"
    scores = model.outlier_score(X, **given)
    assert not np.isinf(scores).any(), "outlier_score: inf"
    assert not model.is_outlier(X, **given)[np.isnan(scores)].any(), "is_outlier: of no score"
    model.impute(X, **given)
    model.stability(X, **given)


def check_stored(model: Any, X: Any, given: dict[str, Any], labels: np.ndarray, folder: Path) -> None:
    """Saved, loaded, pickled: the same model."""
    if isinstance(model, vp.ViewPass):
        model.cluster_names_ = {0: "first"}
    model.save(folder / "model.viewpass")
    loaded = vp.load(folder / "model.viewpass")
    loaded.save(folder / "again.viewpass")
    assert (folder / "again.viewpass").read_bytes() == (folder / "model.viewpass").read_bytes(), "saved again"
    for name, other in (("loaded", loaded), ("unpickled", pickle.loads(pickle.dumps(model)))):
        same.assert_array_equal(other.predict(X, **given), labels, name)
        same.assert_equal(other.cluster_centers_, model.cluster_centers_, name)
        same.assert_equal(other.counts_, model.counts_, name)
        assert getattr(other, "cluster_names_", {}) == getattr(model, "cluster_names_", {}), name
        same.assert_array_equal(other.transform(X, **given), model.transform(X, **given), name)


def check_learnt(
    model: Any, X: Any, beside: dict[str, Any], labels: np.ndarray, rng: np.random.Generator
) -> None:
    """Read once, in partitions, merged with nothing."""
    given = {name: value for name, value in beside.items() if name == "observed"}
    changing = model._learnt.horizon.changing
    whole = model._learnt.sample.n_rows == model.n_samples_seen_ and not changing
    if "stream_labels_" in vars(model) and whole:
        same.assert_array_equal(model.stream_labels_, labels, "stream_labels_")
    again = clone(model)
    if whole or accepted(again.partial_fit, X, beside):  # the first rows may have too few views to be solved
        again = again.partial_fit(X, **beside) if whole else again
        same.assert_array_equal(again.labels_, again.predict(X, **given), "partial_fit, labels_")
    if whole:
        same.assert_array_equal(again.labels_, labels, "partial_fit")
    if not changing:
        same.assert_array_equal(vp.merge([model]).predict(X, **given), labels, "merge")
    if "labels_" in vars(model) and "sample_weight" not in beside:
        learning, source = model._learnt, model._read(X, given.get("observed"), reset=False)
        n_rows = model.n_samples_seen_
        size = max(1, int(rng.integers(1, n_rows + 1)))
        parts = list(source.chunks(size))
        fitting = Fitting(learning.plan, learning.seed, Sample(learning.sample.size))
        found = interface.fit(Partitions(parts, rng), fitting, model._workspace())
        same.assert_array_equal(found.labels, labels, "partitions")


def check_run(model: Any, X: Any, labels: np.ndarray, folder: Path, rng: np.random.Generator) -> None:
    """The label files of runs, of final labels and of a stream; stopped at some steps and resumed."""
    changing = model._learnt.horizon.changing
    for name, stream in (("final", False), ("stream", True)):
        shutil.rmtree(folder / name, ignore_errors=True)
        path, stops = RunFolder(folder / name), rng.random(8) < 0.5
        asked = iter(stops.tolist())
        while not path.finished:
            path.open(resume=path.begun)
            run = Run(clone(model), X, path, stream_labels=stream)
            if path.begun:
                run.resume()
            try:
                run.go(RunOptions(1, stopping=lambda asked=asked: next(asked, False)))
            except StoppedError:
                path.close()
            except vp.ViewpassError:
                assert stream, name  # the first rows may have too few views to be solved
                path.clear()
                return
        found = pq.read_table(path.labels)["cluster"].to_numpy()
        loaded = vp.load(path.model)
        if stream or changing:
            again = clone(model).set_params(compute_labels=False).fit(X)
            same.assert_array_equal(found, again.stream_labels_, "stream label file")
            same.assert_array_equal(loaded.predict(X), again.predict(X), "stream run, predict")
        else:
            same.assert_array_equal(found, labels, "label file")
            same.assert_array_equal(loaded.predict(X), labels, "run, predict")


def check_chunks(model: Any, data: Data, folder: Path, rng: np.random.Generator) -> None:
    """A stream in any chunks, saved and loaded between them, leaves the same model."""
    n_rows = n_rows_of(data.X)
    given = {name: value for name, value in data.beside.items() if name == "observed"}
    whole, parts = clone(model), clone(model)
    if not accepted(whole.partial_fit, data.X, data.beside):  # too few rows for a solve yet
        return
    start = 0
    while start < n_rows:
        stop = start + 1 + int(rng.integers(n_rows))
        X, beside = part(data, slice(start, stop))
        weights, all_weights = (given.get("sample_weight", 1) for given in (beside, data.beside))
        if not np.any(weights) or (np.mod(all_weights, 1).any() and not np.mod(weights, 1).any()):
            return  # refused: rows that count for nothing, and fractions after whole numbers
        parts.partial_fit(X, **beside)
        parts.save(folder / "parts.viewpass")
        parts, start = vp.load(folder / "parts.viewpass"), stop
    try:
        labels = whole.predict(data.X, **given)
    except vp.ViewpassError:
        return
    same.assert_array_equal(parts.predict(data.X, **given), labels, "chunks")
    same.assert_equal(parts.counts_, whole.counts_, "chunks, counts_")
    same.assert_array_equal(parts.cluster_ids_, whole.cluster_ids_, "chunks, cluster_ids_")
    assert parts.events_ == whole.events_, "chunks, events_"


def check_continued(
    model: Any, X: Any, beside: dict[str, Any], labels: np.ndarray, folder: Path, rng: np.random.Generator
) -> None:
    """Fitted again, clusters keep their ids; cut and forgotten models are models."""
    given = {name: value for name, value in beside.items() if name == "observed"}
    again = clone(model).fit(X, **beside, continue_ids=model)
    same.assert_array_equal(again.predict(X, **given), labels, "continue_ids")
    n_rows = n_rows_of(X)
    whole = model._learnt.sample.n_rows == n_rows
    held = np.unique(labels[labels >= 0] if whole else labels[:0])  # rows outside the sample show no ids
    same.assert_array_equal(again.cluster_ids_[held], model.cluster_ids_[held], "continue_ids, cluster_ids_")
    rows = rng.choice(n_rows, int(rng.integers(1, n_rows + 1)), replace=False)
    others = [model.cut(int(rng.integers(1, len(model.cluster_ids_) + 1)))]
    if whole and accepted(again.forget, rows, {}):
        others.append(again)
    for other in others:
        check_stored(other, X, given, other.predict(X, **given), folder)
