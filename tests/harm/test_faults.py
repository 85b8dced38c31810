"""A fault at each step of writing: the last good state stays, and resuming gives the same files."""

from __future__ import annotations

import os
import shutil
import signal

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import viewpass as vp
from commands import contents, write_table
from viewpass.store.container.files import Lock
from zipped import zipped

pytestmark = pytest.mark.system

OPTIONS = ["--sample", "500", "--consensus", "plain", "--scale", "unit"]
OPTIONS += ["--checkpoint-every", "2", "--threads", "1"]
BLOCK = 1000  # rows read at a time
# Steps of one run, in order: each kind, and which of its kind goes wrong.
STEPS = [
    *(("temporary", when, number) for when in ("before", "amid", "after") for number in (1, 4)),
    *(("sync", when, number) for when in ("before", "after") for number in (1, 2, 3, 10)),
    *(("rename", when, number) for when in ("before", "after") for number in (1, 4)),
    *(("sync_folder", when, number) for when in ("before", "after") for number in (1, 3)),
    *(("append", when, number) for when in ("before", "after") for number in (1, 9)),
]
STREAM = ["--stream-labels"]


@pytest.fixture(scope="module")
def table(tmp_path_factory):
    return write_table(tmp_path_factory.mktemp("table") / "items.parquet", 7000)


def fit(table, out, *more, report=False):
    shown = [] if report else ["--no-report"]
    return ["fit", table, "-k", "5", "--id", "item", "--out", out, *shown, *OPTIONS, *more]


def run(commands, *argv, **request):
    return commands.run(*argv, block=BLOCK, **request)


@pytest.fixture(scope="module")
def expected(commands, table, tmp_path_factory):
    out = tmp_path_factory.mktemp("plain") / "run"
    assert run(commands, *fit(table, out)).code == 0
    return contents(out)


@pytest.fixture(scope="module")
def streamed(commands, table, tmp_path_factory):
    """The files of a run whose rows are read once."""
    out = tmp_path_factory.mktemp("streamed") / "run"
    assert run(commands, *fit(table, out, *STREAM)).code == 0
    return contents(out)


def one_line(ended):
    assert ended.code == 1, ended
    assert ended.err.count("\n") == 1, ended.err
    assert ended.err.startswith("viewpass: ")
    return ended.err


FAULTS = [("SIGKILL", *step) for step in STEPS] + [("ENOSPC", *step) for step in STEPS if step[1] != "after"]


@pytest.mark.parametrize(("how", "kind", "when", "number", "more"), zipped(FAULTS, [[], STREAM]))
def test_a_fault_at_any_step(commands, table, expected, streamed, tmp_path, how, kind, when, number, more):
    more = STREAM if kind == "append" else more
    fault = {"step": kind, "when": when, "number": number, "how": how}
    out = tmp_path / "run"
    ended = run(commands, *fit(table, out, *more), fault=fault)
    if how == "SIGKILL":
        assert ended.code == -signal.SIGKILL, "the step was never reached"
    else:
        assert "No space left on device" in one_line(ended)
    ended = run(commands, *fit(table, out, *more, "--resume"))
    assert ended.code == 0, ended.err
    assert contents(out) == (streamed if more else expected)
    assert not (out / "staging").exists()


def test_a_file_is_on_the_disk_before_it_has_its_name(tmp_path, monkeypatch):
    """Commands of these tests do not wait for the disk (forks.py); a save in this process does."""
    model = vp.OPIMC(2, random_state=0).fit([np.eye(4)])
    calls = []

    def recorded(name, function):
        def call(*given):
            calls.append(name)
            return function(*given)

        return call

    for name in ("fsync", "replace"):
        monkeypatch.setattr(os, name, recorded(name, getattr(os, name)))
    model.save(tmp_path / "model")
    assert calls == ["fsync", "replace", "fsync"]


RESULTS = ["labels.parquet", "model.viewpass", "run.json"]  # in the order of writing
N_CHECKPOINTS = 1 + 3 * 4  # the names given before: at the beginning, and four in each of three readings


