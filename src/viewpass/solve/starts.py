"""Initial centres of a sample: many small clusters, merged by the increase of the objective.

Many small clusters are found and merged (graph/cut.py). Where there are too few rows for that, one
seed is drawn for each cluster.

`breathed` leaves local optima of the objective: some clusters are split, and as many merged. Centre updates
alone never move a centre to another part of the data: two of them may share a cluster while a third serves
two. Here some clusters, drawn at random, become two each, all centres are updated, and clusters are merged by
the increase of J (graph/cut.py) until there are as many as before. What lowers J is kept. This is breathing
k-means (B. Fritzke, arXiv 2006.15666) with splits for its insertions, and merges by price for its deletions.
"""

from __future__ import annotations

from math import isqrt

import numpy as np
from scipy.sparse import issparse

from viewpass.graph.cut import merges
from viewpass.graph.neighbours import NEAREST, neighbour_links
from viewpass.graph.soft_assignment import searched_updates
from viewpass.graph.spectral import cut
from viewpass.kernels.backend import backend
from viewpass.kernels.grid import FEWEST_GROUPED, Integers, Labels
from viewpass.solve.few_columns import in_few_columns
from viewpass.solve.plan import FEW_ROWS, ROWS_PER_CENTRE, SMALL_PER_CLUSTER, VALUES
from viewpass.solve.ridge import start_ridge
from viewpass.solve.small_clusters import near_merges
from viewpass.sums.chunk_step import ChunkStep, Outcome, State
from viewpass.views.rows import MeasuredRows

# The merged start: MIN_SMALL small clusters, or SMALL_PER_CLUSTER for each cluster wanted, are found on the
# rows (on half of many rows) and then merged. Fewer than FEWEST_GROUPED of them may merge any two;
# more, only those near each other (small_clusters.py).
MIN_SMALL = 100
ROWS_PER_SMALL = 2  # at least
# Seeds are drawn from ROWS_PER_CENTRE rows each, or twice as many if there are more columns than rows, at
# least from LEAST_ROWS. FEWEST_GROUPED or more are drawn in two levels, the square root of their number
# first (draw_seeds): a row is then compared with about five times that root of them.
LEAST_ROWS = 500
QUICKLY_GROUPED = 100  # the same where candidates are compared
# Centre updates of anchors or of all rows, for LARGE rows or more; fewer get more updates
# for the same time. Half of the rows get twice as many.
UPDATES, LARGE = 3, 4000
GRAPH_COLUMNS = 128  # of a dense view, where neighbours are searched


def seeded_labels(
    rows: MeasuredRows,
    n_clusters: int,
    rng: np.random.Generator,
    n_threads: int = 1,
    *,
    grouped: int = FEWEST_GROUPED,
) -> Labels:
    """Incomplete k-means++: draw seeds; give each row its nearest one.

    Distances are averaged over the views two rows share. A row is drawn in proportion to its distance from
    the seeds so far times the number of its views (or their weight) and its sample weight. Rows
    that share no view with any seed count as averagely far from them. Many seeds are drawn within groups
    of rows, whose nearest seed is then one of their own group.
    """
    points = rng.random((n_clusters, 1))
    n_groups = n_clusters if n_clusters < grouped else isqrt(n_clusters)
    (labels,) = backend().draw_seeds(rows.handle, points, n_groups, n_threads)
    found: Labels = labels
    return found


def seeded(rows: MeasuredRows, n_clusters: int, step: ChunkStep, rng: np.random.Generator) -> Outcome:
    """Clusters from one incomplete k-means++ seeding on all rows."""
    n_threads = step.workspace.n_threads
    labels = seeded_labels(rows.measure(n_threads), n_clusters, rng, n_threads)
    return step.from_labels(rows, labels, n_clusters)


