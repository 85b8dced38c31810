"""Room to work that a thread keeps between blocks, so that kernels allocate nothing."""

from __future__ import annotations

from math import prod
from typing import Any

import numpy as np

from viewpass.kernels.grid import Array


class Scratch:
    """Named buffers of one thread; each call may ask for another shape."""

    def __init__(self) -> None:
        self._buffers: dict[str, Array] = {}

    def room(self, name: str, shape: tuple[int, ...], dtype: Any) -> Array:
        """Give a C-contiguous array of undefined content, valid until the same name is asked again."""
        size = prod(shape)
        buffer = self._buffers.get(name)
        if buffer is None or buffer.size < size or buffer.dtype != dtype:
            buffer = self._buffers[name] = np.empty(size, dtype=dtype)
        return buffer[:size].reshape(shape)