@pytest.mark.parametrize("number", range(len(RESULTS)), ids=RESULTS)
def test_a_fault_while_the_results_are_written(commands, table, expected, tmp_path, number):
    out = tmp_path / "run"
    for step in (N_CHECKPOINTS + 1 + number, 1 + number):
        fault = {"step": "rename", "when": "before", "number": step, "how": "SIGKILL"}
        more = ["--resume"] if out.exists() else []
        assert run(commands, *fit(table, out, *more), fault=fault).code == -signal.SIGKILL
        assert [name for name in RESULTS if (out / name).exists()] == RESULTS[:number]
    assert run(commands, *fit(table, out, "--resume")).code == 0
    assert contents(out) == expected


PAGE_STEPS = [
    *(("page", when, 1) for when in ("before", "amid", "after")),
    *(("rename", when, N_CHECKPOINTS + 4) for when in ("before", "after")),  # the last name to be given
]


@pytest.fixture(scope="module")
def shown(commands, table, tmp_path_factory):
    """The files of a run with its page."""
    out = tmp_path_factory.mktemp("shown") / "run"
    assert run(commands, *fit(table, out, report=True)).code == 0
    return {path.name: path.read_bytes() for path in out.iterdir() if path.name != "run.json"}


@pytest.mark.parametrize(("kind", "when", "number"), PAGE_STEPS)
def test_a_kill_while_the_page_is_written(commands, table, shown, tmp_path, kind, when, number):
    out = tmp_path / "run"
    fault = {"step": kind, "when": when, "number": number, "how": "SIGKILL"}
    assert run(commands, *fit(table, out, report=True), fault=fault).code == -signal.SIGKILL
    assert contents(out).items() <= shown.items()
    assert (out / "report.html").exists() == (when == "after" and kind == "rename")
    assert run(commands, *fit(table, out, "--resume", report=True)).code == 0
    assert {path.name for path in out.iterdir()} == {*shown, "run.json"}
    assert all((out / name).read_bytes() == content for name, content in shown.items())


def test_a_kill_while_the_page_is_made_again(commands, table, shown, tmp_path):
    out = tmp_path / "run"
    assert run(commands, *fit(table, out, report=True)).code == 0
    fault = {"step": "page", "when": "amid", "number": 1, "how": "SIGKILL"}
    assert commands.run("report", out, "--no-rows", fault=fault).code == -signal.SIGKILL
    assert (out / "report.html").read_bytes() == shown["report.html"]
    assert commands.run("report", out).code == 0
    assert (out / "report.html").read_bytes() == shown["report.html"]
    assert {path.name for path in out.iterdir()} == {*shown, "run.json"}


@pytest.mark.parametrize("largest", [1000, 20_000, 60_000, 97_000])
def test_a_full_disk(commands, table, expected, tmp_path, largest):
    """Writes really fail: the system lets no file grow beyond a size."""
    out = tmp_path / "run"
    message = one_line(run(commands, *fit(table, out), largest=largest))
    assert "could not be written" in message
    assert str(out) in message
    ended = run(commands, *fit(table, out, "--resume"))
    assert ended.code == 0, ended.err
    assert contents(out) == expected


def test_a_full_disk_leaves_an_old_model_as_it_was(commands, table, expected, tmp_path):
    model = tmp_path / "model.viewpass"
    model.write_bytes(expected["model.viewpass"])
    message = one_line(commands.run("update", model, table, largest=300))
    assert str(model) in message
    assert model.read_bytes() == expected["model.viewpass"]
    out = tmp_path / "labels.parquet"
    one_line(commands.run("predict", model, table, "--out", out, largest=3000))
    assert [path.name for path in tmp_path.iterdir()] == ["model.viewpass"]


def test_a_folder_that_cannot_be_written_to(commands, table, expected, tmp_path):
    place = tmp_path / "place"
    place.mkdir()
    (place / "model.viewpass").write_bytes(expected["model.viewpass"])
    for folder in (table.parent, place, *place.parents):
        if folder.stat().st_uid == os.getuid() and folder != folder.parent:
            folder.chmod(folder.stat().st_mode | 0o055)
    place.chmod(0o555)  # the command runs as nobody where these tests are run as root
    try:
        message = one_line(run(commands, *fit(table, place / "run"), nobody=str(table)))
        assert str(place / "run") in message
        message = one_line(commands.run("update", place / "model.viewpass", table, nobody=str(table)))
        assert "Permission denied" in message
    finally:
        place.chmod(0o755)
    assert [path.name for path in place.iterdir()] == ["model.viewpass"]


