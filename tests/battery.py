"""Rows of every kind, and what every function of a backend computes from them: to compare backends."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from typing import Any

import numpy as np

from viewpass.kernels.grid import neighbours

KINDS = ("float32", "float64", "csr32", "csr64", "csr32, long", "csr64, long", "none")
STYLES = ("groups", "ties", "scales", "zeros")


@dataclass(frozen=True)
class Made:
    """Views as the kernels take them (None, array, CSR parts), and centres and labels for them."""

    views: list[Any]
    observed: np.ndarray | None
    weights: list[float]
    widths: list[int]
    n_rows: int
    n_clusters: int
    seed: int
    copies: np.ndarray | None = None  # how often each row counts
    reaches: tuple[float, ...] = ()  # of views whose rows keep their lengths; 0 for others

    @property
    def rng(self) -> np.random.Generator:
        return np.random.default_rng(self.seed + 1)


def made(seed, n_rows=None, n_clusters=None, kinds=None, widths=None, styles=STYLES, kept=True) -> Made:
    rng = np.random.default_rng(seed)
    n_rows = int(rng.choice([1, 2, 5, 17, 63, 64, 65, 100])) if n_rows is None else n_rows
    n_clusters = int(rng.choice([1, 2, 3, 5, 8, 9, 17, 33])) if n_clusters is None else n_clusters
    kinds = list(rng.choice(KINDS, size=rng.integers(1, 5))) if kinds is None else kinds
    if widths is None:
        widths = rng.choice([1, 2, 3, 7, 8, 25, 63, 64, 65, 130, 257], size=len(kinds)).tolist()
    views = [
        view(rng, kind, n_rows, width, rng.choice(styles)) for kind, width in zip(kinds, widths, strict=True)
    ]
    observed = rng.random((n_rows, len(kinds))) < rng.choice([0.5, 0.9]) if rng.random() < 0.6 else None
    weights = (
        rng.choice([1.0, 0.3, 1e-4], size=len(kinds)).tolist() if rng.random() < 0.5 else [1.0] * len(kinds)
    )
    copies = rng.integers(0, 5, size=n_rows) if rng.random() < 0.4 else None
    reaches = with_lengths(np.random.default_rng([seed, 1]), views, weights) if kept else ()
    return Made(views, observed, weights, widths, n_rows, n_clusters, seed, copies, reaches)


def with_lengths(rng, views, weights):
    """Divides some dense views so that their rows, at most 1 long, can keep their lengths."""
    reaches = [0.0] * len(views)
    for v, x in enumerate(views):
        if not isinstance(x, np.ndarray) or rng.random() > 0.4:
            continue
        lengths = np.linalg.norm(np.nan_to_num(x.astype(np.float64)), axis=1)
        longest = lengths.max(initial=0.0)
        if not 1e-100 < longest < 1e100:
            continue
        x = (x.astype(np.float64) / longest * rng.choice([1.0, 1 / 16])).astype(x.dtype)
        longest = np.linalg.norm(np.nan_to_num(x.astype(np.float64)), axis=1).max(initial=0.0)
        reaches[v] = min(longest * np.sqrt(weights[v]) * (1 + 1e-6) + np.sqrt(x.shape[1]) * 2.0**-33, 1.0)
        views[v] = x
    return tuple(reaches)


def view(rng, kind, n_rows, width, style):
    if kind == "none":
        return None
    dtype = np.float64 if "64" in kind else np.float32
    groups = rng.integers(4, size=n_rows)
    if style == "ties":  # small whole numbers: many rows and distances coincide
        x = rng.integers(-1, 2, size=(n_rows, width)).astype(dtype)
    else:
        x = (2 * rng.standard_normal((4, width))[groups] + rng.standard_normal((n_rows, width))).astype(dtype)
    if style == "scales":
        x *= (10.0 ** rng.uniform(-12, 25, size=(n_rows, 1))).astype(dtype)
    if style == "zeros":
        x[rng.random(x.shape) < 0.7] = 0
    again = rng.random(n_rows) < 0.2
    x[again] = x[rng.integers(n_rows, size=n_rows)][again]
    x[rng.random(n_rows) < 0.1] = 0
    if kind.startswith("csr"):
        x[rng.random(x.shape) < 0.5] = 0
        return (*parts(x, index=np.int64 if "long" in kind else np.int32), width)
    x[rng.random(n_rows) < 0.1] = np.nan
    return x


def parts(x, *, flip=False, halves=False, index=np.int32):
    """Values, columns and row starts of a matrix; with falling columns (flip) or each value as two halves."""
    data, indices, indptr = [], [], [0]
    for row in x:
        columns = np.flatnonzero(row)
        columns = columns[::-1] if flip else columns
        columns = np.tile(columns, 2) if halves else columns
        indices.extend(columns)
        data.extend(row[columns] / (2 if halves else 1))
        indptr.append(len(indices))
    return np.array(data, dtype=x.dtype), np.array(indices, dtype=index), np.array(indptr, dtype=index)


def rows_of(module, given: Made, n_threads=1, *, measured=True):
    """The backend's rows, their norms and kinds, and the worst kind (None if they are not measured)."""
    n_views = len(given.views)
    inverse = np.full((n_views, given.n_rows), 7.0 if measured else 0.0)
    kinds = np.full((n_views, given.n_rows), 9 if measured else 0, dtype=np.uint8)
    lengths = given.copies, list(given.reaches)
    rows = module.Rows(given.views, given.observed, given.weights, inverse, kinds, False, *lengths)
    return rows, inverse, kinds, rows.measure(n_threads) if measured else None


