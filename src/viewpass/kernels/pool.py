"""Memory that is lent and comes back: large arrays made anew for every chunk would be paged in anew."""

from __future__ import annotations

import weakref
from typing import Any

import numpy as np

from viewpass.kernels.grid import Array

MOST_KEPT = 2  # buffers of one size that wait to be lent again


class _Loan:
    """What an array made of lent memory stands on: gone when no array does any more."""

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
        """A vector of undefined content; its memory comes back by itself when nobody holds it."""
        n_bytes = length * np.dtype(dtype).itemsize
        waiting = self._free.setdefault(n_bytes, [])
        buffer = waiting.pop() if waiting else np.empty(n_bytes, dtype=np.uint8)
        loan = _Loan(buffer, length, dtype)
        array = np.asarray(loan)
        weakref.finalize(loan, _take_back, waiting, buffer).atexit = False
        return array

    def clear(self) -> None:
        """Let go of what waits."""
        self._free.clear()


def _take_back(waiting: list[Array], buffer: Array) -> None:
    if len(waiting) < MOST_KEPT:
        waiting.append(buffer)
