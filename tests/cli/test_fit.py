"""Command fit: files, output and exit codes."""

from __future__ import annotations

import json
import os
import pty
import re
import subprocess
import sys
import time

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from typer.testing import CliRunner

import viewpass as vp
from commands import contents, refused
from viewpass.cli.app import app

pytestmark = pytest.mark.system


def test_fit_writes_its_files_and_names_them(run):
    out, said = run
    names = ["labels.parquet", "model.viewpass", "report.html", "run.json"]
    assert sorted(path.name for path in out.iterdir()) == names
    for name in names:
        assert str(out / name) in said
    assert "6,000 rows in 5 clusters" in said
    assert "view image  12 columns, missing in" in said
    seconds = json.loads((out / "run.json").read_text())["seconds"]
    assert float(said.split("time:")[1].split()[0]) >= round(seconds, 1)  # with the page


def test_fit_equals_the_fit_of_the_library(run, table):
    model = vp.ViewPass(5, random_state=0).fit(vp.scan(str(table), id="item"))
    labels = pq.read_table(run[0] / "labels.parquet")
    own = ["cluster", "distance", "margin", "views_seen", "has_views", "confidence"]
    assert labels.column_names == ["item", *own]
    np.testing.assert_array_equal(labels["item"].to_numpy(), model.row_ids_)
    sure = model.confidence(vp.scan(str(table), id="item"))
    found = labels["confidence"].to_numpy(zero_copy_only=False)
    np.testing.assert_array_equal(np.isnan(sure), np.isnan(found))
    assert np.nanquantile(np.abs(found - sure), 0.99) < 1e-3  # distances in label files are of float32
    np.testing.assert_array_equal(labels["cluster"].to_numpy(), model.labels_)
    again = vp.load(run[0] / "model.viewpass")
    np.testing.assert_equal(again.cluster_centers_, model.cluster_centers_)
    model.save(run[0].parent / "by-library")
    assert (run[0].parent / "by-library").read_bytes() == (run[0] / "model.viewpass").read_bytes()


def test_labels_of_a_stream_are_numbers_of_the_models_clusters(commands, two_chunks, tmp_path):
    """The table is solved several times; what was read before counts under the numbers of the last one."""
    out = tmp_path / "run"
    ended = commands.run(
        "fit", two_chunks, "-k", "5", "--id", "item", "--out", out, "--stream-labels", "--json"
    )
    assert ended.code == 0, ended.err
    labels = pq.read_table(out / "labels.parquet")["cluster"].to_numpy()
    rows = vp.scan(str(two_chunks), id="item")
    library = vp.ViewPass(5, random_state=0, compute_labels=False).fit(rows)
    assert len(library._learnt.segments) > 2
    np.testing.assert_array_equal(labels, library.stream_labels_)
    predicted = vp.load(out / "model.viewpass").predict(rows)
    np.testing.assert_array_equal(predicted, library.predict(rows))
    assert (labels == predicted).mean() > 0.95
    report = json.loads((out / "run.json").read_text())
    assert report["clusters"] == np.bincount(labels[labels >= 0], minlength=5).tolist()


def test_rows_without_a_view_have_no_distance(run, table):
    labels = pq.read_table(run[0] / "labels.parquet")
    data = pq.read_table(table)
    n_seen = data["image"].is_valid().to_numpy().astype(int) + data["text"].is_valid().to_numpy()
    np.testing.assert_array_equal(labels["views_seen"].to_numpy(), n_seen)
    unseen = n_seen == 0
    assert unseen.any()
    assert (labels["cluster"].to_numpy()[unseen] == -1).all()
    for name, least in (("distance", 0), ("margin", -8)):  # an anchor of another cluster may be nearer
        np.testing.assert_array_equal(labels[name].is_null().to_numpy(), unseen)
        values = labels[name].to_numpy()[~unseen]
        assert ((values >= least) & (values <= 8)).all()


def test_the_report_has_settings_versions_and_figures(run, table):
    report = json.loads((run[0] / "run.json").read_text())
    data = pq.read_table(table)
    assert report["rows"] == 6000
    missing = {"missing": data["text"].null_count, "all_zero": 0}
    model = vp.load(run[0] / "model.viewpass")
    learnt = {"scale": model.scales_["text"], "alpha": model.alpha_["text"]}
    expected = {"columns": 7, **missing, **learnt, "weight": 1.0}
    assert report["views"]["text"] == expected
    assert [choice["what"] for choice in report["choices"]][:2] == ["scale", "consensus"]
    labels = pq.read_table(run[0] / "labels.parquet")["cluster"].to_numpy()
    assert report["clusters"] == np.bincount(labels[labels >= 0], minlength=5).tolist()
    assert report["rows_without_any_view"] == (labels == -1).sum()
    assert report["settings"]["n_clusters"] == 5
    assert report["versions"]["viewpass"] == vp.__version__
    assert report["seconds"] > 0
    assert report["peak_memory"] > 1e7


