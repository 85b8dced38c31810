"""npz bundles: what was written is read, and everything else is refused."""

from __future__ import annotations

import io
import pickle
import zipfile

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st

import viewpass as vp
from inputs import GAPS, IMAGE, TEXT, N, csr, dense, small

BITS = settings(max_examples=40, deadline=None)


def sparse_parts(name, x):
    rows = csr(x)
    parts = {"data": rows.data, "indices": rows.indices, "indptr": rows.indptr, "shape": np.array(rows.shape)}
    return {f"view_{name}_{part}": value for part, value in parts.items()}


def whole():
    """A bundle with a dense and a sparse view, labels and mask."""
    return {"view_image": IMAGE, **sparse_parts("text", TEXT), "labels": np.arange(N) % 3, "mask": GAPS}


@pytest.fixture
def written(tmp_path):
    def write(**arrays):
        np.savez(tmp_path / "bundle.npz", **arrays)
        return tmp_path / "bundle.npz"

    return write


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("save", [np.savez, np.savez_compressed])
def test_what_was_written_is_read(tmp_path, dtype, save):
    path = tmp_path / "bundle.npz"
    save(
        path,
        view_image=IMAGE.astype(dtype),
        **sparse_parts("text", TEXT.astype(dtype)),
        labels=np.arange(N),
        mask=GAPS,
    )
    for place in (path, str(path)):
        bundle = vp.load_bundle(place)
        assert list(bundle.views) == ["image", "text"]
        assert sp.issparse(bundle.views["text"])
        for got, x in zip(bundle.views.values(), (IMAGE, TEXT), strict=True):
            assert got.dtype == dtype
            np.testing.assert_array_equal(dense(got), x)
        np.testing.assert_array_equal(bundle.labels, np.arange(N))
        np.testing.assert_array_equal(bundle.observed, GAPS)
        assert bundle.n_rows == N


def test_a_bundle_is_clustered_with_its_mask(written):
    bundle = vp.load_bundle(written(**whole()))
    plain = small().fit({"image": IMAGE, "text": TEXT}, observed=GAPS)
    for items in (bundle, bundle.source()):
        model = small().fit(items)
        np.testing.assert_array_equal(model.labels_, plain.labels_)
        np.testing.assert_array_equal(model.predict(items), plain.labels_)
        assert model.view_names_in_ == ("image", "text")
    everything = np.ones_like(GAPS)
    np.testing.assert_array_equal(model.predict(bundle, observed=everything), model.predict([IMAGE, TEXT]))


def test_the_mask_is_in_the_order_of_the_file(written):
    bundle = vp.load_bundle(written(**sparse_parts("text", TEXT), view_image=IMAGE, mask=GAPS[:, ::-1]))
    assert list(bundle.views) == ["text", "image"]
    model = small().fit(bundle)
    counts = {
        name: int(counts.sum()) for name, counts in zip(model.view_names_in_, model.counts_, strict=True)
    }
    assert counts == {"image": GAPS[:, 0].sum(), "text": GAPS[:, 1].sum()}


@pytest.mark.parametrize("mask", [GAPS.astype(np.uint8), GAPS.astype(float)])
def test_a_mask_may_hold_0_and_1(written, mask):
    np.testing.assert_array_equal(vp.load_bundle(written(**{**whole(), "mask": mask})).observed, GAPS)


def test_labels_and_mask_are_optional_and_other_arrays_pass(written):
    bundle = vp.load_bundle(written(view_a=IMAGE, notes=np.arange(3)))
    assert bundle.labels is None
    assert bundle.observed is None
    assert list(bundle.views) == ["a"]


def test_names_may_look_like_parts(written):
    names = ["a_data", "indices", "b_shape", "a_data_x", "b c"]
    assert list(vp.load_bundle(written(**{f"view_{name}": IMAGE for name in names})).views) == names


def _changed(**changes):
    arrays = {**whole(), **changes}
    return {name: value for name, value in arrays.items() if value is not None}


