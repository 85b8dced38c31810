"""What people see of fit, predict, inspect and update: files, words, exit codes."""

from __future__ import annotations

import json
import os
import pty
import re
import subprocess
import sys

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import viewpass as vp
from commands import contents, write_table
from viewpass.cli.given import parsed_scale, parsed_views


@pytest.fixture(scope="module")
def table(tmp_path_factory):
    return write_table(tmp_path_factory.mktemp("table") / "items.parquet", 6000)


@pytest.fixture(scope="module")
def run(commands, table, tmp_path_factory):
    out = tmp_path_factory.mktemp("fitted") / "new" / "run"
    ended = commands.run("fit", table, "-k", "5", "--id", "item", "--chunk-size", "1000", "--out", out)
    assert ended.code == 0, ended.err
    return out, ended.out


@pytest.fixture
def model(run, tmp_path):
    path = tmp_path / "model.viewpass"
    path.write_bytes((run[0] / "model.viewpass").read_bytes())
    return path


def refused(ended, *words, code=1):
    assert ended.code == code, ended
    assert ended.err.count("\n") == 1, ended.err
    assert ended.err.startswith("viewpass: ")
    assert not [word for word in words if word not in ended.err], ended.err


# ---- fit


def test_fit_leaves_three_files_and_says_where(run):
    out, said = run
    assert sorted(path.name for path in out.iterdir()) == ["labels.parquet", "model.viewpass", "run.json"]
    for path in out.iterdir():
        assert str(path) in said
    assert "6,000 rows in 5 clusters" in said
    assert "view image: 12 columns, missing in" in said


def test_fit_is_the_fit_of_the_library(run, table):
    model = vp.OPIMC(5, chunk_size=1000, random_state=0).fit(vp.scan(str(table), id="item"))
    labels = pq.read_table(run[0] / "labels.parquet")
    assert labels.column_names == ["id", "cluster", "distance", "margin", "views_seen"]
    np.testing.assert_array_equal(labels["id"].to_numpy(), model.row_ids_)
    np.testing.assert_array_equal(labels["cluster"].to_numpy(), model.stream_labels_)
    again = vp.load(run[0] / "model.viewpass")
    np.testing.assert_equal(again.cluster_centers_, model.cluster_centers_)
    model.save(run[0].parent / "by-library")
    assert (run[0].parent / "by-library").read_bytes() == (run[0] / "model.viewpass").read_bytes()


def test_rows_without_a_view_have_no_distance(run, table):
    labels = pq.read_table(run[0] / "labels.parquet")
    data = pq.read_table(table)
    n_seen = data["image"].is_valid().to_numpy().astype(int) + data["text"].is_valid().to_numpy()
    np.testing.assert_array_equal(labels["views_seen"].to_numpy(), n_seen)
    unseen = n_seen == 0
    assert unseen.any()
    assert (labels["cluster"].to_numpy()[unseen] == -1).all()
    for name in ("distance", "margin"):
        np.testing.assert_array_equal(labels[name].is_null().to_numpy(), unseen)
        values = labels[name].to_numpy()[~unseen]
        assert ((values >= 0) & (values <= 8)).all()


def test_the_report_has_settings_versions_and_figures(run, table):
    report = json.loads((run[0] / "run.json").read_text())
    data = pq.read_table(table)
    assert report["rows"] == 6000
    told = {"columns": 7, "missing": data["text"].null_count, "scale": "unit", "weight": 1.0}
    assert report["views"]["text"] == told
    labels = pq.read_table(run[0] / "labels.parquet")["cluster"].to_numpy()
    assert report["clusters"] == np.bincount(labels[labels >= 0], minlength=5).tolist()
    assert report["rows_without_any_view"] == (labels == -1).sum()
    assert report["settings"]["chunk_size"] == 1000
    assert report["versions"]["viewpass"] == vp.__version__
    assert len(report["loss_curve"]) == 2  # the warm-up, 4000 rows that have a view, and a chunk
    assert report["seconds"] > 0
    assert report["peak_memory"] > 1e7


