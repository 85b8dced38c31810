"""What the sampled rows of a summary show besides their labels: neighbours, reasons, how unusual they are.

Rows are sampled by their number alone, as in the summary, while they are read for their labels; at most
SAMPLE of them are in memory. A run keeps what they showed in `sample.json`: numbers, without ids and values.
With labels of the stream, rows are taken in the first pass, and checkpoints hold those taken so far.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any, TypedDict

import numpy as np

from viewpass.cluster.runs.shuffling import SAMPLE, shuffled
from viewpass.core.model import Model, distances, prepare
from viewpass.core.reasons.contributions import contributions
from viewpass.core.reasons.outliers import outlier_scores
from viewpass.core.reasons.stability import stability
from viewpass.core.step.workspace import Workspace
from viewpass.errors import FileError
from viewpass.kernels.grid import Array, Integers
from viewpass.report.layout import nearness
from viewpass.store.container.fields import Fields, Rule
from viewpass.store.container.files import naming, opened, replacing
from viewpass.store.state.rows import pack_chunk, unpack_chunk
from viewpass.views.chunk import Chunk, Schema, join

VERSION = 1
NUMBERS = 2**23  # in the sampled rows, and in their distances to centres, at most
LEAST = 200  # rows, however wide they are
TAKEN, ROW_NUMBERS = "taken", "taken.rows"  # arrays of a checkpoint


class RowReasons(TypedDict):
    """What a sampled row shows under the final centres: `cluster` is its label by them.

    `near` are centres (or anchors) near it, with `weights` that add up to 1. `parts` are those of the views
    in the margin to the next cluster, and `without` the labels without each view (None where the row lacks
    it, or has no other). `outlier` is its outlier score.
    """

    cluster: int
    near: list[int]
    weights: list[float]
    parts: list[float | None]
    without: list[int | None]
    outlier: float | None


class RowSampler:
    """Takes the sampled rows out of chunks."""

    def __init__(self, widths: Sequence[int | None], n_centres: int) -> None:
        self._widths, self._n_centres = widths, n_centres
        self._chunks: list[Chunk] = []
        self._keys, self._numbers = np.empty(0), np.empty(0, dtype=np.int64)

    @classmethod
    def of(cls, model: Model) -> RowSampler:
        """Takes rows that are labelled under a model."""
        return cls(model.schema.widths, model.total.n_clusters)

    @property
    def _most(self) -> int:
        """Rows to keep, as far as their widths are known: fewer once more are."""
        widest = max(sum(width or 0 for width in self._widths), self._n_centres, 1)
        return min(SAMPLE, max(LEAST, NUMBERS // widest))

    def add(self, chunk: Chunk) -> None:
        """Take the sampled rows of a chunk."""
        self._see(chunk)
        numbers = np.arange(chunk.start, chunk.start + chunk.n_rows, dtype=np.int64)
        keys = shuffled(numbers, 0)
        limit = np.partition(self._keys, self._most - 1)[self._most - 1] if self._full else 2.0
        mine = np.flatnonzero(keys < limit)
        mine = np.sort(mine[np.argsort(keys[mine], kind="stable")[: self._most]])
        self.put(numbers[mine], chunk.take(mine))

    def put(self, numbers: Integers, rows: Chunk) -> None:
        """Take rows of these numbers; those that are not sampled are dropped later."""
        if len(numbers):
            self._see(rows)
            self._chunks.append(rows)
            self._keys = np.concatenate((self._keys, shuffled(numbers, 0)))
            self._numbers = np.concatenate((self._numbers, numbers))
        if len(self._keys) > 2 * self._most:
            self._drop()

    def _see(self, rows: Chunk) -> None:
        self._widths = [mine or theirs for mine, theirs in zip(self._widths, rows.schema.widths, strict=True)]

    def limit(self, n_rows: int) -> float:
        """A key that the keys of sampled rows are below, twelve standard deviations from too few."""
        return float(self._most + 12 * np.sqrt(self._most) + 20) / max(n_rows, 1)

    @property
    def _full(self) -> bool:
        return len(self._keys) >= self._most

    def _drop(self) -> None:
        """Drop the rows that are not among the lowest keys."""
        kept = np.zeros(len(self._keys), dtype=bool)
        kept[np.argsort(self._keys, kind="stable")[: self._most]] = True
        chunks, start = [], 0
        for chunk in self._chunks:
            some = np.flatnonzero(kept[start : start + chunk.n_rows])
            start += chunk.n_rows
            if len(some):
                chunks.append(chunk.take(some))
        self._chunks, self._keys, self._numbers = chunks, self._keys[kept], self._numbers[kept]

    def packed(self, arrays: dict[str, Array]) -> dict[str, Any] | None:
        """What a checkpoint stores of the rows taken so far; None if there are none."""
        self._drop()
        if not self._chunks:
            return None
        self._chunks = [join(self._chunks)]
        arrays[ROW_NUMBERS] = self._numbers
        return pack_chunk(self._chunks[0], TAKEN, arrays)

    def restore(self, stored: Fields, schema: Schema, n_rows: int) -> None:
        """Go on with the rows that a checkpoint stored, of the first `n_rows`."""
        rows = unpack_chunk(stored, TAKEN, schema)
        rule = Rule(np.int64, "n", least=0, most=n_rows - 1)
        self.put(stored.array(ROW_NUMBERS, rule, n=rows.n_rows), rows)

    def reasons(self, model: Model, workspace: Workspace) -> dict[int, RowReasons]:
        """What the rows show under a model, by their number."""
        self._drop()
        found: dict[int, RowReasons] = {}
        if not self._chunks:
            return found
        rows = join(self._chunks)
        step = max(1, NUMBERS // 4 // model.total.n_clusters)
        for start in range(0, rows.n_rows, step):
            part = rows.cut(start, min(start + step, rows.n_rows))
            made = _reasons(part, model, workspace)
            found |= dict(zip(self._numbers[start : start + step].tolist(), made, strict=True))
        return found


def below(start: int, n_rows: int, limit: float) -> Integers:
    """The numbers of rows from `start` on whose keys are below a limit."""
    numbers = np.arange(start, start + n_rows, dtype=np.int64)
    return numbers[shuffled(numbers, 0) < limit]


def _reasons(chunk: Chunk, model: Model, workspace: Workspace) -> list[RowReasons]:
    rows = prepare(chunk, model, workspace).measure(workspace.n_threads)
    seen = rows.n_seen > 0
    apart = distances(rows, model.centres, workspace)
    near, weights = nearness(np.where(seen[:, None], apart, 0.0))
    why = contributions(rows, model, workspace)
    parts = np.where(rows.inverse.T > 0, why.views, np.nan)
    without = stability(rows, model, workspace).labels
    learnt = model.calibration
    outlier = np.full(rows.n_rows, np.nan)
    if learnt is not None:
        outlier = outlier_scores(rows, model, learnt, workspace)
    return [
        RowReasons(
            cluster=int(why.labels[i]),
            near=near[i].tolist() if seen[i] else [],
            weights=np.round(weights[i], 3).tolist() if seen[i] else [],
            parts=[_rounded(value) for value in parts[i]],
            without=[None if label < 0 else int(label) for label in without[i]],
            outlier=_rounded(outlier[i]),
        )
        for i in range(rows.n_rows)
    ]


def _rounded(value: Any) -> float | None:
    """Four digits: enough to draw."""
    return float(f"{value:.4g}") if np.isfinite(value) else None


def write_reasons(found: dict[int, RowReasons], path: Path, growing: Path | None = None) -> None:
    """Write what sampled rows show to a file."""
    text = json.dumps({"version": VERSION, "rows": {str(row): found[row] for row in sorted(found)}})
    with replacing(path, growing) as file, naming(path):
        file.write((text + "\n").encode())


def read_reasons(path: Path, model: Model) -> dict[int, RowReasons]:
    """Read what sampled rows of a run show; nothing if there is no such file, as in runs of before."""
    if not path.exists():
        return {}
    n_views, n_centres = len(model.schema.names), model.total.n_clusters
    try:
        with opened(path) as file:
            stored = json.loads(file.read(2**26))
        if stored["version"] != VERSION:
            raise ValueError(f"version {stored['version']!r}")
        found = {int(row): _checked(each, n_views, n_centres) for row, each in stored["rows"].items()}
    except (ValueError, LookupError, TypeError, AttributeError, OverflowError, RecursionError) as problem:
        raise FileError(
            f"{path} is damaged ({problem}). Delete it: the report then has no map of rows."
        ) from None
    return found


def _checked(given: Any, n_views: int, n_centres: int) -> RowReasons:
    """The reasons of a row from a file, or ValueError."""
    cluster = int(given.get("cluster", -1))  # runs of before have labels by the final centres
    near, weights = [int(k) for k in given["near"]], [float(w) for w in given["weights"]]
    parts = [None if part is None else float(part) for part in given["parts"]]
    without = [None if label is None else int(label) for label in given["without"]]
    outlier = None if given["outlier"] is None else float(given["outlier"])
    numbers = [*weights, *(part for part in parts if part is not None), outlier or 0.0]
    fits = len(parts) == len(without) == n_views and len(near) == len(weights) <= n_centres
    labels_fit = all(-1 <= label < n_centres for label in (cluster, *(k for k in without if k is not None)))
    if not (fits and labels_fit and all(0 <= k < n_centres for k in near) and np.isfinite(numbers).all()):
        raise ValueError("what it says of a row does not fit the model")
    return RowReasons(
        cluster=cluster, near=near, weights=weights, parts=parts, without=without, outlier=outlier
    )