_text = sparse_parts("text", TEXT)
REFUSED = {
    "no view": (lambda: {"labels": np.arange(3)}, "holds no view: arrays named `view_<name>` were expected"),
    "objects": (
        lambda: _changed(view_image=IMAGE.astype(object)),
        "cannot be read as an npz bundle.*allow_pickle",
    ),
    "text": (lambda: _changed(view_image=IMAGE.astype(str)), "view 'image' holds <U32 values"),
    "1-D": (lambda: _changed(view_image=IMAGE[:, 0]), "view 'image' has 1 dimension"),
    "other rows": (lambda: _changed(view_image=IMAGE[:5]), f"view 'text' has {N} rows, view 'image' has 5"),
    "no data": (lambda: _changed(view_text_data=None), "view 'text': the array `view_text_data` is missing"),
    "no shape": (
        lambda: _changed(view_text_shape=None),
        "view 'text': the array `view_text_shape` is missing",
    ),
    "narrow": (lambda: _changed(view_text_shape=np.array([N, 2])), "view 'text' is not a CSR matrix"),
    "1-D shape": (lambda: _changed(view_text_shape=np.array([N])), "view 'text' is not a CSR matrix"),
    "scalar shape": (lambda: _changed(view_text_shape=np.array(N)), "view 'text' is not a CSR matrix"),
    "negative shape": (
        lambda: _changed(view_text_shape=np.array([N, -5])),
        "view 'text' is not a CSR matrix",
    ),
    "short indptr": (
        lambda: _changed(view_text_indptr=_text["view_text_indptr"][:-1]),
        "is not a CSR matrix",
    ),
    "falling indptr": (
        lambda: _changed(view_text_indptr=_text["view_text_indptr"][::-1]),
        "is not a CSR matrix",
    ),
    "negative column": (
        lambda: _changed(view_text_indices=_text["view_text_indices"] - 1),
        "is not a CSR matrix",
    ),
    "float columns": (lambda: _changed(view_text_indices=_text["view_text_data"]), "is not a CSR matrix"),
    "short data": (lambda: _changed(view_text_data=_text["view_text_data"][:-1]), "is not a CSR matrix"),
    "mask, shape": (
        lambda: _changed(mask=GAPS[:, :1]),
        r"observed has shape \(48, 1\), \(48, 2\) was expected",
    ),
    "mask, values": (lambda: _changed(mask=GAPS * 2), "observed must hold True and False"),
    "labels": (lambda: _changed(labels=np.arange(5)), r"labels of shape \(5,\), \(48,\) was expected"),
}


@pytest.mark.parametrize("what", REFUSED)
def test_an_inconsistent_bundle_is_refused_with_its_path(written, what):
    make, message = REFUSED[what]
    path = written(**make())
    with pytest.raises(vp.DataError, match=message) as refusal:
        vp.load_bundle(path)
    assert str(path) in str(refusal.value)


class Executed:
    def __reduce__(self):
        return (pytest.fail, ("a pickle was executed",))


