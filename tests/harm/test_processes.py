"""Forks, threads, pools of processes and Ctrl-C amid a fit: nothing hangs, and the bits are the same."""

from __future__ import annotations

import multiprocessing
import os
import signal
import subprocess
import sys
import threading
import time
from concurrent.futures import ProcessPoolExecutor, ThreadPoolExecutor

import numpy as np
import pytest

import viewpass as vp
from clusters import made_rows

SETTINGS = {"n_clusters": 4, "chunk_size": 1000, "random_state": 0, "n_passes": 2, "scale": "unit"}
TRIES, PATIENCE = 30, 60
posix = pytest.mark.skipif(not hasattr(os, "fork"), reason="there are no forks here")


def data():
    return made_rows(4000, widths=(60, 40))


def fitted(n_threads=2):
    return vp.OPIMC(**SETTINGS, n_threads=n_threads).fit(data()).labels_.tobytes()


@pytest.fixture(scope="module")
def expected():
    return fitted(1)


def ended(pid):
    """How a child ended; it is killed if it hangs."""
    until = time.monotonic() + PATIENCE
    while time.monotonic() < until:
        done, status = os.waitpid(pid, os.WNOHANG)
        if done:
            return os.waitstatus_to_exitcode(status)
        time.sleep(0.005)
    os.kill(pid, signal.SIGKILL)
    os.waitpid(pid, 0)
    return "hangs"


@posix
@pytest.mark.filterwarnings("ignore:.*multi-threaded.*fork:DeprecationWarning")
def test_a_child_forked_amid_a_fit_can_fit(expected):
    over, rng = threading.Event(), np.random.default_rng(0)

    def go_on():
        while not over.is_set():
            fitted()

    beside = threading.Thread(target=go_on)
    beside.start()
    try:
        for _ in range(TRIES):
            time.sleep(rng.uniform(0, 0.03))
            pid = os.fork()
            if pid == 0:
                code = 99
                try:
                    code = int(fitted() != expected)
                finally:
                    os._exit(code)
            assert ended(pid) == 0
    finally:
        over.set()
        beside.join()
    assert fitted() == expected


def test_fits_in_several_threads_at_once(expected):
    with ThreadPoolExecutor(6) as pool:
        runs = [pool.submit(fitted, n_threads) for n_threads in (1, 2, 5) * 4]
        assert {run.result(timeout=PATIENCE) for run in runs} == {expected}


@pytest.mark.parametrize("method", multiprocessing.get_all_start_methods())
@pytest.mark.filterwarnings("ignore:.*multi-threaded.*fork:DeprecationWarning")
def test_fits_in_a_pool_of_processes(method, expected):
    assert fitted() == expected  # threads were used here before the fork
    with ProcessPoolExecutor(2, mp_context=multiprocessing.get_context(method)) as pool:
        runs = [pool.submit(fitted, 2) for _ in range(4)]
        assert {run.result(timeout=PATIENCE) for run in runs} == {expected}


@pytest.mark.parametrize("prefer", ["loky", "threading", "multiprocessing"])
@pytest.mark.filterwarnings("ignore:.*multi-threaded.*fork:DeprecationWarning")
def test_fits_by_joblib(prefer, expected):
    joblib = pytest.importorskip("joblib")
    runs = joblib.Parallel(2, backend=prefer, timeout=PATIENCE)(joblib.delayed(fitted)(2) for _ in range(4))
    assert set(runs) == {expected}


# What runs for long, by its name; each says "go" when it begins, and how it was left.
INTERRUPTED = """
import signal, sys, threading, time
import numpy as np
import viewpass as vp
from viewpass.core.start.candidates import seeded_labels
from viewpass.views.chunk import Chunk
from viewpass.views.rows import MeasuredRows

what, n_threads = sys.argv[1], int(sys.argv[2])
signal.signal(signal.SIGINT, signal.default_int_handler)
rng = np.random.default_rng(0)
few = [rng.standard_normal((200, 40)).astype(np.float32)]
many = [rng.standard_normal((150_000, 40)).astype(np.float32)]
given = {"tol": 0.0, "max_iter": 100_000, "chunk_size": len(many[0]), "scale": "unit", "n_anchors": None}
given |= {"random_state": 0, "n_threads": n_threads, "n_anchors": None}
starts = {"start": "auto"}
if what == "start":  # all rows, many clusters: nothing else takes long
    given |= {"warmup": len(many[0])}
model = vp.OPIMC(2000 if what == "start" else 50, init=starts.get(what, "random"), **given)
if what == "partial":
    model.partial_fit(few)
def state():
    seen = {name: value for name, value in vars(model).items() if name.endswith("_")}
    learnt = model._learnt.model if what == "partial" else None
    sums = b"" if learnt is None else learnt.total.flat.tobytes() + learnt.total.flat_counts.tobytes()
    return {name: np.asarray(value).tobytes() for name, value in seen.items()}, sums
before = state()
rows = MeasuredRows(Chunk.of(many)).measure()
print("go", flush=True)
try:
    if what == "draw":
        seeded_labels(rows, 5000, 4, rng, n_threads)
    elif what == "partial":
        model.partial_fit(many)
    else:
        model.fit(many)
except KeyboardInterrupt:
    at = time.time()
    assert state() == before, "the estimator has changed"
    model.set_params(max_iter=2, n_clusters=5).fit(few)  # and can be used again
    print("interrupted", at, threading.active_count(), flush=True)
else:
    print("never", flush=True)
"""


@posix
@pytest.mark.parametrize("n_threads", [1, 2])
@pytest.mark.parametrize("what", ["chunk", "start", "draw", "partial"])
def test_ctrl_c_stops_a_long_call_within_a_second(what, n_threads):
    where = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path), "OPENBLAS_NUM_THREADS": "1"}
    words = [sys.executable, "-c", INTERRUPTED, what, str(n_threads)]
    with subprocess.Popen(words, env=where, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as run:
        try:
            assert run.stdout.readline() == "go\n"
            time.sleep(0.7)
            assert run.poll() is None, "it was over too soon"
            sent = time.time()
            run.send_signal(signal.SIGINT)
            out, err = run.communicate(timeout=PATIENCE)
        finally:
            run.kill()
    assert out.startswith("interrupted"), (out, err[-2000:])
    assert float(out.split()[1]) - sent < 1.0