def test_without_an_id_rows_are_numbered(commands, table, tmp_path):
    assert commands.run("fit", table, "-k", "3", "--out", tmp_path / "run").code == 0
    ids = pq.read_table(tmp_path / "run" / "labels.parquet")["id"]
    np.testing.assert_array_equal(ids.to_numpy(), np.arange(6000))


@pytest.mark.parametrize(
    "kind",
    [pa.int64(), pa.int32(), pa.string(), pa.large_string(), pa.timestamp("us"), pa.float64()],
    ids=str,
)
def test_ids_of_every_kind_come_back(commands, table, tmp_path, kind):
    data = pq.read_table(table)
    numbers = pa.array(np.arange(6000)[::-1].copy())
    data = data.set_column(0, "item", numbers.cast(kind))
    pq.write_table(data, tmp_path / "items.parquet")
    argv = ["fit", tmp_path / "items.parquet", "-k", "3", "--id", "item", "--out", tmp_path / "run"]
    ended = commands.run(*argv, "--chunk-size", "700")
    assert ended.code == 0, ended.err
    ids = pq.read_table(tmp_path / "run" / "labels.parquet")["id"]
    assert ids.to_pylist() == data["item"].to_pylist()


def test_a_folder_in_use_is_refused(commands, table, run, tmp_path):
    argv = ["fit", table, "-k", "5", "--id", "item", "--chunk-size", "1000"]
    before = contents(run[0])
    refused(commands.run(*argv, "--out", run[0]), str(run[0]), "a finished run", "another folder")
    ended = commands.run(*argv, "--out", run[0], "--resume")
    assert ended.code == 0
    assert "finished already" in ended.out
    refused(commands.run(*argv, "--alpha", "2", "--out", run[0], "--resume"), "alpha was 0.1, now it is 2.0")
    assert contents(run[0]) == before
    (tmp_path / "mine.txt").write_text("mine")
    refused(commands.run(*argv, "--out", tmp_path), "'mine.txt'")
    refused(commands.run(*argv, "--out", tmp_path, "--resume"), "no run to go on with", "'mine.txt'")
    refused(commands.run(*argv, "--out", tmp_path / "mine.txt"), "a file is in the way")
    refused(commands.run(*argv, "--out", tmp_path / "mine.txt" / "below"), str(tmp_path / "mine.txt"))
    assert [path.name for path in tmp_path.iterdir()] == ["mine.txt"]


def test_resume_before_anything_begins(commands, table, run, tmp_path):
    argv = [
        "fit",
        table,
        "-k",
        "5",
        "--id",
        "item",
        "--chunk-size",
        "1000",
        "--out",
        tmp_path / "run",
        "--resume",
    ]
    (tmp_path / "run" / "staging").mkdir(parents=True)
    (tmp_path / "run" / "staging" / "labels.0").write_bytes(b"left by a crash before the first checkpoint")
    assert commands.run(*argv).code == 0
    assert contents(tmp_path / "run") == contents(run[0])


def test_json_is_all_there_is_on_standard_output(commands, table, tmp_path):
    argv = ["fit", table, "-k", "5", "--out", tmp_path / "run", "--json"]
    ended = commands.run(*argv)
    events = [json.loads(line) for line in ended.out.splitlines()]
    assert events[-1]["event"] == "finished"
    assert events[-1]["rows"] == 6000
    assert sum(events[-1]["clusters"]) + events[-1]["rows_without_any_view"] == 6000
    again = json.loads(commands.run(*argv, "--resume").out)
    assert (again["event"], again["already"]) == ("finished", True)