def centres_of(module, given: Made, rng):
    """Some equal to rows, some twice, some a view does not have; a view may have none at all."""
    values, known = [], np.zeros((len(given.views), given.n_clusters), dtype=bool)
    for v, (x, width) in enumerate(zip(given.views, given.widths, strict=True)):
        u = rng.standard_normal((given.n_clusters, width)) * rng.choice([1e-3, 0.3, 1.0])
        if isinstance(x, np.ndarray) and len(x) and rng.random() < 0.5:
            u = np.nan_to_num(x[rng.integers(len(x), size=given.n_clusters)].astype(np.float64))
            u /= np.maximum(np.linalg.norm(u, axis=1, keepdims=True), 1e-300)
        u = u[rng.integers(given.n_clusters, size=given.n_clusters)]
        none = rng.random() < 0.15
        known[v] = False if none else rng.random(given.n_clusters) < 0.8
        values.append(None if none else u)
    return module.Centres(values, known)


def taken(module, centres, n_views, some):
    """The centres of some clusters."""
    values = [centres.values(v) for v in range(n_views)]
    known = np.array([centres.known(v)[some] for v in range(n_views)], dtype=bool)
    return module.Centres([None if u is None else u[some] for u in values], known)


def shown(centres, n_views):
    """The arrays that centres consist of."""
    found = []
    for v in range(n_views):
        u = centres.values(v)
        found += [np.zeros(0) if u is None else np.array(u), np.asarray(centres.known(v), dtype=bool)]
        found += [] if u is None else [np.asarray(centres.squares(v))]
    return found


def nothing(given: Made, n_clusters=None):
    n_clusters = n_clusters or given.n_clusters
    sums = [np.zeros((n_clusters, width), dtype=np.int64) for width in given.widths]
    return sums, np.zeros((len(given.widths), n_clusters), dtype=np.int64)


def ridges(alpha: float, n_views: int):
    """A ridge for each view."""
    return alpha * (1.0 + np.arange(n_views))


def run(module, given: Made, rng, n_threads, *, begin, size, rules, first, measured=True):
    """One call of `run_chunks`: what it found, and apart from that the margins."""
    rows, inverse, *_ = rows_of(module, given, n_threads)
    n_views = len(given.views)
    centres = centres_of(module, given, rng)
    sums, counts = nothing(given)
    old = rng.integers(given.n_clusters, size=given.n_rows).astype(np.int32)  # -1: only rows without any view
    old[~(inverse > 0).any(axis=0)] = -1
    older = np.where(rng.random(given.n_rows) < 0.5, old, -1).astype(np.int32)
    module.accumulate(rows, None, old if begin == 3 else older, 1, sums, counts, 1)
    labels, margins = old.copy(), np.full(given.n_rows, np.inf)
    if begin < 2 and not measured:  # measured while they are read
        rows, inverse, *_ = rows_of(module, given, measured=False)
    if begin == 2:
        nowhere = np.zeros((n_views, given.n_clusters), dtype=bool)
        centres = module.Centres([None] * n_views, nowhere)
    n_done, losses, n_iter, _, new = module.run_chunks(
        *(rows, size, begin, first, sums, counts, centres),
        *(module.Rules(ridges(rules[0], n_views), *rules[1:]), labels, margins, n_threads),
    )
    found = [np.array([n_done, n_iter]), losses, labels, *sums, counts, *shown(new, n_views), inverse]
    return found, margins


