"""A pool of reusable buffers: large arrays allocated for every chunk would be paged in every time."""

from __future__ import annotations

import weakref
from typing import Any

import numpy as np

from viewpass.kernels.grid import Array

MOST_KEPT = 2  # free buffers kept per size


class _Loan:
    """The base of arrays in a pool's buffer: freed with the last of them."""

    def __init__(self, buffer: Array, length: int, dtype: Any) -> None:
        self.__array_interface__ = {
            **buffer.__array_interface__,
            "shape": (length,),
            "typestr": np.dtype(dtype).str,
        }


class Pool:
    """Buffers by their size in bytes."""

    def __init__(self) -> None:
        self._free: dict[int, list[Array]] = {}

    def lend(self, length: int, dtype: Any) -> Array:
        """A vector of undefined content; its buffer returns to the pool when no array uses it."""
        n_bytes = length * np.dtype(dtype).itemsize
        waiting = self._free.setdefault(n_bytes, [])
        buffer = waiting.pop() if waiting else np.empty(n_bytes, dtype=np.uint8)
        loan = _Loan(buffer, length, dtype)
        array = np.asarray(loan)
        weakref.finalize(loan, _take_back, waiting, buffer).atexit = False
        return array

    def clear(self) -> None:
        """Drop the free buffers."""
        self._free.clear()


def _take_back(waiting: list[Array], buffer: Array) -> None:
    if len(waiting) < MOST_KEPT:
        waiting.append(buffer)
