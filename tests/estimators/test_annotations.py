"""`vp.write_labels`: what it writes, that it is what the model says, and that nothing else changes."""

from __future__ import annotations

from hashlib import sha256

import anndata
import h5py
import mudata
import numpy as np
import pandas as pd
import pytest

import viewpass as vp

OWN = ("obs/found", "obsm/found_distances", "uns/found")


def cohort(n_groups=11, n=110):
    rng = np.random.default_rng(0)
    group = np.arange(n) % n_groups
    rna = rng.normal(size=(n_groups, 12))[group] + 0.01 * rng.normal(size=(n, 12))
    protein = rng.normal(size=(n_groups, 5))[group] + 0.01 * rng.normal(size=(n, 5))
    names = np.array([f"p{i}" for i in range(n)])
    frames = {"rna": pd.DataFrame(index=names[:90]), "protein": pd.DataFrame(index=names[20:])}
    frames["rna"]["batch"] = "a"
    views = {"rna": rna[:90], "protein": protein[20:]}
    made = mudata.MuData(
        {
            name: anndata.AnnData(
                x, obs=frames[name], var=pd.DataFrame(index=[f"{name}{j}" for j in range(x.shape[1])])
            )
            for name, x in views.items()
        }
    )
    made.obs["stage"] = pd.Categorical(np.where(group > 5, "II", "I"))
    made.uns["note"] = {"by": "hand"}
    return made


def contents(path):
    """A hash of every dataset, and the attributes of everything, besides what is written."""
    found = {}
    with h5py.File(path) as file:

        def note(name, item):
            if name.startswith(OWN):
                return
            found[name] = {k: str(v) for k, v in item.attrs.items() if (name, k) != ("obs", "column-order")}
            if isinstance(item, h5py.Dataset):
                found[name, "data"] = sha256(repr(np.asarray(item[()]).tolist()).encode()).hexdigest()

        file.visititems(note)
    return found


@pytest.mark.parametrize("form", ["object", "file"])
def test_what_is_written_is_what_the_model_says(form, tmp_path):
    mdata = cohort()
    model = vp.ViewPass(11, random_state=0).fit(mdata)
    if form == "file":
        mdata.write(tmp_path / "cohort.h5mu")
        vp.write_labels(tmp_path / "cohort.h5mu", model, "found")
        mdata = mudata.read_h5mu(tmp_path / "cohort.h5mu")
    else:
        vp.write_labels(mdata, model, "found")
    column = mdata.obs["found"]
    assert column.cat.categories.tolist() == [str(k) for k in range(11)]  # 10 comes last
    assert column.astype(int).tolist() == model.predict(mdata).tolist()
    expected = np.isin(mdata.obs_names, mdata["rna"].obs_names).astype(int)
    expected += np.isin(mdata.obs_names, mdata["protein"].obs_names)
    assert mdata.obs["found_n_views"].tolist() == expected.tolist()
    np.testing.assert_array_equal(mdata.obsm["found_distances"], model.transform(mdata).astype(np.float32))
    params = mdata.uns["found"]["params"]
    assert params["n_clusters"] == 11
    assert params["estimator"] == "ViewPass"
    assert list(params["views"]) == ["rna", "protein"]


@pytest.mark.parametrize("kind", ["h5mu", "h5ad"])
def test_nothing_else_in_a_file_changes(kind, tmp_path):
    mdata, path = cohort(), tmp_path / f"cohort.{kind}"
    data = mdata if kind == "h5mu" else mdata["rna"]
    data.write(path) if kind == "h5mu" else data.write_h5ad(path)
    read = mudata.read_h5mu if kind == "h5mu" else anndata.read_h5ad
    before, obs = contents(path), read(path).obs
    model = vp.ViewPass(11, random_state=0).fit(path)
    vp.write_labels(path, model, "found")
    vp.write_labels(path, model, "found")  # replaces what was there
    assert contents(path) == before
    after = read(path).obs
    own = [name for name in after if name.startswith("found")]
    assert own[:2] == ["found", "found_n_views"]
    assert own[2:] in ([], ["found_confidence"])
    pd.testing.assert_frame_equal(after.drop(columns=own), obs)


def test_a_row_without_views_has_no_category():
    mdata = cohort()
    mdata["protein"].X[-1] = np.nan
    mdata["protein"].X[-2] = np.nan
    model = vp.IMC(3, random_state=0).fit(mdata)
    vp.write_labels(mdata, model)
    assert mdata.obs["viewpass"].isna().tolist() == [False] * 108 + [True] * 2
    assert mdata.obs["viewpass_n_views"].tolist()[-2:] == [0, 0]


def test_embeddings_are_named_again():
    mdata = cohort()
    mdata["rna"].obsm["X_pca"] = mdata["rna"].X[:, :4]
    chosen = {"rna": "X_pca"}
    model = vp.IMC(3, random_state=0).fit(vp.from_mudata(mdata, use_rep=chosen))
    with pytest.raises(vp.DataError, match="12 columns where 4 were expected"):
        vp.write_labels(mdata, model)
    assert "viewpass" not in mdata.obs
    vp.write_labels(mdata, model, use_rep=chosen)
    assert mdata.uns["viewpass"]["params"]["use_rep"] == chosen


def test_a_model_of_some_modalities_labels_by_them():
    mdata = cohort()
    model = vp.IMC(3, random_state=0).fit(vp.from_mudata(mdata, modalities=["rna"]))
    vp.write_labels(mdata, model)
    assert mdata.obs["viewpass_n_views"].max() == 1


def test_what_cannot_be_labelled_is_refused(tmp_path):
    mdata = cohort()
    model = vp.IMC(3, random_state=0).fit(mdata)
    with pytest.raises(vp.SettingError, match="expected a MuData"):
        vp.write_labels(mdata.obs, model)
    with pytest.raises(vp.SettingError, match="key_added"):
        vp.write_labels(mdata, model, "a/b")
    with pytest.raises(vp.SettingError, match="OPIMC or IMC"):
        vp.write_labels(mdata, vp.DAIMC(2).fit([abs(mdata["rna"].X), abs(mdata["rna"].X)]))


def test_confidence_is_that_of_the_model_with_gaps_too():
    mdata = cohort(n_groups=3, n=300)
    mdata["rna"].X[np.random.default_rng(1).random(mdata["rna"].X.shape) < 0.2] = np.nan
    model = vp.ViewPass(3, scale="standard", missing_entries="local", random_state=0).fit(mdata)
    vp.write_labels(mdata, model, "found")
    assert mdata.obs["found"].astype(int).tolist() == model.labels_.tolist()
    if "found_confidence" in mdata.obs:
        np.testing.assert_array_equal(mdata.obs["found_confidence"], model.confidence(mdata))
