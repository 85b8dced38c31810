"""scanpy and muon read what `vp.write_labels` wrote; the rest of the file is as it was."""

from __future__ import annotations

import warnings

import anndata
import mudata
import numpy as np
import pandas as pd
import pytest

import viewpass as vp

pytestmark = pytest.mark.long
REASON = "needs scanpy and muon: pip install '.[peers]'"


def cohort():
    """Two modalities, whose observations overlap, with annotations that are not to change."""
    rng = np.random.default_rng(0)
    group, names = np.arange(90) % 3, np.array([f"p{i}" for i in range(90)])
    kept = {"rna": slice(0, 70), "protein": slice(20, 90)}
    made = {}
    for name, rows in kept.items():
        values = rng.normal(size=(3, 8))[group] + 0.1 * rng.normal(size=(90, 8))
        obs = pd.DataFrame({"batch": pd.Categorical(np.where(group == 0, "a", "b"))}, index=names)[rows]
        columns = [f"{name}{j}" for j in range(8)]
        made[name] = anndata.AnnData(values[rows], obs=obs, var=pd.DataFrame(index=columns))
        made[name].obsm["X_pca"] = values[rows, :2]
    return made


def assert_same(mine, theirs):
    """Two AnnData that differ in nothing but what was written."""
    np.testing.assert_array_equal(mine.X, theirs.X)
    np.testing.assert_array_equal(mine.obsm["X_pca"], theirs.obsm["X_pca"])
    pd.testing.assert_frame_equal(mine.obs[["batch"]], theirs.obs[["batch"]])
    pd.testing.assert_frame_equal(mine.var, theirs.var)


def quietly(read, path):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # theirs, of libraries to come
        return read(path)


def imported(name):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return pytest.importorskip(name, reason=REASON)


def test_scanpy_reads_and_plots_by_the_labels(tmp_path):
    scanpy = imported("scanpy")
    before, path = cohort()["rna"], tmp_path / "rna.h5ad"
    before.write(path)
    model = vp.ViewPass(3, scale="standard", consensus="plain", random_state=0).fit(path)
    vp.write_labels(path, model)
    after = quietly(scanpy.read_h5ad, path)
    assert_same(after, before)
    assert after.obs["viewpass"].astype(int).tolist() == model.labels_.tolist()
    assert set(after.obs) == {"batch", "viewpass", "viewpass_n_views", "viewpass_confidence"}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        scanpy.tl.rank_genes_groups(after, "viewpass", method="t-test")
    assert after.uns["rank_genes_groups"]["names"].dtype.names == ("0", "1", "2")
    again = tmp_path / "again.h5ad"
    after.write(again)
    assert quietly(scanpy.read_h5ad, again).uns["viewpass"]["params"]["n_clusters"] == 3


def test_muon_reads_the_modalities_as_they_were(tmp_path):
    muon = imported("muon")
    path = tmp_path / "cohort.h5mu"
    mudata.MuData(cohort()).write(path)
    model = vp.ViewPass(3, scale="standard", consensus="plain", random_state=0).fit(path)
    vp.write_labels(path, model)
    after = quietly(muon.read_h5mu, path)
    for name, before in cohort().items():
        assert_same(after[name], before)
    labels = dict(zip(after.obs_names, after.obs["viewpass"].astype(int), strict=True))
    assert labels == dict(zip(model.row_ids_, model.labels_.tolist(), strict=True))
    np.testing.assert_array_equal(
        after.obs["viewpass_n_views"],
        after.obsmap["rna"].astype(bool) * 1 + after.obsmap["protein"].astype(bool) * 1,
    )
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        assert muon.pp.filter_obs(after, "viewpass", lambda values: values == "1") is None
    assert set(after.obs["viewpass"]) == {"1"}
