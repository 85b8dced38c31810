"""A fit of other rows goes on with the ids of one before."""

from __future__ import annotations

import numpy as np

from viewpass.model.model import label
from viewpass.sample.keys import value_hashes
from viewpass.streams.matching import matched
from viewpass.streams.watch import LOOKED_AT, limits_of, part_of
from viewpass.sums.rules import Workspace
from viewpass.tally.learning import Learning, whole_segment


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