def test_bad_input_leaves_no_folder(commands, table, tmp_path):
    out = tmp_path / "run"
    base = ["fit", table, "--out", out]
    refused(commands.run("fit", tmp_path / "none.parquet", "-k", "3", "--out", out), "none.parquet")
    refused(commands.run(*base, "-k", "3", "--id", "nobody"), "'nobody'")
    refused(commands.run(*base, "-k", "3", "--views", "image=nothing"), "'nothing'")
    refused(commands.run(*base, "-k", "3", "--views", "=x"), "--views =x")
    refused(commands.run(*base, "-k", "3", "--init", "best"), "init='best'")
    refused(commands.run(*base, "-k", "9999"), "9999 clusters")
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("argv", [["fit"], ["fit", "x", "--out", "y"], ["fit", "x", "-k", "0", "--out", "y"]])
def test_wrong_usage_exits_with_2(commands, argv):
    ended = commands.run(*argv)
    assert ended.code == 2
    assert "Traceback" not in ended.err


@pytest.mark.parametrize("command", ["fit", "predict", "inspect", "update"])
def test_help_has_an_example(commands, command):
    ended = commands.run(command, "--help")
    assert ended.code == 0
    assert f"Example:  viewpass {command} " in ended.out
    assert ended.err == ""


def test_exit_codes_are_in_the_help(commands):
    said = commands.run("--help").out
    assert "Exit codes: 0" in said
    assert "130" in said
    assert "--install-completion" in said


def test_debug_shows_the_traceback_wherever_it_stands(commands, tmp_path):
    ended = commands.run("inspect", tmp_path / "none.parquet", "--debug")
    assert ended.code == 1
    assert "Traceback" in ended.err


def test_completion_can_be_shown(commands):
    environment = {**os.environ, "_TYPER_COMPLETE_TEST_DISABLE_SHELL_DETECTION": "1"}
    ask = [sys.executable, "-c", "from viewpass.cli import main; main()", "--show-completion", "bash"]
    said = subprocess.run(ask, capture_output=True, text=True, env=environment, check=False)
    assert said.returncode == 0, said.stderr
    assert "complete" in said.stdout


def test_a_terminal_sees_a_live_display(table, tmp_path):
    """A real (pseudo-)terminal; the display is gone when the command ends."""
    code = "import sys; from viewpass.cli import main; main()"
    argv = [sys.executable, "-c", code, "fit", table, "-k", "5", "--out", tmp_path / "run", "--passes", "2"]
    parent, child = pty.openpty()
    environment = {**os.environ, "TERM": "xterm-256color", "COLUMNS": "120"}
    process = subprocess.Popen(list(map(str, argv)), stdout=child, stderr=child, env=environment)
    os.close(child)
    said = b""
    while True:
        try:
            said += os.read(parent, 65536)
        except OSError:  # the terminal is gone with the process
            break
    os.close(parent)
    assert process.wait() == 0, said
    text = re.sub(r"\x1b\[[0-9;?]*[a-zA-Z]", "", said.decode())
    assert "pass 2 of 2" in text
    assert "rows/s" in text
    assert "clusters " in text
    assert "6,000 rows in 5 clusters" in text


# ---- predict


def test_predict_labels_new_rows(commands, run, table, tmp_path):
    out = tmp_path / "labels.parquet"
    argv = ["predict", run[0] / "model.viewpass", table, "--id", "item", "--out", out]
    ended = commands.run(*argv)
    assert ended.code == 0, ended.err
    labels = pq.read_table(out)
    model = vp.load(run[0] / "model.viewpass")
    source = vp.scan(str(table), id="item")
    np.testing.assert_array_equal(labels["cluster"].to_numpy(), model.predict(source))
    exact = model.transform(source)
    seen = np.flatnonzero(labels["views_seen"].to_numpy() > 0)
    own = labels["cluster"].to_numpy()[seen]
    mine = exact[seen, own]
    exact[seen, own] = np.inf  # rows go where most of their anchors lead: a margin may be negative
    np.testing.assert_allclose(labels["distance"].to_numpy()[seen], mine, atol=1e-5)
    np.testing.assert_allclose(labels["margin"].to_numpy()[seen], exact[seen].min(axis=1) - mine, atol=1e-5)
    assert model.consensus_ == "graph"
    assert labels["id"].to_pylist() == pq.read_table(table)["item"].to_pylist()
    first = out.read_bytes()
    refused(commands.run(*argv), str(out), "--force")
    assert commands.run(*argv, "--force", "--threads", "3").code == 0
    assert out.read_bytes() == first


