"""A loaded model equals the saved one to the bit: labels, further learning, settings."""

from __future__ import annotations

import pickle
from copy import deepcopy
from functools import cache

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.exceptions import NotFittedError

import viewpass as vp
from inputs import IMAGE, TEXT, assert_same, learnt, small
from store.models import FRAME, MODELS

NOT_IN_THE_FILE = ("labels_", "stream_labels_", "stream_ids_", "row_ids_")


def kept(model):
    seen = learnt(model)
    for name in NOT_IN_THE_FILE:
        seen.pop(name, None)
    seen["params"].pop("n_threads")
    return seen


def more(model):
    """Further rows, in the form the model takes."""
    if model._cut_by_views:
        return FRAME
    names = model.view_names_in_
    if names == ("a", "b") and model._fitted_schema().columns:
        return vp.frames({"a": FRAME.iloc[:, :4], "b": FRAME.iloc[:, 4:]})
    return [IMAGE, TEXT]


@cache
def made(name):
    return MODELS[name]()


@pytest.fixture(params=MODELS)
def model(request):
    return deepcopy(made(request.param))


@pytest.fixture
def path(tmp_path):
    return tmp_path / "model.viewpass"


def test_load_gives_back_what_was_saved(model, path):
    model.save(path)
    again = vp.load(path)
    assert type(again) is type(model)
    assert_same(kept(again), kept(model))
    np.testing.assert_array_equal(again.predict(more(model)), model.predict(more(model)))
    np.testing.assert_array_equal(again.transform(more(model)), model.transform(more(model)))


def test_learning_goes_on_to_the_same_bits(model, path):
    if isinstance(model, vp.IMC):
        return
    model.save(path)
    again = vp.load(path)
    for _ in range(3):  # enough rows to be solved again
        model.partial_fit(more(model))
        again.partial_fit(more(model))
    mine, theirs = learnt(again), learnt(model)
    mine["params"].pop("n_threads")
    theirs["params"].pop("n_threads")
    assert_same(mine, theirs)


def test_the_same_model_gives_the_same_bytes(model, path, tmp_path):
    model.save(path)
    vp.load(path).save(tmp_path / "again")
    pickle.loads(pickle.dumps(model)).save(tmp_path / "third")
    assert path.read_bytes() == (tmp_path / "again").read_bytes() == (tmp_path / "third").read_bytes()


def test_the_number_of_threads_is_not_in_the_file(path, tmp_path):
    for n_threads, name in ((1, "one"), (2, "two"), (None, "all")):
        small(n_threads=n_threads).fit([IMAGE, TEXT]).save(tmp_path / name)
    assert (tmp_path / "one").read_bytes() == (tmp_path / "two").read_bytes()
    assert (tmp_path / "one").read_bytes() == (tmp_path / "all").read_bytes()
    assert vp.load(tmp_path / "two").n_threads is None


@pytest.mark.filterwarnings("ignore:only .* clusters have rows")
def test_settings_changed_after_the_fit_do_not_mislead_it(path):
    model = small().fit([IMAGE, TEXT])
    model.set_params(n_clusters=5, alpha=3.0)
    model.save(path)
    again = vp.load(path)
    assert again.get_params()["n_clusters"] == 5
    model.partial_fit([IMAGE, TEXT])
    again.partial_fit([IMAGE, TEXT])
    np.testing.assert_equal(again.cluster_centers_, model.cluster_centers_)
    clone(again).fit([IMAGE, TEXT])


def test_a_generator_of_the_users_is_shared_with_the_setting_again(path):
    model = MODELS["Philox"]()
    model.save(path)
    again = vp.load(path)
    assert again.random_state is again._learnt.rng


def test_data_of_another_shape_is_refused_by_name(path):
    small().fit({"image": IMAGE, "text": TEXT}).save(path)
    again = vp.load(path)
    with pytest.raises(vp.DataError, match="view 'text': 4 columns where 5"):
        again.predict({"image": IMAGE, "text": TEXT[:, :4]})
    with pytest.raises(vp.DataError, match="view 'sound' is unknown"):
        again.predict({"image": IMAGE, "sound": TEXT})


def test_what_cannot_be_saved_is_refused_and_nothing_written(path):
    with pytest.raises(NotFittedError):
        small().save(path)

    class Mine(vp.ViewPass):
        pass

    with pytest.raises(vp.FileError, match="a Mine cannot be saved"):
        Mine(3).fit([IMAGE, TEXT]).save(path)
    timed = FRAME.iloc[:, :4].set_axis(np.arange(4).astype("datetime64[D]"), axis=1)
    dated = small().fit(vp.frames({"a": timed}))
    with pytest.raises(vp.FileError, match="the column names of view 'a'"):
        dated.save(path)
    assert list(path.parent.iterdir()) == []


def test_saving_replaces_a_file_at_once(path):
    MODELS["fitted"]().save(path)
    MODELS["IMC"]().save(path)
    assert isinstance(vp.load(path), vp.IMC)
    assert [file.name for file in path.parent.iterdir()] == ["model.viewpass"]


def test_without_its_sample_a_model_predicts_but_learns_no_more(path):
    model = small().fit([IMAGE, TEXT])
    model.save(path, rows=False)
    again = vp.load(path)
    np.testing.assert_array_equal(again.predict([IMAGE, TEXT]), model.labels_)
    for refused in (again.partial_fit, again.confidence, again.outlier_score):
        with pytest.raises(ValueError, match=r"save\(rows=False\)"):
            refused([IMAGE, TEXT])


def test_a_model_that_has_seen_no_view_yet_goes_on(path):
    model = small().partial_fit([np.full((4, 4), np.nan), None])
    model.save(path)
    again = vp.load(path)
    for one in (model, again):
        with pytest.raises(vp.DataError, match="0 samples with at least one view"):
            one.predict([IMAGE, TEXT])
        one.partial_fit([IMAGE, TEXT])
    assert_same(kept(again), kept(model))


def test_a_file_that_is_not_there(path):
    with pytest.raises(FileNotFoundError):
        vp.load(path)
