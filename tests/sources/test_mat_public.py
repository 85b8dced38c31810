"""Public multi-view sets as the loaders of public repositories find them: each opens without options.

The files hold a few rows, but the variables, shapes and kinds of the published ones.
"""

from __future__ import annotations

import warnings

import numpy as np
import pytest
import scipy.sparse as sp

import viewpass as vp
from matlab_files import cell, plain
from viewpass.errors import DataWarning

N, K = 24, 4
RNG = np.random.default_rng(1)
ONE, TWO, THREE, WIDE = (RNG.random((N, width)) for width in (6, 9, 4, 40))
LABELS = RNG.permutation(np.arange(N) % K)
ROW, COLUMN = LABELS[None].astype(float) + 1, LABELS[:, None].astype(float) + 1
SQUARE = RNG.random((N, N))
DISTANCES = [np.abs(x[:, :1] - x[:, :1].T) for x in (ONE, TWO, THREE)]
CITES = np.triu((SQUARE > 0.8).astype(float))  # no paper cites a later one
IMAGES = RNG.integers(0, 255, (N, 5, 4)).astype(np.uint8)
WORDS = [sp.csc_matrix(np.round(x * (x > 0.6), 2)) for x in (TWO, WIDE, ONE)]
MASK = vp.evaluate.make_mask("paper", N, 3, 0.4, 3)
PRESENT = [1.0 + np.flatnonzero(seen)[:, None] for seen in MASK.T]
STRINGS = np.array(["ash", "elm", "fir", "oak"])[LABELS]
THREE_VIEWS = [ONE, TWO, WIDE]


def turned(views):
    return [view.T for view in views]


def numbered(views, name="X{}", first=1):
    return {name.format(v + first): view for v, view in enumerate(views)}


def halves(views, name="x{}_{}", n_train=17):
    out = {name.format(v + 1, "train"): view[:n_train] for v, view in enumerate(views)}
    return out | {name.format(v + 1, "test"): view[n_train:] for v, view in enumerate(views)}


def texts(values):
    return cell([np.array([value]) for value in values], (-1, 1))


X = {"X": cell(THREE_VIEWS)}
DOWN = {"X": cell(THREE_VIEWS, (-1, 1))}
TURNED = {"X": cell(turned(THREE_VIEWS))}
DATA = {"data": cell(turned(THREE_VIEWS)), "truelabel": cell([ROW] * 3)}
FEA = {"fea": cell(THREE_VIEWS), "gt": COLUMN}

