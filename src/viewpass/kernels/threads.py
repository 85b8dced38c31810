"""Threads: their number, a pool for NumPy work, a limit of one for BLAS, properties computed once."""

from __future__ import annotations

import multiprocessing
import os
import sys
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from functools import cache
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from functools import cached_property as cached_property
else:

    class cached_property:  # noqa: N801 - known by this name
        """The first access computes the value, which takes the place of the property; without a lock.

        Up to Python 3.11 that of functools holds one lock for all objects of a class: threads wait for each
        other, and a child forked while another thread holds it waits for ever. Two threads may compute a
        value twice here, which is the same both times.
        """

        def __init__(self, compute):
            self._compute = compute
            self.__doc__ = compute.__doc__

        def __set_name__(self, owner, name):
            self._name = name

        def __get__(self, instance, owner=None):
            if instance is None:
                return self
            return instance.__dict__.setdefault(self._name, self._compute(instance))


_lock = threading.Lock()
_pools: dict[int, ThreadPoolExecutor] = {}
_controller: Any = None
_limiter: Any = None
_users = 0


def available_threads() -> int:
    """The processors this process may use: by its affinity, its cgroup's limit, and joblib's settings."""
    affinity = getattr(os, "sched_getaffinity", None)
    n_processors = _processors(frozenset() if affinity is None else frozenset(affinity(0)))
    return max(1, min(n_processors, _joblib_limit(n_processors)))


def _joblib_limit(n_processors: int) -> int:
    """What `joblib.parallel_config` allows here, or a worker of `joblib.Parallel` has to itself."""
    if "joblib" not in sys.modules:  # so nothing was set
        return n_processors
    from joblib import effective_n_jobs
    from joblib.parallel import get_active_backend

    backend, n_jobs = get_active_backend()
    if (getattr(backend, "nesting_level", 0) or 0) == 0:
        return n_processors if n_jobs is None else int(effective_n_jobs(n_jobs))
    own = os.environ.get("OMP_NUM_THREADS", "")  # which joblib sets in a worker process
    return int(own) if own.isdigit() and multiprocessing.parent_process() is not None else 1


@cache
def _processors(affinity: frozenset[int]) -> int:
    from joblib import cpu_count

    return int(cpu_count())


def run_blocks(work: Callable[[int, int], None], n_blocks: int, n_threads: int) -> None:
    """Call `work(block, worker)` for every block, in any order, on up to `n_threads` threads.

    `worker` counts the threads from 0, so that each can have its own buffers.
    """
    n_workers = min(n_threads, n_blocks)
    if n_workers <= 1:
        for block in range(n_blocks):
            work(block, 0)
        return
    blocks = iter(range(n_blocks))
    taking = threading.Lock()

    def drain(worker: int) -> None:
        while True:
            with taking:
                block = next(blocks, None)
            if block is None:
                return
            work(block, worker)

    others = [_pool(n_workers - 1).submit(drain, worker) for worker in range(1, n_workers)]
    try:
        drain(0)
    finally:
        for _ in blocks:  # after an error no other block is started
            pass
        for other in others:
            other.exception()
    for other in others:
        other.result()


def _pool(n_threads: int) -> ThreadPoolExecutor:
    with _lock:
        if n_threads not in _pools:
            _pools[n_threads] = ThreadPoolExecutor(n_threads, thread_name_prefix="viewpass")
        return _pools[n_threads]


def _forget_pools() -> None:
    global _lock, _users, _limiter
    _lock = threading.Lock()
    _pools.clear()
    _users, _limiter = 0, None


if hasattr(os, "register_at_fork"):  # a forked child has no threads: it makes its own
    os.register_at_fork(after_in_child=_forget_pools)


@contextmanager
def single_threaded_blas() -> Iterator[None]:
    """Limit BLAS to one thread inside; the last of concurrent users restores the limit.

    The limit is per process, so nested and concurrent users share it: if each restored what it
    found, the process could stay limited for ever.
    """
    global _controller, _limiter, _users
    with _lock:
        if _users == 0:
            if _controller is None:
                from threadpoolctl import ThreadpoolController

                _controller = ThreadpoolController()
            _limiter = _controller.limit(limits=1, user_api="blas")
        _users += 1
    try:
        yield
    finally:
        with _lock:
            _users -= 1
            if _users == 0 and _limiter is not None:
                _limiter.restore_original_limits()
                _limiter = None
