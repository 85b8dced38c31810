"""Merges of candidates: each is the cheapest of those allowed, at the price that the objective loses."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from viewpass.kernels import reference
from viewpass.kernels.backend import native

MODULES = [reference] if native is None else [native, reference]


def share(square, count, ridge):
    return square / (count + ridge) if count + ridge > 0 else 0.0


def price(a, b, counts, sums, ridges):
    """By how much J rises."""
    rise = 0.0
    for v, ridge in enumerate(ridges):
        one, other = sums[v][a], sums[v][b]
        rise += share(one @ one, counts[v, a], ridge) + share(other @ other, counts[v, b], ridge)
        rise -= share((one + other) @ (one + other), counts[v, a] + counts[v, b], ridge)
    return rise


@pytest.mark.parametrize("module", MODULES)
@settings(max_examples=40, deadline=None, suppress_health_check=list(HealthCheck))
@given(
    st.integers(0, 2**32 - 1),
    st.integers(1, 20),
    st.integers(1, 4),
    st.sampled_from([0.0, 0.1]),
)
def test_each_is_the_cheapest_of_the_candidates(module, seed, n_clusters, n_views, ridge):
    """Clusters without rows, views or candidates, and ties."""
    rng = np.random.default_rng(seed)
    counts = rng.integers(0, 6, size=(n_views, n_clusters)) * (rng.random((n_views, n_clusters)) < 0.7)
    sums = [rng.integers(-3, 4, size=(n_clusters, 5)) * (row > 0)[:, None] * 0.1 for row in counts]
    ridges = ridge * (1.0 + np.arange(n_views))
    n_near = rng.integers(0, 4, size=n_clusters)
    starts, others = np.append(0, np.cumsum(n_near)), rng.integers(n_clusters, size=n_near.sum())
    given = ridges, starts, others
    pairs, prices = module.merge_near(counts, [x.copy() for x in sums], *given, n_clusters)
    first, _ = module.merge_near(counts, [x.copy() for x in sums], *given, n_clusters // 2)
    np.testing.assert_array_equal(first, pairs[: n_clusters // 2])
    assert len(pairs) == n_clusters - 1

    near = {frozenset(pair) for pair in zip(np.repeat(np.arange(n_clusters), n_near), others, strict=True)}
    alive, counts = set(range(n_clusters)), counts.copy()
    for (kept, gone), paid in zip(pairs.tolist(), prices, strict=True):
        allowed = [pair for pair in near if len(pair) == 2]
        if not allowed:
            sizes = counts.sum(axis=0)
            least = min(sizes[k] for k in alive)
            assert least in (sizes[kept], sizes[gone])
            smallest = min(k for k in alive if sizes[k] == least)
            allowed = [frozenset((smallest, other)) for other in alive - {smallest}]
        assert frozenset((kept, gone)) in allowed
        every = {pair: price(*sorted(pair), counts, sums, ridges) for pair in allowed}
        assert paid == pytest.approx(every[frozenset((kept, gone))], abs=1e-9)
        assert paid <= min(every.values()) + 1e-9
        counts[:, kept] += counts[:, gone]
        for view in sums:
            view[kept] += view[gone]
        alive.remove(gone)
        near = {frozenset(kept if k == gone else k for k in pair) for pair in near}