# Name: variables; the views, if they are not THREE_VIEWS.
SETS = {
    "100Leaves (data, truelabel)": (DATA,),
    "100Leaves (data, truth)": ({"data": DATA["data"], "truth": ROW},),
    "3sources (data of sparse d x n)": ({"data": cell(turned(WORDS)), "truelabel": cell([ROW] * 3)}, WORDS),
    "3-sources (bbc, guardian, reuters)": (
        {"bbc": WORDS[0], "guardian": WORDS[1], "reuters": WORDS[2], "truth": COLUMN}, WORDS,
    ),
    "3Sources (data, labels)": ({"data": cell(WORDS), "labels": ROW.astype(np.uint8)}, WORDS),
    "3Sources (X of d x n, y)": (TURNED | {"y": COLUMN},),
    "ACM (graphs beside features)": (
        {
            "PAP": SQUARE + SQUARE.T, "PLP": np.eye(N), "feature": TWO, "label": np.eye(K)[LABELS],
            "train_idx": np.arange(7.0)[None], "val_idx": np.arange(7.0, 9.0)[None],
            "test_idx": np.arange(9.0, N)[None],
        }, [TWO],
    ),
    "ALOI-100": (FEA,),
    "Animal": (X | {"gt": COLUMN},),
    "AWA 7 views": ({"X": cell(turned(THREE_VIEWS)), "gt": COLUMN.astype(np.int32)},),
    "AwA (a workspace)": (
        X | {
            "Y": COLUMN, "n": np.array([[24.0]]), "c": np.array([[4.0]]), "nv": np.array([[3.0]]),
            "V": np.array([[3.0]]), "numClust": np.array([[4.0]]), "result": RNG.random((1, 7)),
            "options": {"lambda": np.array([[0.1]]), "name": np.array(["run"])}, "Z": cell([SQUARE] * 3),
            "A": SQUARE, "path": np.array(["awa.mat"]), "alpha": RNG.random((1, 5)),
        },
    ),
    "BBC (folds beside)": (X | {"truelabel": cell([ROW]), "folds": cell([MASK * 1.0])}, None, MASK),
    "BBCSport (X of sparse d x n, Y)": ({"X": cell(turned(WORDS)), "Y": COLUMN}, WORDS),
    "bbcsport (X1, X2 of d x n, truth)": (numbered(turned([ONE, WIDE])) | {"truth": COLUMN}, [ONE, WIDE]),
    "BDGP": (numbered([WIDE, TWO]) | {"Y": LABELS[None].astype(np.int32)}, [WIDE, TWO]),
    "Caltech-5V": (numbered(THREE_VIEWS) | {"Y": ROW},),
    "Caltech101-7 (mvdata)": (
        DOWN | {
            "Y": COLUMN.astype(np.uint8), "categories": texts(["a", "bb", "c", "d"]),
            "lenSmp": np.array([[6.0]] * K), "feanames": texts(["gabor", "wm", "hog"]),
        },
    ),
    "Caltech101-7 (data, labels)": ({"data": cell(THREE_VIEWS), "labels": COLUMN},),
    "CCV": (X | {"Y": COLUMN},),
    "cifar10": ({"data": cell(turned(THREE_VIEWS), (-1, 1)), "truelabel": cell([COLUMN] * 3, (-1, 1))},),
    "CiteSeer": ({"fea": cell([sp.csc_matrix(CITES), WORDS[1]]), "gt": COLUMN}, [CITES, WORDS[1]]),
    "COIL20 (one view)": ({"fea": WIDE, "gnd": COLUMN}, [WIDE]),
    "COIL20 (X, Y)": (X | {"Y": COLUMN},),
    "Cora": ({"coracites": CITES, "coracontent": WIDE, "y": COLUMN}, [CITES, WIDE]),
    "CUB": ({"X": cell([ONE, WIDE]), "gt": COLUMN}, [ONE, WIDE]),
    "DHA": (numbered([ONE, WIDE]) | {"Y": ROW - 1}, [ONE, WIDE]),
    "Fashion": (numbered([IMAGES, IMAGES[::-1], IMAGES[:, ::-1]]) | {"Y": ROW}, "images"),
    "flower17": ({"distance_matrices": cell(DISTANCES), "gt": COLUMN}, DISTANCES),
    "handwritten (labels from 0)": (X | {"Y": COLUMN - 1},),
    "handwritten_6views (train and test)": (
        halves(THREE_VIEWS) | {"gt_train": COLUMN[:17], "gt_test": COLUMN[17:]},
    ),
    "Hdigit": (DATA,),
    "HW": (numbered(THREE_VIEWS) | {"Y": ROW.astype(np.int64)},),
    "IMVC (data, truelabel, index)": (
        {
            "data": cell(turned(THREE_VIEWS), (-1, 1)), "truelabel": cell([COLUMN] * 3, (-1, 1)),
            "index": cell(PRESENT),
        }, None, MASK,
    ),
    "LandUse-21 (sparse)": ({"X": cell(WORDS), "Y": COLUMN}, WORDS),
    "LGG (class names)": (X | {"Y": texts(STRINGS), "sample": texts([f"TCGA-{i}" for i in range(N)])},),
    "MIRFlickr (several classes per row)": (
        numbered([ONE, WIDE]) | {"Y": (RNG.random((N, 7)) < 0.4) * 1.0}, [ONE, WIDE], None, False,
    ),
    "MNIST-USPS (images)": (numbered([IMAGES, IMAGES[::-1]]) | {"Y": ROW.astype(np.uint8)}, "images"),
    "Movies": (DOWN | {"y": COLUMN},),
    "MSRA25": (numbered(THREE_VIEWS, "X_{}") | {"gnd": ROW},),
    "MSRCV1 (a view as wide as there are rows)": ({"X": cell([ONE, SQUARE]), "Y": COLUMN}, [ONE, SQUARE]),
    "MSRCV1 (the same, d x n)": ({"X": cell([ONE.T, SQUARE.T]), "gt": COLUMN}, [ONE, SQUARE]),
    "MSRC-v1 (data and X alike)": (DATA | {"X": DATA["data"], "Y": COLUMN},),
    "NGs (one truelabel)": ({"data": cell(turned(THREE_VIEWS)), "truelabel": cell([ROW])},),
    "NoisyMNIST 30000": (numbered([ONE, WIDE]) | {"Y": COLUMN}, [ONE, WIDE]),
    "Notting-Hill (an empty view)": (
        {"X": cell([ONE, TWO, np.zeros((0, 0)), WIDE]), "gt": COLUMN}, [ONE, TWO, WIDE],
    ),
    "NUSWIDE (X1 to X3, odd classes)": (
        numbered(THREE_VIEWS) | {"Y": np.array([14, 19, 23, 28])[LABELS][None].astype(np.uint8)},
    ),
    "NUSWIDE (data, labels)": ({"data": cell(THREE_VIEWS), "labels": COLUMN},),
    "NUSWIDEOBJ": (DOWN | {"Y": COLUMN},),
    "nuswide_deep_2_view": (
        {"Img": ONE.astype(np.float32), "Txt": WIDE.astype(np.float32), "label": ROW}, [ONE, WIDE],
    ),
    "ORL (struct)": ({"data": {"X": cell(turned(THREE_VIEWS)), "gt": COLUMN}},),
    "ORL_mtv": (TURNED | {"gt": COLUMN},),
    "PIE_face_10": (TURNED | {"gt": COLUMN.astype(np.uint8)},),
    "prokaryotic": ({"gene_repert": ONE, "proteome_comp": TWO, "text": WIDE, "truth": COLUMN},),
    "Reuters (mvdata, sparse)": ({"X": cell(WORDS), "Y": COLUMN}, WORDS),
    "Reuters_dim10 (train and test, views x rows x columns)": (
        {
            "x_train": np.stack([ONE, ONE + 1])[:, :17], "x_test": np.stack([ONE, ONE + 1])[:, 17:],
            "y_train": ROW[:, :17], "y_test": ROW[:, 17:],
        }, [ONE, ONE + 1],
    ),
    "Reuters_small (fea, sparse)": ({"fea": cell(WORDS), "gt": COLUMN}, WORDS),
    "RGB-D (single precision)": ({"X": cell([view.astype("f4") for view in THREE_VIEWS]), "Y": COLUMN},),
    "Scene-15": (X | {"Y": COLUMN.astype(np.uint16)},),
    "scene15_mtv": (TURNED | {"gt": COLUMN},),
    "stl10 (a view of two classes)": (X | {"Y": (LABELS > 1)[:, None]}, None, None, LABELS > 1),
    "SUNRGBD (views as fields)": (
        {"views": {"rgb": ONE, "depth": TWO, "text": WIDE}, "labels": COLUMN},
    ),
    "synthetic3d (fields of a struct array)": (
        {"S": np.array([(view,) for view in THREE_VIEWS], dtype=[("fea", object)])[None], "gnd": COLUMN},
    ),
    "uci-digit": ({"mfeat_fac": ONE, "mfeat_fou": TWO, "mfeat_kar": WIDE, "truth": COLUMN},),
    "UCI_Digits (labels twice)": (FEA | {"gnd": ROW - 1},),
    "umpc_food101": ({"img_features": ONE, "txt_features": WIDE, "labels": ROW}, [ONE, WIDE]),
    "WebKB (classes -1 and 1)": (X | {"Y": np.where(LABELS > 1, 1.0, -1.0)[:, None]}, None, None, LABELS > 1),
    "Wiki (class names as text lines)": (X | {"label": STRINGS},),
    "Wikipedia (labels per view)": (numbered([ONE, WIDE]) | numbered([COLUMN] * 2, "Y{}"), [ONE, WIDE]),
    "Yale": ({"data": cell(turned(THREE_VIEWS)), "truelabel": cell([COLUMN] * 3)},),
    "YaleB (one column per class)": (TURNED | {"Y": np.eye(K)[LABELS].T},),
    "YoutubeFace_sel": (DOWN | {"Y": COLUMN.astype(np.int16)},),
}  # fmt: skip


@pytest.mark.parametrize("name", SETS)
def test_a_public_set_opens_without_options(write, name):
    variables, expected, mask, truth = (*SETS[name], None, None, None)[:4]
    expected = THREE_VIEWS if expected is None else expected
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DataWarning)
        bundle = vp.load_mat(write(variables))
    if isinstance(expected, str):
        expected = [x.reshape(N, -1) for key, x in variables.items() if key.startswith("X")]
    assert len(bundle.views) == len(expected), bundle.notes
    for ours, theirs in zip(bundle.views.values(), expected, strict=True):
        np.testing.assert_allclose(plain(ours), plain(theirs), rtol=1e-6)
    if truth is False:
        assert bundle.labels is None
        assert any("does not hold one class per row" in note for note in bundle.notes)
    else:
        assert vp.evaluate.ari(LABELS if truth is None else truth, bundle.labels) == 1
    if mask is None:
        assert bundle.observed is None
    else:
        np.testing.assert_array_equal(bundle.observed, mask)
