"""How far a run is, as callbacks see it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from viewpass.kernels.grid import Integers


@dataclass(frozen=True)
class Progress:
    """How far a run is."""

    pass_number: int  # from 0
    n_passes: int
    n_rows_read: int  # in this pass
    n_rows: int | None  # of the data, where known
    loss: float | None  # average loss per row, of Algorithm 1; None before the first centres
    what: str = "reading"  # what is done with the rows of this pass
    sizes: Integers | None = None  # rows per cluster, where labels go to a file


Callback = Callable[[Progress], object]
