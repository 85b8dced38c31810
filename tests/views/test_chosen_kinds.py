"""Kinds of values that were chosen by the sample: other rows that do not fit lack the view."""

from __future__ import annotations

import numpy as np
import pytest

import viewpass as vp
from viewpass.errors import DataWarning
from viewpass.sample.keys import number_keys

SETTINGS = {"random_state": 0, "sample_size": 600}
ODD = sorted(int(row) for row in np.argsort(number_keys(np.arange(1200)))[-2:])  # never sampled


@pytest.fixture(scope="module")
def views():
    """Parts of a whole, rare ones as telling as frequent ones; two rows have a negative part."""
    rng = np.random.default_rng(0)
    group, made = rng.integers(3, size=1200), []
    for _ in range(2):
        parts = np.exp(
            rng.normal(size=(3, 12))[group] - 6 * rng.random(12) + 0.6 * rng.normal(size=(1200, 12))
        )
        made.append(parts / parts.sum(axis=1, keepdims=True))
    made[0][ODD, 3] = -0.01
    return made


@pytest.fixture(scope="module")
def model(views):
    with pytest.warns(DataWarning, match="'composition' was chosen by the sample"):
        return vp.ViewPass(3, **SETTINGS).fit(views)


def test_the_fit_goes_on_and_counts_such_rows(model, views):
    assert model._fitted_model().scaling.names == ("composition", "composition")
    assert model.n_all_zero_ == {"view0": 2, "view1": 0}
    assert model.summary()["views"]["view0"]["all_zero"] == 2
    # They are labelled by the view that they still have.
    left = [x[ODD] if v else None for v, x in enumerate(views)]
    np.testing.assert_array_equal(model.labels_[ODD], model.predict(left))
    assert model.predict([views[0][ODD], None]).tolist() == [-1, -1]


def test_a_kind_that_was_asked_for_is_refused(views):
    with pytest.raises(vp.DataError, match=rf"row {ODD[0]}: -0\.01 under the scale 'composition'"):
        vp.ViewPass(3, scale="composition", **SETTINGS).fit(views)


def test_files_keep_it(model, views, tmp_path):
    model.save(tmp_path / "model")
    again = vp.load(tmp_path / "model")
    np.testing.assert_array_equal(again.predict(views), model.labels_)
    again.partial_fit([x[ODD[0] : ODD[0] + 1] for x in views])
    assert again.n_all_zero_["view0"] == 3


@pytest.mark.parametrize("n_threads", [1, 3])
def test_the_same_bits(model, views, tmp_path, n_threads):
    model.save(tmp_path / "one")
    vp.ViewPass(3, **SETTINGS, n_threads=n_threads).fit(views).save(tmp_path / "other")
    assert (tmp_path / "one").read_bytes() == (tmp_path / "other").read_bytes()
