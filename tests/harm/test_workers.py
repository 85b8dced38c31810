"""Workers killed at any moment: the same bits, clear errors, and nothing left behind."""

from __future__ import annotations

import contextlib
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

import psutil
import pytest
from distributed.chaos import KillWorker

import viewpass as vp
from clusters import Killer, assert_same, made_rows, two_workers, write_files
from everywhere import Deadly
from viewpass.engines import parts
from viewpass.engines.scratch import temporary_folder

pytestmark = pytest.mark.system

SETTINGS = {"random_state": 0, "sample_size": 1000}
BLOCK = 1000  # rows of a partition


@pytest.fixture(scope="module")
def files(tmp_path_factory):
    return write_files(tmp_path_factory.mktemp("table") / "parts", made_rows(12_000), (2800, 6600))


@pytest.fixture(scope="module")
def expected(files):
    return vp.ViewPass(4, **SETTINGS).fit(files)


@pytest.fixture(autouse=True)
def _small_parts(monkeypatch):
    monkeypatch.setattr(parts, "BLOCK", BLOCK)
    monkeypatch.setattr(parts, "PARTS_PER_WORKER", 6)


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
    return vp.dask.fit(vp.ViewPass(4, **SETTINGS), files, client=client, **more)


def kill_workers(client, files, expected, n_kills, seed, spared=None):
    """Fit again and again until so many workers have been killed, each time to the same bits."""
    with Killer(client.cluster, n_kills, 1.5, seed, spared) as killer:
        while killer.left:
            assert_same(fitted(client, files), expected)
    assert killer.n_killed == n_kills
    assert_same(fitted(client, files), expected)


@pytest.mark.parametrize("task", ["candidates", "tally", "label"])
def test_a_worker_killed_in_any_stage_leaves_no_trace(client, files, expected, monkeypatch, tmp_path, task):
    """It kills itself in the middle of a partition, the first time that it is given one."""
    from viewpass.engines import partitions

    monkeypatch.setattr(partitions, task, Deadly(task, tmp_path / "was killed"))
    assert_same(fitted(client, files), expected)
    assert (tmp_path / "was killed").exists()


def test_killed_workers_leave_no_trace(client, files, expected):
    kill_workers(client, files, expected, 2, seed=1)


def test_killed_workers_lose_no_rows_that_were_sent(client):
    views = made_rows(6000)
    expected = vp.ViewPass(4, **SETTINGS).fit(views)
    kill_workers(client, views, expected, 1, seed=5)


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


def test_a_task_that_always_fails_names_the_file_and_rows(client, tmp_path):
    source = write_files(tmp_path / "broken", made_rows(900), (500,))
    path = tmp_path / "broken" / "1.parquet"
    content = bytearray(path.read_bytes())
    content[len(content) // 4 : len(content) // 2] = bytes(len(content) // 2 - len(content) // 4)
    path.write_bytes(content)
    with pytest.raises(vp.DataError, match=r"1\.parquet, from row \d+ on: it cannot be read"):
        fitted(client, source)


def test_rows_that_kill_every_worker_are_named(client, files, monkeypatch):
    """No more chances than the scheduler gives (here two), and rows that no worker survives."""
    from viewpass.engines.dask import workers

    monkeypatch.setattr(workers, "RETRIES", 0)
    monkeypatch.setattr(client.cluster.scheduler, "allowed_failures", 1)
    monkeypatch.setattr(parts, "file_rows", fatal)
    named = r"rows \d+ to \d+ \(.*\.parquet, rows \d+ to \d+\).*: every worker"  # or others on these workers
    with pytest.raises(vp.EngineError, match=named):
        fitted(client, files)


def fatal(source, start, stop):
    if start <= 3000 < stop:
        os._exit(3)
    from viewpass.engines.parts import file_rows

    return file_rows(source, start, stop)


def process(*words, **environment):
    given = {"OPENBLAS_NUM_THREADS": "1", "PYTHONPATH": os.pathsep.join(sys.path), **environment}
    pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "text": True}
    return subprocess.Popen([sys.executable, *map(str, words)], env={**os.environ, **given}, **pipes)


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
    assert_same(fitted(None, files, n_workers=2), expected)
    for _ in range(1000):
        if children(me) <= before:
            break
        time.sleep(0.1)
    assert children(me) <= before
    left = {one.laddr for one in me.net_connections() if one.status == psutil.CONN_LISTEN}
    assert left <= ports
    assert not [name for name in set(os.listdir(tempfile.gettempdir())) - temporary if "dask" in name]
    assert all(address.ip == "127.0.0.1" for address in left)
