"""Births of anchors: rows that are far from every anchor open new ones, before their chunk is assigned.

    far_i = D_i / w_i     distance of row i to its nearest anchor (Eq. 15), per view that it has
    a row opens an anchor if another row is nearer to it than to every anchor

Rows are tried in the order of `far`, the farthest first, so there is no threshold to be set: how far a row
must be follows from the number of births that the chunk is allowed, which is the room left in the budget and
a share of the budget that falls as 1 / rows read. A row with few views is far by chance, so that at least
two are asked for where there are several. A row that is unlike all others waits, for a bounded time, until
one like it comes: noise opens nothing.

All distances are exact and ties go to the lower row, so the births are the same on every machine. Large
chunks are sampled by a hash of row numbers, which does not depend on how they are split.
"""

from __future__ import annotations

from dataclasses import replace
from typing import NamedTuple

import numpy as np

from viewpass.core.consensus.groups import groups_of
from viewpass.core.consensus.soft_assignment import searched
from viewpass.core.state.centres import Centres
from viewpass.core.state.growth import Anchors, KeptRows, joined
from viewpass.core.state.sample import mixed
from viewpass.core.step.workspace import Workspace
from viewpass.kernels.backend import backend
from viewpass.kernels.grid import Floats, Integers, Labels, Links
from viewpass.views.rows import MeasuredRows

SHARE = 4  # births per chunk, beyond the room: this times the chunk's share of the rows read, of the budget
UNLINKED_SHARE = 1  # the same without a graph, where a centre more is a larger part of the work
MOST_CANDIDATES = 1024  # rows per chunk that may open an anchor; fewer where there are few anchors:
FEW_CANDIDATES, CANDIDATES_PER_ANCHOR = 256, 8  # so many, or as many for each anchor
TRIED_PER_BIRTH = 2  # rows that are tried for each birth that is allowed
MOST_WAITING = 128  # lone rows
FEWEST_VIEWS = 2  # of a row that opens an anchor, where rows have several


class Candidates(NamedTuple):
    """Rows of a chunk that may open an anchor; those of parts of a chunk are joined by `chosen`."""

    rows: KeptRows
    numbers: Integers  # of the rows, in the data
    n_rows: int  # that they were chosen from
    most: int  # of a chunk


def candidates(rows: MeasuredRows, start: int, centres: Centres) -> Candidates:
    """The rows that may open an anchor; the first of `rows` is number `start` of the data."""
    n_views = sum(u is not None for u in centres.values)
    enough = np.flatnonzero(rows.counted & (rows.n_seen >= min(FEWEST_VIEWS, n_views)))
    numbers = start + enough
    most = min(max(FEW_CANDIDATES, CANDIDATES_PER_ANCHOR * centres.n_clusters), MOST_CANDIDATES)
    some = _sampled(numbers, most)
    return Candidates(KeptRows.of(rows, enough[some]), numbers[some], rows.n_rows, most)


def chosen(parts: list[Candidates]) -> Candidates:
    """The candidates of a chunk, given those of its parts in order."""
    n_rows = sum(part.n_rows for part in parts)
    parts = [part for part in parts if part.rows.n_rows] or parts[:1]
    numbers = np.concatenate([part.numbers for part in parts])
    some = _sampled(numbers, parts[0].most)
    rows = joined([part.rows for part in parts])
    rows = rows if len(some) == len(numbers) else rows.take(some)
    return Candidates(rows, numbers[some], n_rows, parts[0].most)


def _sampled(numbers: Integers, most: int) -> Integers:
    """Places of at most so many rows, in order: those whose number has the lowest hash."""
    if len(numbers) <= most:
        return np.arange(len(numbers))
    return np.sort(np.argsort(mixed(numbers.astype(np.uint64)), kind="stable")[:most])


