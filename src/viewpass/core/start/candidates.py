"""The start of a stream, a stage of its own: from the first rows to the first centres.

The published start is one soft random V. The default finds many small clusters and merges them by
what that costs the objective. Where the warm-up is all there is, candidates of several kinds compete
on it: none of them is best everywhere, and the objective, with a ridge, ranks them rightly.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import replace

import numpy as np

from viewpass.core.consensus.agglomeration import Products, merges
from viewpass.core.start import sparse_clusters as small
from viewpass.core.start.ridge import ridged_objective, start_ridge
from viewpass.core.start.seeds import seeded_labels
from viewpass.core.state.centres import Centres
from viewpass.core.step import chunk_step as step
from viewpass.core.step.chunk_step import Outcome, Rules, empty_statistics
from viewpass.core.step.workspace import Workspace
from viewpass.kernels.grid import Floats, Integers, Labels
from viewpass.views.rows import MeasuredRows

# The merged start: LEAST_SMALL small clusters, or so many for each that is wanted (but no more than
# MOST_SMALL), are found on the warm-up rows (on half of a large one), and merged by what that costs
# the objective.
SMALL_A_CLUSTER, LEAST_SMALL, MOST_SMALL = 4, 100, 600
ROWS_A_SMALL = 2  # at least
WIDE_SEED_ROWS = 10  # their seeds are drawn from so many rows each where there are more columns than rows
SMALL_SUMS = 2**21  # kept of them, columns x clusters, where that leaves enough of them
MERGED_UPDATES = 6
# Candidates of each kind that compete, by the name of the start; on few rows up to twice as many
# compete and one more goes on.
CANDIDATES = {
    "auto": {"seeded": 3, "hard": 2, "soft": 1, "merged": 1},
    "k-means++": {"seeded": 4},
}
# The heats: the share of the warm-up rows that each is run on, and how many candidates go on after it.
HEATS = ((1 / 8, 2), (1 / 4, 1))
HEAT_ROWS, HEAT_ROWS_A_CLUSTER = 500, 20  # each has at least so many rows
MOST_HEAT_ROWS = 32_000  # in all of the first heat, or seeded candidates alone compete
SEED_ROWS_A_CLUSTER = 5  # seeds are drawn from so many rows (or HEAT_ROWS) if the heat has more
# Centre updates of each heat, and of the winner on all warm-up rows, for a warm-up of LARGE rows or
# more; a smaller one is looked at more often for the same price. In all a start looks at some 30,000
# rows, or at seven times as many rows as the warm-up has.
HEAT_UPDATES, FINAL_UPDATES = 2, 3
LARGE = 4000
FINALISTS = 5  # settled on all rows where these are all there will be,
ENOUGH = 5  # with so many times the updates of a chunk


def soft_memberships(rows: MeasuredRows, n_clusters: int, rng: np.random.Generator) -> Floats:
    """The published V: uniform, each row scaled to sum 1 (so not 1-of-K); 0 for rows without a view."""
    seen = rows.n_seen > 0
    drawn: Floats = rng.random((int(seen.sum()), n_clusters))
    drawn /= drawn.sum(axis=1, keepdims=True)
    if seen.all():
        return drawn
    memberships = np.zeros((rows.n_rows, n_clusters))
    memberships[seen] = drawn
    return memberships


def seeded(
    rows: MeasuredRows,
    n_clusters: int,
    rules: Rules,
    workspace: Workspace,
    rng: np.random.Generator,
) -> Outcome:
    """One incomplete k-means++ start on all rows."""
    rows.measure(workspace.n_threads)
    (labels,) = seeded_labels(rows, n_clusters, 1, rng, workspace.n_threads)
    return from_labels(rows, labels, n_clusters, rules, workspace)


def scattered(
    rows: MeasuredRows,
    n_anchors: int,
    rules: Rules,
    workspace: Workspace,
    rng: np.random.Generator,
    *,
    whole: bool,
) -> Outcome:
    """Many centres: one seeding and a few updates are enough, since none of them is an answer."""
    rows.measure(workspace.n_threads)
    n_updates = rules.max_iter if whole else min(rules.max_iter, FINAL_UPDATES)
    (outcome,) = _from_seeds(rows, n_anchors, 1, replace(rules, max_iter=n_updates), workspace, rng)
    return outcome


def merged(
    rows: MeasuredRows,
    n_clusters: int,
    rules: Rules,
    workspace: Workspace,
    rng: np.random.Generator,
) -> Outcome | None:
    """Many small clusters from one seeding, merged until as many as wanted are left; None if too few rows.

    Small clusters are where rows really are, and merging looks at all of them at once: on every large
    set tried the objective comes out lower than by seeds or random partitions, for fewer looks.
    """
    n_seen = len(_seen(rows))
    n_small = _n_small(rows, n_seen, n_clusters)
    if n_small is None:
        return None
    once = replace(rules, max_iter=1)
    rows_a_seed = WIDE_SEED_ROWS if rows.n_columns > n_seen else SEED_ROWS_A_CLUSTER
    if rows.sparse:
        drawn = _drawn(rows, n_small, rng, rows_a_seed)
        (seeds,) = seeded_labels(drawn, n_small, 1, rng, workspace.n_threads)
        found = small.settled(rows, drawn, seeds, n_small, rules, workspace)
        products = small.products(rows, found, n_small, workspace)
    else:
        (outcome,) = _from_seeds(rows, n_small, 1, once, workspace, rng, rows_a_seed=rows_a_seed)
        found, products = outcome.labels, Products.of(outcome.total)
        del outcome
    ridge = start_ridge(n_seen, n_clusters, rules.alpha)
    order = merges(products, ridge, to_mean=True).labels(n_clusters)
    labels = np.append(order, -1)[found].astype(np.int32)
    return from_labels(rows, labels, n_clusters, rules, workspace)


def _n_small(rows: MeasuredRows, n_seen: int, n_clusters: int) -> int | None:
    """How many small clusters are to be found on n_seen rows like these; None if they do not suit."""
    suited = max(LEAST_SMALL, SMALL_A_CLUSTER * n_clusters)
    fitting = max(SMALL_SUMS // rows.n_columns, SMALL_A_CLUSTER * n_clusters)
    n_small = min(suited, fitting, n_seen // ROWS_A_SMALL)
    return n_small if n_clusters < n_small <= MOST_SMALL else None


def compete(
    rows: MeasuredRows,
    n_clusters: int,
    kind: str,
    rules: Rules,
    workspace: Workspace,
    rng: np.random.Generator,
    *,
    whole: bool,
) -> Outcome:
    """Successive halving: few rows and updates for many candidates, all rows for the winner.

    `whole`: these rows are all there will be, so settle them; otherwise the stream goes on from here.
    """
    rows.measure(workspace.n_threads)
    order = rng.permutation(_seen(rows))
    effort = max(1.0, LARGE / len(order))
    heat_rules = replace(rules, max_iter=min(rules.max_iter, int(HEAT_UPDATES * effort), 6))
    half = order[: max(len(order) // 2, LARGE)]
    if kind == "auto" and not whole and _n_small(rows, len(half), n_clusters) is not None:
        some = _part(rows, half)
        most = replace(rules, max_iter=min(rules.max_iter, int(MERGED_UPDATES * effort)))
        first = merged(some, n_clusters, most, workspace, rng)
        if first is not None and some is not rows:
            few = replace(rules, max_iter=min(rules.max_iter, FINAL_UPDATES))
            return _go_on(rows, first, few, workspace, same_rows=False)
        if first is not None:
            return first
    n_updates = ENOUGH * rules.max_iter if whole else min(rules.max_iter, int(FINAL_UPDATES * effort))
    final_rules = replace(rules, max_iter=n_updates)
    sizes = [
        min(len(order), max(int(share * len(order)), HEAT_ROWS, HEAT_ROWS_A_CLUSTER * n_clusters))
        for share, _ in HEATS
    ]
    numbers = {of: round(n * min(effort, 2.0)) for of, n in CANDIDATES[kind].items()}
    if sizes[0] * sum(numbers.values()) > MOST_HEAT_ROWS:  # very many clusters
        numbers = {"seeded": max(1, MOST_HEAT_ROWS // sizes[0])}
    if sum(numbers.values()) == 1 and not whole:  # nobody to compete with
        return next(_from_seeds(rows, n_clusters, 1, final_rules, workspace, rng))
    field: list[Outcome] = []
    last: MeasuredRows | None = None
    for size, (_, n_left) in zip(sizes, HEATS, strict=True):
        heat = last if last is not None and len(_seen(last)) == size else _part(rows, order[:size])
        if last is None:
            runs = _first_heat(heat, n_clusters, numbers, heat_rules, workspace, rng)
        else:
            runs = _next_heat(heat, field, heat_rules, workspace, same_rows=heat is last)
        n_left = n_left + 1 if n_left > 1 and effort >= 2.0 else n_left
        field = _best(runs, max(n_left, FINALISTS) if whole else n_left, rules.alpha)
        last = heat
    settled = last is rows
    del heat, last  # a copy of some of the rows
    (winner,) = _best(_next_heat(rows, field, final_rules, workspace, same_rows=settled), 1, rules.alpha)
    return winner


def _best(runs: Iterable[Outcome], n_left: int, alpha: float) -> list[Outcome]:
    """The best of candidates by the ridged objective; no more than these are held at a time."""
    field: list[tuple[float, Outcome]] = []
    for one in runs:
        n_rows = int((one.labels >= 0).sum())
        ridge = start_ridge(n_rows, one.total.n_clusters, alpha)
        field.append((ridged_objective(one.total, ridge), one))
        field.sort(key=lambda held: held[0])
        del field[n_left:]
    return [one for _, one in field]


def _next_heat(
    heat: MeasuredRows, field: list[Outcome], rules: Rules, workspace: Workspace, *, same_rows: bool
) -> Iterator[Outcome]:
    for one in field:
        yield _go_on(heat, one, rules, workspace, same_rows=same_rows)


def _seen(rows: MeasuredRows) -> Integers:
    """Rows that have a view: the others must not change what is drawn."""
    seen: Integers = np.flatnonzero(rows.n_seen > 0)
    return seen


def _part(rows: MeasuredRows, which: Integers) -> MeasuredRows:
    """Some of the rows that have a view; all rows, if it is all of those."""
    if len(which) == len(_seen(rows)):
        return rows
    taken = rows.chunk.take(np.sort(which))
    return MeasuredRows(taken, reference=rows.reference, weights=rows.weights).measure()


def _first_heat(
    heat: MeasuredRows,
    n_clusters: int,
    numbers: dict[str, int],
    rules: Rules,
    workspace: Workspace,
    rng: np.random.Generator,
) -> Iterator[Outcome]:
    yield from _from_seeds(heat, n_clusters, numbers.get("seeded", 0), rules, workspace, rng)
    for _ in range(numbers.get("hard", 0)):
        labels = np.zeros(heat.n_rows, dtype=np.int32)
        labels[_seen(heat)] = rng.integers(n_clusters, size=len(_seen(heat)))
        yield from_labels(heat, labels, n_clusters, rules, workspace)
    for _ in range(numbers.get("merged", 0)):
        one = merged(heat, n_clusters, rules, workspace, rng)
        if one is not None:
            yield one
    for _ in range(numbers.get("soft", 0)):
        memberships = soft_memberships(heat, n_clusters, rng)
        yield step.from_memberships(heat, memberships, rules, workspace)


def _from_seeds(
    heat: MeasuredRows,
    n_clusters: int,
    n_sets: int,
    rules: Rules,
    workspace: Workspace,
    rng: np.random.Generator,
    *,
    rows_a_seed: int = SEED_ROWS_A_CLUSTER,
) -> Iterator[Outcome]:
    """Drawing seeds costs rows x clusters: draw them from some of the rows where there are many of both."""
    if n_sets == 0:
        return
    drawn = _drawn(heat, n_clusters, rng, rows_a_seed)
    if drawn is heat:
        for labels in seeded_labels(heat, n_clusters, n_sets, rng, workspace.n_threads):
            yield from_labels(heat, labels, n_clusters, rules, workspace)
        return
    sets = seeded_labels(drawn, n_clusters, n_sets, rng, workspace.n_threads)
    for number, labels in enumerate(sets):
        centres = step.centres_of(drawn, labels, n_clusters, rules, workspace)
        if number == n_sets - 1:
            del drawn
        yield step.from_centres(heat, empty_statistics(heat, n_clusters), centres, rules, workspace)


def _drawn(heat: MeasuredRows, n_clusters: int, rng: np.random.Generator, rows_a_seed: int) -> MeasuredRows:
    """Rows that seeds are drawn from."""
    seen, n_drawn = _seen(heat), max(HEAT_ROWS, rows_a_seed * n_clusters)
    if len(seen) <= n_drawn:
        return heat
    return _part(heat, seen[rng.choice(len(seen), n_drawn, replace=False)])


def from_labels(
    rows: MeasuredRows, labels: Labels, n_clusters: int, rules: Rules, workspace: Workspace
) -> Outcome:
    """A first chunk whose labels are given."""
    nothing = empty_statistics(rows, n_clusters)
    nowhere = Centres.none(n_clusters, rows.n_views)
    return step.from_labels(*(rows, nothing, nowhere, labels, rules, workspace), counted=False, first=True)


def _go_on(
    rows: MeasuredRows, outcome: Outcome, rules: Rules, workspace: Workspace, *, same_rows: bool
) -> Outcome:
    if same_rows:
        given = rows, outcome.total, outcome.centres, outcome.labels, rules, workspace
        return step.from_labels(*given, counted=True, first=True)
    nothing = empty_statistics(rows, outcome.total.n_clusters)
    return step.from_centres(rows, nothing, outcome.centres, rules, workspace)
