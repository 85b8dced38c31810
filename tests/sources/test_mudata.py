"""MuData and AnnData, in memory, backed and in files: the same rows, and one clear error for bad ones."""

from __future__ import annotations

import pickle

import anndata
import h5py
import mudata
import numpy as np
import pandas as pd
import pytest
import scipy.sparse

import viewpass as vp
from viewpass.errors import DataWarning
from viewpass.sources.source import Source
from zipped import zipped

FORMS = ["object", "backed", "file", "two files"]


def modality(values, names, prefix):
    return anndata.AnnData(
        values,
        obs=pd.DataFrame(index=[f"cell{n}" for n in names]),
        var=pd.DataFrame(index=[f"{prefix}{j}" for j in range(values.shape[1])]),
    )


def arrays(n=60, seed=0):
    """Sparse counts that some lack, dense values that others lack, and who has them."""
    rng = np.random.default_rng(seed)
    group = rng.integers(3, size=n)
    counts = rng.poisson(np.where(rng.random((3, 40)) < 0.3, 3.0, 0.1)[group]).astype(np.float32)
    counts[:, 0] += 1
    values = (rng.normal(size=(3, 6))[group] + 0.2 * rng.normal(size=(n, 6))).astype(np.float32)
    return counts, values, rng.random(n) < 0.7, rng.random(n) < 0.8


def cohort(n=60, seed=0, shuffled=True):
    counts, values, has_rna, has_protein = arrays(n, seed)
    has_protein |= ~has_rna
    rna, protein = np.flatnonzero(has_rna), np.flatnonzero(has_protein)
    if shuffled:
        np.random.default_rng(1).shuffle(protein)
    given = {
        "rna": modality(scipy.sparse.csr_matrix(counts[rna]), rna, "gene"),
        "protein": modality(values[protein], protein, "protein"),
    }
    given["rna"].layers["doubled"] = given["rna"].X * 2
    given["protein"].obsm["X_pca"] = values[protein][:, :2]
    return mudata.MuData(given)


def dense_views(source, size):
    """All rows by name, NaN where a view is missing."""
    parts = []
    for chunk in source.chunks(size):
        row = []
        for v, view in enumerate(chunk.views):
            x = np.full((chunk.n_rows, source.schema.widths[v]), np.nan)
            if view is not None:
                held = chunk.observed[:, v]
                x[held] = (view.toarray() if scipy.sparse.issparse(view) else view)[held]
            row.append(x)
        parts.append((chunk.row_ids, row))
    ids = np.concatenate([ids for ids, _ in parts])
    return ids, [np.concatenate(views) for views in zip(*(views for _, views in parts), strict=True)]


def given_as(form, mdata, folder):
    if form == "object":
        return mdata
    path = folder / "cohort.h5mu"
    mdata.write(path)
    if form == "backed":
        return mudata.read_h5mu(path, backed=True)
    if form == "file":
        return path
    parts = [folder / "a.h5mu", folder / "b.h5mu"]
    for part, rows in zip(parts, (slice(0, 25), slice(25, None)), strict=True):
        chosen = mdata[rows].copy()
        chosen.update()
        chosen.write(part)
    return parts


@pytest.mark.parametrize(("size", "form"), zipped([7, 60], FORMS))
def test_rows_are_those_of_the_modalities(form, size, tmp_path):
    mdata = cohort()
    source = vp.from_mudata(given_as(form, mdata, tmp_path))
    ids, views = dense_views(source, size)
    assert ids.tolist() == source.row_ids.tolist() == mdata.obs_names.tolist()
    for name, view in zip(("rna", "protein"), views, strict=True):
        expected = mdata[name].to_df().reindex(mdata.obs_names).to_numpy()
        np.testing.assert_array_equal(view, expected)
    assert source.schema.columns[1] == tuple(f"protein{j}" for j in range(6))
    assert source.sparse_widths == {"rna": 40}


@pytest.mark.parametrize("form", FORMS)
def test_every_form_gives_the_same_bits(form, tmp_path):
    mdata = cohort()
    frames = {name: a.to_df() for name, a in mdata.mod.items()}
    expected = vp.ViewPass(3, scale="unit", random_state=0).fit(vp.frames(frames))
    order = pd.Series(expected.predict(vp.frames(frames)), index=vp.frames(frames).row_ids)
    model = vp.ViewPass(3, scale="unit", random_state=0)
    model.fit(vp.from_mudata(given_as(form, mdata, tmp_path)))
    plain = vp.ViewPass(3, scale="unit", random_state=0).fit(mdata)
    assert model.statistics_ == plain.statistics_
    assert (model.labels_ == plain.labels_).all()
    assert model.row_ids_.tolist() == mdata.obs_names.tolist()
    assert set(order.index) == set(model.row_ids_)