def test_without_an_id_rows_are_numbered(commands, table, tmp_path):
    assert commands.run("fit", table, "-k", "3", "--no-report", "--out", tmp_path / "run").code == 0
    ids = pq.read_table(tmp_path / "run" / "labels.parquet")["id"]
    np.testing.assert_array_equal(ids.to_numpy(), np.arange(6000))


@pytest.mark.parametrize(
    "kind",
    [pa.int32(), pa.large_string(), pa.timestamp("us")],
    ids=str,
)
def test_ids_of_every_type_are_kept(commands, table, tmp_path, kind):
    data = pq.read_table(table).slice(0, 1000)
    numbers = pa.array(np.arange(1000)[::-1].copy())
    data = data.set_column(0, "item", numbers.cast(kind))
    pq.write_table(data, tmp_path / "items.parquet")
    argv = ["fit", tmp_path / "items.parquet", "-k", "3", "--id", "item", "--out", tmp_path / "run"]
    ended = commands.run(*argv, "--no-report")
    assert ended.code == 0, ended.err
    ids = pq.read_table(tmp_path / "run" / "labels.parquet")["item"]
    assert ids.to_pylist() == data["item"].to_pylist()


def test_a_folder_in_use_is_refused(commands, table, run, tmp_path):
    argv = ["fit", table, "-k", "5", "--id", "item"]
    before = contents(run[0])
    refused(commands.run(*argv, "--out", run[0]), str(run[0]), "a finished run", "another folder")
    ended = commands.run(*argv, "--out", run[0], "--resume")
    assert ended.code == 0
    assert "finished already" in ended.out
    ended = commands.run(*argv, "--consensus", "plain", "--out", run[0], "--resume")
    refused(ended, "consensus was 'auto', now it is 'plain'")
    assert contents(run[0]) == before
    (tmp_path / "mine.txt").write_text("mine")
    refused(commands.run(*argv, "--out", tmp_path), "'mine.txt'")
    refused(commands.run(*argv, "--out", tmp_path, "--resume"), "no run to resume", "'mine.txt'")
    refused(commands.run(*argv, "--out", tmp_path / "mine.txt"), "this is a file")
    refused(commands.run(*argv, "--out", tmp_path / "mine.txt" / "below"), str(tmp_path / "mine.txt"))
    assert [path.name for path in tmp_path.iterdir()] == ["mine.txt"]


def test_resume_before_anything_begins(commands, table, run, tmp_path):
    argv = ["fit", table, "-k", "5", "--id", "item"]
    argv += ["--out", tmp_path / "run", "--resume", "--no-report"]
    (tmp_path / "run" / "staging").mkdir(parents=True)
    (tmp_path / "run" / "staging" / "labels.0").write_bytes(b"left by a crash before the first checkpoint")
    assert commands.run(*argv).code == 0
    assert contents(tmp_path / "run") == contents(run[0])


def test_json_prints_nothing_else(commands, table, tmp_path):
    argv = ["fit", table, "-k", "5", "--out", tmp_path / "run", "--json"]
    ended = commands.run(*argv)
    events = [json.loads(line) for line in ended.out.splitlines()]
    assert events[-1]["event"] == "finished"
    assert events[-1]["rows"] == 6000
    assert sum(events[-1]["clusters"]) + events[-1]["rows_without_any_view"] == 6000
    again = json.loads(commands.run(*argv, "--resume").out)
    assert (again["event"], again["already"]) == ("finished", True)


@pytest.mark.parametrize("form", [[], ["--json"]])
def test_speeds_count_from_the_beginning(table, tmp_path, monkeypatch, form):
    """No rate says that the rows were read within a second; here a tenth of a millisecond counts as one."""
    now = time.perf_counter
    monkeypatch.setattr(time, "perf_counter", lambda: 10_000 * now())
    argv = ["fit", str(table), "-k", "5", "--out", str(tmp_path / "run")]
    said = CliRunner().invoke(app, [*argv, *form]).output
    events = (
        [json.loads(line) for line in said.splitlines()]
        if form
        else re.findall(r": ([\d,]+) of 6,000 rows, ([\d,]+) rows/s, (\d+) s left", said)
    )
    if form:
        rates = [(each["rows"], each["rows_per_second"]) for each in events if each["event"] == "progress"]
    else:
        rates = [[float(number.replace(",", "")) for number in each[:2]] for each in events]
        assert all(float(each[2]) > 0 for each in events if each[0] != "6,000")
    assert rates
    assert all(0 <= rate < rows for rows, rate in rates)


