"""Merges of anchors beyond the budget: the pair that costs the objective least, again and again.

The sums R, T and the links G of two anchors add up to those of the merged one, so after any births and
merges they are those of all rows read, each counted once. Prices are those of agglomeration.py. An anchor
without rows joins the one it has most links with.

Any two of few anchors may merge. Where anchors are met by groups (groups.py) a table of all prices would cost
more than the rows do: an anchor then merges with one of the CANDIDATES it has most links with, or those of
an anchor it has merged with.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from viewpass.core.consensus.agglomeration import merges
from viewpass.core.consensus.soft_assignment import held_links, link_parts
from viewpass.core.plan import Rules
from viewpass.core.state.alpha import Alpha, each_view
from viewpass.core.state.centres import Centres, update
from viewpass.core.state.growth import Anchors
from viewpass.core.state.lineage import heirs
from viewpass.kernels.backend import backend
from viewpass.kernels.grid import FEWEST_GROUPED, Integers

CANDIDATES = 8  # anchors that one may merge with, where they are many


def shrunk(anchors: Anchors, n_rows: int, rules: Rules, *, reference: bool = False) -> Anchors:
    """The anchors after merges, within the budget of so many rows, none of them without rows."""
    budget = anchors.growth.budget(n_rows, anchors.total.n_clusters)
    pairs = _empty_pairs(anchors)
    n_left = anchors.total.n_clusters - len(pairs)
    if not len(pairs) and n_left <= budget:
        return anchors
    merged, left = _merged(anchors, pairs)
    changed = np.zeros(len(left), dtype=bool)  # an anchor without rows changes no centre
    if n_left > budget:
        more = _cheapest(merged, rules.alpha, n_left - budget, reference=reference)
        pairs = np.concatenate([pairs, left[more]])
        merged, kept = _merged(merged, more)
        left = left[kept]
        changed = np.isin(kept, more[:, 0])
    growth = replace(anchors.growth, lineage=anchors.growth.lineage.merged(pairs))
    seen = np.array([u is not None for u in merged.centres.values])
    nothing = [None] * len(seen)
    given = merged.total, seen, merged.centres, changed, rules.alpha
    centres = update(*given, fill=rules.fill is not None, means=nothing, reference=reference)
    return replace(merged, centres=centres, growth=growth)


def _empty_pairs(anchors: Anchors) -> Integers:
    """Pairs that rid the anchors of those without rows."""
    there = np.asarray(anchors.total.flat_counts.any(axis=0))
    empty, others = np.flatnonzero(~there), np.flatnonzero(there)
    if not len(empty) or not len(others):
        return np.zeros((0, 2), dtype=np.int64)
    kept = np.full(len(empty), others[0])
    if anchors.links is not None:
        linked = anchors.links[empty]
        for place in np.flatnonzero(np.diff(linked.indptr)):
            part = slice(linked.indptr[place], linked.indptr[place + 1])
            most = np.where(there[linked.indices[part]], linked.data[part], 0)
            if most.any():
                kept[place] = linked.indices[part][most.argmax()]
    return np.column_stack([kept, empty]).astype(np.int64)


def _cheapest(anchors: Anchors, alpha: Alpha, most: int, *, reference: bool) -> Integers:
    """The pairs to be merged, the cheapest first."""
    total, links = anchors.total, anchors.links
    if links is None or total.n_clusters < FEWEST_GROUPED:
        return merges(total, alpha, most=most).pairs
    near = backend(reference).most_linked(*link_parts(links), CANDIDATES)
    sums = [total.sums(v) for v in range(len(total.widths))]
    given = total.flat_counts, sums, each_view(alpha, len(sums)), *near, True, most
    pairs: Integers = backend(reference).merge_near(*given)[0]
    return pairs


def _merged(anchors: Anchors, pairs: Integers) -> tuple[Anchors, Integers]:
    """The anchors with pairs added up, with the centres they had, and which of them are left."""
    total = anchors.total
    left = np.setdiff1d(np.arange(total.n_clusters), pairs[:, 1])
    if not len(pairs):
        return anchors, left
    place = np.searchsorted(left, heirs(total.n_clusters, pairs))
    fewer = total.grouped(place, len(left))
    links = anchors.links
    if links is not None:
        links = held_links(backend().merged_links(*link_parts(links), place, len(left)))
    return replace(anchors, total=fewer, centres=_taken(anchors.centres, left), links=links), left


def _taken(centres: Centres, left: Integers) -> Centres:
    return centres if len(left) == centres.n_clusters else centres.take(left)
