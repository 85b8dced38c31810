"""Workers killed at any moment, the driver killed and resumed: the same bits, and nothing left behind."""

from __future__ import annotations

import contextlib
import json
import os
import re
import signal
import subprocess
import sys
import tempfile
import threading
import time
from contextlib import contextmanager
from pathlib import Path

import numpy as np
import psutil
import pytest
from distributed.chaos import KillWorker

import viewpass as vp
from clusters import Killer, assert_same, made_rows, two_workers, write_files
from viewpass.engine.dask.scratch import temporary_folder

SETTINGS = {"random_state": 0, "n_passes": 2, "max_iter": 3, "warmup": 0, "compute_labels": False}
WIDTH, SIZE = 3, 200


@pytest.fixture(scope="module")
def files(tmp_path_factory):
    return write_files(tmp_path_factory.mktemp("table") / "parts", made_rows(3000), (700, 1650))


@pytest.fixture(scope="module")
def expected(files):
    return vp.OPIMC(4, chunk_size=WIDTH * SIZE, **SETTINGS).fit(files)


@pytest.fixture(scope="module")
def clusters():
    with contextlib.ExitStack() as started:
        yield {"started": started}


@pytest.fixture
def client(clusters):
    """Two workers, in a new cluster if a killed one was not replaced: a busy nanny may give up."""
    client = clusters.get("client")
    try:
        if client is not None:
            client.wait_for_workers(2, timeout=30)
    except TimeoutError:
        clusters["started"].close()
        client = None
    if client is None:
        client = clusters["client"] = clusters["started"].enter_context(two_workers())
    return client


def fitted(client, files, **more):
    model = vp.OPIMC(4, chunk_size=WIDTH * SIZE, **SETTINGS)
    return vp.dask.fit(model, files, client=client, n_workers=WIDTH, **more)


def kill_workers(client, files, expected, n_kills, seed, spared=None):
    """Fit again and again until so many workers have been killed, each time to the same bits."""
    with Killer(client.cluster, n_kills, 1.5, seed, spared) as killer:
        while killer.left:
            assert_same(fitted(client, files), expected)
    assert killer.n_killed == n_kills
    assert_same(fitted(client, files), expected)


def test_killed_workers_leave_no_trace(client, files, expected):
    kill_workers(client, files, expected, 2, seed=1)


@pytest.mark.long
def test_while_one_survives(client, files, expected):
    spared = next(iter(client.cluster.workers))
    kill_workers(client, files, expected, 3, seed=2, spared=spared)


@pytest.mark.long
def test_workers_that_crash_soon_after_their_start(client, files, expected):
    """Every worker dies some seconds after it came, until two have been replaced."""
    nannies = client.cluster.workers
    seen = {nanny.pid for nanny in nannies.values()}
    n_before = len(seen)
    client.register_plugin(KillWorker(delay="5 s", mode="segfault"), name="chaos")

    def end_it():  # beside the fit: on a busy machine none may end while workers live for seconds only
        while len(seen) < n_before + 2:
            seen.update({nanny.pid for nanny in list(nannies.values())} - {None})
            time.sleep(0.1)
        client.unregister_worker_plugin("chaos")

    ending = threading.Thread(target=end_it, daemon=True)
    ending.start()
    while ending.is_alive():
        assert_same(fitted(client, files), expected)
    ending.join()
    assert_same(fitted(client, files), expected)


@pytest.mark.long
@pytest.mark.kill
@pytest.mark.parametrize("seed", range(4))
def test_many_killed_workers_leave_no_trace(client, files, expected, seed):
    kill_workers(client, files, expected, 50, seed)