def n_allowed(n_anchors: int, budget: int, n_chunk: int, n_rows: int, share: int = SHARE) -> int:
    """Births in a chunk of so many rows, at most, when `n_rows` have been read with it."""
    return max(budget - n_anchors, 0) + -(-share * budget * n_chunk // max(n_rows, 1))


def opened(
    anchors: Anchors,
    found: Candidates,
    n_rows: int,
    workspace: Workspace,
    *,
    weights: tuple[float, ...] | None = None,
    reference: bool = False,
) -> Anchors:
    """The anchors with new ones, which have no rows yet; with this chunk `n_rows` rows are read."""
    n_anchors = anchors.total.n_clusters
    budget = anchors.growth.budget(n_rows, n_anchors)
    share = UNLINKED_SHARE if anchors.links is None else SHARE
    most = n_allowed(n_anchors, budget, found.n_rows, n_rows, share)
    if not found.rows.n_rows:
        return anchors
    waiting = anchors.growth.waiting
    n_waiting = 0 if waiting is None else waiting.n_rows
    kept = found.rows if waiting is None else joined([waiting, found.rows])
    rows = in_views(kept, anchors.centres).measured(weights, reference=reference)
    near, far = nearest(rows, anchors.centres, workspace)
    limits = n_waiting, most, TRIED_PER_BIRTH * most
    born, lone, joining = backend(reference).open_anchors(rows.handle, far, *limits, workspace.n_threads)
    alone = np.append(np.arange(n_waiting), lone)
    still = np.sort(alone[joining[alone] == 0])[-MOST_WAITING:]
    growth = replace(
        anchors.growth,
        lineage=anchors.growth.lineage.born(len(born)),
        waiting=kept.take(still) if len(still) else None,
    )
    if not len(born):
        return replace(anchors, growth=growth)
    return Anchors(
        anchors.total.grouped(np.arange(n_anchors), n_anchors + len(born)),
        _with_rows(anchors.centres, rows, born, near[born]),
        None if anchors.links is None else _room(anchors.links, len(born)),
        growth,
    )


def in_views(kept: KeptRows, centres: Centres) -> KeptRows:
    """The rows in the views that have centres."""
    unknown = [u is None for u in centres.values]
    if not any(unknown):
        return kept
    return KeptRows(kept.chunk.without(unknown), np.where(np.array(unknown)[:, None], 0.0, kept.inverse))


def nearest(rows: MeasuredRows, centres: Centres, workspace: Workspace) -> tuple[Labels, Floats]:
    """The nearest anchor of each row, of those it meets, and its distance per view that the row has."""
    groups = groups_of(centres, rows, workspace)
    if groups is None:
        given = rows.handle, centres.suited(rows), workspace.n_threads
        labels, distance, _ = backend(rows.reference).nearest_two(*given)
    else:
        soft, distance = searched(rows, centres, groups, workspace)
        labels = soft.near[:, 0]
    weight = np.zeros(rows.n_rows)
    for v, square in enumerate(rows.squares):  # in this order
        weight += np.where(rows.present(v), square, 0.0)
    far = np.zeros(rows.n_rows)
    np.divide(distance.astype(np.float64), weight, out=far, where=weight > 0)
    return labels, far


def _room(links: Links, n_new: int) -> Links:
    """Links with anchors that have none behind the others."""
    wider = links.copy()
    wider.resize((links.shape[0] + n_new,) * 2)
    return wider


def row_values(rows: MeasuredRows, v: int, which: Integers) -> Floats:
    """Some rows in a view, at their length; zero where they do not have it."""
    view = rows.chunk.views[v]
    assert view is not None
    taken = view[which]
    values = np.asarray(taken.toarray() if hasattr(taken, "toarray") else taken, dtype=np.float64)
    inverse = rows.inverse[v, which][:, None]
    scaled: Floats = np.where(inverse > 0, values, 0.0) * inverse
    return scaled


def _with_rows(centres: Centres, rows: MeasuredRows, born: Integers, near: Labels) -> Centres:
    """Centres with these rows behind them; in a view that a row lacks it takes its nearest anchor's."""
    values, known = list[Floats | None](), []
    for v, u in enumerate(centres.values):
        there = rows.inverse[v, born] > 0
        if u is None:  # the update after the chunk makes the first centres of a view
            values.append(None)
            known.append(np.zeros(centres.n_clusters + len(born), dtype=bool))
            continue
        new = np.array(u[near])
        if there.any():
            new[there] = row_values(rows, v, born[there])
        values.append(np.vstack([u, new]))
        known.append(np.append(centres.known[v], there | centres.known[v][near]))
    return Centres(values, known)