def test_label_files_do_not_depend_on_the_chunks(commands, run, table, tmp_path):
    for size in (500, 8192):
        argv = [
            "predict",
            run[0] / "model.viewpass",
            table,
            "--chunk-size",
            size,
            "--out",
            tmp_path / str(size),
        ]
        assert commands.run(*argv).code == 0
    few, many = pq.read_table(tmp_path / "500"), pq.read_table(tmp_path / "8192")
    assert few["cluster"] == many["cluster"]
    for name in ("distance", "margin"):
        np.testing.assert_allclose(
            few[name].fill_null(0).to_numpy(), many[name].fill_null(0).to_numpy(), atol=1e-5
        )


def test_predict_refuses_other_data_by_name(commands, run, tmp_path):
    model = run[0] / "model.viewpass"
    wide = write_table(tmp_path / "wide.parquet", 100, widths=(12, 9))
    refused(commands.run("predict", model, wide, "--out", tmp_path / "out"), "view 'text'", "9", "7")
    other = commands.run("predict", model, wide, "--views", "sound=text", "--out", tmp_path / "out")
    refused(other, "view 'sound' is unknown")
    refused(commands.run("predict", wide, wide, "--out", tmp_path / "out"), "not a file of viewpass")
    refused(commands.run("predict", tmp_path / "no", wide, "--out", tmp_path / "out"), "no")
    assert [path.name for path in tmp_path.iterdir()] == ["wide.parquet"]


# ---- update


def test_update_goes_on_learning(commands, model, table, tmp_path):
    more = write_table(tmp_path / "more.parquet", 2500, seed=9)
    out = tmp_path / "updated"
    before = model.read_bytes()
    ended = commands.run("update", model, more, "--out", out)
    assert ended.code == 0, ended.err
    assert "2,500 rows read, 8,500 in all" in ended.out
    assert model.read_bytes() == before
    expected = vp.load(model)
    for start in range(0, 2500, 1000):
        rows = pq.read_table(more).slice(start, 1000)
        expected.partial_fit(vp.scan(rows, id="item"))
    np.testing.assert_equal(vp.load(out).cluster_centers_, expected.cluster_centers_)
    assert commands.run("update", model, more).code == 0  # in place
    assert model.read_bytes() == out.read_bytes()


def test_update_refuses_what_cannot_learn(commands, table, tmp_path):
    rng = np.random.default_rng(0)
    vp.IMC(3, n_init=1).fit({"image": rng.random((50, 12))}).save(tmp_path / "imc")
    refused(commands.run("update", tmp_path / "imc", table), "IMC", "cannot go on learning")


@pytest.mark.parametrize("command", ["predict", "update"])
def test_a_stop_changes_nothing(commands, model, table, tmp_path, command):
    before = model.read_bytes()
    more = ["--out", tmp_path / "labels.parquet"] if command == "predict" else []
    fault = {"step": "chunk", "when": "before", "number": 2, "how": "SIGINT"}
    ended = commands.run(command, model, table, "--chunk-size", "1000", *more, fault=fault)
    assert (ended.code, ended.out) == (130, "")
    assert ended.err == "viewpass: stopped; nothing was changed.\n"
    assert model.read_bytes() == before
    assert [path.name for path in tmp_path.iterdir()] == ["model.viewpass"]


# ---- inspect


