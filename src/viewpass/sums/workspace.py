"""Threads, buffers and a work counter: what a stream computes with, apart from what it has learnt."""

from __future__ import annotations

from dataclasses import dataclass, field

from viewpass.kernels.pool import Pool


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
