"""Options of the command line: views, scales and weights."""

from __future__ import annotations

import json

import numpy as np
import pyarrow.parquet as pq
import pytest

import viewpass as vp
from commands import refused
from viewpass.cli.arguments import parsed_scale, parsed_views
from viewpass.cli.group import in_options

pytestmark = pytest.mark.system


def test_views_are_parsed():
    assert parsed_views([]) is None
    typed = ["image", "text=t0:t9", "words=w/30000", "sound=s*", "c=a,b"]
    assert parsed_views(typed) == {
        "image": "image",
        "text": "t0:t9",
        "words": ("w", 30000),
        "sound": "s*",
        "c": ["a", "b"],
    }
    with pytest.raises(vp.SettingError, match="two views are named 'a'"):
        parsed_views(["a=b", "a=c"])


def test_one_array_file_per_view(commands, tmp_path):
    rng = np.random.default_rng(0)
    for name, width in (("image", 5), ("text", 3)):
        np.save(tmp_path / f"{name}.npy", rng.standard_normal((300, width)))
    data = [f"{name}={tmp_path / name}.npy" for name in ("image", "text")]
    ended = commands.run("fit", *data, "-k", "3", "--out", tmp_path / "run")
    assert ended.code == 0, ended.err
    assert vp.load(tmp_path / "run" / "model.viewpass").view_names_in_ == ("image", "text")


# ---- scale


@pytest.mark.parametrize("given", ["auto", "image=standard,text=unit"])
def test_the_scale_can_be_chosen_and_is_shown(commands, table, tmp_path, given):
    out, labels, more = tmp_path / "run", tmp_path / "labels.parquet", tmp_path / "more.viewpass"
    options = ["-k", "5", "--scale", given, "--no-report", "--out", out]
    ended = commands.run("fit", table, "--id", "item", *options)
    assert ended.code == 0, ended.err
    views = json.loads((out / "run.json").read_text())["views"]
    model = vp.load(out / "model.viewpass")
    expected = tuple(model.scales_.values())
    assert (views["image"]["scale"], views["text"]["scale"]) == expected
    assert given == "auto" or expected == ("standard", "unit")
    for what in (out, out / "model.viewpass"):
        said = commands.run("inspect", what).out
        assert all(f"of rows, scale {name}, ridge " in said for name in expected)
    assert model.scale == parsed_scale(given)
    ended = commands.run("predict", out / "model.viewpass", table, "--id", "item", "--out", labels)
    assert ended.code == 0, ended.err
    again = pq.read_table(labels)["cluster"].to_numpy()
    np.testing.assert_array_equal(again, model.predict(vp.scan(str(table), id="item")))
    ended = commands.run("update", out / "model.viewpass", table, "--id", "item", "--again", "--out", more)
    assert ended.code == 0, ended.err
    assert vp.load(more).scales_ == model.scales_


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ("log", ["--scale log: choose auto, unit, standard"]),
        ("image=standard", ["'image'", "'text'"]),
        ("image=log,text=unit", ["--scale image=log: choose"]),
        ("image=unit,image=idf", ["--scale image=unit,image=idf", "VIEW=NAME"]),
        ("=unit", ["VIEW=NAME"]),
    ],
)
def test_a_wrong_scale_is_reported_in_one_line(commands, table, tmp_path, given, words):
    ended = commands.run("fit", table, "-k", "5", "--id", "item", "--scale", given, "--out", tmp_path / "run")
    refused(ended, *words)
    assert not (tmp_path / "run").exists()


# ---- errors of the library


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (["-k", "9999"], "a smaller -k"),
        (["-k", "5", "--view-weights", "image=0,text=0"], "--view-weights are all 0"),
        (["-k", "5", "--scale", "image=unit"], "--scale is given for 'image'"),
        (["-k", "5", "--id", "nobody"], "'nobody' for --id"),
        (["-k", "5", "--views", "image=text:image"], "--views, view 'image'"),
        (["-k", "5", "--window", "5D"], "--window 5D needs --time,"),
        (["-k", "5", "--consensus", "best"], "--consensus best: choose auto, plain, neighbours or graph"),
    ],
)
def test_errors_name_options_not_arguments(commands, table, tmp_path, options, words):
    refused(commands.run("fit", table, *options, "--out", tmp_path / "run"), words)
    assert not (tmp_path / "run").exists()


