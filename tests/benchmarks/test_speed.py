"""Speed benchmarks at tiny size: which methods are measured, and what the tables say. No timings."""

from __future__ import annotations

import numpy as np
import pytest
from benchmarks.data import save
from benchmarks.distance_pass import DistancePass, Read
from benchmarks.run import ONE_PASS

import viewpass as vp
from benchmarks import chart, machine, made, measure, ours, table

SETTINGS = {"n_clusters": 3, "chunk_size": 100, "n_passes": 1, "one_view": False}


@pytest.fixture(scope="module")
def data():
    return made.dense(400, widths=(8, 5), n_classes=3, noise=0.3, missing=0.2, seed=1)


def test_default_settings_set_nothing_but_the_workload(data):
    plain = vp.ViewPass(3, random_state=0, n_threads=1).fit(data.views)
    np.testing.assert_array_equal(ours.fit(data.views, SETTINGS, ours.DEFAULT, 1), plain.labels_)


def test_every_method_of_viewpass_is_measured(data, tmp_path):
    save(tmp_path / "data", data)
    job = {"folder": str(tmp_path / "data"), "settings": SETTINGS, "threads": 1, "runs": 1, "time_limit": 3}
    found = measure.viewpass(job)
    assert list(found) == list(ours.METHODS)
    for method, numbers in found.items():
        (one_round,) = numbers["rounds"]
        assert min(one_round.values()) > 0
        np.testing.assert_array_equal(numbers["labels"], ours.fit(data.views, SETTINGS, method, 1))
    yardsticks = measure.yardsticks(job)
    assert min(yardsticks["pass_seconds"] + yardsticks["read_seconds"]) > 0


def test_yardsticks_touch_every_row_and_byte(data):
    distances = DistancePass(data.views, 3, 100, 1)
    assert [view.shape for view in distances.views] == [view.shape for view in data.views]
    assert all(np.isfinite(view).all() for view in distances.views)
    read = Read(data.views, 1, 2)
    assert sum(piece.nbytes for piece in read.pieces) == data.n_bytes // 8 * 8
    distances()
    read()


def test_tables_and_chart_have_every_method(tmp_path):
    pytest.importorskip("matplotlib")
    rows = [
        {"workload": "many", "method": method, "seconds": 2.0, "ratio": 2.0, "bytes_above": 1 << 20}
        for method in (ONE_PASS, *ours.METHODS)
    ]
    found = {"machine": machine.facts(), "share": 1, "n_threads": 1, "runs": 1, "rows": rows}
    text = table.text(found)
    assert "x pass" in text
    for row in rows:
        assert row["method"] in text
    chart.draw(found, tmp_path)
    drawn = (tmp_path / "bench.svg").read_text()
    assert "distance passes" in drawn or "<path" in drawn
