"""What was learnt from different rows, merged: the union of the samples, solved; ids that go on in a new fit.

Nothing depends on the order of the parts, nor on how they were merged before: samples and counts of rows add
up, and the model, its sums and its clusters follow from the sample of all rows.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import reduce

import numpy as np

from viewpass.model.model import label
from viewpass.sample.keys import value_hashes
from viewpass.sample.sample import united
from viewpass.streams.identities import Identities
from viewpass.streams.matching import matched
from viewpass.streams.watch import LOOKED_AT, limits_of, part_of
from viewpass.sums.row_counts import Census, RowCounts
from viewpass.sums.rules import Workspace
from viewpass.tally.learning import Learning, whole_segment
from viewpass.tally.robust import solved
from viewpass.tally.tally import estimated
from viewpass.views.chunk import Schema


def merged(parts: Sequence[Learning], workspace: Workspace) -> Learning:
    """What was learnt from the rows of all parts, which have the same plan and views."""
    first = min(parts, key=lambda part: part.seed)
    models = [part.model(workspace) for part in parts]
    found = Learning(first.plan, first.seed, united([part.sample for part in parts]))
    schema = reduce(Schema.merged, [model.schema for model in models])
    found.schema, found.n_rows = schema, sum(part.n_rows for part in parts)
    found.solved_at = found.n_rows
    model = solved(found.sample, schema, found.plan, found.seed, Workspace(workspace.n_threads), found.n_rows)
    read = sum((part.read for part in models), start=RowCounts())
    total, census, read = estimated(model, found.sample, read, workspace)
    each = [part.census for part in models if part.census is not None]
    census = reduce(Census.with_patterns, each, replace(census, patterns={}, n_other=0))
    found.solved = replace(model, labelled=total, census=census, read=read)
    found.identities = Identities.first(found.solved.n_clusters)
    found.segments = whole_segment(found.solved, found.identities.ids)
    return found


def continuing(new: Learning, old: Learning, workspace: Workspace) -> Learning:
    """What was learnt, its clusters with the ids of those before that they share sampled rows with."""
    assert new.sample.chunk is not None
    assert old.sample.chunk is not None
    (before, own, _), after = old.shown(workspace), new.model(workspace)
    limits = limits_of(old.sample.lowest(LOOKED_AT).chunk or old.sample.chunk, before, workspace)
    part = part_of(new.sample.chunk, before, limits, workspace)
    held = np.isin(value_hashes(new.sample.chunk), value_hashes(old.sample.chunk))  # outliers, too
    known = np.where(part.unexplained & ~held, np.int32(-1), part.labels)
    labels = label(new.sample.chunk, after, workspace)
    matching = matched(known, labels, before.n_clusters, after.n_clusters)
    own = own.remembering(old.sample, label(old.sample.chunk, before, workspace))
    assert own.memory.chunk is not None
    recalled = label(own.memory.chunk, after, workspace)
    other = new.twin()
    other.identities = own.continued(matching, recalled, new.n_rows).remembering(new.sample, labels)
    if other.solved is not None:
        other.segments = whole_segment(other.solved, other.identities.ids)
    return other
