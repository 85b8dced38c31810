"""The specification of native/births.cpp: rows that open new anchors."""

from __future__ import annotations

import numpy as np

from viewpass.kernels.grid import Array, Floats, Integers
from viewpass.kernels.reference.row_distances import RowDistances
from viewpass.kernels.reference.rows import Rows


def open_anchors(
    rows: Rows,
    far: Floats,
    first: int,
    most: int,
    tried: int,
    n_threads: int,
) -> tuple[Integers, Integers, Array]:
    """Try rows from `first` on as new anchors: those that open one, lone ones, and rows nearest to a new one.

    INOUT far: the distance of each row from its nearest anchor, per view.
    """
    distances, everyone = RowDistances(rows), np.arange(rows.n_rows)
    closed, joined = everyone < first, np.zeros(rows.n_rows, dtype=np.uint8)
    born, lone = list[int](), list[int]()
    for _ in range(tried):
        left = np.where(closed, 0.0, far)
        if len(born) == most or not left.any():
            break
        i = int(left.argmax())
        closed[i] = True
        mean = distances.mean(everyone, i)
        nearer = mean < far
        nearer[i] = False
        if not nearer.any():
            lone.append(i)
            continue
        born.append(i)
        far[nearer], far[i] = mean[nearer], 0.0
        joined[nearer] = joined[i] = 1
    return np.array(born, dtype=np.int64), np.array(lone, dtype=np.int64), joined
