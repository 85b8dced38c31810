"""Merges of anchors beyond the budget: the pair that costs the objective least, again and again.

The sums R, T and the links G of two anchors add up to those of the merged one, so after any births and
merges they are those of all rows read, each counted once. Prices are those of agglomeration.py. An anchor
without rows joins the one it has most links with.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from viewpass.core.consensus.agglomeration import merges
from viewpass.core.plan import Rules
from viewpass.core.state.centres import Centres, update
from viewpass.core.state.growth import Anchors
from viewpass.kernels.grid import Integers


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
        found = merges(merged.total, rules.alpha, most=n_left - budget)
        more = found.pairs
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
    there = anchors.total.flat_counts.any(axis=0)
    empty, others = np.flatnonzero(~there), np.flatnonzero(there)
    if not len(empty) or not len(others):
        return np.zeros((0, 2), dtype=np.int64)
    kept = np.full(len(empty), others[0])
    if anchors.links is not None:
        kept = others[anchors.links[np.ix_(empty, others)].argmax(axis=1)]
    return np.column_stack([kept, empty]).astype(np.int64)


def _merged(anchors: Anchors, pairs: Integers) -> tuple[Anchors, Integers]:
    """The anchors with pairs added up, with the centres they had, and which of them are left."""
    left = np.setdiff1d(np.arange(anchors.total.n_clusters), pairs[:, 1])
    heirs = np.arange(anchors.total.n_clusters)
    for kept, gone in pairs[::-1]:  # what an anchor merges into may merge later
        heirs[gone] = heirs[kept]
    fewer = anchors.total.grouped(np.searchsorted(left, heirs), len(left))
    links = None if anchors.links is None else anchors.links.copy()
    if links is not None:
        for kept, gone in pairs:
            links[kept] += links[gone]
            links[:, kept] += links[:, gone]
        links = links[np.ix_(left, left)]
    return replace(anchors, total=fewer, centres=_taken(anchors.centres, left), links=links), left


def _taken(centres: Centres, left: Integers) -> Centres:
    return centres if len(left) == centres.n_clusters else centres.take(left)
