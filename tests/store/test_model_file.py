"""A loaded model equals the saved one to the bit: labels, further learning, settings."""

from __future__ import annotations

import pickle
from pathlib import Path

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.exceptions import NotFittedError

import viewpass as vp
from inputs import IMAGE, TEXT, assert_same, learnt, small
from store.models import FRAME, MODELS

NOT_IN_THE_FILE = ("labels_", "stream_labels_", "anchor_labels_", "row_ids_")


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


@pytest.fixture(params=MODELS)
def model(request):
    return MODELS[request.param]()


@pytest.fixture
def path(tmp_path):
    return tmp_path / "model.viewpass"


@pytest.mark.one_in(2)
def test_load_gives_back_what_was_saved(model, path):
    model.save(path)
    again = vp.load(path)
    assert type(again) is type(model)
    assert_same(kept(again), kept(model))
    np.testing.assert_array_equal(again.predict(more(model)), model.predict(more(model)))
    np.testing.assert_array_equal(again.transform(more(model)), model.transform(more(model)))


@pytest.mark.one_in(3)
def test_learning_goes_on_to_the_same_bits(model, path):
    if isinstance(model, vp.IMC):
        return
    model.save(path)
    again = vp.load(path)
    for _ in range(3):  # enough rows to end any warm-up
        model.partial_fit(more(model))
        again.partial_fit(more(model))
    mine, theirs = learnt(again), learnt(model)
    mine["params"].pop("n_threads")
    theirs["params"].pop("n_threads")
    assert_same(mine, theirs)


@pytest.mark.one_in(3)
def test_the_same_model_gives_the_same_bytes(model, path, tmp_path):
    model.save(path)
    vp.load(path).save(tmp_path / "again")
    pickle.loads(pickle.dumps(model)).save(tmp_path / "third")
    assert path.read_bytes() == (tmp_path / "again").read_bytes() == (tmp_path / "third").read_bytes()


def test_the_number_of_threads_is_not_in_the_file(path, tmp_path):
    for n_threads, name in ((1, "one"), (2, "two"), (None, "all")):
        small(n_threads=n_threads, chunk_size=9, warmup=0).fit([IMAGE, TEXT]).save(tmp_path / name)
    assert (tmp_path / "one").read_bytes() == (tmp_path / "two").read_bytes()
    assert (tmp_path / "one").read_bytes() == (tmp_path / "all").read_bytes()
    assert vp.load(tmp_path / "two").n_threads is None


@pytest.mark.filterwarnings("ignore:only .* clusters have rows")
def test_settings_changed_after_the_fit_do_not_mislead_it(path):
    model = small(warmup=0, chunk_size=9).fit([IMAGE, TEXT])
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
    small(warmup=0).fit({"image": IMAGE, "text": TEXT}).save(path)
    again = vp.load(path)
    with pytest.raises(vp.DataError, match="view 'text': 4 columns where 5"):
        again.predict({"image": IMAGE, "text": TEXT[:, :4]})
    with pytest.raises(vp.DataError, match="view 'sound' is unknown"):
        again.predict({"image": IMAGE, "sound": TEXT})


def test_what_cannot_be_saved_is_refused_and_nothing_written(path):
    with pytest.raises(NotFittedError):
        small().save(path)

    class Mine(vp.OPIMC):
        pass

    with pytest.raises(vp.FileError, match="a Mine cannot be saved"):
        Mine(3, warmup=0).fit([IMAGE, TEXT]).save(path)
    timed = FRAME.iloc[:, :4].set_axis(np.arange(4).astype("datetime64[D]"), axis=1)
    dated = small(warmup=0).fit(vp.frames({"a": timed}))
    with pytest.raises(vp.FileError, match="the column names of view 'a'"):
        dated.save(path)
    assert list(path.parent.iterdir()) == []


def test_saving_replaces_a_file_at_once(path):
    MODELS["fitted"]().save(path)
    MODELS["IMC"]().save(path)
    assert isinstance(vp.load(path), vp.IMC)
    assert [file.name for file in path.parent.iterdir()] == ["model.viewpass"]


@pytest.mark.parametrize("name", ["fitted", "gathering", "IMC"])
def test_files_of_version_1_are_read(name, path):
    old = Path(__file__).parent / "version1" / f"{name}.viewpass"
    assert old.read_bytes()[8] == 1
    again = vp.load(old)
    assert again.scale == "unit"
    found, expected = kept(again), kept(MODELS[name]())
    if name == "IMC":  # it held the objectives of the best centres, equal but for rounding
        np.testing.assert_allclose(found.pop("objectives_"), expected.pop("objectives_"), rtol=1e-12)
    assert_same(found, expected)
    again.save(path)
    assert_same(kept(vp.load(path)), kept(again))


def test_a_file_that_is_not_there(path):
    with pytest.raises(FileNotFoundError):
        vp.load(path)
