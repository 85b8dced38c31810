"""Initial centres of a sample, compared by the ridged objective.

Many small clusters are found and merged by the increase of the objective (consensus/agglomeration.py). Where
there are too few rows for that, several kinds of candidates compete by successive halving.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from math import isqrt

import numpy as np

from viewpass.graph.agglomeration import Products, merges
from viewpass.graph.grouped_updates import searched_updates
from viewpass.kernels.backend import backend
from viewpass.kernels.grid import FEWEST_GROUPED, Floats, Integers, Labels
from viewpass.solve.start import near_merges as neighbours
from viewpass.solve.start import sparse_clusters
from viewpass.solve.start.ridged_objective import ridged_objective, start_ridge
from viewpass.sums.alpha import Alpha
from viewpass.sums.chunk_step import ChunkStep, Outcome, State
from viewpass.views.rows import MeasuredRows

# The merged start: MIN_SMALL small clusters, or SMALL_PER_CLUSTER for each cluster wanted, are found on the
# rows (on half of many rows) and then merged. Up to TABLE_SMALL of them any two may merge;
# beyond, only those near each other (neighbours.py).
SMALL_PER_CLUSTER, MIN_SMALL, TABLE_SMALL = 4, 100, 600
ROWS_PER_SMALL = 2  # at least
WIDE_ROWS_PER_SEED = 10  # seeds are drawn from this many rows each if there are more columns than rows
SMALL_SUMS = 2**21  # values of their sums (columns x clusters), unless that leaves too few clusters
MANY_SUMS, MIN_PER_CLUSTER = 2**24, 2  # the same beyond TABLE_SMALL, where fewer per cluster may do
MERGED_UPDATES = 6
# Candidates of each kind that compete; on few rows up to twice as many, and one more stays after a heat.
CANDIDATES = {"seeded": 3, "hard": 2, "soft": 1, "merged": 1}
# The heats: the share of the rows that each is run on, and how many candidates stay in after it.
HEATS = ((1 / 8, 2), (1 / 4, 1))
HEAT_ROWS, HEAT_ROWS_PER_CLUSTER = 500, 20  # of each heat, at least
MAX_HEAT_ROWS = 32_000  # of all candidates in the first heat; beyond it only seeded candidates compete
# So many seeds are drawn in two levels, the square root of their number first (draw_seeds): a row is then
# compared with about five times that root of them.
GROUPED_SEEDS, QUICKLY_GROUPED = 500, 100
ROWS_PER_SEED = 5  # seeds are drawn from this many rows each (at least HEAT_ROWS) if the heat has more
# Centre updates in each heat, and of the winner on all rows, for LARGE rows or more; fewer
# get more updates for the same time. A start makes distance passes over some 30,000 rows in
# all, or over seven times the rows .
HEAT_UPDATES, FINAL_UPDATES = 2, 3
MAX_HEAT_UPDATES = 6
LARGE = 4000


def soft_memberships(rows: MeasuredRows, n_clusters: int, rng: np.random.Generator) -> Floats:
    """The published V: uniform, each row scaled to sum 1 (so not 1-of-K); 0 for rows without effect."""
    seen = rows.counted
    drawn: Floats = rng.random((int(seen.sum()), n_clusters))
    drawn /= drawn.sum(axis=1, keepdims=True)
    if seen.all():
        return drawn
    memberships = np.zeros((rows.n_rows, n_clusters))
    memberships[seen] = drawn
    return memberships


def seeded_labels(
    rows: MeasuredRows,
    n_clusters: int,
    n_sets: int,
    rng: np.random.Generator,
    n_threads: int = 1,
    *,
    grouped: int = GROUPED_SEEDS,
) -> list[Labels]:
    """Incomplete k-means++: draw `n_sets` sets of seeds; give each row its nearest seed of each set.

    Distances are averaged over the views two rows share. A row is drawn in proportion to its distance from
    the seeds so far times the number of its views (or their weight) and its sample weight. Rows
    that share no view with any seed count as averagely far from them. Many seeds are drawn within groups
    of rows, whose nearest seed is then one of their own group.
    """
    points = rng.random((n_clusters, n_sets))
    n_groups = n_clusters if n_clusters < grouped else isqrt(n_clusters)
    return list(backend(rows.reference).draw_seeds(rows.handle, points, n_groups, n_threads))


def seeded(rows: MeasuredRows, n_clusters: int, step: ChunkStep, rng: np.random.Generator) -> Outcome:
    """Clusters from one incomplete k-means++ seeding on all rows."""
    n_threads = step.workspace.n_threads
    (labels,) = seeded_labels(rows.measure(n_threads), n_clusters, 1, rng, n_threads)
    return step.from_labels(rows, labels, n_clusters)


def anchors(rows: MeasuredRows, n_anchors: int, step: ChunkStep, rng: np.random.Generator) -> Outcome:
    """Many centres that are grouped into clusters later: one seeding and a few updates are enough.

    Very many are met by groups (consensus/groups.py), as rows are later.
    """
    rows.measure(step.workspace.n_threads)
    step = step.at_most(FINAL_UPDATES)
    if n_anchors < FEWEST_GROUPED:
        (outcome,) = _from_seeds(rows, n_anchors, 1, step, rng)
        return outcome
    drawn = _rows_to_seed_from(rows, n_anchors, rng, ROWS_PER_SEED)
    (labels,) = seeded_labels(drawn, n_anchors, 1, rng, step.workspace.n_threads)
    state = State.without_rows(rows, step.centres_of(drawn, labels, n_anchors))
    return searched_updates(rows, state, step.rules, step.workspace)


def quick_anchors(rows: MeasuredRows, n_anchors: int, step: ChunkStep, rng: np.random.Generator) -> Outcome:
    """The same to compare candidates by: fewer seeds are drawn in two levels."""
    few = step.at_most(FINAL_UPDATES)
    (outcome,) = _from_seeds(rows, n_anchors, 1, few, rng, grouped=QUICKLY_GROUPED)
    return outcome


def merged(rows: MeasuredRows, n_clusters: int, step: ChunkStep, rng: np.random.Generator) -> Outcome | None:
    """Many small clusters from one seeding, merged until `n_clusters` are left; None if too few rows.

    Small clusters are where rows really are, and merging considers all of them at once: on every large data
    set tried it reached a lower objective than seeds or random partitions, with fewer distance passes.
    """
    n_seen = len(_seen(rows))
    n_small = _n_small(rows, n_seen, n_clusters)
    if n_small is None:
        return None
    rows_per_seed = WIDE_ROWS_PER_SEED if rows.n_columns > n_seen else ROWS_PER_SEED
    ridge = start_ridge(rows.n_counted, n_clusters, step.rules.alpha)
    if rows.sparse and n_small <= TABLE_SMALL:
        drawn = _rows_to_seed_from(rows, n_small, rng, rows_per_seed)
        (seeds,) = seeded_labels(drawn, n_small, 1, rng, step.workspace.n_threads)
        found = sparse_clusters.assigned(rows, drawn, seeds, n_small, step)
        products = sparse_clusters.products(rows, found, n_small, step.workspace)
    else:
        (outcome,) = _from_seeds(rows, n_small, 1, step.at_most(1), rng, rows_per_seed=rows_per_seed)
        found, total = outcome.labels, outcome.total
        del outcome
        if n_small > TABLE_SMALL:
            cluster_of = neighbours.merged_labels(total, n_clusters, ridge, rows, step.workspace)
            del total
            return step.from_labels(rows, np.append(cluster_of, -1)[found].astype(np.int32), n_clusters)
        products = Products.of(total)
    cluster_of = merges(products, ridge, to_mean=True).labels(n_clusters)
    labels = np.append(cluster_of, -1)[found].astype(np.int32)
    return step.from_labels(rows, labels, n_clusters)


def _n_small(rows: MeasuredRows, n_seen: int, n_clusters: int) -> int | None:
    """Number of small clusters to find on n_seen rows like these; None if merging does not suit them."""
    n_small = few_small(rows.n_columns, n_seen, n_clusters)
    if n_small > TABLE_SMALL:
        n_small = min(n_small, MANY_SUMS // rows.n_columns)
        return n_small if n_small >= MIN_PER_CLUSTER * n_clusters else None
    return n_small if n_small > n_clusters else None


def few_small(n_columns: int, n_seen: int, n_clusters: int) -> int:
    """Number of small clusters of so many rows, by the clusters wanted and memory."""
    wanted = max(MIN_SMALL, SMALL_PER_CLUSTER * n_clusters)
    fitting = max(SMALL_SUMS // n_columns, SMALL_PER_CLUSTER * n_clusters)
    return min(wanted, fitting, n_seen // ROWS_PER_SMALL)


def compete(rows: MeasuredRows, n_clusters: int, step: ChunkStep, rng: np.random.Generator) -> Outcome:
    """The merged start; successive halving where nothing can be merged: the winner of few rows, on all.

    `rows` are measured.
    """
    order = rng.permutation(_seen(rows))
    effort = max(1.0, LARGE / len(order))
    final_step = step.at_most(int(FINAL_UPDATES * effort))
    half = order[: max(len(order) // 2, LARGE)]
    if _n_small(rows, len(half), n_clusters) is not None:
        part = _part(rows, half)
        first = merged(part, n_clusters, step.at_most(int(MERGED_UPDATES * effort)), rng)
        if first is not None:
            return first if part is rows else next(_next_heat(rows, [first], final_step, same_rows=False))
    sizes = [
        min(len(order), max(int(share * len(order)), HEAT_ROWS, HEAT_ROWS_PER_CLUSTER * n_clusters))
        for share, _ in HEATS
    ]
    numbers = {of: round(n * min(effort, 2.0)) for of, n in CANDIDATES.items()}
    if len(order) < ROWS_PER_SMALL * n_clusters:  # random partitions would leave many clusters empty
        numbers = {"seeded": numbers["seeded"]}
    if sizes[0] * sum(numbers.values()) > MAX_HEAT_ROWS:  # very many clusters
        numbers = {"seeded": max(1, MAX_HEAT_ROWS // sizes[0])}
    if sum(numbers.values()) == 1:  # a single candidate needs no heats
        return next(_from_seeds(rows, n_clusters, 1, final_step, rng))
    heat_step = step.at_most(min(int(HEAT_UPDATES * effort), MAX_HEAT_UPDATES))
    field: list[Outcome] = []
    last: MeasuredRows | None = None
    for size, (_, n_left) in zip(sizes, HEATS, strict=True):
        heat = last if last is not None and len(_seen(last)) == size else _part(rows, order[:size])
        if last is None:
            runs = _first_heat(heat, n_clusters, numbers, heat_step, rng)
        else:
            runs = _next_heat(heat, field, heat_step, same_rows=heat is last)
        n_left = n_left + 1 if n_left > 1 and effort >= 2.0 else n_left
        field = _best(runs, n_left, start_ridge(heat.n_counted, n_clusters, step.rules.alpha))
        last = heat
    same_rows = last is rows
    del heat, last  # a copy of some of the rows
    ridge = start_ridge(rows.n_counted, n_clusters, step.rules.alpha)
    (winner,) = _best(_next_heat(rows, field, final_step, same_rows=same_rows), 1, ridge)
    return winner


def _best(runs: Iterable[Outcome], n_left: int, ridge: Alpha) -> list[Outcome]:
    """The best candidates by the ridged objective; no more than `n_left` + 1 are in memory at a time."""
    field: list[tuple[float, Outcome]] = []
    for one in runs:
        field.append((ridged_objective(one.total, ridge), one))
        field.sort(key=lambda held: held[0])
        del field[n_left:]
    return [one for _, one in field]


def _first_heat(
    heat: MeasuredRows, n_clusters: int, numbers: dict[str, int], step: ChunkStep, rng: np.random.Generator
) -> Iterator[Outcome]:
    """The candidates: so many of each kind."""
    yield from _from_seeds(heat, n_clusters, numbers.get("seeded", 0), step, rng)
    for _ in range(numbers.get("hard", 0)):
        labels = np.zeros(heat.n_rows, dtype=np.int32)
        labels[_seen(heat)] = rng.integers(n_clusters, size=len(_seen(heat)))
        yield step.from_labels(heat, labels, n_clusters)
    for _ in range(numbers.get("merged", 0)):
        one = merged(heat, n_clusters, step, rng)
        if one is not None:
            yield one
    for _ in range(numbers.get("soft", 0)):
        yield step.from_memberships(heat, soft_memberships(heat, n_clusters, rng))


def _next_heat(
    heat: MeasuredRows, field: list[Outcome], step: ChunkStep, *, same_rows: bool
) -> Iterator[Outcome]:
    for one in field:
        if same_rows:
            yield step.from_counted(heat, one, one.labels, first=True)
        else:
            yield _continued(heat, one, step)


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
    return MeasuredRows(taken, reference=rows.reference, weights=rows.weights).measure()


def _from_seeds(
    heat: MeasuredRows,
    n_clusters: int,
    n_sets: int,
    step: ChunkStep,
    rng: np.random.Generator,
    *,
    rows_per_seed: int = ROWS_PER_SEED,
    grouped: int = GROUPED_SEEDS,
) -> Iterator[Outcome]:
    """Clusters from sets of seeds.

    Drawing seeds costs rows x clusters: they are drawn from some of the rows where there are many of both.
    """
    if n_sets == 0:
        return
    drawn = _rows_to_seed_from(heat, n_clusters, rng, rows_per_seed)
    sets = seeded_labels(drawn, n_clusters, n_sets, rng, step.workspace.n_threads, grouped=grouped)
    if drawn is heat:
        for labels in sets:
            yield step.from_labels(heat, labels, n_clusters)
        return
    for number, labels in enumerate(sets):
        centres = step.centres_of(drawn, labels, n_clusters)
        if number == n_sets - 1:
            del drawn
        yield step.from_centres(heat, State.without_rows(heat, centres))


def _rows_to_seed_from(
    heat: MeasuredRows, n_clusters: int, rng: np.random.Generator, rows_per_seed: int
) -> MeasuredRows:
    seen, n_drawn = _seen(heat), max(HEAT_ROWS, rows_per_seed * n_clusters)
    if len(seen) <= n_drawn:
        return heat
    return _part(heat, seen[rng.choice(len(seen), n_drawn, replace=False)])