def anchors(rows: MeasuredRows, n_anchors: int, step: ChunkStep, rng: np.random.Generator) -> Outcome:
    """Many centres that are grouped into clusters later: one seeding and a few updates are enough.

    Rows are compared with very many of them through groups (graph/soft_assignment.py), as later.
    """
    rows.measure(step.workspace.n_threads)
    step = step.at_most(UPDATES)
    if n_anchors < FEWEST_GROUPED:
        return _from_seeds(rows, n_anchors, step, rng)
    drawn = _rows_to_seed_from(rows, n_anchors, rng, ROWS_PER_CENTRE)
    labels = seeded_labels(drawn, n_anchors, rng, step.workspace.n_threads)
    state = State.without_rows(rows, step.centres_of(drawn, labels, n_anchors))
    return searched_updates(rows, state, step.rules, step.workspace)


def quick_anchors(rows: MeasuredRows, n_anchors: int, step: ChunkStep, rng: np.random.Generator) -> Outcome:
    """The same to compare candidates by: fewer seeds are drawn in two levels."""
    return _from_seeds(rows, n_anchors, step.at_most(UPDATES), rng, grouped=QUICKLY_GROUPED)


def merged(rows: MeasuredRows, n_clusters: int, step: ChunkStep, rng: np.random.Generator) -> Outcome | None:
    """Many small clusters from one seeding, merged until `n_clusters` are left; None if too few rows.

    Small clusters are where rows really are, and merging considers all of them at once: on every large data
    set tried it reached a lower objective than seeds or random partitions, with fewer distance passes.
    """
    n_seen = len(_seen(rows))
    n_small = few_small(rows.n_columns, n_seen, n_clusters)
    if n_small <= n_clusters:
        return None
    rows_per_seed = 2 * ROWS_PER_CENTRE if rows.n_columns > n_seen else ROWS_PER_CENTRE
    ridge = start_ridge(rows.n_counted, n_clusters, step.rules.alpha)
    outcome = _from_seeds(rows, n_small, step.at_most(1), rng, rows_per_seed=rows_per_seed)
    found, total = outcome.labels, outcome.total
    del outcome
    if n_small >= FEWEST_GROUPED:
        merging = near_merges(total, n_small - n_clusters, ridge, rows, step.workspace)
    else:
        merging = merges(total, ridge, to_mean=True)
    del total
    labels = np.append(merging.labels(n_clusters), -1)[found].astype(np.int32)
    return step.from_labels(rows, labels, n_clusters)


