"""What all rows add up to, as far as a sample shows: each sampled row stands for as many of them.

Where the sample holds all rows, that is exact.
"""

from __future__ import annotations

from dataclasses import replace
from typing import NamedTuple

import numpy as np

from viewpass.kernels.grid import Integers, Labels
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


def estimated(model: Model, sample: Sample, n_rows: int, workspace: Workspace) -> Estimate:
    """What `n_rows` rows add up to by their labels under a model."""
    assert sample.chunk is not None
    tally, labels = tally_by_label(sample.chunk, model, workspace)
    counted = labels if sample.chunk.copies is None else np.where(sample.chunk.copies > 0, labels, -1)
    census = _along(counted, sample.numbers, model.n_clusters, n_rows / sample.n_rows)
    census = replace(census, patterns=tally.census.patterns, n_other=tally.census.n_other)
    total = tally.total.widened(model.scaling.widths(model.schema.widths))
    return Estimate(_of_all(total, n_rows, sample.n_rows), census, tally.read)


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


def _of_all(total: Statistics, n_rows: int, n_sampled: int) -> Statistics:
    if n_rows == n_sampled:
        return total
    factor, made = n_rows / n_sampled, total.copy()
    for each in (made, made.unmapped):
        if each is not None:
            each.flat[:] = np.rint(each.flat * factor).astype(np.int64)
            each.flat_counts[:] = np.ceil(each.flat_counts * factor).astype(np.int64)  # no less than the sums
    made.kept = tuple(
        None if own is None else own._replace(square=round(own.square * factor)) for own in made.kept
    )
    return made