def test_sparse_rows_stay_sparse():
    (chunk,) = vp.from_mudata(cohort()).chunks(100)
    assert scipy.sparse.issparse(chunk.views[0])


def test_paths_are_read_by_fit_and_scan(tmp_path):
    mdata = cohort()
    path = given_as("file", mdata, tmp_path)
    expected = vp.ViewPass(3, random_state=0).fit(mdata)
    assert (vp.ViewPass(3, random_state=0).fit(path).labels_ == expected.labels_).all()
    only = vp.ViewPass(3, random_state=0).fit(vp.scan(path, views=["protein"]))
    assert only.view_names_in_ == ("protein",)
    with pytest.raises(vp.SettingError, match="observation names"):
        vp.scan(path, id="cell")


def test_layers_and_embeddings(tmp_path):
    mdata = cohort()
    for data in (mdata, given_as("file", mdata, tmp_path)):
        source = vp.from_mudata(data, layer={"rna": "doubled"}, use_rep={"protein": "X_pca"})
        _, (rna, protein) = dense_views(source, 60)
        places = mdata.obs_names.get_indexer(mdata["rna"].obs_names)
        np.testing.assert_array_equal(rna[places], 2 * mdata["rna"].X.toarray())
        assert protein.shape[1] == 2
        assert source.schema.columns[1] is None
        with pytest.raises(vp.DataError, match="nowhere"):
            vp.from_mudata(data, layer={"rna": "nowhere"})
        with pytest.raises(vp.SettingError, match="no modality 'dna'"):
            vp.from_mudata(data, layer={"dna": "doubled"})
    with pytest.raises(vp.SettingError, match="a view is one of the two"):
        vp.from_mudata(mdata, layer="doubled", use_rep="X_pca")


def test_one_anndata_is_one_view(tmp_path):
    data = cohort()["protein"]
    data.write_h5ad(tmp_path / "protein.h5ad")
    expected = vp.ViewPass(3, random_state=0).fit(vp.frames({"X": data.to_df()}))
    for given in (data, tmp_path / "protein.h5ad", anndata.read_h5ad(tmp_path / "protein.h5ad", backed="r")):
        model = vp.ViewPass(3, random_state=0).fit(given)
        assert model.view_names_in_ == ("X",)
        assert (model.labels_ == expected.labels_).all()


def test_frames_take_anndata():
    mdata = cohort()
    frames = {name: a.to_df() for name, a in mdata.mod.items()}
    expected = vp.ViewPass(3, scale="unit", random_state=0).fit(vp.frames(frames))
    mixed = vp.frames({"rna": mdata["rna"], "protein": frames["protein"]})
    assert mixed.sparse_widths == {"rna": 40}
    model = vp.ViewPass(3, scale="unit", random_state=0).fit(mixed)
    assert (model.labels_ == expected.labels_).all()
    assert (model.row_ids_ == expected.row_ids_).all()


def test_predict_goes_by_modality_name():
    mdata = cohort()
    model = vp.ViewPass(3, random_state=0).fit(mdata)
    alone = model.predict(vp.from_mudata(mdata, modalities=["protein"]))
    has = np.isin(mdata.obs_names, mdata["protein"].obs_names)
    assert (alone[has] >= 0).all()
    assert (alone[~has] == -1).all()
    assert model.set_output(transform="pandas").transform(mdata).index.tolist() == mdata.obs_names.tolist()


def test_files_can_be_read_elsewhere(tmp_path):
    source = vp.from_mudata(given_as("file", cohort(), tmp_path))
    assert source.portable
    again = pickle.loads(pickle.dumps(source))
    assert isinstance(again, Source)
    assert again.identity() == source.identity()
    np.testing.assert_array_equal(dense_views(again, 9)[1][1], dense_views(source, 60)[1][1])


def test_duplicated_names_are_refused(tmp_path):
    data = cohort()["protein"]
    data.obs.index = ["cell1", "cell1", *data.obs_names[2:]]
    with pytest.raises(vp.DataError, match="'cell1' appears in rows 0 and 1"):
        vp.ViewPass(2).fit(data)


