"""Model files and run folders written before are read, now and later (version2/: by the first 0.1.0)."""

from __future__ import annotations

import contextlib
import shutil
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import viewpass as vp
from inputs import IMAGE, TEXT
from viewpass.cluster.runs.run import Run, RunOptions, StoppedError
from viewpass.store.folder import RunFolder

OLD = Path(__file__).parent / "version2"
MODELS = sorted(path.stem for path in OLD.glob("*.viewpass"))
PLAIN = {"n_passes": 2, "warmup": 0, "n_anchors": None, "scale": "unit"}


def rows(model):
    if model.view_names_in_ == ("a",):
        return {"a": IMAGE}
    return [np.abs(IMAGE), np.abs(TEXT)]


def test_every_estimator_is_there():
    assert {type(vp.load(OLD / f"{name}.viewpass")).__name__ for name in MODELS} == {
        *("OPIMC", "IMC", "OMVC", "ONMF", "MultiNMF", "MIC", "DAIMC")
    }


@pytest.mark.parametrize("name", MODELS)
def test_models_are_read_and_go_on(name, tmp_path):
    model = vp.load(OLD / f"{name}.viewpass")
    labels = model.predict(rows(model))
    assert len(np.unique(labels)) == 3
    if hasattr(model, "partial_fit"):
        model.partial_fit(rows(model))
    model.save(tmp_path / "again")
    again = vp.load(tmp_path / "again")
    np.testing.assert_array_equal(again.predict(rows(model)), model.predict(rows(model)))


def resumed(name, folder, **settings):
    out = folder / name
    shutil.copytree(OLD / name, out)
    into = RunFolder(out)
    run = Run(
        vp.OPIMC(3, alpha=0.1, chunk_size=20, random_state=0, **settings),
        vp.scan(OLD / "items.parquet", id="item"),
        into,
    )
    into.open(resume=True)
    try:
        if into.finished:
            run.check_settings(into.finished_settings())
        else:
            run.resume()
            run.go(RunOptions())
    finally:
        into.close()
    return pq.read_table(into.labels)


def test_a_run_in_its_second_pass_is_resumed_to_the_labels_of_one_that_was_not_stopped(tmp_path):
    labels = resumed("begun", tmp_path, **PLAIN)
    whole = pq.read_table(OLD / "done" / "labels.parquet")
    labels = labels.rename_columns(["id", *labels.column_names[1:]])  # the id once had no name of its own
    assert labels.select(["id", "cluster"]) == whole.select(["id", "cluster"])


def test_a_run_that_collects_rows_is_resumed(tmp_path):
    labels = resumed("collecting", tmp_path, n_passes=2)
    assert len(labels) == 60


def test_a_finished_run_is_known_as_finished(tmp_path):
    assert len(resumed("done", tmp_path, **PLAIN)) == 60
    vp.load(tmp_path / "done" / "model.viewpass")


def test_a_run_of_other_settings_is_refused(tmp_path):
    with pytest.raises(vp.FileError, match="n_passes was 2, now it is 3"):
        resumed("begun", tmp_path, **{**PLAIN, "n_passes": 3})


def test_a_run_over_lists_whose_width_only_rows_show_is_resumed(tmp_path):
    rows = np.random.default_rng(0).standard_normal((60, 4))
    pq.write_table(pa.table({"image": pa.array(rows.tolist())}), tmp_path / "lists.parquet")
    out = RunFolder(tmp_path / "run")
    for stop in (True, False):
        run = Run(vp.OPIMC(3, chunk_size=20, random_state=0), vp.scan(tmp_path / "lists.parquet"), out)
        out.open(resume=not stop)
        if not stop:
            run.resume()
        with contextlib.suppress(StoppedError):
            run.go(RunOptions(every=1, stopping=lambda stop=stop: stop))
        out.close()
    assert vp.load(out.model).n_features_in_ == 4