NOT_BUNDLES = {
    "empty": lambda good: b"",
    "text": lambda good: b"view_image,1,2,3\n",
    "pickle": lambda good: pickle.dumps(Executed()),
    "cut short": lambda good: good[: len(good) // 2],
    "without its end": lambda good: good[:-1],
    "npy": lambda good: _npy(IMAGE),
    "zip of text": lambda good: _zip({"view_image.npy": b"not an array"}),
    "zip of pickle": lambda good: _zip({"view_image.npy": _npy(np.array([Executed()], dtype=object))}),
}


def _npy(array):
    file = io.BytesIO()
    np.save(file, array)
    return file.getvalue()


def _zip(members):
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w") as archive:
        for name, content in members.items():
            archive.writestr(name, content)
    return file.getvalue()


@pytest.mark.parametrize("what", NOT_BUNDLES)
def test_what_is_not_a_bundle_is_refused(tmp_path, written, what):
    content = NOT_BUNDLES[what](written(**whole()).read_bytes())
    path = tmp_path / "other.npz"
    path.write_bytes(content)
    with pytest.raises(vp.DataError, match="cannot be read as an npz bundle"):
        vp.load_bundle(path)


def test_absent_files_and_folders_are_refused(tmp_path):
    with pytest.raises(vp.DataError, match="there is no such file"):
        vp.load_bundle(tmp_path / "nothing.npz")
    with pytest.raises(vp.DataError, match="is a folder, not an npz bundle"):
        vp.load_bundle(tmp_path)


@BITS
@given(data=st.data(), packed=st.booleans())
def test_a_flipped_bit_is_refused_or_harmless(tmp_path_factory, data, packed):
    path = tmp_path_factory.getbasetemp() / "flipped.npz"
    (np.savez_compressed if packed else np.savez)(path, **whole())
    content = bytearray(path.read_bytes())
    content[data.draw(st.integers(0, len(content) - 1))] ^= 1 << data.draw(st.integers(0, 7))
    path.write_bytes(content)
    try:
        bundle = vp.load_bundle(path)
    except vp.DataError:
        return
    for got, x in zip(bundle.views.values(), (IMAGE, TEXT), strict=False):
        np.testing.assert_array_equal(dense(got), x)


# ---- real data

REAL = {  # rows, views, classes; sparse or not; as data/README.md has them
    "3sources": (169, 3, 6, True),
    "aloi10": (1079, 4, 10, False),
    "bbcsport": (544, 2, 5, True),
    "bdgp": (2500, 2, 5, True),
    "emoji_l10n": (1914, 8, 9, True),
    "hw2sources": (2000, 2, 10, True),
    "landuse21": (2100, 3, 21, False),
    "mfeat": (2000, 6, 10, False),
    "msrc_v1_6v": (210, 6, 7, False),
    "nutrimouse": (40, 2, 5, False),
    "reuters1200": (1200, 5, 6, True),
    "reuters600": (600, 5, 6, True),
    "webkb": (1051, 2, 2, True),
    "wikipedia": (2866, 2, 10, False),
}


@pytest.mark.data
@pytest.mark.parametrize("name", REAL)
def test_the_real_sets_are_as_described(data_folder, name):
    n_rows, n_views, n_classes, sparse = REAL[name]
    bundle = vp.load_bundle(data_folder / f"{name}.npz")
    assert bundle.n_rows == n_rows
    assert len(bundle.views) == n_views
    assert len(np.unique(bundle.labels)) == n_classes
    assert any(sp.issparse(x) for x in bundle.views.values()) == sparse
    assert {x.dtype.name for x in bundle.views.values()} == {"float32"}


@pytest.mark.data
def test_zero_rows_of_bdgp_are_missing_views(data_folder):
    bundle = vp.load_bundle(data_folder / "bdgp.npz")
    model = vp.ViewPass(n_clusters=5, random_state=0, compute_labels=False).fit(bundle)
    assert [2500 - int(counts.sum()) for counts in model.counts_] == [201, 1203]


@pytest.mark.data
def test_emoji_have_the_views_their_mask_gives_them(data_folder):
    bundle = vp.load_bundle(data_folder / "emoji_l10n.npz")
    model = vp.ViewPass(n_clusters=9, random_state=0, compute_labels=False).fit(bundle)
    present = (
        np.column_stack([dense(abs(x).sum(axis=1)) > 0 for x in bundle.views.values()]) & bundle.observed
    )
    assert [int(counts.sum()) for counts in model.counts_] == present.sum(axis=0).tolist()
    np.testing.assert_array_equal(model.stream_labels_ == -1, ~present.any(axis=1))


@pytest.mark.data
def test_one_description_of_debian_has_no_language(data_folder):
    bundle = vp.load_bundle(data_folder / "debian_l10n.npz")
    assert bundle.n_rows == 53_896
    assert (~bundle.observed.any(axis=1)).sum() == 1


def test_a_bundle_marked_as_encrypted_is_refused(tmp_path):
    path = tmp_path / "x.npz"
    np.savez(path, view_a=np.eye(3))
    content = bytearray(path.read_bytes())
    for mark, offset in ((b"PK\x03\x04", 6), (b"PK\x01\x02", 8)):
        content[content.index(mark) + offset] |= 1
    path.write_bytes(bytes(content))
    with pytest.raises(vp.DataError, match="cannot be read as an npz bundle"):
        vp.load_bundle(path)
