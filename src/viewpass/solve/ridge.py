"""The ridge of each view, estimated from the sums of clusters.

Unit rows of a cluster are x = mu + noise, and the best ridge on its centre is the ratio of the two parts:

    alpha_v = (1 - rho_v) / rho_v,  rho_v = E[x.x'] of two rows of the same cluster
            = sum_k (|R_vk|^2 - T_vk) / sum_k T_vk (T_vk - 1)

where |R|^2 is divided by the mean square of the rows' lengths if that is not 1. A ridge that is too small is
harmless where clusters have many rows, and fatal where they have few: their centres are long by noise alone,
and rows prefer the short centres of large clusters.

First clusters are merged by J with a ridge towards the mean of all rows:

    J_ridge = const - sum_v sum_k |R_k - T_k g|^2 / (T_k + ridge),  g the mean of the rows of view v

On a sample, a handful of nearly equal rows lowers J as much as a real cluster does and takes its place. This
ridge is a share of the average cluster size, so small clusters count for less than they seem to.
"""

from __future__ import annotations

from collections.abc import Sequence

from viewpass.kernels.portable import ordered_sum
from viewpass.sums.rules import Alpha, each_view
from viewpass.sums.statistics import Statistics, squares_of

FIRST_ALPHA = 0.1  # before anything is known, and of a view in which no cluster has two rows
MAX_ALPHA = 1000.0
CLOSE = 0.1  # estimates that differ by a smaller share are not worth another round


def estimated_alpha(
    total: Statistics, squares: Sequence[float] | None, weight_unit: int
) -> tuple[float, ...]:
    """The ridge of each view, in units of 1 / weight_unit; 0 where the rows of a cluster are equal.

    `squares`: the squared lengths that the rows were brought to (`MeasuredRows.squares`); None: 1. Rows
    count as often as their sample weight says, so that the estimate is that of repeated rows.
    """
    each = list(squares or (1.0,) * len(total.counts))
    sums = squares_of(total, squares)
    for v, own in enumerate(total.kept):
        if own is not None:
            each[v] = sums[v] / max(total.n_present[v], 1)
    alphas = [_of_view(total, v, square, weight_unit) for v, square in enumerate(each)]
    return tuple(weight_unit * alpha for alpha in alphas)


def alike(alpha: tuple[float, ...], before: Alpha) -> bool:
    """Whether an estimate is close to the one before in every view."""
    pairs = zip(alpha, each_view(before, len(alpha)).tolist(), strict=True)
    return all(abs(now - last) <= CLOSE * max(now, last) for now, last in pairs)


def _of_view(total: Statistics, v: int, square: float, weight_unit: int) -> float:
    several = total.counts[v] >= 2 * weight_unit
    if not several.any() or square == 0:
        return FIRST_ALPHA
    counts = total.counts[v][several] / weight_unit
    sums = total.sums(v)[several] / weight_unit
    alike = float(ordered_sum(ordered_sum(sums * sums) / square - counts))
    pairs = float(ordered_sum(counts * (counts - 1.0)))
    return max(0.0, (pairs - alike) / alike) if alike * MAX_ALPHA > pairs else MAX_ALPHA


RIDGE_SHARE = 0.1  # of the average number of rows per cluster


def start_ridge(n_rows: int, n_clusters: int, alpha: Alpha) -> Alpha:
    """The ridge, in rows; `alpha` (of a view) if that is larger."""
    share = RIDGE_SHARE * n_rows / n_clusters
    if isinstance(alpha, float | int):
        return max(alpha, share)
    return tuple(max(of_view, share) for of_view in alpha)