def test_another_setting_is_named_by_its_option(commands, table, run):
    argv = ["fit", table, "--id", "item", "--out", run[0], "--resume"]
    for more, words in ((["-k", "6"], "-k was 5"), (["-k", "5", "--seed", "1"], "--seed was 0, now it is 1")):
        refused(commands.run(*argv, *more), f"another setting: {words}")
        assert not (run[0] / "staging").exists()


def test_what_the_user_typed_is_left_as_it_is():
    for text in (
        "/data/n_clusters/x.parquet: no",
        "id=5/x.parquet: no",
        "view 'chunk_size': no",
        "a=views=b",
    ):
        assert in_options(text) == text


@pytest.mark.parametrize("n_chunks", [1, 2])
def test_weights_survive_a_stop(commands, table, tmp_path, n_chunks):
    """Stopped before the sample or before the labels, the files are those of the library's own fit."""
    out = tmp_path / "run"
    options = ["-k", "5", "--consensus", "plain", "--no-report"]
    options += ["--view-weights", "image=1,text=0.4", "--checkpoint-every", "1"]
    options += ["--out", out]
    fault = {"step": "chunk", "when": "before", "number": n_chunks, "how": "SIGINT"}
    assert commands.run("fit", table, "--id", "item", *options, fault=fault).code == 130
    ended = commands.run("fit", table, "--id", "item", *options, "--resume")
    assert ended.code == 0, ended.err
    weights = {"image": 1.0, "text": 0.4}
    model = vp.ViewPass(5, view_weights=weights, consensus="plain", random_state=0)
    model.fit(vp.scan(str(table), id="item"))
    model.save(tmp_path / "by-library")
    assert (tmp_path / "by-library").read_bytes() == (out / "model.viewpass").read_bytes()
    labels = pq.read_table(out / "labels.parquet")["cluster"].to_numpy()
    np.testing.assert_array_equal(labels, model.labels_)
    views = json.loads((out / "run.json").read_text())["views"]
    assert {name: view["weight"] for name, view in views.items()} == model.view_weights_
    least = min(model.view_weights_.values())
    assert f", weight {least:.3g}\n" in commands.run("inspect", out / "model.viewpass").out
    ended = commands.run("predict", out / "model.viewpass", table, "--out", tmp_path / "labels.parquet")
    assert ended.code == 0, ended.err
    found = pq.read_table(tmp_path / "labels.parquet")
    np.testing.assert_array_equal(found["cluster"].to_numpy(), model.labels_)
    nearest = model.transform(vp.scan(str(table), id="item")).min(axis=1)
    np.testing.assert_allclose(found["distance"].to_numpy(zero_copy_only=False), nearest, atol=1e-5)


@pytest.mark.parametrize("n_chunks", [1, 2])
def test_a_map_survives_a_stop(commands, table, tmp_path, n_chunks):
    """Stopped before the sample or before the labels, the model is that of the library's own fit."""
    out = tmp_path / "run"
    options = ["-k", "3", "--scale", "unit", "--consensus", "graph"]
    options += ["--checkpoint-every", "1", "--no-report", "--out", out]
    fault = {"step": "chunk", "when": "before", "number": n_chunks, "how": "SIGINT"}
    assert commands.run("fit", table, "--id", "item", *options, fault=fault).code == 130
    ended = commands.run("fit", table, "--id", "item", *options, "--resume")
    assert ended.code == 0, ended.err
    model = vp.load(out / "model.viewpass")
    assert {own.shape[0] for own in model.projections_.values()} == {6}
    settings = {"scale": "unit", "random_state": 0, "consensus": "graph"}
    mine = vp.ViewPass(3, **settings).fit(vp.scan(str(table), id="item"))
    mine.save(tmp_path / "by-library")
    assert (tmp_path / "by-library").read_bytes() == (out / "model.viewpass").read_bytes()


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ("much", ["--view-weights much", "VIEW=WEIGHT"]),
        ("sound=2", ["'sound'", "'image'", "'text'"]),
        ("image=2,image=1", ["VIEW=WEIGHT once"]),
        ("image=-1,text=1", ["each at least 0"]),
        ("image=0,text=0", ["all 0"]),
    ],
)
def test_wrong_weights_are_reported_in_one_line(commands, table, tmp_path, given, words):
    ended = commands.run("fit", table, "-k", "5", "--view-weights", given, "--out", tmp_path / "run")
    refused(ended, *words)
    assert not (tmp_path / "run").exists()
