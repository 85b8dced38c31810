"""Gaps, kinds of values and MuData files on a cluster: the bits of one machine."""

from __future__ import annotations

import anndata
import mudata
import numpy as np
import pandas as pd
import pytest

import viewpass as vp


def views(n=600):
    rng = np.random.default_rng(0)
    group = rng.integers(3, size=n)
    values = rng.normal(size=(3, 12))[group] + 0.3 * rng.normal(size=(n, 12))
    values[rng.random(values.shape) < 0.3] = np.nan
    counts = rng.poisson(rng.gamma(0.5, 4.0, size=(3, 20))[group]).astype(np.float32)
    counts[:, 0] += 1
    return {"values": values, "counts": counts}


@pytest.mark.parametrize("way", ["fill", "local", "entrywise"])
def test_gaps_and_kinds(client, way):
    given = views()
    settings = {"scale": {"values": "standard", "counts": "counts"}, "missing_entries": way}
    settings |= {"chunk_size": 100, "warmup": 200, "random_state": 0}
    expected = vp.OPIMC(3, **settings).fit(given)
    model = vp.dask.fit(vp.OPIMC(3, **settings), given, client=client)
    assert model.statistics_ == expected.statistics_
    assert (model.labels_ == expected.labels_).all()
    assert model.n_gaps_ == expected.n_gaps_
    assert model.n_gaps_["values"].values > 0


def test_rows_that_do_not_fit_a_chosen_kind(client):
    rng = np.random.default_rng(0)
    group, given = rng.integers(3, size=800), {}
    for name in ("one", "two"):
        parts = np.exp(
            rng.normal(size=(3, 12))[group] - 6 * rng.random(12) + 0.6 * rng.normal(size=(800, 12))
        )
        given[name] = parts / parts.sum(axis=1, keepdims=True)
    given["one"][[650, 790], 3] = -0.01
    settings = {"chunk_size": 100, "warmup": 600, "random_state": 0}
    expected = vp.OPIMC(3, **settings).fit(given)
    model = vp.dask.fit(vp.OPIMC(3, **settings), given, client=client)
    assert model.statistics_ == expected.statistics_
    assert (model.labels_ == expected.labels_).all()
    assert model.n_all_zero_ == expected.n_all_zero_ == {"one": 2, "two": 0}


def test_files_are_read_by_the_workers(client, tmp_path):
    given = views()
    made = {
        name: anndata.AnnData(
            np.nan_to_num(x),
            obs=pd.DataFrame(index=[f"c{i}" for i in range(600)]),
            var=pd.DataFrame(index=[f"{name}{j}" for j in range(x.shape[1])]),
        )
        for name, x in given.items()
    }
    mudata.MuData(made).write(tmp_path / "cells.h5mu")
    settings = {"chunk_size": 100, "warmup": 200, "random_state": 0}
    expected = vp.OPIMC(3, **settings).fit(tmp_path / "cells.h5mu")
    model = vp.dask.fit(vp.OPIMC(3, **settings), vp.from_mudata(tmp_path / "cells.h5mu"), client=client)
    assert model.statistics_ == expected.statistics_
    assert (model.labels_ == expected.labels_).all()
