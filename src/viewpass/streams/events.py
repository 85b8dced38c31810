"""What happened to clusters along a stream, and what was forgotten: typed records, kept in the model."""

from __future__ import annotations

from dataclasses import asdict, dataclass, replace
from hashlib import sha256
from typing import Any, Literal, NamedTuple, TypeAlias, get_args

import numpy as np

from viewpass.kernels.grid import Array

Kind: TypeAlias = Literal["born", "split", "merged", "died", "returned", "drifted", "silent", "sounding"]
KINDS: tuple[Kind, ...] = get_args(Kind)
NO_CLUSTER = -1  # in place of the number or id of one


@dataclass(frozen=True)
class Event:
    """One change of one cluster.

    Parameters
    ----------
    what : str
        "born", "split", "merged", "died", "returned" or "drifted"; "silent" or "sounding": a view that fewer
        or more rows have than before.
    row : int
        How many rows had been read when it was found.
    cluster : int
        Id of the cluster; of a split or a merger, the one that goes on. -1: all rows.
    others : tuple of int
        Ids of the parts that a split cluster gave, or of the clusters that ended in a merged one.
    n_before, n_after : int
        Rows of the cluster before and after, among the rows that were compared.
    views : tuple of str
        The views concerned, where that is known.
    certainty : float
        Share of the compared rows that agree; of "drifted", "silent" and "sounding", 1 minus the chance of as
        large a change where nothing changes.
    time : str or None
        The time of the last row read, where rows have times.
    moved : float
        How far the centre of a drifted cluster moved, in root mean square distances of its rows to it; the
        largest of its views.
    """

    what: Kind
    row: int
    cluster: int
    others: tuple[int, ...] = ()
    n_before: int = 0
    n_after: int = 0
    views: tuple[str, ...] = ()
    certainty: float = 1.0
    time: str | None = None
    moved: float = 0.0

    def as_dict(self) -> dict[str, Any]:
        """The same as plain values, for JSON."""
        return {**asdict(self), "others": list(self.others), "views": list(self.views)}

    def words(self) -> str:
        """What happened to which cluster."""
        who = f"view {', '.join(self.views)}" if self.cluster == NO_CLUSTER else f"cluster {self.cluster}"
        others = ", ".join(map(str, self.others))
        more = {"split": f"; new: {others}", "merged": f"; ended: {others}"}.get(self.what, "")
        if self.what == "drifted" and self.views:
            more = f" in {', '.join(self.views)}"
        return f"{who} {self.what}{more} ({self.n_before:,} -> {self.n_after:,} rows)"

    def at(self, time: int | None) -> Event:
        """The same with a time, in microseconds since 1970, as text: of a day, or of a second."""
        if time is None:
            return self
        text = str(np.datetime64(time // 10**6, "s"))
        return replace(self, time=text.removesuffix("T00:00:00"))

    def __str__(self) -> str:
        """Say when it was found, and what happened.

        >>> print(Event("split", 4000, 2, others=(7,), n_before=120, n_after=70))
        row 4,000: cluster 2 split; new: 7 (120 -> 70 rows)
        """
        return f"{f'row {self.row:,}' if self.time is None else self.time}: {self.words()}"


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
