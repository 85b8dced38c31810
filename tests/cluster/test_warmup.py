"""The default number of warm-up rows: enough per cluster, and bounded."""

from __future__ import annotations

import pytest

from viewpass.cluster.validation import warmup_rows


@pytest.mark.parametrize(
    ("n_clusters", "n_rows"),
    [(None, 4000), (8, 4000), (1000, 50_000), (5000, 250_000), (10_000, 250_000), (20_000, 400_000)],
)
def test_it_follows_the_clusters_and_is_bounded(n_clusters, n_rows):
    assert warmup_rows(n_clusters) == n_rows