@pytest.fixture(scope="module")
def begun(commands, tmp_path_factory):
    """Three files, and a run over them that was killed after some rows were labelled."""
    folder = tmp_path_factory.mktemp("begun")
    (folder / "parts").mkdir()
    for part in range(3):
        write_table(folder / "parts" / f"{part}.parquet", 3000, seed=part, start=3000 * part)
    fault = {"step": "rename", "when": "after", "number": 4, "how": "SIGKILL"}
    command = fit(folder / "parts", folder / "run", "--stream-labels")
    assert run(commands, *command, fault=fault).code == -signal.SIGKILL
    return folder


@pytest.fixture
def parts(begun, tmp_path):
    return shutil.copytree(begun / "parts", tmp_path / "parts")


def stopped(begun, out):
    """A copy of the run that was killed: its checkpoint."""
    shutil.copytree(begun / "run", out)
    return (out / "staging" / "checkpoint.viewpass").read_bytes()


def refused(commands, parts, out, *more):
    """Resuming is refused in one line, and the state is as it was."""
    before = {path: path.read_bytes() for path in sorted((out / "staging").iterdir())}
    message = one_line(run(commands, *fit(parts, out, "--resume", "--stream-labels", *more)))
    assert {path: path.read_bytes() for path in sorted((out / "staging").iterdir())} == before
    return message


def test_a_file_that_vanished(commands, begun, parts, tmp_path):
    out = tmp_path / "run"
    stopped(begun, out)
    held = (parts / "2.parquet").read_bytes()
    (parts / "2.parquet").unlink()
    assert "was begun with another source" in refused(commands, parts, out)
    (parts / "2.parquet").write_bytes(held)
    assert run(commands, *fit(parts, out, "--resume", "--stream-labels")).code == 0


def test_a_file_that_was_written_again(commands, begun, parts, tmp_path):
    """Under the same name, with as many rows; the run goes on when the old content is back."""
    out = tmp_path / "run"
    stopped(begun, out)
    held = (parts / "0.parquet").read_bytes()
    write_table(parts / "0.parquet", 3000, seed=7)
    assert "was begun with another source" in refused(commands, parts, out)
    (parts / "0.parquet").write_bytes(held)
    assert run(commands, *fit(parts, out, "--resume", "--stream-labels")).code == 0


def test_a_truncated_file(commands, parts, tmp_path):
    out = tmp_path / "run"
    whole = (parts / "2.parquet").read_bytes()
    (parts / "2.parquet").write_bytes(whole[:-2000])
    assert "2.parquet" in one_line(run(commands, *fit(parts, out)))
    assert not out.exists()


def test_a_file_damaged_inside(commands, parts, tmp_path):
    """The footer is whole, so that it shows only on the way."""
    out = tmp_path / "run"
    whole = bytearray((parts / "2.parquet").read_bytes())
    whole[30_000:60_000] = bytes(30_000)
    (parts / "2.parquet").write_bytes(whole)
    assert "2.parquet" in one_line(run(commands, *fit(parts, out)))
    assert (out / "staging" / "checkpoint.viewpass").exists()
    assert not (out / "run.json").exists()


def rewritten(path, change):
    table = pq.read_table(path)
    pq.write_table(change(table), path)


CHANGES = {
    "another width": lambda table: table.set_column(
        2, "text", pa.array([[1.0, 2.0]] * len(table), pa.list_(pa.float32(), 2))
    ),
    "no such column": lambda table: table.drop(["text"]),
    "another type": lambda table: table.set_column(2, "text", pa.array(["a"] * len(table))),
}


@pytest.mark.parametrize("change", CHANGES)
def test_a_schema_that_changes_between_files(commands, parts, tmp_path, change):
    rewritten(parts / "1.parquet", CHANGES[change])
    message = one_line(run(commands, *fit(parts, tmp_path / "run")))
    assert "1.parquet" in message
    assert "text" in message


