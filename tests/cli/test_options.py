"""Options of the command line: views, scales, weights and the reservoir."""

from __future__ import annotations

import json

import numpy as np
import pyarrow.parquet as pq
import pytest

import viewpass as vp
from commands import refused
from viewpass.cli.arguments import parsed_scale, parsed_views


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


@pytest.mark.parametrize(
    ("given", "expected"),
    [("auto", ("unit", "unit")), ("image=standard,text=unit", ("standard", "unit"))],
)
def test_the_scale_can_be_chosen_and_is_shown(commands, table, tmp_path, given, expected):
    out, labels, more = tmp_path / "run", tmp_path / "labels.parquet", tmp_path / "more.viewpass"
    options = ["-k", "5", "--chunk-size", "1000", "--scale", given, "--out", out]
    ended = commands.run("fit", table, "--id", "item", *options)
    assert ended.code == 0, ended.err
    views = json.loads((out / "run.json").read_text())["views"]
    assert (views["image"]["scale"], views["text"]["scale"]) == expected
    for what in (out, out / "model.viewpass"):
        said = commands.run("inspect", what).out
        assert all(f"of rows, scale {name}\n" in said for name in expected)
    model = vp.load(out / "model.viewpass")
    assert model.scale == parsed_scale(given)
    ended = commands.run("predict", out / "model.viewpass", table, "--id", "item", "--out", labels)
    assert ended.code == 0, ended.err
    again = pq.read_table(labels)["cluster"].to_numpy()
    np.testing.assert_array_equal(again, model.predict(vp.scan(str(table), id="item")))
    ended = commands.run("update", out / "model.viewpass", table, "--id", "item", "--out", more)
    assert ended.code == 0, ended.err
    assert vp.load(more).scales_ == model.scales_


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ("log", ["scale='log'", "'standard'"]),
        ("image=standard", ["'image'", "'text'"]),
        ("image=log,text=unit", ["view 'image'", "'log'"]),
        ("image=unit,image=idf", ["--scale image=unit,image=idf", "VIEW=NAME"]),
        ("=unit", ["VIEW=NAME"]),
    ],
)
def test_a_wrong_scale_is_reported_in_one_line(commands, table, tmp_path, given, words):
    ended = commands.run("fit", table, "-k", "5", "--id", "item", "--scale", given, "--out", tmp_path / "run")
    refused(ended, *words)
    assert not (tmp_path / "run").exists()


# ---- view weights and the reservoir


@pytest.mark.parametrize("n_chunks", [5, 8])
def test_weights_and_a_reservoir_survive_a_stop(commands, table, tmp_path, n_chunks):
    """Stopped in the first pass or the second, the files are those of the library's own fit."""
    out = tmp_path / "run"
    options = ["-k", "5", "--chunk-size", "1000", "--passes", "2", "--anchors", "none", "--out", out]
    options += ["--view-weights", "auto", "--reservoir", "500", "--checkpoint-every", "3"]
    fault = {"step": "chunk", "when": "before", "number": n_chunks, "how": "SIGINT"}
    assert commands.run("fit", table, "--id", "item", *options, fault=fault).code == 130
    ended = commands.run("fit", table, "--id", "item", *options, "--resume")
    assert ended.code == 0, ended.err
    settings = {"chunk_size": 1000, "n_passes": 2, "n_anchors": None, "random_state": 0}
    model = vp.OPIMC(5, view_weights="auto", reservoir=500, **settings).fit(vp.scan(str(table), id="item"))
    model.save(tmp_path / "by-library")
    assert (tmp_path / "by-library").read_bytes() == (out / "model.viewpass").read_bytes()
    labels = pq.read_table(out / "labels.parquet")["cluster"].to_numpy()
    np.testing.assert_array_equal(labels, model.stream_labels_)
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


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ("much", ["--view-weights much", "VIEW=WEIGHT"]),
        ("image=2", ["'image'", "'text'"]),
        ("image=2,image=1", ["VIEW=WEIGHT once"]),
        ("image=-1,text=1", ["each at least 0"]),
        ("image=0,text=0", ["all 0"]),
    ],
)
def test_wrong_weights_are_reported_in_one_line(commands, table, tmp_path, given, words):
    ended = commands.run("fit", table, "-k", "5", "--view-weights", given, "--out", tmp_path / "run")
    refused(ended, *words)
    assert not (tmp_path / "run").exists()
