"""Kernels are compiled once, and anew when any kernel file changes."""

from __future__ import annotations

import threading
import time
from concurrent.futures import ThreadPoolExecutor

from viewpass.kernels import compiling


def test_threads_that_ask_at_the_same_time_get_one_kernel():
    ready = threading.Barrier(4)
    made = []

    @compiling.once
    def make(name: str):
        made.append(name)
        time.sleep(0.05)
        return lambda: name

    def ask(_: int):
        ready.wait()
        return make("look")

    with ThreadPoolExecutor(4) as pool:
        kernels = list(pool.map(ask, range(4)))
    assert made == ["look"]
    assert all(kernel is kernels[0] for kernel in kernels)
    assert make("add")() == "add"


def test_the_name_of_cached_code_tells_the_state_of_all_kernel_files():
    def double(x: float) -> float:
        return 2.0 * x

    kernel = compiling.compiled(double, "float64(float64)")
    assert kernel(4.0) == 8.0
    assert compiling._fingerprint() in double.__qualname__


def test_compiling_is_said_once_when_it_takes_long(monkeypatch, caplog):
    monkeypatch.setattr(compiling, "_spent", 0.0)
    for seconds in (0.6, 0.3, 0.2, 5.0):
        compiling._notice(seconds)
    assert [record.getMessage() for record in caplog.records] == [
        "compiling, which takes some seconds; the machine code is cached for the next time"
    ]


def test_code_from_the_cache_is_not_counted_as_compiling(monkeypatch, tmp_path):
    counted = []
    monkeypatch.setattr(compiling, "_notice", counted.append)
    monkeypatch.setattr("numba.config.CACHE_DIR", str(tmp_path))
    for _ in range(2):
        assert compiling.compiled(_triple, "float64(float64)")(4.0) == 12.0
    assert len(counted) == 1


def _triple(x: float) -> float:
    return 3.0 * x
