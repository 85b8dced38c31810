"""What an engine does with the rows of one partition, and how partitions are put together.

Rows come in blocks, so a worker holds no more than one at a time. Results are bounded, whatever the rows.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Sequence
from dataclasses import replace
from functools import reduce
from math import sqrt
from typing import Any, NamedTuple

import numpy as np

from viewpass.kernels.grid import Array
from viewpass.model.model import Model
from viewpass.model.model import label as labels_of
from viewpass.sample.keys import HIGHEST, key_below
from viewpass.sample.sample import Sample, Sampler, Size, united, view_bytes
from viewpass.sums.rules import Workspace
from viewpass.tally.tally import Tally, tally_by_centre, tally_by_label
from viewpass.views.chunk import Chunk, Schema

SPARE = 6.0  # standard deviations of the number of rows below a key: enough rows are found at once


class Candidates(NamedTuple):
    """The rows of partitions whose keys are low enough for the sample, as far as is known."""

    sample: Sample
    limit: int  # all rows with keys up to this one are considered
    schema: Schema
    n_rows: int

    @property
    def complete(self) -> bool:
        """Whether these are enough rows; otherwise the limit was too low."""
        n_low = int((self.sample.keys <= np.uint64(self.limit)).sum())
        return self.limit == HIGHEST or n_low >= self.sample.most


class Labelled(NamedTuple):
    """The rows of a partition by label."""

    tally: Tally
    labels: Array
    ids: Array | None


def likely_limit(n_sampled: int, n_rows: int, factor: int = 1) -> int:
    """A key that at least `n_sampled` of all rows should be below."""
    return key_below(factor * (n_sampled + SPARE * sqrt(n_sampled)) / n_rows)


def candidates(chunks: Iterable[Chunk], size: Size, n_rows: int, factor: int = 1) -> Candidates:
    """Rows for the sample of `n_rows` rows in all; `factor`: how much higher the limit is than it need be."""
    sampler, schema, n_read, limit = Sampler(Sample(size)), None, 0, HIGHEST
    for chunk in chunks:
        schema = chunk.schema if schema is None else schema.merged(chunk.schema)
        limit = min(limit, likely_limit(size.of(sum(view_bytes(chunk))), n_rows, factor))
        sampler.add(chunk, limit)
        n_read += chunk.n_rows
    assert schema is not None
    return Candidates(sampler.sample, limit, schema, n_read)


def union(parts: Sequence[Candidates]) -> Candidates:
    """The candidates of all rows of some partitions."""
    return Candidates(
        united([part.sample for part in parts]),
        min(part.limit for part in parts),
        reduce(Schema.merged, [part.schema for part in parts]),
        sum(part.n_rows for part in parts),
    )


def tally(chunks: Iterable[Chunk], model: Model, limit: int) -> Tally:
    """What the rows with keys up to a limit add up to under a model."""
    workspace = Workspace(1)
    return added(tally_by_centre(chunk, model, workspace, limit) for chunk in chunks)


def tally_labels(chunks: Iterable[Chunk], model: Model) -> Tally:
    """What the rows add up to by label."""
    workspace = Workspace(1)
    return added(tally_by_label(chunk, model, workspace)[0] for chunk in chunks)


def label(chunks: Iterable[Chunk], model: Model) -> Labelled:
    """What the rows add up to by label, their labels, and their ids."""
    workspace, whole = Workspace(1), list[Tally]()
    found, ids = list[Array](), list[Array]()
    for chunk in chunks:
        mine, labels = tally_by_label(chunk, model, workspace)
        whole = [added([*whole, mine])]
        found.append(labels)
        if chunk.row_ids is not None:
            ids.append(np.asarray(chunk.row_ids))
    return Labelled(whole[0], _narrow(found, model), np.concatenate(ids) if ids else None)


def labels(chunks: Iterable[Chunk], model: Model) -> Array:
    """The labels of the rows."""
    workspace = Workspace(1)
    return _narrow([labels_of(chunk, model, workspace) for chunk in chunks], model)


def stream_labels(chunks: Iterable[Chunk], starts: Sequence[int], models: Sequence[Model]) -> Array:
    """The labels of rows, each by the last model that begins at its row or before."""
    workspace, found = Workspace(1), list[Array]()
    for chunk in chunks:
        first = bisect_right(starts, chunk.start) - 1
        stop = bisect_left(starts, chunk.start + chunk.n_rows)
        edges = [max(start - chunk.start, 0) for start in starts[first:stop]] + [chunk.n_rows]
        for model, begin, end in zip(models[first:stop], edges, edges[1:], strict=False):
            found.append(labels_of(chunk.cut(begin, end), model, workspace))
    return np.concatenate(found)


def _narrow(parts: Sequence[Array], model: Model) -> Array:
    """Labels in as few bytes as hold them: they travel."""
    return np.concatenate(parts).astype(np.promote_types(np.int8, np.min_scalar_type(-model.n_clusters)))


def added(tallies: Iterable[Tally]) -> Tally:
    """The tally of the rows of all of these."""
    return reduce(Tally.plus, tallies)


def light(model: Model, *, reasons: bool = False) -> Model:
    """The model without what tasks do not need; clusters of anchors are found once, here."""
    found = replace(model, rows=None, labelled=None, calibration=model.calibration if reasons else None)
    if model.anchored:
        found.__dict__["cut"] = model.cut
    return found


def n_rows_of(found: Any) -> int:
    """How many rows a result is about."""
    if isinstance(found, Candidates):
        return found.n_rows
    if isinstance(found, np.ndarray):
        return len(found)
    tally = found if isinstance(found, Tally) else found.tally
    return int(tally.read.n_rows)
