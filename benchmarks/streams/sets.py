"""The streams: rows in their order, their classes, and how labels are scored."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from viewpass.evaluate import ari, make_stream, nmi
from viewpass.evaluate.data.files import folder_of
from viewpass.streams.events import Event

SDO = "base", "moving", "nonstat", "sequential"
SHARE_OF_OUTLIERS = 0.1
BLOCK = 1000  # rows whose NMI is averaged
OWN: dict[str, dict[str, Any]] = {  # settings of viewpass.evaluate.make_stream
    "own": {"n_rows": 60_000},
    "own_late": {"n_rows": 40_000, "n_clusters": 19, "events": ["born"], "movement": 0.0},  # 5 % of rows
    "own_still": {"n_rows": 1_000_000, "events": [], "movement": 0.0},
}
NOISE = -1
SCALED_BY = 1000  # first rows, whose ranges are those of columns between 0 and 1


@dataclass(frozen=True)
class StreamSet:
    """One stream: views, classes (-1: noise), and what is known of its events."""

    name: str
    number: int  # of the stream in its set
    views: tuple[Any, ...]
    classes: Any
    whole: bool  # scored by one ARI over the stream, or by NMI per block
    history: tuple[Event, ...] = ()

    @property
    def n_classes(self) -> int:
        return len(np.unique(self.classes[self.classes != NOISE]))

    def score(self, labels: Any) -> float:
        """Of labels as rows were read; ids must last where one score is over all rows.

        NMI takes noise as a class like any other. Of rows with made outliers, those are left out of ARI.
        """
        if self.whole:
            kept = self.classes[: len(labels)] != NOISE
            return ari(self.classes[: len(labels)][kept], labels[kept])
        starts = range(0, len(labels), BLOCK)
        return float(
            np.mean([nmi(self.classes[: len(labels)][i : i + BLOCK], labels[i : i + BLOCK]) for i in starts])
        )

    def first(self, n_rows: int) -> StreamSet:
        """Its first rows."""
        return replace(self, views=tuple(view[:n_rows] for view in self.views), classes=self.classes[:n_rows])


def streams(name: str, most: int) -> Iterator[StreamSet]:
    """The streams of a set; of own ones, `most` seeds."""
    if name in OWN:
        for seed in range(most):
            made = make_stream(**OWN[name], random_state=seed)
            rows = made.rows(0, made.n_rows)
            yield StreamSet(name, seed, tuple(rows.views.values()), rows.labels, False, made.history)
        return
    kind, _, outliers = name.removeprefix("sdo_").partition("+")
    file = f"sdo_{kind}" if kind in SDO else name
    with np.load(folder_of(None) / "streams" / f"{file}.npz", allow_pickle=False) as arrays:
        if "rows" in arrays:
            rows, classes = arrays["rows"], arrays["classes"].astype(np.int64)
            history = _history(classes, name) if name.startswith("rbf") else ()
            if name == "fertility_income":  # children and dollars, in one view
                first = rows[:SCALED_BY]
                rows = (rows - first.min(axis=0)) / np.ptp(first, axis=0)
            yield StreamSet(name, 0, (rows,), classes, False, history)
            return
        numbers = sorted(int(key.removeprefix("rows_")) for key in arrays if key.startswith("rows_"))
        for number in numbers[:most]:
            rows, classes = arrays[f"rows_{number}"], arrays[f"classes_{number}"].astype(np.int64)
            if outliers:
                rows, classes = with_outliers(rows, classes, number)
            yield StreamSet(name, number, (rows,), classes, True)


def with_outliers(rows: Any, classes: Any, seed: int) -> tuple[Any, Any]:
    """A tenth more rows at random places of the stream, uniform in the box of all rows; their class is -1."""
    rng = np.random.default_rng(seed)
    n_more = round(SHARE_OF_OUTLIERS * len(rows))
    made = rng.uniform(rows.min(axis=0), rows.max(axis=0), (n_more, rows.shape[1])).astype(rows.dtype)
    places = np.sort(rng.integers(len(rows) + 1, size=n_more))
    return np.insert(rows, places, made, axis=0), np.insert(classes, places, NOISE)


def _history(classes: Any, name: str) -> tuple[Event, ...]:
    """First and last rows of classes: births and deaths, or splits and mergers, as the files say."""
    begin, end = ("split", "merged") if name == "rbf2" else ("born", "died")
    found, n_rows = list[Event](), len(classes)
    for each in np.unique(classes[classes != NOISE]).tolist():
        rows = np.flatnonzero(classes == each)
        if rows[0] > BLOCK:
            found.append(Event(begin, int(rows[0]), each))
        if rows[-1] < n_rows - BLOCK:
            found.append(Event(end, int(rows[-1]), each))
    return tuple(sorted(found, key=lambda event: event.row))
