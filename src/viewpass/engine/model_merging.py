"""Merges models that were fitted on different rows: matches their clusters and adds their statistics.

Statistics add up exactly; the question is which clusters belong together. Merging cluster a of one model with
cluster b of another raises the objective (Eq. 17 with the best centres) by

    |R_a|^2 / (T_a + alpha) + |R_b|^2 / (T_b + alpha) - |R_a + R_b|^2 / (T_a + T_b + alpha)

summed over views: the price of the merge. Clusters are paired so that the sum of prices is smallest.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
from scipy.optimize import linear_sum_assignment

from viewpass.core.model import Model
from viewpass.core.start.alpha import estimated_alpha
from viewpass.core.state.alpha import Alpha, each_view
from viewpass.core.state.centres import Centres, loss, update
from viewpass.core.state.growth import Growth
from viewpass.core.state.lineage import Lineage
from viewpass.core.state.statistics import Statistics, added
from viewpass.kernels.backend import backend
from viewpass.kernels.grid import Floats, Integers
from viewpass.kernels.reference.exact import ordered_sum


def prices(one: Statistics, other: Statistics, alpha: Alpha) -> Floats:
    """The price of merging cluster a of one with cluster b of the other, for all pairs."""
    price, alphas = np.zeros((one.n_clusters, other.n_clusters)), each_view(alpha, len(one.counts))
    for v in range(len(one.counts)):
        R, Q = one.sums(v), other.sums(v)
        own, others = ordered_sum(R * R), ordered_sum(Q * Q)
        together = own[:, None] + 2.0 * backend().products(R, Q) + others[None, :]
        T, S = one.counts[v], other.counts[v]
        price += _explained(own, T, alphas[v])[:, None] + _explained(others, S, alphas[v])[None, :]
        price -= _explained(together, T[:, None] + S[None, :], alphas[v])
    return price


def _explained(squares: Floats, counts: Integers, alpha: float) -> Floats:
    explained: Floats = np.divide(squares, counts + alpha, out=np.zeros_like(squares), where=counts > 0)
    return explained


def matched(one: Statistics, other: Statistics, alpha: Alpha) -> Integers:
    """For each cluster of one, the cluster of the other that it is merged with."""
    widths = [max(pair) for pair in zip(one.widths, other.widths, strict=True)]
    price = prices(one.widened(widths), other.widened(widths), alpha)
    order: Integers = linear_sum_assignment(price)[1]  # the rows are in order
    return order


def reordered(model: Model, order: Integers) -> Model:
    """The same model with its clusters in another order."""
    total = model.total.grouped(np.argsort(order), len(order))
    centres = model.centres.take(order)
    links = None if model.links is None else model.links[order][:, order].sorted_indices()
    census = None if model.census is None else replace(model.census, counts=model.census.counts[:, order])
    return replace(model, total=total, centres=centres, links=links, census=census)


def merged(models: Sequence[Model], fill: str | None, *, by_price: bool) -> Model:
    """One model of all rows: statistics added, centres from them (Eq. 13).

    A cluster without rows in a view keeps the centre of the first model that knows it. Where models have
    estimated different ridges, that of the first matches them and is then estimated again.
    """
    first, *rest = models
    schema, total = first.schema, first.total
    last, links, census = first.centres, first.links, first.census
    for model in rest:
        first.known_schema.merged(model.known_schema)
        schema = schema.merged(model.schema)
        if by_price:
            marks = first.centres.marks
            pair = total.whole(marks), model.total.whole(marks)
            model = reordered(model, matched(*pair, first.alpha))
        total = added(total, model.total)
        last = _known_first(last, model.centres)
        links = None if links is None or model.links is None else links + model.links
        census = None if census is None or model.census is None else census.joined(model.census)
    total.check_room()
    alpha = first.alpha
    if any(model.alpha != alpha for model in rest):
        alpha = estimated_alpha(total.whole(last.marks), first.row_squares, first.weight_unit)
    everyone = np.ones(total.n_clusters, dtype=bool)
    seen = np.array([bool(counts.any()) for counts in total.counts])
    zeros = [np.zeros(width) for width in total.widths]
    centres = update(total, seen, last, everyone, alpha, fill=fill is not None, means=zeros)
    read = sum((model.read for model in rest), start=first.read)
    return replace(
        first,
        schema=schema,
        total=total,
        centres=centres,
        alpha=alpha,
        read=read,
        n_iter=sum(model.n_iter for model in models),
        loss_curve=[loss(centres, total, alpha) * first.square_unit / max(read.n_counted, 1)],
        links=links,
        growth=_growth(first),
        census=census,
    )


def _growth(first: Model) -> Growth | None:
    """What is remembered of births and merges: the names begin anew, and no row waits."""
    if first.growth is None or first.consensus == "plain":
        return None
    return Growth(first.growth.most, Lineage.of(first.total.n_clusters), few=first.growth.few)


def _known_first(one: Centres, other: Centres) -> Centres:
    values: list[Floats | None] = []
    for known, mine, theirs in zip(one.known, one.values, other.values, strict=True):
        if mine is None or theirs is None:
            values.append(theirs if mine is None else mine)
        else:
            values.append(np.where(known[:, None], mine, theirs))
    either = [mine | theirs for mine, theirs in zip(one.known, other.known, strict=True)]
    return Centres(values, either, one.marks)
