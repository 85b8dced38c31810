"""Non-negative least squares of many rows that share one small Gram matrix: Newton steps, and to the end."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from viewpass.kernels.backend import backend
from viewpass.kernels.grid import Floats

HALVINGS = 30
FALL = 1e-12  # relative decrease below which a difference is rounding
RIDGE = 1e-12  # share of the mean diagonal, for a Hessian that may be singular
GRAM_RIDGE = 1e-13  # the same, for a Gram matrix


def quadratic(Y: Floats, gram: Floats, products: Floats, weights: Floats | None = None) -> float:
    """The sum over rows of w_i (y_i G y_i' - 2 p_i y_i')."""
    rows = np.einsum("ij,ij->i", Y @ gram - 2.0 * products, Y)
    return float(rows.sum() if weights is None else weights @ rows)


def ridged(gram: Floats, share: float = RIDGE) -> Floats:
    """The matrix with a small multiple of the identity added."""
    size = len(gram)
    return np.asarray(gram + max(share * float(np.trace(gram)) / size, 1e-300) * np.eye(size))


def inverse(gram: Floats) -> Floats:
    """The inverse of a Hessian, or its pseudo-inverse where it is singular to working precision."""
    try:
        found = np.linalg.inv(ridged(gram))
    except np.linalg.LinAlgError:
        found = np.full_like(gram, np.inf)
    if not np.isfinite(found).all():
        found = np.linalg.pinv(gram)
    return np.asarray(found, dtype=np.float64)


def newton_step(
    Y: Floats,
    gram: Floats,
    products: Floats,
    *,
    weights: Floats | None = None,
    diagonal: bool = False,
    measure: Callable[[Floats], float] | None = None,
) -> tuple[Floats, float]:
    """One projected Newton step on `quadratic`, halved until the value decreases.

    Clipping may turn the Newton direction uphill, or lead back to the same point, which need not be the
    minimum. Where no halving helps, one projected gradient step of length 1 / largest eigenvalue is taken,
    which never increases the value. `measure` replaces `quadratic` in the test.
    Returns the new Y >= 0 and its value.
    """
    value = (lambda y: quadratic(y, gram, products, weights)) if measure is None else measure
    here = value(Y)
    slope = Y @ gram - products
    if diagonal:
        across = np.diagonal(gram)
        direction = slope / np.where(across > 0, across, 1.0)
    else:
        direction = slope @ inverse(gram)
    length = 1.0
    for _ in range(HALVINGS):
        there = np.maximum(Y - length * direction, 0.0)
        reached = value(there)
        if reached < here - FALL * abs(here):
            return there, reached
        if length == 1.0 and reached <= here + FALL * abs(here):
            break  # the full step leads back to the same point, and so would a shorter one
        length /= 2.0
    steepest = float(np.linalg.eigvalsh(gram)[-1])
    if steepest > 0:
        there = np.maximum(Y - slope / steepest, 0.0)
        reached = value(there)
        if reached <= here:
            return there, reached
    return Y, here


def nnls(gram: Floats, products: Floats, start: Floats | None = None, *, n_threads: int = 1) -> Floats:
    """Rows y >= 0 that minimise y G y' - 2 p y', to the last bit the same for any number of threads.

    Parameters
    ----------
    gram : (K, K) array
        Symmetric, positive semidefinite.
    products : (n, K) array
        The p of each row.
    start : (n, K) array, optional
        Near the answer: its positive entries are tried first.
    """
    size = len(gram)
    ridge = GRAM_RIDGE * max(float(np.trace(gram)) / max(size, 1), 1e-300)
    gram = np.ascontiguousarray(gram + ridge * np.eye(size))
    products = np.ascontiguousarray(products, dtype=np.float64)
    out = np.zeros_like(products) if start is None else np.array(start, dtype=np.float64, order="C")
    backend().nnls(gram, products, out, n_threads)
    return out
