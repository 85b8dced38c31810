"""Loaders on files in exactly the formats of the public distributions, and made data of their shapes."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.io
import scipy.sparse as sp

import viewpass as vp
from inputs import random_csr
from viewpass.evaluate import load_digit, load_reuters, load_webkb, load_youtube, make_like
from viewpass.evaluate.data import SHAPES
from viewpass.evaluate.data.reuters import WIDTHS

RNG = np.random.default_rng(0)

# ---- Digit


def write_digit(folder, n_rows=20):
    folder.mkdir(exist_ok=True)
    values = {}
    for name, width in {"fou": 76, "fac": 216, "kar": 64, "pix": 240, "zer": 47, "mor": 6}.items():
        values[name] = np.round(RNG.random((n_rows, width)) * 6, 8)
        lines = ["".join(f"  {value:.8f}" for value in row) for row in values[name]]
        (folder / f"mfeat-{name}").write_text("\n".join(lines) + "\n")
    return values


@pytest.mark.parametrize("inside", ["", "uci-mfeat", "mfeat"])
def test_digit_from_text_files(tmp_path, inside):
    values = write_digit(tmp_path / inside)
    bundle = load_digit(tmp_path)
    assert list(bundle.views) == ["fou", "fac", "kar", "pix", "zer"]
    for name, view in bundle.views.items():
        np.testing.assert_array_equal(view, values[name])
    np.testing.assert_array_equal(bundle.labels, np.repeat(np.arange(10), 2))
    assert list(load_digit(tmp_path, views=["mor"]).views) == ["mor"]


def test_digit_that_is_wrong(tmp_path, monkeypatch):
    with pytest.raises(vp.DataError, match=r"mfeat-fou.*mfeat.npz.*UCI Machine Learning Repository"):
        load_digit(tmp_path)
    monkeypatch.setenv("VIEWPASS_DATA", str(tmp_path))
    with pytest.raises(vp.DataError, match="Digit"):
        load_digit()
    write_digit(tmp_path)
    assert load_digit().n_rows == 20
    with pytest.raises(vp.SettingError, match="'pixels' is not one of"):
        load_digit(views=["pixels"])
    (tmp_path / "mfeat-zer").write_text("1 2 3\n")
    with pytest.raises(vp.DataError, match="mfeat-zer: 3 columns where 47"):
        load_digit()
    (tmp_path / "mfeat-zer").write_text("1 two 3\n")
    with pytest.raises(vp.DataError, match="mfeat-zer is not a table"):
        load_digit()
    (tmp_path / "mfeat-zer").unlink()
    with pytest.raises(vp.DataError, match="mfeat-zer: no such file"):
        load_digit()


@pytest.mark.data
def test_digit_text_and_bundle_are_the_same(data_folder):
    text = load_digit(data_folder)
    bundle = vp.load_bundle(data_folder / "mfeat.npz")
    assert text.n_rows == 2000
    np.testing.assert_array_equal(text.labels, bundle.labels)
    for name, view in text.views.items():
        np.testing.assert_allclose(view, bundle.views[name], rtol=1e-6)


# ---- WebKB


@pytest.mark.parametrize("turned", [False, True])
def test_webkb_from_a_matlab_file(tmp_path, turned):
    rng = np.random.default_rng(1)
    page, anchor = random_csr(rng, (12, 3000), 0.01), random_csr(rng, (12, 1840), 0.01)
    y = np.where(np.arange(12) % 4, -1, 1)[:, None]
    given = {
        "X1": (page.T if turned else page).tocsc(),
        "X2": (anchor.T if turned else anchor).tocsc(),
        "Y": y,
    }
    scipy.io.savemat(tmp_path / "WebKB_two_view.mat", given)
    bundle = load_webkb(tmp_path)
    np.testing.assert_array_equal(bundle.views["page"].toarray(), page.toarray())
    np.testing.assert_array_equal(bundle.views["anchor"].toarray(), anchor.toarray())
    np.testing.assert_array_equal(bundle.labels, (y.ravel() > 0).astype(int))


def test_webkb_that_is_wrong(tmp_path):
    with pytest.raises(vp.DataError, match=r"WebKB.*webkb\.npz.*Sindhwani"):
        load_webkb(tmp_path)
    (tmp_path / "webkb.mat").write_bytes(b"nothing")
    with pytest.raises(vp.DataError, match="cannot be read as a MATLAB file"):
        load_webkb(tmp_path)
    scipy.io.savemat(tmp_path / "webkb.mat", {"X1": np.ones((3, 3000)), "Y": np.ones((3, 1))})
    with pytest.raises(vp.DataError, match="no matrix has 1840 columns"):
        load_webkb(tmp_path)


@pytest.mark.data
def test_webkb_bundle(data_folder):
    bundle = load_webkb(data_folder)
    assert {name: view.shape for name, view in bundle.views.items()} == {
        "page": (1051, 3000),
        "anchor": (1051, 1840),
    }
    assert sorted(np.bincount(bundle.labels)) == [230, 821]


# ---- Reuters


def write_reuters(folder, n_each=3):
    classes = ["C15", "CCAT", "E21", "ECAT", "GCAT", "M11"]
    wanted = {}
    for language, width in WIDTHS.items():
        (folder / language).mkdir(parents=True, exist_ok=True)
        rows = []
        for o, written in enumerate(WIDTHS):
            lines = []
            for d in range(n_each):
                columns = np.sort(RNG.choice(width, size=4, replace=False))
                columns[-1] = width - 1
                values = np.round(RNG.random(4) + 0.01, 6)
                rows.append(dict(zip(columns.tolist(), values.tolist(), strict=True)))
                words = " ".join(f"{c + 1}:{v}" for c, v in zip(columns, values, strict=True))
                lines.append(f"{classes[(o + d) % 6]} {words} ")
            (folder / language / f"Index_{written}-{language}").write_text("\n".join(lines) + "\n")
        wanted[language] = rows
    return wanted, [(o + d) % 6 for o in range(5) for d in range(n_each)]


@pytest.mark.parametrize("inside", [".", "rcv1rcv2aminigoutte"])
def test_reuters_from_text_files(tmp_path, inside):
    wanted, classes = write_reuters(tmp_path / inside)
    bundle = load_reuters(tmp_path)
    assert {name: view.shape for name, view in bundle.views.items()} == {
        name: (15, width) for name, width in WIDTHS.items()
    }
    assert bundle.labels.tolist() == classes
    for name, view in bundle.views.items():
        for row, given in enumerate(wanted[name]):
            part = view[[row]]
            assert dict(zip(part.indices.tolist(), part.data.tolist(), strict=True)) == given


def test_reuters_that_is_wrong(tmp_path):
    with pytest.raises(vp.DataError, match=r"Reuters.*Index_EN-EN.*RCV1 RCV2 Multilingual"):
        load_reuters(tmp_path)
    write_reuters(tmp_path)
    path = tmp_path / "FR" / "Index_GR-FR"
    text = path.read_text()
    path.write_text(text.replace("M11", "X99").replace("E21", "M11", 1))
    with pytest.raises(vp.DataError, match="not those of EN"):
        load_reuters(tmp_path)
    path.write_text(text + "C15 3:0.5 broken\n")
    with pytest.raises(vp.DataError, match="Index_GR-FR, line 4: 'broken' is not column:value"):
        load_reuters(tmp_path)
    path.write_text(text + "C15 99999:1\n")
    with pytest.raises(vp.DataError, match="Index_GR-FR: column 99999 is outside the 24893"):
        load_reuters(tmp_path)
    path.unlink()
    with pytest.raises(vp.DataError, match="Index_GR-FR cannot be read"):
        load_reuters(tmp_path)


@pytest.mark.data
def test_reuters_sample_is_said_to_be_one(data_folder, caplog):
    bundle = load_reuters(data_folder)
    assert bundle.n_rows == 1200
    assert "is a sample of 1200 of the 111,740" in caplog.text


# ---- YouTube

FILES = {
    "vision": {1: (5, {4: 0.001, 15: 0.305, 512: 1.0}), 2: (9, {21: 0.5}), 4: (31, {1: 1.0})},
    "audio": {1: (5, {2000: 2.0}), 3: (1, {7: 0.25}), 2: (9, {1: 1.0})},
    "text": {4: (31, {1000: 0.5}), 1: (5, {3: 0.5}), 2: (9, {2: 1.0})},
}
NAMES = {"vision": "vision_cuboids_histogram", "audio": "audio_mfcc", "text": "text_game_lda_1000"}


def write_youtube(folder):
    for p, part in enumerate(("train", "validation", "test")):
        (folder / part).mkdir(parents=True)
        for view, rows in FILES.items():
            lines = ["# a file of features", ""]
            for video, (label, values) in rows.items():
                lines.append(f"#I {video + 100 * p}")
                lines.append(f"{label} " + "  ".join(f"{c}:{v}" for c, v in values.items()))
            (folder / part / f"{NAMES[view]}.txt").write_text("\n".join(lines) + "\n")


@pytest.mark.parametrize("inside", [".", "dir_data"])
def test_youtube_from_text_files(tmp_path, inside):
    write_youtube(tmp_path / inside)
    bundle = load_youtube(tmp_path)
    assert {name: view.shape for name, view in bundle.views.items()} == {
        "vision": (12, 512),
        "audio": (12, 2000),
        "text": (12, 1000),
    }
    assert bundle.labels.tolist() == [4, 8, 30, 0] * 3  # videos 1, 2, 4, 3, as the files show them
    in_a_part = [[True] * 3, [True] * 3, [True, False, True], [False, True, False]]
    assert bundle.observed.tolist() == in_a_part * 3
    assert bundle.views["vision"][0, 511] == 1.0
    assert bundle.views["vision"][0, 3] == 0.001
    assert bundle.views["audio"][3, 6] == 0.25
    assert bundle.views["text"][2, 999] == 0.5


def test_youtube_that_is_wrong(tmp_path):
    with pytest.raises(vp.DataError, match=r"YouTube.*audio_mfcc\.txt.*YouTube Multiview Video Games"):
        load_youtube(tmp_path)
    write_youtube(tmp_path)
    path = tmp_path / "train" / "audio_mfcc.txt"
    for text, told in (
        ("#I 1\n6 1:1\n", "video 1 has class 6 here and another"),
        ("5 1:1\n", "row 0: no line `#I id`"),
        ("#I 1\n32 1:1\n", "video 1: class '32' is not 1 to 31"),
        ("#I 1\n5 1=1\n", "line 2: '1=1' is not column:value"),
    ):
        path.write_text(text)
        with pytest.raises(vp.DataError, match=told):
            load_youtube(tmp_path)


# ---- made data


@pytest.mark.parametrize("name", SHAPES)
def test_made_data_has_the_shape_and_is_the_same_every_time(name):
    bundle, again = make_like(name, 300), make_like(name, 300)
    shape = SHAPES[name]
    assert {view: x.shape for view, x in bundle.views.items()} == {
        view: (300, width) for view, width in shape.widths.items()
    }
    np.testing.assert_array_equal(bundle.labels, again.labels)
    for view, x in bundle.views.items():
        values = x.data if sp.issparse(x) else x
        assert values.dtype == np.float32
        assert values.min() >= 0
        if sp.issparse(x):
            assert abs(x.nnz / 300 - shape.words[view]) < 0.25 * shape.words[view] + 1
            assert (abs(x - again.views[view])).max() == 0
        else:
            np.testing.assert_array_equal(x, again.views[view])
    assert make_like("digit").n_rows == 2000
    with pytest.raises(vp.SettingError, match="one of 'webkb', 'digit'"):
        make_like("mnist")
