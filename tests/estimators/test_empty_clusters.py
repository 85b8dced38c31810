"""Fewer clusters than asked for are reported, with the reason."""

from __future__ import annotations

import warnings

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import scipy.sparse as sp
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning

import viewpass as vp
from inputs import IMAGE, TEXT
from zipped import zipped

RNG = np.random.default_rng(0)
EVEN = RNG.standard_normal((300, 5))
FIVE = np.repeat(np.eye(5), 60, axis=0)
CASES = {
    "constant": ([np.full((300, 4), 7.0)], 3, "1 of 3 clusters .* equal at unit length .*'view0'"),
    "rounded": ([2.0**60 + RNG.integers(50, size=(300, 4))], 3, "1 of 3 clusters .* equal at unit length"),
    "duplicates": ([FIVE, np.ones((300, 2))], 8, r"5 of 8 clusters .* \(all rows in view 'view1'\)"),
    "as many as rows": ([EVEN], 300, r"\d+ of 300 clusters have rows: 300 rows are few"),
}
MODELS = {
    "ViewPass": vp.ViewPass(random_state=0),
    "OPIMC": vp.OPIMC(random_state=0),
    "IMC": vp.IMC(random_state=0, n_init=4),
}


@pytest.mark.parametrize(("views", "n_clusters", "message", "model"), zipped(CASES.values(), MODELS.values()))
def test_empty_clusters_are_reported_with_the_reason(model, views, n_clusters, message):
    model = clone(model).set_params(n_clusters=n_clusters)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always", ConvergenceWarning)
        n_found = len(set(model.fit(views).labels_))
    if n_found == n_clusters:
        assert not caught
        return
    (warning,) = caught
    assert warning.filename == __file__
    with pytest.warns(ConvergenceWarning, match=f"^only {n_found} of {n_clusters} clusters have rows"):
        model.fit(views)
    with pytest.warns(ConvergenceWarning, match=message):
        model.fit(views)


def test_empty_clusters_of_a_command_are_reported_in_one_line(tmp_path, commands):
    table = pa.table({"image": FIVE.tolist(), "text": np.ones((300, 2)).tolist()})
    pq.write_table(table, tmp_path / "items.parquet")
    ended = commands.run("fit", tmp_path / "items.parquet", "-k", "8", "--out", tmp_path / "run")
    assert ended.code == 0
    assert ended.err.startswith("viewpass: warning: only 5 of 8 clusters have rows: ")
    assert ended.err.count("\n") == 1


def test_no_warning_where_every_cluster_has_rows():
    for model in MODELS.values():
        assert len(set(clone(model).set_params(n_clusters=3).fit([IMAGE, TEXT]).labels_)) == 3


BEYOND = {
    "int64": np.int64(2**60 + 1),
    "largest": np.int64(2**63 - 1),
    "negative": np.int64(-(2**62) - 1),
    "uint64": np.uint64(2**64 - 1),
}


@pytest.mark.parametrize("number", BEYOND.values(), ids=BEYOND)
def test_integers_that_floats_round_are_refused(number):
    x = np.full((40, 3), 2**60, dtype=number.dtype)  # exact
    x[7, 2] = number
    for X in (x, [IMAGE[:40], x], [sp.csr_array(x)], {"a": x}):
        with pytest.raises(vp.DataError, match=rf"row 7: the integer {number} cannot be told from"):
            vp.ViewPass(2).fit(X)
    model = vp.ViewPass(2).fit([IMAGE[:40, :3]])
    with pytest.raises(vp.DataError, match="row 7"):
        model.predict([x])


def test_integers_that_floats_hold_are_accepted():
    exact = np.array([[2**53, 1, 0], [0, 2**53 + 2, 1], [-(2**62), 0, 2**62]] * 9)
    assert len(set(vp.IMC(3, random_state=0).fit([exact]).labels_)) == 3
