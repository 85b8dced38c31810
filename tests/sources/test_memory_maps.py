"""npy files and npz bundles on disk are memory-mapped."""

from __future__ import annotations

import mmap

import numpy as np
import pytest
import scipy.sparse as sp

import viewpass as vp
from tables import IMAGE, TEXT, N

SETTINGS = {"n_clusters": 4, "random_state": 0}
EXPECTED = vp.ViewPass(**SETTINGS).fit({"image": IMAGE, "text": TEXT}).statistics_


def is_mapped(x):
    while isinstance(x, np.ndarray):
        x = x.base
    return isinstance(x, mmap.mmap)


@pytest.fixture
def files(tmp_path):
    np.save(tmp_path / "image.npy", IMAGE)
    np.save(tmp_path / "text.npy", TEXT)
    return tmp_path


@pytest.mark.parametrize("form", ["dict", "list", "pattern", "folder"])
def test_npy_files_are_views(files, form):
    data = {
        "dict": {"image": files / "image.npy", "text": str(files / "text.npy")},
        "list": [files / "image.npy", files / "text.npy"],
        "pattern": str(files / "*.npy"),
        "folder": files,
    }[form]
    source = vp.scan(data)
    assert source.schema.names == ("image", "text")
    assert vp.ViewPass(**SETTINGS).fit(source).statistics_ == EXPECTED
    (chunk, *_) = source.chunks(50)
    assert is_mapped(chunk.views[0])


@pytest.mark.parametrize("save", [np.savez, np.savez_compressed])
def test_a_bundle_is_a_source(tmp_path, save):
    save(tmp_path / "items.npz", view_image=IMAGE, view_text=np.asfortranarray(TEXT), labels=np.zeros(N))
    source = vp.scan(tmp_path / "items.npz")
    assert vp.ViewPass(**SETTINGS).fit(source).statistics_ == EXPECTED
    (chunk, *_) = source.chunks(50)
    assert is_mapped(chunk.views[0]) == (save is np.savez)


def test_a_sparse_bundle_and_its_mask(tmp_path):
    csr = sp.csr_array(np.nan_to_num(TEXT))
    parts = {f"view_text_{part}": getattr(csr, part) for part in ("data", "indices", "indptr")}
    mask = np.column_stack([~np.isnan(IMAGE[:, 0]), ~np.isnan(TEXT[:, 0])])
    np.savez(tmp_path / "x.npz", view_image=IMAGE, **parts, view_text_shape=csr.shape, mask=mask)
    assert vp.ViewPass(**SETTINGS).fit(vp.scan(tmp_path / "x.npz")).statistics_ == EXPECTED


def test_views_are_chosen_and_renamed(tmp_path):
    mask = np.column_stack([~np.isnan(IMAGE[:, 0]), ~np.isnan(TEXT[:, 0])])
    np.savez(tmp_path / "x.npz", view_a=IMAGE, view_b=TEXT, mask=mask)
    source = vp.scan(tmp_path / "x.npz", views={"text": "b", "image": "a"})
    assert source.schema.names == ("text", "image")
    model = vp.ViewPass(**SETTINGS).fit(vp.scan(tmp_path / "x.npz", views={"image": "a", "text": "b"}))
    assert model.statistics_ == EXPECTED
    np.testing.assert_array_equal(model.predict(source), model.labels_)
    assert vp.scan(tmp_path / "x.npz", views=["b"]).schema.names == ("b",)
    with pytest.raises(vp.DataError, match=r"there is no view 'c'; the views are 'a', 'b'"):
        vp.scan(tmp_path / "x.npz", views=["c"])


def test_what_is_refused(files):
    with pytest.raises(vp.SettingError, match=r"id='key': npy, npz and mat files have no ids"):
        vp.scan(files, id="key")
    with pytest.raises(vp.DataError, match=r"none.npy: there is no such file"):
        vp.scan({"image": files / "none.npy"})
    (files / "image.npy").write_bytes((files / "image.npy").read_bytes()[:-1000])
    with pytest.raises(vp.DataError, match=r"image.npy cannot be read as an npy file"):
        vp.scan(files)
    np.savez(files / "x.npz", view_a=np.array([{}, {}], dtype=object))
    with pytest.raises(vp.DataError, match=r"x.npz cannot be read as an npz bundle"):
        vp.scan(files / "x.npz")
