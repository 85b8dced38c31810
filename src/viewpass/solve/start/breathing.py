"""Leaves local optima of the objective: some clusters are split, and as many merged.

Centre updates alone never move a centre to another part of the data: two of them may share a cluster while a
third serves two. Here some clusters, drawn at random, become two each, all centres are updated, and clusters
are merged by the increase of J (graph/agglomeration.py) until there are as many as before. What lowers J
is kept. This is breathing k-means (B. Fritzke, arXiv 2006.15666) with splits for its insertions, and
merges by price for its deletions.
"""

from __future__ import annotations

import numpy as np

from viewpass.graph.agglomeration import merges
from viewpass.kernels.grid import Labels
from viewpass.solve.start.starts import seeded_labels
from viewpass.sums.chunk_step import ChunkStep, Outcome
from viewpass.views.rows import MeasuredRows

MOST_SPLIT, FEWEST_SPLIT = 2, 8  # one cluster in so many is split at first, and in the end
TRIES = 2  # in vain with the same number of splits; then it is halved
UPDATES = 10  # of the centres after the splits, and after the merges


def breathed(rows: MeasuredRows, outcome: Outcome, step: ChunkStep, rng: np.random.Generator) -> Outcome:
    """Clusters of a lower objective, or `outcome`, which is of these rows and under the rules of `step`."""
    n_clusters, step = outcome.total.n_clusters, step.at_most(UPDATES)
    n_split, n_tries = n_clusters // MOST_SPLIT, 0
    while n_split >= max(n_clusters // FEWEST_SPLIT, 1):
        labels = _split(rows, outcome, n_split, rng, step.workspace.n_threads)
        wider = step.from_labels(rows, labels, n_clusters + n_split)
        cluster_of = np.append(merges(wider.total, step.rules.alpha).labels(n_clusters), -1)
        found = step.from_labels(rows, cluster_of[wider.labels].astype(np.int32), n_clusters)
        if found.loss < outcome.loss - step.rules.tol * abs(outcome.loss):
            outcome, n_tries = found, 0
            continue
        n_tries += 1
        if n_tries == TRIES:
            n_split, n_tries = n_split // 2, 0
    return outcome


def _split(
    rows: MeasuredRows, outcome: Outcome, n_split: int, rng: np.random.Generator, n_threads: int
) -> Labels:
    """Labels with some clusters cut in two, each by two seeds; the second halves are clusters after all."""
    n_clusters, labels = outcome.total.n_clusters, outcome.labels.copy()
    for number, k in enumerate(rng.choice(n_clusters, n_split, replace=False)):
        own = np.flatnonzero((outcome.labels == k) & rows.counted)
        if len(own) > 1:
            halves = seeded_labels(rows.sampled(own), 2, rng, n_threads)
            labels[own[halves == 1]] = n_clusters + number
    return labels
