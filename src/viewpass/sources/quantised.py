"""Rows stored in fewer bits, as embedding stores ship them; a block at a time is widened to float32.

    float16, bfloat16   the same number: float32 holds all of them
    int8                float32(number) * float32(scale of its column), rounded once

So the bits are those of an array that was widened in this way before.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from numbers import Real
from typing import Any

import numpy as np

from viewpass.errors import SettingError
from viewpass.kernels.grid import Array

KINDS: dict[str, np.dtype[Any]] = {
    "float16": np.dtype("<f2"),
    "bfloat16": np.dtype("<u2"),
    "int8": np.dtype("i1"),
}


@dataclass(frozen=True, eq=False)
class Quantised:
    """How the numbers of a view are stored; the scale is float32, of all columns or one for each."""

    kind: str
    scale: Array | None = None

    @property
    def dtype(self) -> np.dtype[Any]:
        """The type of what is stored."""
        return KINDS[self.kind]

    def widened(self, stored: Array, out: Array | None = None) -> Array:
        """The numbers of some rows, as float32; `out`: where to write them."""
        out = np.empty(stored.shape, dtype=np.float32) if out is None else out
        if self.kind == "bfloat16":
            np.left_shift(stored, np.uint32(16), out=out.view(np.uint32), dtype=np.uint32)
        elif self.scale is None:
            out[:] = stored
        else:
            np.multiply(stored, self.scale, out=out)
        return out

    def check_width(self, width: int | None, name: str) -> None:
        """Refuse a scale of other columns."""
        if self.scale is not None and self.scale.ndim and width is not None and len(self.scale) != width:
            raise SettingError(
                f"quantised=, view {name!r}: {len(self.scale)} scales were given for {width} columns."
            )

    def same(self, other: Quantised) -> bool:
        """Whether both say the same."""
        mine, theirs = (np.empty(0) if one.scale is None else one.scale for one in (self, other))
        return self.kind == other.kind and np.array_equal(mine, theirs)


class Widened:
    """An array whose rows are widened as they are read."""

    ndim = 2
    dtype = np.dtype(np.float32)

    def __init__(self, stored: Any, how: Quantised, name: str) -> None:
        self._stored, self._how = np.asanyarray(stored), how
        if self._stored.ndim != 2 or self._stored.dtype not in (
            how.dtype,
            np.dtype(f"u{how.dtype.itemsize}"),
        ):
            raise SettingError(
                f"quantised=, view {name!r}: an array of {self._stored.dtype} with {self._stored.ndim} "
                f"dimension(s) was given; 2 dimensions of {how.dtype} hold {how.kind}."
            )
        if how.kind == "int8" and self._stored.dtype != how.dtype:
            raise SettingError(f"quantised=, view {name!r}: numbers from 0 to 255 are not int8.")
        self.shape = self._stored.shape
        how.check_width(self.shape[1], name)

    def __len__(self) -> int:
        return int(self.shape[0])

    def __getitem__(self, rows: Any) -> Array:
        return self._how.widened(self._stored[rows].view(self._how.dtype))


def read_quantised(given: Any) -> dict[str, Quantised]:
    """What `quantised=` says of each view."""
    if given is None:
        return {}
    if not isinstance(given, Mapping):
        raise SettingError(
            f"quantised={given!r}: expected a dict such as {{'image': 'bfloat16'}}, or {{'image': scale}} "
            "for int8, where the scale is a number or has a number for each column."
        )
    return {name: quantised(one, name) for name, one in given.items()}


def check_names(stored: Mapping[str, Quantised], views: Iterable[str]) -> None:
    """Refuse what is said of other views."""
    for name in stored:
        if name not in (known := list(views)):
            raise SettingError(
                f"quantised= names {name!r}, which is no view that is read from lists, bytes or arrays "
                f"({', '.join(map(repr, known)) or 'none is'})."
            )


def quantised(given: Any, name: str) -> Quantised:
    """How a view is stored: the name of a type, or the scale of int8."""
    if isinstance(given, str):
        if given not in KINDS:
            raise SettingError(
                f"quantised=, view {name!r}: {given!r}; expected one of {', '.join(KINDS)}, or the scale of "
                "int8."
            )
        return Quantised(given)
    try:
        scale = np.asarray(given, dtype=np.float32)
    except (TypeError, ValueError) as problem:
        raise SettingError(
            f"quantised=, view {name!r}: the scale is no array of numbers ({problem})."
        ) from None
    single = isinstance(given, Real) and not isinstance(given, bool)
    if not (single or scale.ndim == 1) or not (np.isfinite(scale) & (scale > 0)).all():
        raise SettingError(
            f"quantised=, view {name!r}: the scale must be a positive number, or one for each column."
        )
    return Quantised("int8", scale)
