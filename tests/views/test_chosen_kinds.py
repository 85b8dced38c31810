"""Kinds of values that were chosen by the first rows: later rows that do not fit lack the view."""

from __future__ import annotations

import numpy as np
import pytest

import viewpass as vp
from viewpass.errors import DataWarning

SETTINGS = {"random_state": 0, "warmup": 600, "chunk_size": 200}
ODD = (700, 1100)


@pytest.fixture(scope="module")
def views():
    """Parts of a whole, rare ones as telling as frequent ones; two later rows have a negative part."""
    rng = np.random.default_rng(0)
    group, made = rng.integers(3, size=1200), []
    for _ in range(2):
        parts = np.exp(
            rng.normal(size=(3, 12))[group] - 6 * rng.random(12) + 0.6 * rng.normal(size=(1200, 12))
        )
        made.append(parts / parts.sum(axis=1, keepdims=True))
    made[0][list(ODD), 3] = -0.01
    return made


@pytest.fixture(scope="module")
def model(views):
    with pytest.warns(DataWarning, match="'composition' was chosen by the first rows"):
        return vp.OPIMC(3, **SETTINGS).fit(views)


def test_the_stream_goes_on_and_counts_such_rows(model, views):
    assert model._fitted_model().scaling.names == ("composition", "composition")
    assert model.n_all_zero_ == {"view0": 2, "view1": 0}
    assert model.summary()["views"]["view0"]["all_zero"] == 2
    # They are labelled by the view that they still have.
    left = [x[list(ODD)] if v else None for v, x in enumerate(views)]
    np.testing.assert_array_equal(model.labels_[list(ODD)], model.predict(left))
    assert model.predict([views[0][list(ODD)], None]).tolist() == [-1, -1]


def test_a_kind_that_was_asked_for_is_refused(views):
    with pytest.raises(vp.DataError, match=r"row 700: -0\.01 under the scale 'composition'"):
        vp.OPIMC(3, scale="composition", **SETTINGS).fit(views)


def test_files_keep_it(model, views, tmp_path):
    model.save(tmp_path / "model")
    again = vp.load(tmp_path / "model")
    np.testing.assert_array_equal(again.predict(views), model.labels_)
    again.partial_fit([x[690:710] for x in views])
    assert again.n_all_zero_["view0"] == 3


@pytest.mark.parametrize("n_threads", [1, 3])
def test_the_same_bits(model, views, tmp_path, n_threads):
    model.save(tmp_path / "one")
    vp.OPIMC(3, **SETTINGS, n_threads=n_threads).fit(views).save(tmp_path / "other")
    assert (tmp_path / "one").read_bytes() == (tmp_path / "other").read_bytes()
