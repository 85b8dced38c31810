"""Names, ids and paths from strangers are shown escaped, wherever they are printed."""

import json
import logging
import os
import pickle
import shutil

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import viewpass as vp
from commands import refused
from viewpass.errors import printable

pytestmark = pytest.mark.system

HOSTILE = [
    "\x1b[2J\x1b[31mred",
    "\x1b]0;title\x07",
    "one\rother",
    "one\nviewpass: done",
    "[bold red]x[/]",
    "[/]",
    "<script>alert(1)</script>",
    "\u202egnp.exe",
    "\x9b31m",
    "tab\tand\x08back",
]
LETTERS = "größe 图像 صورة"


def assert_shown(name, text):
    """The name is in the text as itself, escaped, and nothing that a terminal acts on is."""
    assert printable(name) in text
    assert all(line.isprintable() for line in text.split("\n")), text


def made(path, name, *, faulty=False):
    values = np.random.default_rng(0).normal(size=(60, 3))
    if faulty:
        values[7, 1] = np.nan
    rows = pa.array(values.tolist())
    ids = pa.array([f"{name} {row}" for row in range(60)])
    pq.write_table(pa.table({"id": ids, name: rows}), path)
    return path


@pytest.mark.parametrize("name", HOSTILE[::3])
def test_names_of_views_are_escaped(commands, tmp_path, name):
    path = made(tmp_path / "items.parquet", name)
    for options in ((), ("--json",)):
        run = tmp_path / f"run{len(options)}"
        inspected = commands.run("inspect", path, *options)
        fitted = commands.run("fit", path, "-k", "3", "--out", run, *options)
        for ended in (inspected, fitted, commands.run("inspect", run / "model.viewpass", *options)):
            assert ended.code == 0, ended.err
            assert all(line.isprintable() for line in ended.out.split("\n"))
            if not options:
                assert_shown(name, ended.out)
        assert name in json.loads((run / "run.json").read_text())["views"]
    assert "\n" not in json.loads(json.dumps(printable(name)))
    assert list(json.loads(commands.run("inspect", path, "--json").out)["views"]) == [name]


@pytest.mark.parametrize("name", HOSTILE[::2])
def test_errors_escape_names_ids_and_paths(commands, tmp_path, name):
    path = made(tmp_path / "items.parquet", name, faulty=True)
    ended = commands.run("fit", path, "-k", "3", "--id", "id", "--out", tmp_path / "run")
    assert ended.code == 1
    assert_shown(repr(name), ended.err)
    assert_shown(repr(f"{name} 7"), ended.err)
    odd = tmp_path / name.replace("/", "")
    for command in (
        ("inspect", odd),
        ("predict", odd, path),
        ("fit", odd, "-k", "2", "--out", tmp_path / "x"),
    ):
        ended = commands.run(*command)
        assert ended.code == 1
        assert ended.err.count("\n") == 1
        assert_shown("", ended.err)


@pytest.mark.parametrize("name", HOSTILE)
def test_errors_and_logs_in_python_escape_names(tmp_path, name, caplog):
    with pytest.raises(vp.DataError) as caught:
        vp.scan(made(tmp_path / "items.parquet", "x"), views={"x": name})
    assert str(caught.value).isprintable()
    assert str(pickle.loads(pickle.dumps(caught.value))) == str(caught.value)
    with pytest.raises(vp.DataError) as caught:
        vp.scan(tmp_path / name.replace("/", ""))
    assert_shown(name.replace("/", ""), str(caught.value))
    with caplog.at_level(logging.INFO, "viewpass"):
        vp.ViewPass(3, scale="standard", random_state=0).fit(
            {name: np.random.default_rng(0).normal(size=(60, 3))}
        )
    assert caplog.messages
    assert all(message.isprintable() for message in caplog.messages)


def test_letters_of_any_language_are_shown_as_they_are(commands, tmp_path):
    assert LETTERS in commands.run("inspect", made(tmp_path / f"{LETTERS}.parquet", LETTERS)).out


@pytest.mark.parametrize(
    "report", ["[]", "{}", '{"rows": "x"}', "[" * 100_000, "\\udc80", '{"rows": 1, "views": [2]}']
)
def test_a_report_that_is_none_is_refused(commands, tmp_path, run, report):
    shutil.copytree(run[0], tmp_path / "run")
    (tmp_path / "run" / "run.json").write_text(report)
    refused(commands.run("inspect", tmp_path / "run"), "run.json is damaged")


@pytest.mark.parametrize("command", [("predict",), ("update",)])
def test_a_model_that_is_no_file(commands, tmp_path, table, command):
    os.mkfifo(tmp_path / "pipe")
    for model, kind in ((tmp_path, "a folder"), (tmp_path / "pipe", "a pipe"), ("/dev/zero", "a device")):
        ended = commands.run(*command, model, table, "--out", tmp_path / "out.parquet")
        assert ended.code == 1
        assert f"{model} is {kind}, not a model file" in ended.err
        with pytest.raises(vp.FileError, match=f"is {kind}, not a model file"):
            vp.load(model)
