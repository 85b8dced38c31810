"""kill -9 at any moment, then --resume: the same files, byte for byte, as without."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
import time

import numpy as np
import pyarrow.parquet as pq
import pytest

from commands import Ended, contents, write_table

KILLED = -signal.SIGKILL
PARTS = (2500, 2050, 2250)  # rows of each file
CODES = {"SIGINT": 130, "SIGTERM": 143}
MERGE = ["--consensus", "merge", "--anchors", "30", "--scale", "unit"]
PLAIN = ["--anchors", "none", "--scale", "unit"]
GRAPH = ["--consensus", "graph", "--anchors", "40", "--scale", "auto"]
BIRTHS = ["--consensus", "graph", "--anchors", "40", "--adaptive-anchors", "yes"]
RUNS = {
    "one pass": ["--chunk-size", "300", "--checkpoint-every", "4", *MERGE],
    "three passes": ["--chunk-size", "400", "--checkpoint-every", "3", "--passes", "3", *GRAPH],
    "few checkpoints": ["--chunk-size", "300", "--checkpoint-every", "40", *PLAIN],
    "labels of the stream": ["--chunk-size", "300", "--checkpoint-every", "7", *MERGE, "--stream-labels"],
    "births": ["--chunk-size", "400", "--checkpoint-every", "4", "--passes", "2", *BIRTHS, "--stream-labels"],
    "births and a map": ["--chunk-size", "400", "--checkpoint-every", "3", *BIRTHS, "--projection", "3"],
    "chosen, with a sample": ["--chunk-size", "400", "--checkpoint-every", "3"],
}


@pytest.fixture(scope="module")
def table(tmp_path_factory):
    folder = tmp_path_factory.mktemp("table") / "parts"
    folder.mkdir()
    for part, n_rows in enumerate(PARTS):
        write_table(folder / f"{part}.parquet", n_rows, seed=part, start=10_000 * part)
    return folder


def fit(table, out, options, *more):
    return ["fit", table, "-k", "5", "--id", "item", "--out", out, "--no-report", *options, *more]


@pytest.fixture(scope="module", params=RUNS)
def case(request, commands, table, tmp_path_factory):
    """Options, the files of a run that nothing happened to, and how long it took."""
    out = tmp_path_factory.mktemp("plain") / "run"
    options = RUNS[request.param]
    began = time.perf_counter()
    ended = commands.run(*fit(table, out, options, "--threads", "1"))
    seconds = time.perf_counter() - began
    assert ended.code == 0, ended.err
    return options, contents(out), seconds


def kill_until_done(commands, table, out, case, rng, n_kills, number=signal.SIGKILL):
    """Send a signal until so many have ended the command, then let it end; gives how many did."""
    options, expected, seconds = case
    landed = 0
    while landed < n_kills:
        command = fit(table, out, options, "--resume")
        ended = commands.signalled(number, rng.uniform(0, seconds), *command)
        assert ended.code in (0, KILLED if number == signal.SIGKILL else 128 + number), ended
        if ended.code == 0:  # it was quicker: a new run
            assert contents(out) == expected
            out = out.with_name(out.name + "+")
            continue
        landed += 1
        if number != signal.SIGKILL:
            assert_stopped_cleanly(ended, out)
    ended = commands.run(*fit(table, out, options, "--resume"))
    assert ended.code == 0, ended.err
    assert contents(out) == expected
    assert {path.name for path in out.iterdir()} == {*expected, "run.json"}
    return landed


def assert_stopped_cleanly(ended, out):
    """A checkpoint and the command to go on, or no run at all; no trace and no temporary file."""
    assert "Traceback" not in ended.err
    if "everything is saved" in ended.out:
        assert (out / "staging" / "checkpoint.viewpass").exists()
        assert ended.out.endswith(" --resume\n")
    else:
        assert ended.err == "viewpass: stopped; no existing file was changed.\n"
    staged = {path.name for path in out.rglob("*")} - {"staging"}
    assert staged <= {"checkpoint.viewpass", "labels.0", "labels.1", "ids", "lock"}
    assert not staged or "checkpoint.viewpass" in staged


SIGNALS = [signal.SIGKILL, signal.SIGTERM, signal.SIGINT]


@pytest.mark.one_in(7)  # each signal once
@pytest.mark.parametrize("number", SIGNALS)
def test_kills_leave_no_trace(commands, table, case, tmp_path, number):
    rng = np.random.default_rng(5)
    assert kill_until_done(commands, table, tmp_path / "run", case, rng, 2, number) == 2


@pytest.mark.long
@pytest.mark.kill
@pytest.mark.parametrize("number", SIGNALS)
def test_many_kills_leave_no_trace(commands, table, case, tmp_path, number):
    rng = np.random.default_rng(6)
    n_landed = 0
    while n_landed < 100:  # of each of the three runs: 300 of each signal
        n_landed += kill_until_done(commands, table, tmp_path / str(n_landed), case, rng, 10, number)


# The command as a process of its own, which signals itself when it first looks for a module.
STRUCK = """
import os, sys
wanted, number, *sys.argv[1:] = sys.argv[1:]
class Strike:
    def find_spec(self, name, *_):
        global wanted
        if name == wanted:
            wanted = None
            os.kill(os.getpid(), int(number))
