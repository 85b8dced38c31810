"""Copies of the rows of one view read so far, on which OMVC's published rule tests a basis."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import scipy.sparse

from viewpass.baselines.rows import FilledView
from viewpass.kernels.grid import Floats, Integers, Matrix


@dataclass
class RowBlock:
    """Rows of several chunks: present ones in `matrix`, filled ones as indices (`which`) into `fills`."""

    matrix: Matrix
    missing: Integers
    which: Integers
    fills: Floats
    weighted: Floats  # coefficients, without the gauge, times the squared weights

    def joined(self, other: RowBlock) -> RowBlock:
        """These rows followed by those of the other block."""
        stack = scipy.sparse.vstack if scipy.sparse.issparse(self.matrix) else np.concatenate
        matrix = stack([self.matrix, other.matrix])
        return RowBlock(
            scipy.sparse.csr_array(matrix) if scipy.sparse.issparse(matrix) else matrix,
            np.concatenate([self.missing, other.missing + self.matrix.shape[0]]),
            np.concatenate([self.which, other.which + len(self.fills)]),
            np.concatenate([self.fills, other.fills]),
            np.concatenate([self.weighted, other.weighted]),
        )

    def cross(self, V: Floats, gauge: Floats) -> float:
        """tr(V'X'W^2U) over the block."""
        products = np.asarray(self.matrix @ V.astype(self.matrix.dtype, copy=False), dtype=np.float64)
        if len(self.missing):
            products[self.missing] = (self.fills @ V)[self.which]
        return float(np.einsum("ij,ij->j", products, self.weighted) @ gauge)


class StoredRows:
    """The rows of a pass so far, in a few large blocks, so that a test takes a few matrix products."""

    def __init__(self, n_clusters: int) -> None:
        self.blocks: list[RowBlock] = []
        self.gram = np.zeros((n_clusters, n_clusters))

    def add(self, view: FilledView, coefficients: Floats, weights: Floats) -> None:
        """Store the rows of a chunk with their coefficients (without the gauge)."""
        weighted = coefficients * weights[:, None]
        missing = np.flatnonzero(view.missing)
        new = RowBlock(
            view.matrix, missing, np.zeros(len(missing), dtype=np.int64), view.fill[None], weighted
        )
        self.gram += coefficients.T @ weighted
        self.blocks.append(new)
        while len(self.blocks) > 1 and len(self.blocks[-2].weighted) <= len(self.blocks[-1].weighted):
            last = self.blocks.pop()
            if scipy.sparse.issparse(self.blocks[-1].matrix) != scipy.sparse.issparse(last.matrix):
                self.blocks.append(last)
                break
            self.blocks[-1] = self.blocks[-1].joined(last)

    def scale(self, gauge: Floats) -> None:
        """Multiply the coefficients by a gauge."""
        for block in self.blocks:
            block.weighted = block.weighted * gauge
        self.gram = self.gram * np.outer(gauge, gauge)

    def fit(self, V: Floats, gauge: Floats) -> float:
        """|W(X - UV')|^2 of these rows without the constant |WX|^2."""
        cross = sum(block.cross(V, gauge) for block in self.blocks)
        return float(np.vdot(V.T @ V, self.gram * np.outer(gauge, gauge))) - 2.0 * cross
