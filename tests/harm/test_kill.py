"""kill -9 at any moment, then --resume: the same files, byte for byte, as without."""

from __future__ import annotations

import signal
import time

import numpy as np
import pyarrow.parquet as pq
import pytest

from commands import contents, write_table

KILLED = -signal.SIGKILL
MERGE = ["--consensus", "merge", "--anchors", "30"]
GRAPH = ["--consensus", "graph", "--anchors", "40", "--scale", "auto"]
RUNS = {
    "one pass": ["--chunk-size", "300", "--checkpoint-every", "4", *MERGE],
    "three passes": ["--chunk-size", "700", "--checkpoint-every", "3", "--passes", "3", *GRAPH],
    "few checkpoints": ["--chunk-size", "300", "--checkpoint-every", "40", "--anchors", "none"],
}


@pytest.fixture(scope="module")
def table(tmp_path_factory):
    folder = tmp_path_factory.mktemp("table") / "parts"
    folder.mkdir()
    for part, n_rows in enumerate((9000, 7300, 8000)):
        write_table(folder / f"{part}.parquet", n_rows, seed=part, start=10_000 * part)
    return folder


def fit(table, out, options, *more):
    return ["fit", table, "-k", "5", "--id", "item", "--out", out, *options, *more]


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


def kill_until_done(commands, table, out, case, rng, n_kills):
    """Kill until so many have landed, then let it end; gives how many landed."""
    options, expected, seconds = case
    landed = 0
    while landed < n_kills:
        ended = commands.killed(rng.uniform(0, seconds), *fit(table, out, options, "--resume"))
        assert ended.code in (0, KILLED), ended.err
        if ended.code == 0:  # it was quicker: a new run
            assert contents(out) == expected
            out = out.with_name(out.name + "+")
        else:
            landed += 1
    ended = commands.run(*fit(table, out, options, "--resume"))
    assert ended.code == 0, ended.err
    assert contents(out) == expected
    assert sorted(path.name for path in out.iterdir()) == ["labels.parquet", "model.viewpass", "run.json"]
    return landed


def test_kills_leave_no_trace(commands, table, case, tmp_path):
    rng = np.random.default_rng(5)
    for number in range(3):
        assert kill_until_done(commands, table, tmp_path / str(number), case, rng, 2) == 2


@pytest.mark.long
@pytest.mark.kill
def test_many_kills_leave_no_trace(commands, table, case, tmp_path):
    rng = np.random.default_rng(6)
    n_landed = 0
    while n_landed < 170:  # of each of the three runs: more than 500
        n_landed += kill_until_done(commands, table, tmp_path / str(n_landed), case, rng, 5)


def test_threads_leave_no_trace(commands, table, case, tmp_path):
    options, expected, _ = case
    assert commands.run(*fit(table, tmp_path / "run", options, "--threads", "3")).code == 0
    assert contents(tmp_path / "run") == expected


@pytest.mark.parametrize("how", ["SIGINT", "SIGTERM"])
@pytest.mark.parametrize("number", [1, 7, 30])
def test_a_stop_saves_everything_and_prints_how_to_resume(commands, table, case, tmp_path, how, number):
    options, expected, _ = case
    out = tmp_path / "run"
    fault = {"step": "chunk", "when": "before", "number": number, "how": how}
    ended = commands.run(*fit(table, out, options), fault=fault)
    assert ended.code == 130, ended
    assert "everything is saved" in ended.out
    assert f"--out {out}" in ended.out
    assert ended.out.endswith(" --resume\n")
    n_before = number * int(options[1])
    assert f"row {n_before:,} of pass 1;" in ended.out
    ended = commands.run(*fit(table, out, options, "--resume"))
    assert ended.code == 0, ended.err
    assert contents(out) == expected


def test_at_most_the_chunks_since_the_last_checkpoint_are_read_again(commands, table, tmp_path):
    options = ["--chunk-size", "300", "--checkpoint-every", "4"]
    out = tmp_path / "run"
    fault = {"step": "append", "number": 2 * 40, "when": "before", "how": "SIGKILL"}  # in the middle
    assert commands.run(*fit(table, out, options), fault=fault).code == KILLED
    before = commands.run("inspect", out, "--json").out
    row = int(before.split('"row": ')[1].split(",")[0])
    n_rows = (out / "staging" / "labels.0").stat().st_size // 14
    assert 0 < row <= n_rows < row + 4 * 300


def test_label_files_hold_the_labels_of_the_stream(commands, table, tmp_path):
    import viewpass as vp

    out = tmp_path / "run"
    assert commands.run(*fit(table, out, RUNS["three passes"])).code == 0
    settings = {"chunk_size": 700, "n_passes": 3, "consensus": "graph", "n_anchors": 40, "random_state": 0}
    source = vp.scan(str(table), id="item")
    model = vp.OPIMC(5, **settings).fit(source)
    labels = pq.read_table(out / "labels.parquet")
    np.testing.assert_array_equal(labels["cluster"].to_numpy(), model.stream_labels_)
    np.testing.assert_array_equal(labels["id"].to_numpy(), model.row_ids_)
    again = vp.load(out / "model.viewpass")
    np.testing.assert_array_equal(again._learnt.model.links, model._learnt.model.links)
    np.testing.assert_array_equal(again.predict(source), model.labels_)
    np.testing.assert_equal(again.cluster_centers_, model.cluster_centers_)
