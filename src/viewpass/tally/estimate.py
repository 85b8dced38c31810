"""What all rows add up to, as far as a sample shows: each sampled row stands for as many of them.

Where the sample holds all rows, that is exact.
"""

from __future__ import annotations

from dataclasses import replace
from typing import NamedTuple

import numpy as np

from viewpass.kernels.grid import GRID, Integers, Labels
from viewpass.model.model import Model
from viewpass.sample.sample import Sample
from viewpass.sums.census import BINS, Census
from viewpass.sums.row_counts import RowCounts
from viewpass.sums.statistics import Statistics
from viewpass.sums.workspace import Workspace
from viewpass.tally.tally import tally_by_label


class Estimate(NamedTuple):
    """Sums of all rows by label, rows of each cluster along the data, and what was odd about sampled rows."""

    total: Statistics
    census: Census
    read: RowCounts


def estimated(model: Model, sample: Sample, read: RowCounts | None, workspace: Workspace) -> Estimate:
    """What the rows `read` add up to by their labels under a model; None: those of the sample."""
    assert sample.chunk is not None
    tally, labels = tally_by_label(sample.chunk, model, workspace)
    read = read or tally.read
    counted = labels if sample.chunk.copies is None else np.where(sample.chunk.copies > 0, labels, -1)
    census = _along(counted, sample.numbers, model.n_clusters, read.n_rows / tally.read.n_rows)
    census = replace(census, patterns=tally.census.patterns, n_other=tally.census.n_other)
    total = tally.total.widened(model.scaling.widths(model.schema.widths))
    return Estimate(_of_all(total, read.n_with_views / max(tally.read.n_with_views, 1)), census, tally.read)


def _along(labels: Labels, numbers: Integers, n_clusters: int, factor: float) -> Census:
    """Rows of each cluster along the data; their sum is rounded once, and whole rows are divided fairly."""
    there = labels >= 0
    n_along, width = int(numbers.max(initial=-1)) + 1, 1
    while -(-n_along // width) > BINS:
        width *= 2
    counts = np.zeros((-(-n_along // width), n_clusters), dtype=np.int64)
    np.add.at(counts, (numbers[there] // width, labels[there]), 1)
    if factor > 1:
        shares = counts * factor
        counts = shares.astype(np.int64)
        n_more = round(int(there.sum()) * factor) - int(counts.sum())
        first = np.argsort((counts - shares).reshape(-1), kind="stable")[: max(n_more, 0)]
        counts.reshape(-1)[first] += 1
    return Census(width, counts, {})


def _of_all(total: Statistics, factor: float) -> Statistics:
    """Counts are multiplied and rounded down, so that no more rows have a view than there are.

    Sums follow them, so that none exceeds its count.
    """
    if factor <= 1:
        return total
    made = total.copy()
    for v, before in enumerate(total.counts):
        counts = (before * factor).astype(np.int64)
        made.counts[v][:] = counts
        for each in (made, made.unmapped):
            if each is not None and each.steps[v].size:
                each.counts[v][:] = counts
                ratio, most = counts / np.maximum(before, 1), counts[:, None] * GRID
                sums = np.rint(each.steps[v] * ratio[:, None]).astype(np.int64)
                each.steps[v][:] = np.clip(sums, -most, most)
    ratios = [int(a.sum()) / max(int(b.sum()), 1) for a, b in zip(made.counts, total.counts, strict=True)]
    made.kept = tuple(
        None if own is None else own._replace(square=int(own.square * ratio))
        for own, ratio in zip(made.kept, ratios if made.kept else (), strict=True)
    )
    return made
