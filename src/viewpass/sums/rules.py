"""Settings of the inner loop over rows (Eq. 11-16): its rules, weights of the views, threads and buffers."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np

from viewpass.kernels.backend import backend
from viewpass.kernels.grid import Floats
from viewpass.kernels.pool import Pool

Alpha = float | Sequence[float]


def each_view(alpha: Alpha, n_views: int) -> Floats:
    """The ridge of each view, as the kernels take it."""
    alphas: Floats = np.array([alpha] * n_views if isinstance(alpha, float | int) else alpha, np.float64)
    assert alphas.shape == (n_views,)
    return alphas


@dataclass(frozen=True)
class Rules:
    """Settings of the inner loop over one chunk (Eq. 11-16)."""

    alpha: Alpha  # ridge on the centres (Eq. 7), of all views or of each
    max_iter: int  # centre updates per chunk, at most
    tol: float  # stop when the loss changes by less than this share
    fill: str | None  # centre of a cluster without rows: "mean", "zero-filled-mean", None (zero)

    @property
    def zero_filled(self) -> bool:
        """Whether absent rows count as zeros in the mean that fills empty centres."""
        return self.fill == "zero-filled-mean"

    def handle(self, n_views: int) -> object:
        """The rules in the form the kernels take."""
        alpha, fill = each_view(self.alpha, n_views), self.fill is not None
        return backend().Rules(alpha, self.max_iter, float(self.tol), fill, self.zero_filled)


SMALLEST_WEIGHT = 1e-6  # relative to the largest; shorter rows would be lost on the grid

Weights = tuple[float, ...]


def relative(given: Sequence[float]) -> Weights | None:
    """Weights divided by the largest; None if they are all equal."""
    largest = max(given)
    if min(given) == largest:
        return None
    return tuple(float(weight / largest) for weight in given)


def left_out(weights: Weights | None) -> tuple[bool, ...]:
    """Whether each view has the weight 0; () if none has.

    >>> left_out((1.0, 0.0)), left_out((1.0, 0.5))
    ((False, True), ())
    """
    return tuple(not weight for weight in weights or ()) if weights and not all(weights) else ()


@dataclass
class Workspace:
    """Number of threads, reusable buffers, and the number of distance passes so far."""

    n_threads: int
    pool: Pool = field(init=False, default_factory=Pool)
    n_compared: float = field(init=False, default=0.0)  # rows compared with all centres; parts count as parts

    def __getstate__(self) -> dict[str, int]:
        return {"n_threads": self.n_threads}

    def __setstate__(self, state: dict[str, int]) -> None:
        self.__init__(state["n_threads"])  # type: ignore[misc]

    def __deepcopy__(self, memo: object) -> Workspace:
        return Workspace(self.n_threads)

    def release(self) -> None:
        """Free the buffers."""
        self.pool.clear()
