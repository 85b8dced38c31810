"""One small data set in every form users pass it in, and what a model has learnt, for comparing."""

from __future__ import annotations

import numpy as np
import pandas as pd
import polars as pl
import scipy.sparse as sp

import viewpass as vp
from battery import parts

N = 48
_rng = np.random.default_rng(7)
_group = np.arange(N) % 3
# Whole numbers: exact in every type from int8 to float64.
IMAGE = (8 * np.eye(3, 4)[_group] + _rng.integers(-3, 4, size=(N, 4))).astype(np.float64)
TEXT = (8 * np.eye(3, 5)[_group] + _rng.integers(-3, 4, size=(N, 5))).astype(np.float64)
IMAGE[IMAGE.any(axis=1) == 0, 0] = 1.0
TEXT[TEXT.any(axis=1) == 0, 0] = 1.0
GAPS = np.column_stack([np.arange(N) % 5 != 1, np.arange(N) % 7 != 2])  # some rows lack a view
GAPS[11] = False  # and one lacks both


PLAIN = {"scale": "unit", "consensus": "plain"}  # every centre a cluster, rows at unit length
CHOSEN = {"scale": "auto", "consensus": "auto"}  # by the question, as by default
PUBLISHED = {"scale": "unit", "init": "random"}  # of OPIMC, as in the paper


def small(estimator=vp.ViewPass, **settings):
    """An estimator that chooses nothing, but for what the settings leave to it ("auto")."""
    given = PLAIN if estimator is vp.ViewPass else {}
    return estimator(**{"n_clusters": 3, "random_state": 0, "n_threads": 1, **given, **settings})


def with_gaps(gap=np.nan):
    """The two views with missing ones written into them."""
    return [np.where(GAPS[:, [v]], x, gap) for v, x in enumerate((IMAGE, TEXT))]


def random_csr(rng, shape, density, dtype=np.float64):
    """Random numbers, most of them zero; scipy's own way has another spelling in each version."""
    return sp.csr_array(np.where(rng.random(shape) < density, rng.random(shape), 0.0).astype(dtype))


def csr(x, **how):
    return sp.csr_array(parts(x, **how), shape=x.shape)


def csr_long(x):
    rows = csr(x)
    rows.indices, rows.indptr = rows.indices.astype(np.int64), rows.indptr.astype(np.int64)
    return rows


def csr_mixed(x):
    rows = csr(x)
    rows.indices = rows.indices.astype(np.int64)
    return rows


def read_only(x):
    x = x.copy()
    x.flags.writeable = False
    return x


def csr_read_only(x):
    return sp.csr_array(tuple(map(read_only, parts(x))), shape=x.shape)


def strided(x):
    padded = np.full((2 * x.shape[0], 3 * x.shape[1]), 77.0, dtype=x.dtype)
    padded[::2, ::3] = x
    return padded[::2, ::3]


DENSE = {
    "array": np.array,
    "Fortran order": np.asfortranarray,
    "strided": strided,
    "backwards": lambda x: x[::-1, ::-1].copy()[::-1, ::-1],
    "transposed": lambda x: np.ascontiguousarray(x.T).T,
    "read-only": read_only,
    "big-endian": lambda x: x.astype(x.dtype.newbyteorder(">")),
    "matrix": lambda x: np.asarray(x).view(np.matrix),
    "objects": lambda x: x.astype(object),
    "nested lists": lambda x: x.tolist(),
    "nested tuples": lambda x: tuple(map(tuple, x.tolist())),
    "long double": lambda x: x.astype(np.longdouble),
    "pandas": pd.DataFrame,
    "polars": lambda x: pl.DataFrame(np.ascontiguousarray(x), schema=[f"c{j}" for j in range(x.shape[1])]),
}
SPARSE = {
    "csr_array": csr,
    "csr_matrix": lambda x: sp.csr_matrix(csr(x)),
    "csr, long indices": csr_long,
    "csr, mixed indices": csr_mixed,
    "csr, read-only": csr_read_only,
    "csr, columns unsorted": lambda x: csr(x, flip=True),
    "csr, values in halves": lambda x: csr(x, halves=True),
    "csc": sp.csc_array,
    "coo": sp.coo_array,
    "lil": sp.lil_array,
    "dok": sp.dok_array,
    "dia": sp.dia_array,
    "bsr": sp.bsr_array,
}
FORMS = DENSE | SPARSE


def dense(x):
    return x.toarray() if sp.issparse(x) else np.asarray(x)


def learnt(model):
    """All fitted attributes of an estimator, and its labels of the two views."""
    seen = {name: value for name, value in vars(model).items() if name.endswith("_")}
    for name in (
        "counts_",
        "n_rows_without_views_",
        "cluster_centers_",
        "alpha_",
        "scales_",
        "view_weights_",
    ):
        seen[name] = getattr(model, name)
    seen["sums"] = model.statistics_.steps
    for name in ("loss_curve_", "n_iter_", "consensus_", "anchors_", "anchor_centers_", "cluster_curve_"):
        seen[name] = getattr(model, name, None)
    if model._fitted_model().schema.widths == (4, 5):
        seen["predict"] = model.predict([IMAGE, TEXT])
    seen["params"] = params(model)
    return seen


def params(model):
    """The settings in a form that can be compared: a generator is its state."""
    states = {
        name: value.bit_generator.state if isinstance(value, np.random.Generator) else value
        for name, value in model.get_params().items()
    }
    return {name: repr(value) for name, value in states.items()}


def assert_same(mine, theirs):
    assert mine.keys() == theirs.keys()
    for name, value in mine.items():
        np.testing.assert_equal(value, theirs[name], err_msg=name)
