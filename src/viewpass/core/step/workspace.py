"""Threads, and memory that is kept between chunks."""

from __future__ import annotations

from dataclasses import dataclass, field

from viewpass.kernels.pool import Pool


@dataclass
class Workspace:
    """What a stream works with; not part of what it has learnt."""

    n_threads: int
    pool: Pool = field(init=False, default_factory=Pool)
    n_compared: float = field(init=False, default=0.0)  # rows, in parts where not with all centres

    def __getstate__(self) -> dict[str, int]:
        return {"n_threads": self.n_threads}

    def __setstate__(self, state: dict[str, int]) -> None:
        self.__init__(state["n_threads"])  # type: ignore[misc]

    def __deepcopy__(self, memo: object) -> Workspace:
        return Workspace(self.n_threads)

    def release(self) -> None:
        """Give the memory back."""
        self.pool.clear()
