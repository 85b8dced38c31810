"""The rows that are clustered: made ones that cross every boundary, and real ones.

Made rows are sums and products of uniform numbers, which are the same bits on every machine. NaN in
all columns of a row: the view is missing.
"""

from __future__ import annotations

import os
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse as sp

import viewpass as vp
from viewpass.evaluate import make_mask

FOLDER = Path(os.environ.get("VIEWPASS_DATA", Path(__file__).parents[3] / "shared" / "data"))
REAL = {"digit": "mfeat", "digit-2000": "mfeat", "webkb": "webkb"}
SCALES = [1.0, 1e-12, 1e25, 1e-3, 1e6]
SINGLE, DOUBLE = [1e-41, 3e-38, 1e37], [1e-300, 1e-160, 1e150, 1e300]  # what each type can just hold


@dataclass(frozen=True)
class Rows:
    """Views in float64 (or CSR), and how they are to be clustered."""

    views: list[Any]
    n_clusters: int
    chunk_size: int

    @property
    def n_rows(self) -> int:
        return int(self.views[0].shape[0])


# ---- made rows


def around(n_rows, widths, n_groups, seed, noise=1.0, missing=0.3):
    """Rows around some centres; each view is missing in a part of them."""
    rng = np.random.default_rng(seed)
    group = rng.integers(n_groups, size=n_rows)
    views = []
    for width in widths:
        x = (rng.random((n_groups, width)) - 0.5)[group] + noise * (rng.random((n_rows, width)) - 0.5)
        x[rng.random(n_rows) < missing] = np.nan
        views.append(x)
    return views


def tiles():
    """Chunks of a tile and two rows more, the last one shorter; a tile is 192 rows at most."""
    return Rows(around(710, (40, 7, 1), 31, seed=1), 31, 194)


def wide():
    """Columns in several blocks of 256 and of 64, with some left over; small tiles, all threads."""
    return Rows(around(500, (300, 600, 7), 12, seed=2), 31, 240)


def halves():
    """Two clusters; several times what a tile holds in a chunk."""
    return Rows(around(520, (1, 300, 40), 2, seed=3, noise=2.5), 2, 450)


def many():
    """As many clusters as a chunk has rows, nearly."""
    return Rows(around(900, (40, 7, 64), 300, seed=4, noise=0.5), 300, 420)


def ties():
    """A few different rows again and again: equal distances, equal centres and empty clusters."""
    rng = np.random.default_rng(5)
    which = rng.integers(40, size=560)
    views = [rng.integers(-1, 2, size=(40, width)).astype(np.float64)[which] for width in (1, 3, 7)]
    for x in views:
        x[rng.random(len(x)) < 0.2] = np.nan
    return Rows(views, 31, 130)


def odd():
    """Rows without any view or all zero, of extreme lengths and twice; a view absent in whole chunks."""
    views = around(640, (7, 40, 1), 6, seed=6)
    rng = np.random.default_rng(60)
    for x in views:
        x *= np.array(SCALES)[rng.integers(len(SCALES), size=len(x))][:, None]
        x[rng.random(len(x)) < 0.05] = 0.0
        x[400:440] = x[100:140]
    views[1][:260], views[0][390:520] = np.nan, np.nan
    for x in views:
        x[:9] = x[300:310] = np.nan
    return Rows(views, 5, 130)


def large(seed):
    """The same troubles in more rows, with many threads at work."""
    views = around(5000, (40, 300, 7), 40, seed=100 + seed)
    rng = np.random.default_rng(200 + seed)
    for x in views:
        x *= np.array(SCALES)[rng.integers(len(SCALES), size=len(x))][:, None]
        x[rng.random(len(x)) < 0.02] = 0.0
        x[4000:4300] = x[1000:1300]
    views[2][:1200] = np.nan
    return Rows(views, 31, 1002)


# ---- real rows


def digit(n_rows, chunk_size):
    """Digit, shuffled, without 30 % of each view."""
    bundle = vp.load_bundle(FOLDER / "mfeat.npz")
    order = np.random.default_rng(7).permutation(bundle.n_rows)[:n_rows]
    observed = make_mask("paper", n_rows, 5, 0.3, random_state=7)
    views = [bundle.views[name][order].astype(np.float64) for name in ("fou", "fac", "kar", "pix", "zer")]
    for v, x in enumerate(views):
        x[~observed[:, v]] = np.nan
    return Rows(views, 10, chunk_size)


def webkb():
    bundle = vp.load_bundle(FOLDER / "webkb.npz")
    order = np.random.default_rng(8).permutation(bundle.n_rows)
    return Rows([sp.csr_array(x)[order] for x in bundle.views.values()], 2, 250)


MADE = {
    **{make.__name__: make for make in (tiles, wide, halves, many, ties, odd)},
    **{f"large-{seed}": lambda seed=seed: large(seed) for seed in range(3)},
    "digit": lambda: digit(600, 50),
    "digit-2000": lambda: digit(2000, 350),
    "webkb": webkb,
}


@cache
def rows(name: str) -> Rows:
    return MADE[name]()


# ---- the kinds of numbers


def single(x):
    return _stretched(dense(x).astype(np.float32), SINGLE)


def double(x):
    return _stretched(dense(x).astype(np.float64), DOUBLE)


def sparse(x, number=np.float32, index=np.int32):
    """CSR of the larger entries of each row."""
    if not sp.issparse(x):
        size = np.abs(np.nan_to_num(x))
        x = np.where(size >= 0.5 * size.max(axis=1, keepdims=True), np.nan_to_num(x), 0.0)
        x = single(x) if number == np.float32 else double(x)
    made = sp.csr_array(x).astype(number)
    made.indices, made.indptr = made.indices.astype(index), made.indptr.astype(index)
    return made


def sparse_double(x):
    return sparse(x, np.float64, np.int64)


def dense(x):
    return x.toarray() if sp.issparse(x) else x


def _stretched(x, scales):
    """Where lengths are extreme, let some rows be as short and as long as the type allows."""
    if np.nanmax(np.abs(x)) > 1e20:
        for at, scale in enumerate(scales, 560):
            longest = np.abs(x[at]).max()
            if longest > 0:
                x[at] = x[at] / longest * x.dtype.type(scale)
    return x


KINDS = {
    "float32": (single,),
    "float64": (double,),
    "csr": (sparse,),
    "csr64": (sparse_double,),
    "mixed": (single, double, sparse),
}


@cache
def views_of(name: str, kind: str) -> list[Any]:
    """The views of some rows in numbers of one kind, or of several in turn."""
    makes = KINDS[kind]
    return [makes[v % len(makes)](x) for v, x in enumerate(rows(name).views)]