def test_a_task_that_always_fails_names_the_file_and_rows(client, files, tmp_path):
    source = write_files(tmp_path / "broken", made_rows(900), (500,))
    path = tmp_path / "broken" / "1.parquet"
    content = bytearray(path.read_bytes())
    content[len(content) // 4 : len(content) // 2] = bytes(len(content) // 2 - len(content) // 4)
    path.write_bytes(content)
    with pytest.raises(vp.DataError, match=r"1\.parquet, from row \d+ on: it cannot be read"):
        fitted(client, source)


def test_rows_that_kill_every_worker_are_named(client, files, monkeypatch):
    """No more chances than the scheduler gives (here two), and rows that no worker survives."""
    from viewpass.engine.dask import rows
    from viewpass.engine.dask import worker_pool as pool

    monkeypatch.setattr(pool, "RETRIES", 0)
    monkeypatch.setattr(client.cluster.scheduler, "allowed_failures", 1)
    monkeypatch.setattr(rows.tasks, "open_block", fatal)
    named = r"rows 800 to 999 \(.*1\.parquet, rows 100 to 299\).*: every worker"
    with pytest.raises(vp.EngineError, match=named):
        fitted(client, files)


def fatal(source, start, size, n_threads):
    if start == 800:
        os._exit(3)
    from viewpass.engine.dask.tasks import open_block

    return open_block(source, start, size, n_threads)


def everything(folder):
    """All files but the times in the report."""
    found = {}
    for path in sorted(Path(folder).rglob("*")):
        if path.is_file() and path.name != "run.json":
            found[str(path.relative_to(folder))] = path.read_bytes()
    return found


DRIVER = """
import sys
from viewpass.cli import main
if __name__ == "__main__":
    sys.argv = ["viewpass", *sys.argv[1:]]
    main()
"""


def process(*words, apart=False, **environment):
    environment = {
        **os.environ,
        "OPENBLAS_NUM_THREADS": "1",
        "PYTHONPATH": os.pathsep.join(sys.path),
        **environment,
    }
    pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "text": True}
    return subprocess.Popen(
        [sys.executable, *map(str, words)], env=environment, start_new_session=apart, **pipes
    )


def driver(script, files, out, scheduler, *more, **environment):
    script.write_text(DRIVER)
    table = Path(files._reader._files[0].path).parent
    options = ["-k", "4", "--id", "item", "--passes", "2", "--max-iter", "3", "--init", "random"]
    dask = ["--engine", "dask", "--workers", WIDTH, "--chunk-size", WIDTH * SIZE]
    dask += [] if scheduler is None else ["--scheduler", scheduler]
    words = [script, "fit", table, "--out", out, *options, *dask, *more, "--checkpoint-every", 2]
    return process(*words, **environment)


def begun(running, run):
    """Wait until a run has a checkpoint."""
    while not (run / "staging" / "checkpoint.viewpass").exists():
        assert running.poll() is None, running.communicate()
        time.sleep(0.002)


@contextmanager
def worker_of(address, folder, *more):
    """A worker in a process of its own, without a nanny."""
    options = ["--host", "127.0.0.1", "--nthreads", "1", "--no-dashboard", "--no-nanny", "--name", "other"]
    words = ["-m", "distributed.cli.dask_worker", address, *options, "--local-directory", folder, *more]
    with process(*words) as running:
        try:
            yield running
        finally:
            running.kill()
            running.communicate()


def test_a_worker_of_another_version_is_refused_by_name(client, files, expected, tmp_path):
    older = tmp_path / "older.py"
    older.write_text("import viewpass.version\nviewpass.version.__version__ = '0.0.7'\n")
    before = set(client.nthreads())
    with worker_of(client.scheduler.address, tmp_path, "--preload", older):
        while not set(client.nthreads()) - before:
            time.sleep(0.05)
        (worker,) = set(client.nthreads()) - before
        named = f"worker {re.escape(worker)} has viewpass 0.0.7; this process has {re.escape(vp.__version__)}"
        with pytest.raises(vp.EngineError, match=named):
            fitted(client, files)
    while worker in client.nthreads():
        time.sleep(0.05)
    assert_same(fitted(client, files), expected)


@pytest.mark.long
def test_a_lost_scheduler_ends_the_run_with_one_error(files, tmp_path):
    """Its last checkpoint stays, from which a new scheduler goes on."""
    words = ["-m", "distributed.cli.dask_scheduler", "--host", "127.0.0.1", "--port", "0", "--no-dashboard"]
    run = tmp_path / "run"
    with process(*words, "--scheduler-file", tmp_path / "scheduler.json") as scheduler:
        try:
            while not (tmp_path / "scheduler.json").exists():
                assert scheduler.poll() is None, scheduler.communicate()
                time.sleep(0.05)
            address = json.loads((tmp_path / "scheduler.json").read_text())["address"]
            with worker_of(address, tmp_path):
                running = driver(tmp_path / "go.py", files, run, address)
                begun(running, run)
                scheduler.kill()
                _, err = running.communicate(timeout=300)
        finally:
            scheduler.kill()
            scheduler.communicate()
    assert running.returncode == 1
    assert err.startswith(f"viewpass: the scheduler at {address} no longer answers")
    assert err.count("\n") == 1, err
    assert (run / "staging" / "checkpoint.viewpass").exists()


def test_folders_of_killed_processes_are_removed_by_the_next(tmp_path, monkeypatch):
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    with temporary_folder() as mine:
        pid = os.fork()
        if pid == 0:
            with temporary_folder() as theirs:
                Path(theirs, "spilled").write_text("rows")
                os.kill(os.getpid(), signal.SIGKILL)
        os.waitpid(pid, 0)
        assert len(list(tmp_path.iterdir())) == 2
        with temporary_folder() as another:
            assert {str(path) for path in tmp_path.iterdir()} == {mine, another}
    assert not list(tmp_path.iterdir())