def few_small(n_columns: int, n_seen: int, n_clusters: int) -> int:
    """Number of small clusters of so many rows, by the clusters wanted and memory."""
    wanted = max(MIN_SMALL, SMALL_PER_CLUSTER * n_clusters)
    fitting = max(VALUES // n_columns, SMALL_PER_CLUSTER * n_clusters)
    return min(wanted, fitting, n_seen // ROWS_PER_SMALL)


def from_merges(rows: MeasuredRows, n_clusters: int, step: ChunkStep, rng: np.random.Generator) -> Outcome:
    """The merged start of some of the rows, updated on all of them; one seeding if nothing can be merged.

    `rows` are measured.
    """
    order = rng.permutation(_seen(rows))
    effort = LARGE / len(order)
    final_step = step.at_most(max(int(UPDATES * effort), 1))
    half = order[: max(len(order) // 2, LARGE)]
    part = _part(rows, half)
    first = merged(part, n_clusters, step.at_most(max(int(2 * UPDATES * effort), 1)), rng)
    if first is not None:
        return first if part is rows else _continued(rows, first, final_step)
    return _from_seeds(rows, n_clusters, final_step, rng)


def from_neighbours(rows: MeasuredRows, n_clusters: int, step: ChunkStep) -> Outcome | None:
    """Clusters of the neighbour graph of some rows, updated on all of them; None if they are too few.

    The rows of a sample are in random order, so that the first are as good as any.
    """
    views = [rows.matrix(v) for v in range(rows.n_views)]
    stored = [view.nnz for view in views if view is not None and issparse(view)]
    fullest = max(stored, default=0) // rows.n_rows  # values per row
    some = _seen(rows)[: min(FEW_ROWS, VALUES // max(fullest, 1))]
    if len(some) < NEAREST * n_clusters:  # most neighbours would be of other clusters
        return None
    part, workspace = rows.sampled(some), step.workspace
    few = MeasuredRows(
        in_few_columns(part, GRAPH_COLUMNS, workspace.n_threads),
        weights=rows.weights,
    )
    links = neighbour_links(few.measure(workspace.n_threads), workspace)
    labels = cut(links, n_clusters).labels.astype(np.int32)
    if len(some) < len(_seen(rows)):
        return _continued(rows, step.from_labels(part, labels, n_clusters), step)
    of_all = np.zeros(rows.n_rows, dtype=np.int32)  # rows without effect have any
    of_all[some] = labels
    return step.from_labels(rows, of_all, n_clusters)


def _continued(rows: MeasuredRows, before: Outcome, step: ChunkStep) -> Outcome:
    """A first chunk of these rows, from the centres found on others."""
    return step.from_centres(rows, State.without_rows(rows, before.centres))


def _seen(rows: MeasuredRows) -> Integers:
    """Rows that have a view and a sample weight: the others must not change what is drawn."""
    seen: Integers = np.flatnonzero(rows.counted)
    return seen


def _part(rows: MeasuredRows, which: Integers) -> MeasuredRows:
    """Some of the rows that have an effect; `rows` itself if it is all of them."""
    if len(which) == len(_seen(rows)):
        return rows
    taken = rows.chunk.take(np.sort(which))
    return MeasuredRows(taken, weights=rows.weights).measure()


def _from_seeds(
    rows: MeasuredRows,
    n_clusters: int,
    step: ChunkStep,
    rng: np.random.Generator,
    *,
    rows_per_seed: int = ROWS_PER_CENTRE,
    grouped: int = FEWEST_GROUPED,
) -> Outcome:
    """Clusters from one set of seeds.

    Drawing seeds costs rows x clusters: they are drawn from some of the rows where there are many of both.
    """
    drawn = _rows_to_seed_from(rows, n_clusters, rng, rows_per_seed)
    labels = seeded_labels(drawn, n_clusters, rng, step.workspace.n_threads, grouped=grouped)
    if drawn is rows:
        return step.from_labels(rows, labels, n_clusters)
    centres = step.centres_of(drawn, labels, n_clusters)
    return step.from_centres(rows, State.without_rows(rows, centres))


def _rows_to_seed_from(
    rows: MeasuredRows, n_clusters: int, rng: np.random.Generator, rows_per_seed: int
) -> MeasuredRows:
    seen, n_drawn = _seen(rows), max(LEAST_ROWS, rows_per_seed * n_clusters)
    if len(seen) <= n_drawn:
        return rows
    return _part(rows, seen[rng.choice(len(seen), n_drawn, replace=False)])


FEWEST_SPLIT = 8  # at first half of the clusters are split, in the end one in so many
MOST_TRIES = 2  # in vain with the same number of splits; then it is halved
BREATHING_UPDATES = 10  # of the centres after the splits, and after the merges


def breathed(rows: MeasuredRows, outcome: Outcome, step: ChunkStep, rng: np.random.Generator) -> Outcome:
    """Clusters of a lower objective, or `outcome`, which is of these rows and under the rules of `step`."""
    n_clusters, step = outcome.total.n_clusters, step.at_most(BREATHING_UPDATES)
    n_split, n_tries = n_clusters // 2, 0
    while n_split >= max(n_clusters // FEWEST_SPLIT, 1):
        labels = _split(rows, outcome, n_split, rng, step.workspace.n_threads)
        wider = step.from_labels(rows, labels, n_clusters + n_split)
        cluster_of = np.append(merges(wider.total, step.rules.alpha).labels(n_clusters), -1)
        found = step.from_labels(rows, cluster_of[wider.labels].astype(np.int32), n_clusters)
        if found.loss < outcome.loss - step.rules.tol * abs(outcome.loss):
            outcome, n_tries = found, 0
            continue
        n_tries += 1
        if n_tries == MOST_TRIES:
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
