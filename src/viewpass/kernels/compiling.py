"""Compile kernels when first needed, keep the machine code on disk, and say so when it takes long."""

from __future__ import annotations

import gc
import hashlib
import logging
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

from numba import njit

_Lean: Any
try:
    from viewpass.kernels.lean import Lean as _Lean
except ImportError:  # a numba that is built otherwise: its own way takes longer, and comes to the same
    _Lean = None

logger = logging.getLogger("viewpass")

NOTICE_SECONDS = 1.0
_spent = 0.0  # seconds of compiling in this process

_OPTIONS: dict[str, Any] = {"nogil": True, "error_model": "numpy"}
if _Lean is not None:
    _OPTIONS["pipeline_class"] = _Lean
# For functions that only compiled ones call, and that allocate nothing: no way in from Python or C, no
# counting of references, no rewriting of expressions. That is some half of what there would be to compile.
_LEAN: dict[str, Any] = (
    _OPTIONS
    | {"_nrt": False}
    | dict.fromkeys(("no_cpython_wrapper", "no_cfunc_wrapper", "no_rewrites"), True)
)


def part(function: Callable[..., Any]) -> Any:
    """A part of one compiled function, as if it were written there; what has many callers is `called`."""
    return njit(inline="always", **_LEAN)(function)


def called(function: Callable[..., Any]) -> Any:
    """A function that compiled ones call."""
    return njit(**_LEAN)(function)


def compiled(function: Callable[..., Any], signature: Any) -> Callable[..., Any]:
    """Compile `function` for one signature: no GIL, no fastmath, cached where a folder allows it."""
    result: Callable[..., Any] = _timed(_OPTIONS, function, signature, function.__name__)
    return result


def _timed(options: dict[str, Any], function: Callable[..., Any], signature: Any, name: str) -> Any:
    # Numba looks only at the function's own file to tell whether its cache is stale; constants and
    # helpers live in other files, so the name under which the code is cached tells them all.
    if _fingerprint() not in function.__qualname__:
        function.__qualname__ = f"{name}_{_fingerprint()}"
    began = time.perf_counter()
    with _undisturbed():
        kernel = _made(options | {"cache": True}, function, signature)
    if not kernel.stats.cache_hits:
        _notice(time.perf_counter() - began)
    return kernel


@contextmanager
def _undisturbed() -> Iterator[None]:
    """Without collections of garbage: a compiler makes many objects, and hardly any."""
    collecting = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if collecting:
            gc.enable()


def _made(options: dict[str, Any], function: Callable[..., Any], signature: Any) -> Any:
    try:
        return njit(signature, **options)(function)
    except Exception as problem:
        # Numba has no folder to write to (a read-only install without a home): work without a cache.
        if options["cache"] and isinstance(problem, RuntimeError) and "cache" in str(problem):
            return _made(options | {"cache": False}, function, signature)
        # A numba whose passes are not those we know: what is wrong in earnest, its own will tell.
        if _Lean is None or not _Lean.works:
            raise
        _Lean.works = False
        return _made(options, function, signature)


def _notice(seconds: float) -> None:
    """Say once, when it has taken a second, that kernels are being compiled."""
    global _spent
    before, _spent = _spent, _spent + seconds
    if before <= NOTICE_SECONDS < _spent:
        logger.warning("compiling, which takes some seconds; the machine code is cached for the next time")


class Callback(NamedTuple):
    """A compiled function with an address, which other compiled functions can call."""

    address: int
    kernel: Any  # what lies there, kept alive


def callback(function: Callable[..., Any], signature: Any, what: str) -> Callback:
    """Compile a function for callers that know its address; `what` tells functions of one name apart."""
    name = f"{function.__name__}_{what.rpartition('.')[2]}"
    kernel = _timed(_LEAN, function, signature, name)
    (made,) = kernel.overloads.values()
    return Callback(int(made.library.get_pointer_to_function(made.fndesc.llvm_func_name)), kernel)


def once(make: Callable[..., Any]) -> Callable[..., Any]:
    """Remember what `make` makes, and let threads that ask at the same time wait for the first."""
    made: dict[tuple[str, ...], Any] = {}
    making = threading.Lock()

    def get(*key: str) -> Any:
        if key not in made:
            with making:
                if key not in made:
                    made[key] = make(*key)
        return made[key]

    return get


@cache
def _fingerprint() -> str:
    sources = sorted(Path(__file__).parent.rglob("*.py"))
    return hashlib.sha256(b"".join(source.read_bytes() for source in sources)).hexdigest()[:12]
