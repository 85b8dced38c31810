"""Ray Datasets and Spark DataFrames: rows in no order, known by their ids."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pyarrow.parquet as pq
import pytest

import viewpass as vp
from clusters import content, made_rows, write_files
from everywhere import MARKS, check_installed

pytestmark = MARKS

ROWS = 3000
SETTINGS = {"random_state": 0, "sample_size": 900}


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    made = tmp_path_factory.mktemp("table")
    write_files(made, made_rows(ROWS), (700, 1700))
    return made


@pytest.fixture(scope="module")
def local(folder):
    return vp.ViewPass(4, **SETTINGS).fit(vp.scan(str(folder), id="item"))


class OfRay:
    def __init__(self, clusters):
        check_installed("ray")
        assert clusters["ray"]
        import ray

        self.data, self.fit, self.predict = ray.data, vp.ray.fit, vp.ray.predict

    def read(self, folder):
        return self.data.read_parquet(str(folder))

    def mapped(self, frame, label):
        return frame.map_batches(label, batch_format="pyarrow")

    def shuffled(self, frame):
        return frame.random_shuffle(seed=1).repartition(3).materialize()

    def rows(self, frame):
        return frame.to_pandas().sort_values("item")


class OfSpark:
    def __init__(self, clusters):
        check_installed("spark")
        assert clusters["spark"]
        from pyspark.sql import SparkSession

        self.session, self.fit, self.predict = SparkSession.getActiveSession(), vp.spark.fit, vp.spark.predict

    def read(self, folder):
        return self.session.read.parquet(str(folder))

    def mapped(self, frame, label):
        schema = "item long, cluster int, distance float, margin float, views_seen short, has_views string"
        return frame.mapInArrow(label.iterate, f"{schema}, confidence float")

    def shuffled(self, frame):
        return frame.repartition(5, "item")

    def rows(self, frame):
        return frame.toPandas().sort_values("item")


@pytest.fixture(params=[OfRay, OfSpark], ids=["ray", "spark"])
def tables(request, clusters):
    return request.param(clusters)


def test_the_bits_of_one_process_in_any_order(tables, folder, local):
    frame = tables.read(folder)
    mine = tables.fit(vp.ViewPass(4, **SETTINGS), frame, id="item")
    assert mine.statistics_ == local.statistics_
    np.testing.assert_equal(mine.cluster_centers_, local.cluster_centers_)
    np.testing.assert_array_equal(mine._learnt.sample.keys, local._learnt.sample.keys)
    again = tables.fit(vp.ViewPass(4, **SETTINGS), tables.shuffled(frame), id="item")
    assert content(mine) == content(again)
    with pytest.raises(AttributeError):
        mine.labels_  # noqa: B018


def test_labels_as_a_table(tables, folder, local):
    rows = tables.rows(tables.predict(local, tables.read(folder)))
    assert list(rows)[:2] == ["item", "cluster"]
    assert not {"v0", "v1"} & set(rows)
    np.testing.assert_array_equal(rows["item"], local.row_ids_)
    np.testing.assert_array_equal(rows["cluster"], local.labels_)
    confidence = local.confidence(vp.scan(str(folder), id="item"))
    seen = local.labels_ >= 0
    np.testing.assert_allclose(rows["confidence"][seen], confidence[seen], atol=1e-6)


def test_the_recipes_for_batches(tables, folder, local, tmp_path):
    """A `BatchPredictor` of a file, as in the guide: workers load it."""
    local.save(tmp_path / "model.viewpass")
    label = vp.BatchPredictor(tmp_path / "model.viewpass", keep=["item"])
    rows = tables.rows(tables.mapped(tables.read(folder), label))
    np.testing.assert_array_equal(rows["item"], local.row_ids_)
    np.testing.assert_array_equal(rows["cluster"], local.labels_)


def test_what_is_refused(tables, folder):
    frame = tables.read(folder)
    with pytest.raises(vp.SettingError, match=r"come in no fixed order.*id='item_id'"):
        tables.fit(vp.ViewPass(4, **SETTINGS), frame)
    with pytest.raises(vp.DataError, match="there is no column 'key'"):
        tables.fit(vp.ViewPass(4, **SETTINGS), frame, id="key")


def test_a_session_of_another_thread_is_used_and_stays(clusters, folder, local):
    session = OfSpark(clusters).session
    with ThreadPoolExecutor(1) as thread:
        files = vp.scan(str(folder), id="item")
        mine = thread.submit(vp.spark.fit, vp.ViewPass(4, **SETTINGS), files).result()
    assert content(mine) == content(local)
    assert session.range(3).count() == 3


@pytest.mark.parametrize("engine", ["ray", "spark"])
def test_the_command_line(engine, clusters, folder, local, tmp_path):
    from typer.testing import CliRunner

    from viewpass.cli.app import app

    check_installed(engine)
    assert clusters[engine]
    words = ["fit", folder, "-k", "4", "--id", "item", "--engine", engine, "--no-report", "--sample", "900"]
    ended = CliRunner().invoke(app, list(map(str, [*words, "--out", tmp_path / "run"])))
    assert ended.exit_code == 0, ended.output
    rows = pq.read_table(tmp_path / "run" / "labels").sort_by("row")
    np.testing.assert_array_equal(rows["cluster"].to_numpy(), local.labels_)
    assert content(vp.load(tmp_path / "run" / "model.viewpass")) == content(local)
