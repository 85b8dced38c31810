"""MultiNMF: non-negative factors of every view that share a consensus (Liu, Wang, Gao and Han, SDM 2013).

min over U_v, V_v, V* >= 0 of  sum_v |X_v - V_v U_v'|^2 + l |V_v Q_v - V*|^2, Q_v = diag(column sums of U_v)

Rows are instances here: V_v (n x K) are the coefficients, U_v (d x K) the basis, whose columns sum
to 1 after every step, so that Q_v = I wherever the objective is looked at.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from viewpass.baselines.algorithms.rows import Filled
from viewpass.kernels.grid import Floats
from viewpass.kernels.threads import run_blocks

FLOOR = 1e-10  # of denominators
SHORT = 50  # steps of a try


@dataclass(frozen=True)
class Settings:
    """What MultiNMF is told."""

    agreement: float = 1e-2
    n_rounds: int = 30
    max_iter: int = 200  # steps a view and round
    n_tries: int = 30
    n_sweeps: int = 3
    n_redos: int = 5


Bases = list[Floats]


def fit_of(view: Filled, coefficients: Floats, basis: Floats, squares: float) -> float:
    """|X - VU'|^2."""
    cross = float(np.vdot(view.times(basis), coefficients))
    return squares - 2.0 * cross + float(np.vdot(coefficients.T @ coefficients, basis.T @ basis))


def summing_to_one(basis: Floats, coefficients: Floats) -> tuple[Floats, Floats]:
    """Columns of the basis to sum 1, the coefficients scaled the other way."""
    c = np.maximum(basis.sum(axis=0), FLOOR)
    return basis / c, coefficients * c


def plain(view: Filled, basis: Floats, coefficients: Floats, n_steps: int) -> tuple[Floats, Floats]:
    """Lee and Seung's steps for |X - VU'|^2."""
    for _ in range(n_steps):
        gram = basis.T @ basis
        coefficients = coefficients * (view.times(basis) / np.maximum(coefficients @ gram, FLOOR))
        gram = coefficients.T @ coefficients
        basis = basis * (view.crossed(coefficients) / np.maximum(basis @ gram, FLOOR))
    return basis, coefficients


def started(
    views: list[Filled], n_clusters: int, settings: Settings, rng: np.random.Generator
) -> tuple[Bases, Bases]:
    """Plain factors of each view in turn, each begun with the coefficients of the one before.

    The very first has none to begin with: the best of several short tries is continued.
    """
    n_rows = views[0].n_rows
    bases: Bases = [np.zeros((view.width, n_clusters)) for view in views]
    coefficients: Bases = [np.zeros((n_rows, n_clusters)) for _ in views]
    last: Floats | None = None
    for _ in range(settings.n_sweeps):
        for v, view in enumerate(views):
            best = np.inf
            squares = float(view.squares().sum())
            for _ in range(settings.n_tries if last is None else 1):
                basis = rng.random((view.width, n_clusters))
                basis /= np.sqrt(np.square(basis).sum(axis=0))
                begin = rng.random((n_rows, n_clusters)) if last is None else last
                begin = begin / begin.sum()
                tried = plain(view, basis, begin, SHORT)
                reached = fit_of(view, tried[1], tried[0], squares)
                if reached < best:
                    best, found = reached, tried
            found = plain(view, *found, max(settings.max_iter - SHORT, 0))
            bases[v], coefficients[v] = summing_to_one(*found)
            last = coefficients[v]
    return bases, coefficients


def drawn(
    view: Filled, basis: Floats, coefficients: Floats, agreed: Floats, agreement: float, n_steps: int
) -> tuple[Floats, Floats]:
    """Steps of one view towards the data and the consensus."""
    for _ in range(n_steps):
        gram = basis.T @ basis
        up = view.times(basis) + agreement * agreed
        down = coefficients @ gram + agreement * coefficients
        coefficients = coefficients * (up / np.maximum(down, FLOOR))
        gram = coefficients.T @ coefficients
        pull = agreement * np.einsum("ij,ij->j", coefficients, agreed)
        push = agreement * np.square(coefficients).sum(axis=0) * basis.sum(axis=0)
        basis = basis * ((view.crossed(coefficients) + pull) / np.maximum(basis @ gram + push, FLOOR))
        basis, coefficients = summing_to_one(basis, coefficients)
    return basis, coefficients


def factorise(
    views: list[Filled],
    n_clusters: int,
    settings: Settings,
    rng: np.random.Generator,
    n_threads: int,
    tell: Callable[[int, float], None],
) -> tuple[Bases, Bases, Floats, list[float]]:
    """The whole method: bases, coefficients, consensus, and the objective of every round kept.

    A round that raises the objective is undone and tried again towards the consensus it came to, at
    most a few times; then the method stops.
    """
    bases, coefficients = started(views, n_clusters, settings, rng)
    squares = [float(view.squares().sum()) for view in views]
    agreed = coefficients[0]

    def value(bases: Bases, coefficients: Bases, agreed: Floats) -> float:
        return sum(
            fit_of(view, V, U, square) + settings.agreement * float(np.square(V - agreed).sum())
            for view, U, V, square in zip(views, bases, coefficients, squares, strict=True)
        )

    curve = [value(bases, coefficients, agreed)]
    kept = bases, coefficients, agreed
    n_redone = 0
    for number in range(settings.n_rounds):
        new_bases, new_coefficients = _round(views, kept[0], kept[1], agreed, settings, n_threads)
        agreed = np.mean(new_coefficients, axis=0)
        reached = value(new_bases, new_coefficients, agreed)
        if reached <= curve[-1]:
            kept = new_bases, new_coefficients, agreed
            curve.append(reached)
            n_redone = 0
            tell(number + 1, reached)
        else:
            n_redone += 1
            if n_redone > settings.n_redos:
                break
    return *kept, curve


def _round(
    views: list[Filled], bases: Bases, coefficients: Bases, agreed: Floats, settings: Settings, n_threads: int
) -> tuple[Bases, Bases]:
    bases, coefficients = list(bases), list(coefficients)

    def work(v: int, worker: int) -> None:
        start = bases[v], coefficients[v]
        bases[v], coefficients[v] = drawn(views[v], *start, agreed, settings.agreement, settings.max_iter)

    run_blocks(work, len(views), n_threads)
    return bases, coefficients