@pytest.mark.parametrize("place", ["obs", "mod/protein/obs"])
def test_duplicated_names_in_a_file_are_refused(place, tmp_path):
    path = given_as("file", cohort(), tmp_path)
    with h5py.File(path, "r+") as file:
        names = file[place][file[place].attrs["_index"]]
        names = names["values"] if isinstance(names, h5py.Group) else names  # from anndata 0.13 on
        first = names[0].decode()
        names[3] = first
    with pytest.raises(vp.DataError, match=f"{first!r} appears in rows 0 and 3"):
        vp.ViewPass(2).fit(path)


def test_a_changed_modality_is_refused():
    mdata = cohort()
    mdata.mod["protein"] = mdata["protein"][:10].copy()
    with pytest.raises(vp.DataError, match=r"mdata.update\(\)"):
        vp.ViewPass(2).fit(mdata)


def test_files_with_other_variables_are_refused(tmp_path):
    mdata = cohort()
    one, other = given_as("two files", mdata, tmp_path)
    changed = mudata.read_h5mu(other)
    changed["rna"].var_names = ["other", *changed["rna"].var_names[1:]]
    changed.update()
    changed.write(other)
    with pytest.raises(vp.DataError, match=r"b.h5mu, modality 'rna': variable 0 is 'other'.*'gene0'"):
        vp.from_mudata([one, other])
    model = vp.ViewPass(3, random_state=0).fit(one)
    with pytest.raises(vp.DataError, match="column 0 is 'other' where 'gene0' was expected"):
        model.predict(other)


def test_the_same_observation_in_two_files_is_refused(tmp_path):
    one = given_as("two files", cohort(), tmp_path)[0]
    again = tmp_path / "again.h5mu"
    again.write_bytes(one.read_bytes())
    with pytest.raises(vp.DataError, match="Names must be unique over all files"):
        vp.from_mudata([one, again])


@pytest.mark.parametrize("form", ["object", "file"])
def test_a_modality_of_nan_is_refused(form, tmp_path):
    mdata = cohort()
    mdata["protein"].X[:] = np.nan
    with pytest.raises(vp.DataError, match="modality 'protein' holds NaN only"):
        vp.from_mudata(given_as(form, mdata, tmp_path))


def test_columns_order_matrices_are_refused(tmp_path):
    data = cohort()["rna"]
    data.X = scipy.sparse.csc_matrix(data.X)
    data.write_h5ad(tmp_path / "rna.h5ad")
    with pytest.raises(vp.DataError, match="csc_matrix, which cannot be read row by row"):
        vp.from_mudata(tmp_path / "rna.h5ad")
    assert vp.from_mudata(data).sparse_widths == {"X": 40}


def test_damaged_files_are_refused(tmp_path):
    path = given_as("file", cohort(), tmp_path)
    with h5py.File(path, "r+") as file:
        file["mod/rna/X/indptr"][3] = 10**6
    with pytest.raises(vp.DataError, match="row pointers"):
        vp.from_mudata(path)
    (tmp_path / "no.h5mu").write_bytes(b"no")
    with pytest.raises(vp.DataError, match=r"no.h5mu cannot be read"):
        vp.from_mudata(tmp_path / "no.h5mu")


def test_objects_in_a_dict_are_matched_by_frames():
    mdata = cohort()
    with pytest.raises(vp.DataError, match=r"vp.frames\(X\)"):
        vp.ViewPass(2).fit(dict(mdata.mod.items()))
    with pytest.raises(vp.SettingError, match="its modalities"):
        vp.ViewPass(2, views=[3]).fit(mdata)


def test_observations_that_do_not_overlap_are_warned_of(tmp_path):
    rng = np.random.default_rng(0)
    codes = [f"AAAC{n}" for n in range(40)]
    parts = {
        "rna": modality(rng.random((40, 4)), codes, "g"),
        "protein": modality(rng.random((40, 3)), [f"{code}-1" for code in codes], "p"),
    }
    mdata = mudata.MuData(parts)
    mdata.write(tmp_path / "cohort.h5mu")
    for given in (mdata, tmp_path / "cohort.h5mu"):
        with pytest.warns(DataWarning, match="only 0 of the 40 ids of view 'rna'.*'cellAAAC0-1'"):
            assert vp.from_mudata(given).n_rows == 80
