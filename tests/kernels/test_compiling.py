"""Kernels are compiled once, and anew when any kernel file changes."""

from __future__ import annotations

import gc
import re
import threading
import time
from concurrent.futures import ThreadPoolExecutor

import pytest
from numba import njit, types

from viewpass.kernels import compiling, lean
from viewpass.kernels.chunk import crew, deciding, renewing


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


@pytest.mark.parametrize("function", [deciding.decide, renewing.renewed, crew.iterate])
def test_the_shorter_way_through_the_compiler_makes_the_same_machine_code(monkeypatch, function):
    def code() -> str:
        kernel = njit(types.int64(*[types.int64] * 9), **compiling._LEAN)(function)
        (text,) = kernel.inspect_asm().values()
        return re.sub(r"_Z[\w$.]*|\S*NumbaEnv\S*|\S*<\S*>\S*", "name", text)

    short = code()
    monkeypatch.setattr(lean.Lean, "works", False)
    assert code() == short


def test_a_numba_that_is_built_otherwise_goes_its_own_way(monkeypatch):
    def lost(*_: object) -> None:
        raise AttributeError

    monkeypatch.setattr(lean.Lean, "works", True)
    monkeypatch.setattr(lean._Lower, "lower_binop", lost)
    assert compiling.compiled(lambda x: 4.0 * x, "float64(float64)")(4.0) == 16.0
    assert not lean.Lean.works


def test_what_cannot_be_compiled_is_told(monkeypatch):
    monkeypatch.setattr(lean.Lean, "works", True)
    with pytest.raises(Exception, match="nowhere"):
        compiling.compiled(lambda x: x.nowhere, "float64(float64)")
    assert gc.isenabled()
