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

import viewpass as vp
from commands import Ended, contents, refused, write_table
from viewpass.runs.folder import RunFolder, read_checkpoint
from zipped import zipped

pytestmark = pytest.mark.system

KILLED = -signal.SIGKILL
PARTS = (2500, 2050, 2250)  # rows of each file
BLOCK = 300  # rows read at a time
CODES = {"SIGINT": 130, "SIGTERM": 143}
PLAIN = ["--sample", "500", "--consensus", "plain", "--scale", "unit"]
GRAPH = ["--sample", "500", "--consensus", "graph"]
RUNS = {
    "plain": [*PLAIN, "--checkpoint-every", "4"],
    "graph": [*GRAPH, "--checkpoint-every", "3"],
    "few checkpoints": [*PLAIN, "--checkpoint-every", "40"],
    "a map": [*GRAPH, "--checkpoint-every", "1", "-k", "3"],
    "chosen, all rows in the sample": ["--checkpoint-every", "3"],
    "a window": [*PLAIN, "--checkpoint-every", "3", "--window", "1600"],
    "labels of the stream": [*PLAIN, "--checkpoint-every", "7", "--stream-labels"],
    "labels of the stream, graph": [*GRAPH, "--checkpoint-every", "1", "--stream-labels"],
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
    ended = commands.run(*fit(table, out, options, "--threads", "1"), block=BLOCK)
    seconds = time.perf_counter() - began
    assert ended.code == 0, ended.err
    return options, contents(out), seconds


def kill_until_done(commands, table, out, case, rng, n_kills, number=signal.SIGKILL):
    """Send a signal until so many have ended the command, then let it end; gives how many did."""
    options, expected, seconds = case
    landed = 0
    while landed < n_kills:
        command = fit(table, out, options, "--resume")
        ended = commands.signalled(number, rng.uniform(0, seconds), *command, block=BLOCK)
        assert ended.code in (0, KILLED if number == signal.SIGKILL else 128 + number), ended
        if ended.code == 0:  # it was quicker: a new run
            assert contents(out) == expected
            out = out.with_name(out.name + "+")
            continue
        landed += 1
        if number != signal.SIGKILL:
            assert_stopped_cleanly(ended, out)
    ended = commands.run(*fit(table, out, options, "--resume"), block=BLOCK)
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
    assert staged <= {"checkpoint.viewpass", "labels", "ids", "lock"}
    assert not staged or "checkpoint.viewpass" in staged


SIGNALS = [signal.SIGKILL, signal.SIGTERM, signal.SIGINT]


@pytest.mark.parametrize(
    ("case", "number"), zipped(["plain", "graph", "labels of the stream"], SIGNALS), indirect=["case"]
)
def test_kills_leave_no_trace(commands, table, case, tmp_path, number):
    rng = np.random.default_rng(5)
    assert kill_until_done(commands, table, tmp_path / "run", case, rng, 2, number) == 2


@pytest.mark.long
@pytest.mark.kill
@pytest.mark.parametrize("number", SIGNALS)
def test_many_kills_leave_no_trace(commands, table, case, tmp_path, number):
    rng = np.random.default_rng(6)
    n_landed = 0
    while n_landed < 40:  # of each run: 320 of each signal
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


@pytest.mark.parametrize(("how", "module"), zipped(CODES, ["typer", "numpy", "pyarrow.parquet"]))
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


@pytest.mark.parametrize("case", ["plain", "graph", "a map"], indirect=True)
def test_threads_leave_no_trace(commands, table, case, tmp_path):
    """Nor do the rows that are read at a time: here all at once."""
    options, expected, _ = case
    assert commands.run(*fit(table, tmp_path / "run", options, "--threads", "3")).code == 0
    assert contents(tmp_path / "run") == expected


@pytest.mark.parametrize(("case", "how", "number"), zipped(RUNS, CODES, [1, 7, 15]), indirect=["case"])
def test_a_stop_saves_everything_and_prints_how_to_resume(commands, table, case, tmp_path, how, number):
    options, expected, _ = case
    out = tmp_path / "run"
    fault = {"step": "chunk", "when": "before", "number": number, "how": how}
    ended = commands.run(*fit(table, out, options), fault=fault, block=BLOCK)
    assert ended.code == CODES[how], ended
    assert ended.err == ""
    assert f"--out {out}" in ended.out
    assert ended.out.endswith(" --resume\n")
    what = "reading" if {"--stream-labels", "--window"} & {*options} else "sampling"
    assert f"stopped after {what} row {number * BLOCK:,}; everything is saved." in ended.out
    ended = commands.run(*fit(table, out, options, "--resume"), block=BLOCK)
    assert ended.code == 0, ended.err
    assert contents(out) == expected


@pytest.mark.parametrize(
    ("case", "how", "number"), [("plain", "SIGINT", 15), ("graph", "SIGTERM", 1)], indirect=["case"]
)
def test_a_second_signal_stops_at_once_and_prints_how_to_resume(commands, table, case, tmp_path, how, number):
    options, expected, _ = case
    out = tmp_path / "run"
    fault = {"step": "chunk", "when": "before", "number": number, "how": how, "times": 2}
    ended = commands.run(*fit(table, out, options), fault=fault, block=BLOCK)
    assert ended.code == CODES[how], ended
    assert ended.err.count("\n") == 1, ended.err
    assert ended.err.startswith("viewpass: stopped. Go on with: viewpass fit ")
    assert ended.err.endswith(" --resume\n")
    assert not out.exists() or (out / "staging" / "checkpoint.viewpass").exists()
    ended = commands.run(*fit(table, out, options, "--resume"), block=BLOCK)
    assert ended.code == 0, ended.err
    assert contents(out) == expected


N_CHUNKS = -(-sum(PARTS) // BLOCK)  # of each reading


@pytest.mark.parametrize("number", [N_CHUNKS + 10, 2 * N_CHUNKS + 10], ids=["tally", "next tally"])
@pytest.mark.parametrize("how", ["SIGKILL", "SIGTERM"])
def test_a_signal_amid_a_tally(commands, table, graph, tmp_path, how, number):
    """The tally goes on from the last checkpoint: all that was read before is not read again."""
    out, options = tmp_path / "run", RUNS["graph"]
    fault = {"step": "chunk", "when": "before", "number": number, "how": how}
    ended = commands.run(*fit(table, out, options), fault=fault, block=BLOCK)
    assert ended.code == {**CODES, "SIGKILL": KILLED}[how], ended
    at = read_checkpoint(RunFolder(out)).part("work").part("fitting")
    assert at.number("stage") == number // N_CHUNKS
    assert 10 - 3 <= at.number("row") // BLOCK <= 10
    assert commands.run(*fit(table, out, options, "--resume"), block=BLOCK).code == 0
    assert contents(out) == graph


@pytest.fixture(scope="module")
def graph(commands, table, tmp_path_factory):
    out = tmp_path_factory.mktemp("undisturbed") / "run"
    assert commands.run(*fit(table, out, RUNS["graph"])).code == 0
    return contents(out)


def test_at_most_the_chunks_since_the_last_checkpoint_are_read_again(commands, table, tmp_path):
    options = [*PLAIN, "--checkpoint-every", "4", "--stream-labels"]
    out = tmp_path / "run"
    fault = {"step": "chunk", "number": 15, "when": "before", "how": "SIGKILL"}
    assert commands.run(*fit(table, out, options), fault=fault, block=BLOCK).code == KILLED
    work = read_checkpoint(RunFolder(out)).part("work")
    row, size = work.part("learning").number("n_rows"), work.part("labels").number("size")
    n_rows = (out / "staging" / "labels").stat().st_size * row // size
    assert 0 < row <= n_rows < row + 4 * BLOCK


@pytest.mark.parametrize("more", [[], ["--stream-labels"]], ids=["final", "stream"])
def test_a_run_killed_before_its_first_checkpoint_is_known(commands, table, tmp_path, more):
    """It begins anew, and says so; with other settings it is refused."""
    out, options = tmp_path / "run", [*PLAIN, "--checkpoint-every", "100", *more]
    fault = {"step": "chunk", "number": 2, "when": "before", "how": "SIGKILL"}
    assert commands.run(*fit(table, out, options), fault=fault, block=BLOCK).code == KILLED
    other = commands.run(*fit(table, out, options, "--resume", "--seed", "5"))
    refused(other, "was begun with another setting: --seed was 0, now it is 5")
    ended = commands.run(*fit(table, out, options, "--resume"), block=BLOCK)
    assert ended.code == 0, ended.err
    assert f"going on with {out}, from the first row: it has no checkpoint yet" in ended.out
    assert commands.run(*fit(table, tmp_path / "whole", options)).code == 0
    assert contents(out) == contents(tmp_path / "whole")


def test_stream_labels_get_the_numbers_of_later_solves_after_a_resume(commands, table, tmp_path):
    """Here clusters are found anew at each solve, and some of those before are gone."""
    options = ["--sample", "100", "--consensus", "plain", "--scale", "unit", "--stream-labels"]
    options += ["-k", "9", "--checkpoint-every", "1"]
    assert commands.run(*fit(table, tmp_path / "whole", options), block=BLOCK).code == 0
    out = tmp_path / "run"
    for number in (5, 8, 2):
        fault = {"step": "chunk", "number": number, "when": "before", "how": "SIGKILL"}
        command = fit(table, out, options, "--resume")
        assert commands.run(*command, fault=fault, block=BLOCK).code == KILLED
    arrays = read_checkpoint(RunFolder(out)).arrays
    numbers = arrays["segment_numbers"].reshape(len(arrays["segment_starts"]), 9)
    assert (numbers != np.arange(9)).any(), "no cluster has another number now"
    assert commands.run(*fit(table, out, options, "--resume"), block=BLOCK).code == 0
    assert contents(out) == contents(tmp_path / "whole")


@pytest.mark.parametrize("which", ["final", "stream"])
def test_label_files_hold_and_name_the_labels(commands, table, tmp_path, which):
    out = tmp_path / "run"
    more = ["--stream-labels"] if which == "stream" else []
    assert commands.run(*fit(table, out, RUNS["graph"], *more)).code == 0
    settings = {"sample_size": 500, "consensus": "graph", "random_state": 0}
    source = vp.scan(str(table), id="item")
    model = vp.ViewPass(5, **settings, compute_labels=which == "final").fit(source)
    labels = pq.read_table(out / "labels.parquet")
    expected = model.labels_ if which == "final" else model.stream_labels_
    np.testing.assert_array_equal(labels["cluster"].to_numpy(), expected)
    assert labels.schema.metadata[b"viewpass.labels"] == which.encode()
    for described, key in ((out, "labels"), (out / "labels.parquet", "which_labels")):
        assert json.loads(commands.run("inspect", described, "--json").out)[key] == which
    np.testing.assert_array_equal(labels["item"].to_numpy(), pq.read_table(table)["item"].to_numpy())
    again = vp.load(out / "model.viewpass")
    np.testing.assert_array_equal(again.predict(source), model.predict(source))
    np.testing.assert_equal(again.cluster_centers_, model.cluster_centers_)


def test_a_run_goes_on_with_the_labels_it_was_begun_with(commands, table, tmp_path):
    out, options = tmp_path / "run", RUNS["plain"]
    fault = {"step": "chunk", "when": "before", "number": 7, "how": "SIGTERM"}
    assert commands.run(*fit(table, out, options), fault=fault, block=BLOCK).code == 143
    ended = commands.run(*fit(table, out, options, "--resume", "--stream-labels"))
    assert ended.code == 1
    assert "begun with another choice of labels (--stream-labels)" in ended.err
    assert commands.run(*fit(table, out, options, "--resume")).code == 0


@pytest.mark.parametrize("how", ["SIGKILL", "SIGTERM", "SIGINT"])
def test_a_signal_while_final_labels_are_written(commands, table, graph, tmp_path, how):
    fault = {"step": "chunk", "when": "before", "number": 3 * N_CHUNKS + 2, "how": how}
    out = tmp_path / "run"
    ended = commands.run(*fit(table, out, RUNS["graph"]), fault=fault, block=BLOCK)
    assert ended.code == {**CODES, "SIGKILL": KILLED}[how], ended
    assert not (out / "labels.parquet").exists()
    if how != "SIGKILL":
        assert f"stopped after labelling row {2 * BLOCK:,}; everything is saved." in ended.out
    assert commands.run(*fit(table, out, RUNS["graph"], "--resume")).code == 0
    assert contents(out) == graph
