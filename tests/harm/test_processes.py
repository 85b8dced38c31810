"""Forks, threads, process pools and Ctrl-C during a fit: nothing hangs, and the bits are the same."""

from __future__ import annotations

import multiprocessing
import os
import signal
import subprocess
import sys
import threading
import time
from concurrent.futures import ProcessPoolExecutor, ThreadPoolExecutor
from functools import cache

import numpy as np
import pytest

import viewpass as vp
from clusters import made_rows, write_files
from zipped import zipped

pytestmark = pytest.mark.system

# Enough clusters for the threads of a fit to share the work of a chunk.
SETTINGS = {"n_clusters": 24, "sample_size": 1000, "consensus": "plain", "scale": "unit", "random_state": 0}
TRIES, PATIENCE = 5, 300  # seconds: a call that takes longer hangs, even on a busy machine
METHODS = [
    pytest.param(method, marks=[] if method == "fork" else pytest.mark.long)
    for method in multiprocessing.get_all_start_methods()
]
posix = pytest.mark.skipif(not hasattr(os, "fork"), reason="there are no forks here")


@cache
def data():
    return made_rows(2000, widths=(60, 40))


def fitted(n_threads=2, path=None):
    """Labels of the rows in memory, or of the same rows in files, which threads of their own read."""
    rows = data() if path is None else vp.scan(path)
    return vp.ViewPass(**SETTINGS, n_threads=n_threads).fit(rows).labels_.tobytes()


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


@pytest.fixture(scope="module", params=["memory", "files"])
def path(request, tmp_path_factory):
    if request.param == "memory":
        return None
    folder = tmp_path_factory.mktemp("rows")
    write_files(folder, data(), (700, 1650))
    return str(folder)


@posix
@pytest.mark.filterwarnings("ignore:.*multi-threaded.*fork:DeprecationWarning")
def test_a_child_forked_amid_a_fit_can_fit(expected, path):
    over, rng = threading.Event(), np.random.default_rng(0)

    def go_on():
        while not over.is_set():
            fitted(2, path)

    beside = threading.Thread(target=go_on)
    beside.start()
    try:
        for _ in range(TRIES):
            time.sleep(rng.uniform(0, 0.03))
            pid = os.fork()
            if pid == 0:
                code = 99
                try:
                    code = int(fitted(2, path) != expected)
                finally:
                    os._exit(code)
            assert ended(pid) == 0
    finally:
        over.set()
        beside.join()
    assert fitted(2, path) == expected


def test_fits_in_several_threads_at_once(expected, path):
    with ThreadPoolExecutor(6) as pool:
        runs = [pool.submit(fitted, n_threads, path) for n_threads in (1, 2, 5) * 2]
        assert {run.result(timeout=PATIENCE) for run in runs} == {expected}


@pytest.mark.parametrize("method", METHODS)
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
    asked = [joblib.delayed(fitted)(2) for _ in range(4)]
    runs = joblib.Parallel(2, backend=prefer, timeout=PATIENCE)(asked)
    assert set(runs) == {expected}


# Runs each long call named on standard input; prints "go" when it begins, and how it ended.
INTERRUPTED = """
import signal, sys, time
import numpy as np
import viewpass as vp
from viewpass.solve.starts import seeded_labels
from viewpass.views.chunk import Chunk
from viewpass.views.rows import MeasuredRows

signal.signal(signal.SIGINT, signal.default_int_handler)
rng = np.random.default_rng(0)
few = [rng.standard_normal((200, 40)).astype(np.float32)]
many = [rng.standard_normal((150_000, 40)).astype(np.float32)]
rows = MeasuredRows(Chunk.of(many)).measure()


def state(model):
    seen = {name: value for name, value in vars(model).items() if name.endswith("_")}
    learnt = model._learnt.model if "_learnt" in vars(model) else None
    sums = b"" if learnt is None else learnt.total.flat.tobytes() + learnt.total.flat_counts.tobytes()
    return {name: np.asarray(value).tobytes() for name, value in seen.items()}, sums


def run(what, n_threads):
    given = {"scale": "unit", "random_state": 0, "n_threads": n_threads}
    if what == "solve":  # of all rows, in many clusters: nothing else takes long
        model = vp.ViewPass(2000, consensus="plain", sample_size=len(many[0]), **given)
    else:
        model = vp.OPIMC(50, tol=0.0, max_iter=100_000, chunk_size=len(many[0]), **given)
    if what == "partial":
        model.partial_fit(few)
    before = state(model)
    print("go", flush=True)
    try:
        if what == "draw":
            seeded_labels(rows, 5000, rng, n_threads)
        elif what == "partial":
            model.partial_fit(many)
        else:
            model.fit(many)
    except KeyboardInterrupt:
        at = time.time()
        assert state(model) == before, "the estimator has changed"
        shorter = {} if what == "solve" else {"max_iter": 2}
        model.set_params(n_clusters=5, **shorter).fit(few)  # and can be used again
        print("interrupted", at, flush=True)
    else:
        print("never", time.time(), flush=True)


for line in sys.stdin:
    what, n_threads = line.split()
    run(what, int(n_threads))
"""


@pytest.fixture(scope="module")
def long_calls():
    """A process to interrupt; it lives on, as a user's session would."""
    where = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path), "OPENBLAS_NUM_THREADS": "1"}
    words = [sys.executable, "-c", INTERRUPTED]
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE}
    with subprocess.Popen(words, env=where, text=True, **pipes) as process:
        yield process
        process.stdin.close()
        try:
            process.wait(PATIENCE)
        finally:
            process.kill()


@posix
@pytest.mark.parametrize(("n_threads", "what"), zipped([1, 2], ["chunk", "solve", "draw", "partial"]))
def test_ctrl_c_stops_a_long_call(long_calls, what, n_threads):
    print(what, n_threads, file=long_calls.stdin, flush=True)
    assert long_calls.stdout.readline() == "go\n"
    time.sleep(0.2)
    long_calls.send_signal(signal.SIGINT)
    hangs = threading.Timer(PATIENCE, long_calls.kill)
    hangs.start()
    how, _ = long_calls.stdout.readline().split()
    hangs.cancel()
    assert how == "interrupted"
