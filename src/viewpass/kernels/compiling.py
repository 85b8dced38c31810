"""Compile kernels when first needed, keep the machine code on disk, and say so when it takes long."""

from __future__ import annotations

import hashlib
import logging
import threading
import time
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

from numba import njit

logger = logging.getLogger("viewpass")

NOTICE_SECONDS = 1.0
_spent = 0.0  # seconds of compiling in this process

# For functions that only compiled ones call, and that allocate nothing: no way in from Python or C, no
# counting of references, no rewriting of expressions. That is some half of what there would be to compile.
_LEAN: dict[str, Any] = {"nogil": True, "error_model": "numpy", "_nrt": False} | dict.fromkeys(
    ("no_cpython_wrapper", "no_cfunc_wrapper", "no_rewrites"), True
)


def part(function: Callable[..., Any]) -> Any:
    """A part of one compiled function, as if it were written there; what has many callers is `called`."""
    return njit(inline="always", **_LEAN)(function)


def called(function: Callable[..., Any]) -> Any:
    """A function that compiled ones call."""
    return njit(**_LEAN)(function)


def compiled(function: Callable[..., Any], signature: Any) -> Callable[..., Any]:
    """Compile `function` for one signature: no GIL, no fastmath, cached where a folder allows it."""
    result: Callable[..., Any] = _timed(
        {"nogil": True, "error_model": "numpy"}, function, signature, function.__name__
    )
    return result


def _timed(options: dict[str, Any], function: Callable[..., Any], signature: Any, name: str) -> Any:
    # Numba looks only at the function's own file to tell whether its cache is stale; constants and
    # helpers live in other files, so the name under which the code is cached tells them all.
    if _fingerprint() not in function.__qualname__:
        function.__qualname__ = f"{name}_{_fingerprint()}"
    began = time.perf_counter()
    try:
        kernel = njit(signature, cache=True, **options)(function)
    except RuntimeError as problem:
        # Numba has no folder to write to (a read-only install without a home): work without a cache.
        if "cache" not in str(problem):
            raise
        kernel = njit(signature, **options)(function)
    if not kernel.stats.cache_hits:
        _notice(time.perf_counter() - began)
    return kernel


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