def test_inspect_of_data(commands, table):
    ended = commands.run("inspect", table)
    assert ended.code == 0, ended.err
    assert "data: 6,000 rows" in ended.out
    assert "image + text" in ended.out
    told = json.loads(commands.run("inspect", table, "--json").out)
    data = pq.read_table(table)
    assert told["views"]["image"] == {"columns": 12, "missing": data["image"].null_count}
    assert sum(pattern["rows"] for pattern in told["patterns"]) == 6000
    both = data["image"].is_valid().to_numpy() & data["text"].is_valid().to_numpy()
    assert told["patterns"][0] == {"views": ["image", "text"], "rows": both.sum()}
    assert json.loads(commands.run("inspect", table, "--rows", "10", "--json").out)["rows"] <= 8192


def test_inspect_of_a_model(commands, run):
    told = json.loads(commands.run("inspect", run[0] / "model.viewpass", "--json").out)
    assert (told["kind"], told["estimator"], told["rows"]) == ("model", "OPIMC", 6000)
    assert sum(told["cluster_rows_by_view"]["text"]) == 6000 - told["views"]["text"]["missing"]
    said = commands.run("inspect", run[0] / "model.viewpass").out
    assert "OPIMC model of 6,000 rows" in said
    assert "chunk_size=1000" in said


def test_inspect_of_runs(commands, run, table, tmp_path):
    told = json.loads(commands.run("inspect", run[0], "--json").out)
    assert told["finished"]
    assert sum(told["clusters"]) + told["rows_without_any_view"] == 6000
    assert "a finished run over 6,000 rows" in commands.run("inspect", run[0]).out
    argv = [
        "fit",
        table,
        "-k",
        "5",
        "--out",
        tmp_path / "run",
        "--chunk-size",
        "1000",
        "--checkpoint-every",
        "2",
    ]
    commands.run(*argv, fault={"step": "rename", "when": "after", "number": 2, "how": "SIGKILL"})
    told = json.loads(commands.run("inspect", tmp_path / "run", "--json").out)
    assert (told["finished"], told["pass"], told["row"]) == (False, 1, 4000)
    assert "pass 1, after row 4,000" in commands.run("inspect", tmp_path / "run").out


# ---- what is typed


def test_views_as_they_are_typed():
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


def test_arrays_a_view_each(commands, tmp_path):
    rng = np.random.default_rng(0)
    for name, width in (("image", 5), ("text", 3)):
        np.save(tmp_path / f"{name}.npy", rng.standard_normal((300, width)))
    data = [f"{name}={tmp_path / name}.npy" for name in ("image", "text")]
    ended = commands.run("fit", *data, "-k", "3", "--out", tmp_path / "run")
    assert ended.code == 0, ended.err
    assert vp.load(tmp_path / "run" / "model.viewpass").view_names_in_ == ("image", "text")


# ---- scale


@pytest.mark.parametrize(
    ("given", "told"),
    [("auto", ("unit", "unit")), ("image=standard,text=unit", ("standard", "unit"))],
)
def test_the_scale_can_be_chosen_and_is_shown(commands, table, tmp_path, given, told):
    out, labels, more = tmp_path / "run", tmp_path / "labels.parquet", tmp_path / "more.viewpass"
    options = ["-k", "5", "--chunk-size", "1000", "--scale", given, "--out", out]
    ended = commands.run("fit", table, "--id", "item", *options)
    assert ended.code == 0, ended.err
    views = json.loads((out / "run.json").read_text())["views"]
    assert (views["image"]["scale"], views["text"]["scale"]) == told
    for what in (out, out / "model.viewpass"):
        said = commands.run("inspect", what).out
        assert all(f"of rows, scale {name}\n" in said for name in told)
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
def test_a_wrong_scale_is_told_in_one_line(commands, table, tmp_path, given, words):
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
        ("image=-1,text=1", ["a number from 0 on"]),
        ("image=0,text=0", ["all 0"]),
    ],
)
def test_wrong_weights_are_told_in_one_line(commands, table, tmp_path, given, words):
    ended = commands.run("fit", table, "-k", "5", "--view-weights", given, "--out", tmp_path / "run")
    refused(ended, *words)
    assert not (tmp_path / "run").exists()
