"""Gaps, kinds of values and MuData files on a cluster: the bits of one machine."""

from __future__ import annotations

import anndata
import mudata
import numpy as np
import pandas as pd
import pytest

import viewpass as vp
from clusters import assert_same

pytestmark = pytest.mark.system

SETTINGS = {"random_state": 0, "sample_size": 300}


def views(n=900):
    rng = np.random.default_rng(0)
    group = rng.integers(3, size=n)
    values = rng.normal(size=(3, 12))[group] + 0.3 * rng.normal(size=(n, 12))
    values[rng.random(values.shape) < 0.3] = np.nan
    counts = rng.poisson(rng.gamma(0.5, 4.0, size=(3, 20))[group]).astype(np.float32)
    counts[:, 0] += 1
    return {"values": values, "counts": counts}


@pytest.mark.parametrize("way", ["fill", "local"])
def test_gaps_and_kinds(client, way):
    given = views()
    settings = {"scale": {"values": "standard", "counts": "counts"}, "missing_entries": way, **SETTINGS}
    expected = vp.ViewPass(3, **settings).fit(given)
    model = vp.dask.fit(vp.ViewPass(3, **settings), given, client=client)
    assert_same(model, expected)
    assert model.n_gaps_["values"].values > 0


def test_files_are_read_by_the_workers(client, tmp_path):
    made = {
        name: anndata.AnnData(
            np.nan_to_num(x),
            obs=pd.DataFrame(index=[f"c{i}" for i in range(len(x))]),
            var=pd.DataFrame(index=[f"{name}{j}" for j in range(x.shape[1])]),
        )
        for name, x in views().items()
    }
    mudata.MuData(made).write(tmp_path / "cells.h5mu")
    expected = vp.ViewPass(3, **SETTINGS).fit(tmp_path / "cells.h5mu")
    model = vp.dask.fit(vp.ViewPass(3, **SETTINGS), vp.from_mudata(tmp_path / "cells.h5mu"), client=client)
    assert_same(model, expected)
    np.testing.assert_array_equal(model.row_ids_, expected.row_ids_)
