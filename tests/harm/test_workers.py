"""Workers killed at any moment, the driver killed and resumed: the same bits, and nothing left behind."""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import sys
import tempfile
import threading
import time
from pathlib import Path

import numpy as np
import psutil
import pytest
from distributed.chaos import KillWorker

import viewpass as vp
from clusters import Killer, assert_same, made_rows, two_workers, write_files

SETTINGS = {"random_state": 0, "n_passes": 2, "max_iter": 3, "warmup": 0, "compute_labels": False}
WIDTH, SIZE = 3, 200


@pytest.fixture(scope="module")
def files(tmp_path_factory):
    return write_files(tmp_path_factory.mktemp("table") / "parts", made_rows(3000), (700, 1650))


@pytest.fixture(scope="module")
def expected(files):
    return vp.OPIMC(4, chunk_size=WIDTH * SIZE, **SETTINGS).fit(files)


@pytest.fixture(scope="module")
def client():
    with two_workers() as client:
        yield client


def fitted(client, files, **more):
    model = vp.OPIMC(4, chunk_size=SIZE, **SETTINGS)
    return vp.dask.fit(model, files, client=client, n_workers=WIDTH, **more)


def kill_workers(client, files, expected, n_kills, seed, spared=None):
    """Fit again and again until so many workers have been killed, each time to the same bits."""
    with Killer(client.cluster, n_kills, 1.5, seed, spared) as killer:
        while killer.left:
            assert_same(fitted(client, files), expected)
    assert killer.n_killed == n_kills
    assert_same(fitted(client, files), expected)


def test_killed_workers_leave_no_trace(client, files, expected):
    kill_workers(client, files, expected, 8, seed=1)


def test_while_one_survives(client, files, expected):
    client.wait_for_workers(2)
    spared = next(iter(client.cluster.workers))
    kill_workers(client, files, expected, 3, seed=2, spared=spared)


def test_workers_that_crash_soon_after_their_start(client, files, expected):
    """Every worker dies some seconds after it came, until two have been replaced."""
    client.wait_for_workers(2)
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
    """No more chances than the scheduler gives, and rows that no worker survives."""
    from viewpass.engine.dask import rows
    from viewpass.engine.dask import worker_pool as pool

    client.wait_for_workers(2)
    monkeypatch.setattr(pool, "RETRIES", 0)
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


def driver(script, files, out, scheduler, *more):
    script.write_text(DRIVER)
    table = Path(files._reader._files[0].path).parent
    options = ["-k", "4", "--id", "item", "--passes", "2", "--max-iter", "3", "--init", "random"]
    dask = ["--engine", "dask", "--scheduler", scheduler, "--workers", WIDTH, "--chunk-size", SIZE]
    words = [sys.executable, script, "fit", table, "--out", out, *options, *dask, *more]
    words += ["--checkpoint-every", 2]
    environment = {**os.environ, "OPENBLAS_NUM_THREADS": "1", "PYTHONPATH": os.pathsep.join(sys.path)}
    return subprocess.Popen(
        list(map(str, words)), env=environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )


def test_the_driver_killed_and_resumed(client, files, tmp_path):
    client.wait_for_workers(2)
    address = client.scheduler.address
    model = vp.OPIMC(4, chunk_size=SIZE, init="random", n_passes=2, max_iter=3, random_state=0)
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


def test_nothing_is_left_behind(files, expected):
    """Neither processes, nor ports, nor files."""
    me = psutil.Process()
    before = children(me)
    temporary = set(os.listdir(tempfile.gettempdir()))
    ports = {one.laddr for one in me.net_connections() if one.status == psutil.CONN_LISTEN}
    assert_same(fitted(None, files), expected)
    for _ in range(100):
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
    with Killer(client.cluster, 3, 1.0, seed=4) as killer:
        while runs == 0 or killer.n_killed == 0:
            fitted(client, files, out=tmp_path / str(runs))
            runs += 1
    for labels in tmp_path.glob("*/labels"):
        rows = pq.read_table(labels).sort_by("row")
        np.testing.assert_array_equal(rows["cluster"].to_numpy(), expected.stream_labels_)
        assert not list(labels.glob("*.new"))
