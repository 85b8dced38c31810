"""Rows that a model was made to forget: what is kept to show it."""

from __future__ import annotations

from hashlib import sha256
from typing import NamedTuple

import numpy as np

from viewpass.kernels.grid import Array


class Receipt(NamedTuple):
    """Rows that were taken out: how many, how many are left, and a hash of their keys."""

    n_rows: int
    n_left: int
    sha256: str

    @classmethod
    def of(cls, keys: Array, n_left: int) -> Receipt:
        """Of rows with these keys; their order does not matter."""
        content = np.sort(keys).astype("<u8").tobytes()
        return cls(len(keys), n_left, sha256(content).hexdigest())
