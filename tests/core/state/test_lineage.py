"""Names of anchors: where the rows of any anchor are after births and merges."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from viewpass.core.state.lineage import Lineage


@given(
    st.integers(1, 6), st.lists(st.tuples(st.integers(0, 3), st.integers(0, 4)), max_size=8), st.integers()
)
def test_rows_are_where_merging_one_pair_after_another_puts_them(n_anchors, steps, seed):
    rng = np.random.default_rng(abs(seed))
    lineage = Lineage.of(n_anchors)
    homes = {
        name: [name] for name in range(n_anchors)
    }  # the names each anchor holds, in the order of anchors
    for n_new, n_merges in steps:
        for name in range(lineage.n_names, lineage.n_names + n_new):
            homes[name] = [name]
        lineage = lineage.born(n_new)
        order, pairs = list(homes), []
        alive = list(range(len(order)))
        for _ in range(min(n_merges, len(alive) - 1)):
            kept, gone = sorted(rng.choice(alive, 2, replace=False).tolist())
            alive.remove(gone)
            pairs.append((kept, gone))
            homes[order[kept]] += homes.pop(order[gone])
        lineage = lineage.merged(np.array(pairs, dtype=np.int64).reshape(-1, 2))
        assert lineage.names.tolist() == list(homes)
    places = lineage.places(np.arange(-1, lineage.n_names))
    assert places[0] == -1
    for place, held in enumerate(homes.values()):
        assert (places[1:][held] == place).all()