@pytest.mark.long
@pytest.mark.parametrize(("number", "code"), [(signal.SIGINT, 130), (signal.SIGTERM, 143)])
def test_a_signal_to_the_driver_and_its_workers_stops_as_any_other(files, tmp_path, number, code):
    """As a terminal sends Ctrl-C, and as many systems end a service: to all processes at once."""
    home, run = tmp_path / "tmp", tmp_path / "run"
    home.mkdir()
    running = driver(tmp_path / "go.py", files, run, None, apart=True, TMPDIR=str(home))
    begun(running, run)
    os.killpg(running.pid, number)
    out, err = running.communicate()
    assert (running.returncode, err) == (code, "")
    assert "everything is saved. Go on with:" in out
    assert not list(home.iterdir())


@pytest.mark.long
def test_a_killed_driver_leaves_nothing_past_its_next_start(files, tmp_path):
    home, run = tmp_path / "tmp", tmp_path / "run"
    home.mkdir()
    killed = driver(tmp_path / "go.py", files, run, None, TMPDIR=str(home))
    begun(killed, run)
    workers = psutil.Process(killed.pid).children(recursive=True)
    killed.kill()
    killed.communicate()
    assert not psutil.wait_procs(workers, timeout=300)[1], "processes live on"
    assert list(home.glob("viewpass-dask-*"))
    ended = driver(tmp_path / "go.py", files, run, None, "--resume", TMPDIR=str(home))
    _, err = ended.communicate()
    assert (ended.returncode, err) == (0, "")
    assert not list(home.iterdir())


@pytest.mark.long
def test_the_driver_killed_and_resumed(client, files, tmp_path):
    address = client.scheduler.address
    model = vp.OPIMC(4, chunk_size=WIDTH * SIZE, init="random", n_passes=2, max_iter=3, random_state=0)
    vp.dask.fit(model, files, client=client, n_workers=WIDTH, out=tmp_path / "plain")
    run = tmp_path / "run"
    seen = set()
    for _ in range(2):
        killed = driver(tmp_path / "go.py", files, run, address, "--resume")
        checkpoint = run / "staging" / "checkpoint.viewpass"
        while killed.poll() is None:
            now = checkpoint.stat().st_mtime_ns if checkpoint.exists() else None
            if now is not None and now not in seen:  # a new checkpoint: some work is saved, some is not
                seen.add(now)
                killed.send_signal(signal.SIGKILL)
            time.sleep(0.002)
        killed.communicate()
    ended = driver(tmp_path / "go.py", files, run, address, "--resume")
    out, err = ended.communicate()
    assert ended.returncode == 0, err
    assert "Dask dashboard: http://127.0.0.1:" in out
    assert everything(run) == everything(tmp_path / "plain")


def children(process):
    """Processes below one, but for the one that Python keeps to watch over shared memory."""
    found = set()
    for child in process.children(recursive=True):
        with contextlib.suppress(psutil.NoSuchProcess):
            if child.status() != "zombie" and "resource_tracker" not in " ".join(child.cmdline()):
                found.add(child.pid)
    return found


@pytest.mark.long
def test_nothing_is_left_behind(files, expected):
    """Neither processes, nor ports, nor files."""
    me = psutil.Process()
    before = children(me)
    temporary = set(os.listdir(tempfile.gettempdir()))
    ports = {one.laddr for one in me.net_connections() if one.status == psutil.CONN_LISTEN}
    assert_same(fitted(None, files), expected)
    for _ in range(1000):
        if children(me) <= before:
            break
        time.sleep(0.1)
    assert children(me) <= before
    left = {one.laddr for one in me.net_connections() if one.status == psutil.CONN_LISTEN}
    assert left <= ports
    assert not [name for name in set(os.listdir(tempfile.gettempdir())) - temporary if "dask" in name]
    assert all(address.ip == "127.0.0.1" for address in left)


def test_labels_of_lost_workers_are_whole(client, files, expected, tmp_path):
    import pyarrow.parquet as pq

    runs = 0
    with Killer(client.cluster, 1, 1.0, seed=4) as killer:
        while runs == 0 or killer.n_killed == 0:
            fitted(client, files, out=tmp_path / str(runs))
            runs += 1
    for labels in tmp_path.glob("*/labels"):
        rows = pq.read_table(labels).sort_by("row")
        np.testing.assert_array_equal(rows["cluster"].to_numpy(), expected.predict(files))
        assert not list(labels.glob("*.new"))