def everything(module, given: Made, n_threads=1):
    """The results of every function on these rows, by its name."""
    rng, n_views = given.rng, len(given.views)
    rows, inverse, kinds, worst = rows_of(module, given, n_threads)
    squares = [rows.squares(v) for v in range(n_views)]
    found: dict[str, list[np.ndarray]] = {"measure": [inverse, kinds, np.array(worst), *squares]}
    centres = centres_of(module, given, rng)
    suited = centres.suited(rows)
    found["centres"] = shown(centres, n_views)

    labels = np.full(given.n_rows, -7, dtype=np.int32)
    module.assign(rows, suited, labels, n_threads)
    fresh, again = rows_of(module, given, measured=False)[0], labels.copy()
    module.assign(fresh, centres.suited(fresh), again, n_threads)
    found["assign"] = [labels, again]
    found["nearest two"] = list(module.nearest_two(rows, suited, n_threads))
    for relative in (False, True):
        found[f"all distances {relative}"] = [module.all_distances(rows, suited, relative, n_threads)]

    near, weights = module.soft_assign(rows, suited, neighbours(given.n_clusters), n_threads)
    found["soft"] = [near, weights]
    n_groups = max(1, given.n_clusters // 3)
    grouped = rng.integers(n_groups, size=given.n_clusters).astype(np.int32)
    middles = taken(module, centres, n_views, rng.permutation(given.n_clusters)[:n_groups]).suited(rows)
    for fewest in {min(given.n_clusters, 5), given.n_clusters} - {1}:
        met = middles, grouped, fewest, n_threads
        found[f"met {fewest}"] = list(module.search_anchors(rows, suited, *met))

    odd = rng.integers(-1, given.n_clusters, size=given.n_rows).astype(np.int32)
    sums, counts = nothing(given)
    module.accumulate(rows, None, odd, 1, sums, counts, n_threads)
    which = np.sort(rng.permutation(given.n_rows)[: given.n_rows // 2])
    partly = [x.copy() for x in sums], counts.copy()
    module.accumulate(rows, which, odd, -1, *partly, n_threads)
    found["accumulate"] = [*sums, counts, *partly[0], partly[1]]
    for alpha in (0.0, 0.1, 10.0):
        each = ridges(alpha, n_views)
        found[f"loss {alpha}"] = [np.array(module.loss(centres, sums, counts, each, None))]
        for fill in (False, True):
            seen, changed = rng.random(n_views) < 0.8, rng.random(given.n_clusters) < 0.7
            means = [rng.standard_normal(width) for width in given.widths]
            new = module.update_centres(centres, sums, counts, seen, changed, each, fill, means)
            found[f"update {alpha} {fill}"] = shown(new, n_views)
            found[f"loss after {alpha} {fill}"] = [np.array(module.loss(new, sums, counts, each, None))]

    memberships = rng.random((given.n_rows, given.n_clusters))
    memberships[:, rng.random(given.n_clusters) < 0.2] = 0
    for alpha, fill, zero_filled in ((0.0, True, False), (0.1, True, True), (10.0, False, False)):
        soft = module.soft_centres(rows, memberships, ridges(alpha, n_views), fill, zero_filled, n_threads)
        found[f"soft centres {alpha}"] = shown(soft, n_views)
    if given.n_rows:
        points = rng.random((given.n_clusters, 3))
        found["seeds"] = [module.draw_seeds(rows, points, given.n_clusters, n_threads)]

    return found


def seeds_by_groups(module, given: Made, n_threads=1):
    """What the reference does not specify."""
    rows, points = rows_of(module, given, n_threads)[0], given.rng.random((given.n_clusters, 3))
    n_groups = max(given.n_clusters // 2, 1), 1
    return {"seeds": [module.draw_seeds(rows, points, n, n_threads) for n in n_groups]}


def scaled(module, given: Made, n_threads=1):
    """The rows in their scales."""
    found, rng = {}, given.rng
    for v, (x, width) in enumerate(zip(given.views, given.widths, strict=True)):
        mean, weights = rng.standard_normal(width), rng.random(width) + 1e-3
        if isinstance(x, tuple):
            out = np.empty_like(x[0])
            columns = np.where(rng.random(len(x[1])) < 0.1, width + 3, x[1]).astype(x[1].dtype)
            module.weigh_entries(x[0], columns, weights, out, n_threads)
            found[f"entries {v}"] = [out]
        elif x is not None:
            x, wanted = x.copy(), rng.random(len(x)) < 0.8
            largest = np.finfo(x.dtype).max
            x[: len(x) // 4] = rng.uniform(-1, 1, size=x[: len(x) // 4].shape) * largest
            x[len(x) // 2 : len(x) // 2 + 2] = mean
            x[-1:, 0], x[-2:-1, -1] = np.inf, np.nan
            out, weighed = np.empty_like(x), np.empty_like(x)
            present = module.standardise(x, wanted, mean, weights, out, n_threads)
            module.weigh_rows(x, weights, weighed, n_threads)
            found[f"standard {v}"] = [np.asarray(present), out, weighed]
            centred, given_to = np.empty_like(x), (float(weights[0]), float(rng.choice([0.5, 16.0])))
            kept = module.centre_rows(x, wanted, mean, *given_to, centred, n_threads)
            found[f"euclidean {v}"] = [np.asarray(kept[0]), np.asarray(kept[1]), centred]
            x = rng.standard_normal(x.shape).astype(x.dtype)
            directions = rng.standard_normal((int(rng.integers(1, 12)), width))
            inverse = np.where(wanted, 1.0 / np.linalg.norm(x, axis=1), 0.0)
            offsets, mapped = (
                rng.standard_normal(len(directions)),
                np.empty((len(x), len(directions)), x.dtype),
            )
            there = module.map_rows(x, inverse, directions, offsets, mapped, n_threads)
            found[f"mapped {v}"] = [np.asarray(there), mapped]
    return found


def digest(found: dict[str, list[np.ndarray]]) -> str:
    total = hashlib.sha256()
    for name, arrays in found.items():
        total.update(name.encode())
        for array in arrays:
            total.update(f"{array.dtype} {array.shape}".encode())
            total.update(np.ascontiguousarray(array).tobytes())
    return total.hexdigest()