def test_bad_input_leaves_no_folder(commands, table, tmp_path):
    out = tmp_path / "run"
    base = ["fit", table, "--out", out]
    refused(commands.run("fit", tmp_path / "none.parquet", "-k", "3", "--out", out), "none.parquet")
    refused(commands.run(*base, "-k", "3", "--id", "nobody"), "'nobody'")
    refused(commands.run(*base, "-k", "3", "--views", "image=nothing"), "'nothing'")
    refused(commands.run(*base, "-k", "3", "--views", "=x"), "--views =x")
    refused(commands.run(*base, "-k", "3", "--consensus", "best"), "--consensus best")
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


def test_the_help_of_fit_is_two_screens(commands, monkeypatch):
    ended = CliRunner().invoke(app, ["fit", "--help"], env={"COLUMNS": "80", "TERMINAL_WIDTH": "80"})
    groups = [line.split()[1] for line in ended.output.splitlines() if line.startswith("╭")]
    assert groups == ["Arguments", "Options", "Data", "Clusters", "Output", "Run"]
    assert len(ended.output.splitlines()) <= 80


def test_exit_codes_are_in_the_help(commands):
    said = commands.run("--help").out
    assert "Exit codes: 0" in said
    assert "130" in said
    assert "--install-completion" in said


def test_debug_shows_the_traceback_anywhere_on_the_line(commands, tmp_path):
    ended = commands.run("inspect", tmp_path / "none.parquet", "--debug")
    assert ended.code == 1
    assert "Traceback" in ended.err


def test_completion_can_be_shown(commands):
    environment = {**os.environ, "_TYPER_COMPLETE_TEST_DISABLE_SHELL_DETECTION": "1"}
    ask = [sys.executable, "-c", "from viewpass.cli import main; main()", "--show-completion", "bash"]
    said = subprocess.run(ask, capture_output=True, text=True, env=environment, check=False)
    assert said.returncode == 0, said.stderr
    assert "complete" in said.stdout


STOPPING = """
import os, signal
from viewpass.runs import work
read = work.RowReader.chunks
def chunks(self, *given):
    for chunk in read(self, *given):
        yield chunk
        os.kill(os.getpid(), signal.SIGINT)
work.RowReader.chunks = chunks
"""  # Ctrl-C after the first chunk


def on_a_terminal(*argv, first=""):
    """The exit code of a command, and what it writes to a real (pseudo-)terminal."""
    code = f"{first}\nfrom viewpass.cli import main; main()"
    parent, child = pty.openpty()
    environment = {**os.environ, "TERM": "xterm-256color", "COLUMNS": "120"}
    given = [sys.executable, "-c", code, *map(str, argv)]
    process = subprocess.Popen(given, stdout=child, stderr=child, env=environment)
    os.close(child)
    said = b""
    while True:
        try:
            said += os.read(parent, 65536)
        except OSError:  # the process has ended
            break
    os.close(parent)
    return process.wait(), said.decode()


def test_a_terminal_keeps_the_command_to_resume(table, tmp_path):
    """What erases the bar comes before the command, and nothing after it."""
    code, said = on_a_terminal("fit", table, "-k", "5", "--out", tmp_path / "run", first=STOPPING)
    assert code == 130, said
    command = f"viewpass fit {table} -k 5 --out {tmp_path / 'run'} --resume"
    assert command in said
    after = said[said.index(command) :]
    n_below = after.count("\n") - 1  # lines that are written after it, and may be erased
    assert after.count("\x1b[1A") <= n_below, after


def test_a_terminal_sees_a_live_display(table, tmp_path):
    """The display is gone when the command ends."""
    code, said = on_a_terminal("fit", table, "-k", "5", "--out", tmp_path / "run")
    assert code == 0, said
    text = re.sub(r"\x1b\[[0-9;?]*[a-zA-Z]", "", said)
    assert "labelling" in text
    assert "rows/s" in text
    assert "clusters " in text
    assert "6,000 rows in 5 clusters" in text