def test_a_bad_row_is_named(commands, parts, tmp_path):
    def half_nan(table):
        values = np.stack(table["image"].to_pandas().map(lambda x: np.ones(12) if x is None else x).to_list())
        values[1234, 3] = np.nan
        lists = pa.FixedSizeListArray.from_arrays(pa.array(values.astype(np.float32).ravel()), 12)
        return table.set_column(1, "image", lists.cast(table["image"].type))

    rewritten(parts / "1.parquet", half_nan)
    out = tmp_path / "run"
    message = one_line(run(commands, *fit(parts, out)))
    for word in ("1.parquet", "image", "1234", "item-4234", "NaN"):
        assert word in message
    assert (out / "staging" / "checkpoint.viewpass").exists()


# ---- mixed-up pairs


def test_another_source_names_both(commands, begun, parts, tmp_path):
    out = tmp_path / "run"
    stopped(begun, out)
    other = write_table(tmp_path / "other.parquet", 3000)
    message = refused(commands, other, out)
    assert "another source" in message
    assert "other.parquet" in message or "3000" in message


def test_other_settings_name_both(commands, begun, parts, tmp_path):
    out = tmp_path / "run"
    stopped(begun, out)
    message = refused(commands, parts, out, "--seed", "5")
    assert "--seed was 0, now it is 5" in message


def test_another_schema_names_both(commands, begun, parts, tmp_path):
    out = tmp_path / "run"
    stopped(begun, out)
    message = refused(commands, parts, out, "--views", "image=image")
    assert "another source: views" in message


def test_labels_of_another_run(commands, begun, parts, tmp_path):
    """As many of them as the checkpoint has counted."""
    out = tmp_path / "run"
    stopped(begun, out)
    path = out / "staging" / "labels"
    path.write_bytes(bytes(path.stat().st_size))
    message = refused(commands, parts, out)
    assert "does not belong to the checkpoint" in message
    assert message.count("SHA-256") == 2


def test_a_label_file_that_is_too_short(commands, begun, parts, tmp_path):
    out = tmp_path / "run"
    stopped(begun, out)
    for name in ("labels", "ids"):
        path = out / "staging" / name
        held = path.read_bytes()
        if held:
            path.write_bytes(held[:-1])
            assert f"{len(held) - 1} bytes where {len(held)} bytes" in refused(commands, parts, out)
            path.write_bytes(held)
    (out / "staging" / "ids").unlink()
    assert "ids" in refused(commands, parts, out)


def test_a_damaged_checkpoint_is_refused(commands, begun, parts, tmp_path):
    out = tmp_path / "run"
    held = stopped(begun, out)
    path = out / "staging" / "checkpoint.viewpass"
    rng = np.random.default_rng(0)
    for _ in range(10):
        content = bytearray(held)
        content[rng.integers(len(held))] ^= 1 << rng.integers(8)
        path.write_bytes(content)
        assert str(path) in refused(commands, parts, out)
    path.write_bytes(held[:8] + (9).to_bytes(4, "little") + held[12:])
    assert "version 9" in refused(commands, parts, out)


def test_a_model_is_no_checkpoint_and_a_checkpoint_no_model(commands, begun, parts, expected, tmp_path):
    out = tmp_path / "run"
    held = stopped(begun, out)
    (tmp_path / "model").write_bytes(held)
    with pytest.raises(vp.FileError, match="is a checkpoint, a model was expected"):
        vp.load(tmp_path / "model")
    (out / "staging" / "checkpoint.viewpass").write_bytes(expected["model.viewpass"])
    assert "is a model, a checkpoint was expected" in refused(commands, parts, out)


def test_two_processes_on_one_run(commands, begun, parts, tmp_path):
    out = tmp_path / "run"
    stopped(begun, out)
    lock = Lock(out / "staging" / "lock")
    assert lock.take()
    for more in ([], ["--resume"]):
        assert "another process is working on this run" in one_line(run(commands, *fit(parts, out, *more)))
    assert "another process" in refused(commands, parts, out)
    lock.release()
    assert run(commands, *fit(parts, out, "--resume", "--stream-labels")).code == 0


def test_a_lock_is_held_once_and_not_on_a_removed_file(tmp_path):
    mine, theirs = Lock(tmp_path / "lock"), Lock(tmp_path / "lock")
    assert mine.take()
    assert mine.take()
    assert not theirs.take()
    (tmp_path / "lock").unlink()
    assert theirs.take()
    theirs.release()
    mine.release()
    assert mine.take()
    mine.release()