sys.meta_path.insert(0, Strike())
from viewpass.cli import main
main()
"""


@pytest.mark.every_value
@pytest.mark.parametrize("how", CODES)
@pytest.mark.parametrize("module", ["typer", "numpy", "pyarrow.parquet"])
def test_a_signal_amid_an_import_leaves_no_trace(table, tmp_path, how, module):
    command = [sys.executable, "-c", STRUCK, module, int(getattr(signal, how))]
    words = [*command, *fit(table, tmp_path / "run", [])]
    ended = subprocess.run(list(map(str, words)), capture_output=True, text=True, check=False)
    assert ended.returncode == CODES[how], ended
    assert (ended.stdout, ended.stderr) == ("", "viewpass: stopped; no existing file was changed.\n")
    assert list(tmp_path.iterdir()) == []


@pytest.mark.long
@pytest.mark.kill
@pytest.mark.parametrize("number", SIGNALS[1:])
def test_many_signals_to_whole_processes_leave_no_trace(table, case, tmp_path, number):
    """From the first line of `main` to the exit; what comes before and after belongs to Python."""
    options, expected, _ = case
    rng, code = np.random.default_rng(7), "from viewpass.cli import main; print(flush=True); main()"
    n_stopped, n_runs = 0, 0
    while n_stopped < 30:
        n_runs += 1
        out = tmp_path / str(n_runs)
        words = [sys.executable, "-c", code, *fit(table, out, options, "--threads", "1")]
        pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "text": True}
        with subprocess.Popen(list(map(str, words)), **pipes) as process:
            process.stdout.readline()
            time.sleep(rng.uniform(0.01, 3))
            process.send_signal(number)
            ended = Ended(process.wait(), process.stdout.read(), process.stderr.read())
        assert ended.code in (0, -number, 128 + number), ended
        if ended.code == 128 + number:
            n_stopped += 1
            assert_stopped_cleanly(ended, out)
        else:  # finished; Python itself may have ended by the signal after that
            assert ended.err == ""
            assert contents(out) == expected


@pytest.mark.one_in(2)
def test_threads_leave_no_trace(commands, table, case, tmp_path):
    options, expected, _ = case
    assert commands.run(*fit(table, tmp_path / "run", options, "--threads", "3")).code == 0
    assert contents(tmp_path / "run") == expected


@pytest.mark.every_value
@pytest.mark.parametrize("how", CODES)
@pytest.mark.parametrize("number", [1, 7, 15])
def test_a_stop_saves_everything_and_prints_how_to_resume(commands, table, case, tmp_path, how, number):
    options, expected, _ = case
    out = tmp_path / "run"
    fault = {"step": "chunk", "when": "before", "number": number, "how": how}
    ended = commands.run(*fit(table, out, options), fault=fault)
    assert ended.code == CODES[how], ended
    assert ended.err == ""
    assert "everything is saved" in ended.out
    assert f"--out {out}" in ended.out
    assert ended.out.endswith(" --resume\n")
    n_before = number * int(options[1])
    assert f"row {n_before:,} of pass 1;" in ended.out
    ended = commands.run(*fit(table, out, options, "--resume"))
    assert ended.code == 0, ended.err
    assert contents(out) == expected


@pytest.mark.one_in(7)  # each signal once
@pytest.mark.parametrize(("how", "number"), [("SIGINT", 15), ("SIGTERM", 1)])
def test_a_second_signal_stops_at_once_and_prints_how_to_resume(commands, table, case, tmp_path, how, number):
    options, expected, _ = case
    out = tmp_path / "run"
    fault = {"step": "chunk", "when": "before", "number": number, "how": how, "times": 2}
    ended = commands.run(*fit(table, out, options), fault=fault)
    assert ended.code == CODES[how], ended
    assert ended.err.count("\n") == 1, ended.err
    assert ended.err.startswith("viewpass: stopped. Go on with: viewpass fit ")
    assert ended.err.endswith(" --resume\n")
    assert not out.exists() or (out / "staging" / "checkpoint.viewpass").exists()
    ended = commands.run(*fit(table, out, options, "--resume"))
    assert ended.code == 0, ended.err
    assert contents(out) == expected


def test_at_most_the_chunks_since_the_last_checkpoint_are_read_again(commands, table, tmp_path):
    options = ["--chunk-size", "300", "--checkpoint-every", "4", "--stream-labels", *PLAIN]
    out = tmp_path / "run"
    fault = {"step": "append", "number": 2 * 12, "when": "before", "how": "SIGKILL"}  # after the warm-up
    assert commands.run(*fit(table, out, options), fault=fault).code == KILLED
    before = commands.run("inspect", out, "--json").out
    row = int(before.split('"row": ')[1].split(",")[0])
    n_rows = (out / "staging" / "labels.0").stat().st_size // 14
    assert 0 < row <= n_rows < row + 4 * 300


@pytest.mark.parametrize("which", ["final", "stream"])
def test_label_files_hold_and_name_the_labels(commands, table, tmp_path, which):
    import viewpass as vp

    out = tmp_path / "run"
    more = ["--stream-labels"] if which == "stream" else []
    assert commands.run(*fit(table, out, RUNS["three passes"], *more)).code == 0
    settings = {"chunk_size": 400, "n_passes": 3, "consensus": "graph", "n_anchors": 40, "random_state": 0}
    source = vp.scan(str(table), id="item")
    model = vp.OPIMC(5, **settings).fit(source)
    labels = pq.read_table(out / "labels.parquet")
    expected = model.labels_ if which == "final" else model.stream_labels_
    np.testing.assert_array_equal(labels["cluster"].to_numpy(), expected)
    assert labels.schema.metadata[b"viewpass.labels"] == which.encode()
    for described in (out, out / "labels.parquet"):
        assert json.loads(commands.run("inspect", described, "--json").out)["which_labels"] == which
        said = "under the final centres" if which == "final" else "as assigned when rows were read"
        assert said in commands.run("inspect", described).out
    np.testing.assert_array_equal(labels["item"].to_numpy(), model.row_ids_)
    again = vp.load(out / "model.viewpass")
    assert (again._learnt.model.links != model._learnt.model.links).nnz == 0
    np.testing.assert_array_equal(again.predict(source), model.labels_)
    np.testing.assert_equal(again.cluster_centers_, model.cluster_centers_)


def test_a_run_goes_on_with_the_labels_it_was_begun_with(commands, table, tmp_path):
    out, options = tmp_path / "run", OFTEN
    fault = {"step": "chunk", "when": "before", "number": 7, "how": "SIGTERM"}
    assert commands.run(*fit(table, out, options), fault=fault).code == 143
    ended = commands.run(*fit(table, out, options, "--resume", "--stream-labels"))
    assert ended.code == 1
    assert "begun with another choice of labels (--stream-labels)" in ended.err
    assert commands.run(*fit(table, out, options, "--resume")).code == 0


OFTEN = ["--chunk-size", "300", "--checkpoint-every", "4", *PLAIN]


@pytest.fixture(scope="module")
def undisturbed(commands, table, tmp_path_factory):
    out = tmp_path_factory.mktemp("undisturbed") / "run"
    assert commands.run(*fit(table, out, OFTEN)).code == 0
    return contents(out)


@pytest.mark.parametrize("how", ["SIGKILL", "SIGTERM", "SIGINT"])
def test_a_signal_while_final_labels_are_written(commands, table, undisturbed, tmp_path, how):
    n_chunks = -(-sum(PARTS) // 300)  # of the pass; then the rows are read to be labelled
    fault = {"step": "chunk", "when": "before", "number": n_chunks + 1, "how": how}
    out = tmp_path / "run"
    ended = commands.run(*fit(table, out, OFTEN), fault=fault)
    assert ended.code == {**CODES, "SIGKILL": KILLED}[how], ended
    assert not (out / "labels.parquet").exists()
    if how != "SIGKILL":
        assert "stopped after labelling row" in ended.out
    assert commands.run(*fit(table, out, OFTEN, "--resume")).code == 0
    assert contents(out) == undisturbed
