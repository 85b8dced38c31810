"""MATLAB files: the shapes in which multi-view sets are published, written by SciPy and by h5py."""

from __future__ import annotations

import json
import warnings

import numpy as np
import pytest
import scipy.sparse as sp
from typer.testing import CliRunner

import viewpass as vp
from matlab_files import cell, plain, write_v73
from viewpass.cli.app import app
from viewpass.errors import DataWarning
from viewpass.sources.bundle import Bundle

N, WIDTHS, CLASSES = 30, (5, 8, 3), 4
RNG = np.random.default_rng(0)
VIEWS = [RNG.random((N, width)) for width in WIDTHS]
LABELS = np.arange(N) % CLASSES
OBSERVED = vp.evaluate.make_mask("paper", N, 3, 0.3, 0)
PRESENT = [1 + np.flatnonzero(seen)[:, None].astype(float) for seen in OBSERVED.T]


def transposed(views):
    return [view.T for view in views]


def hidden(views):
    return [np.where(seen[:, None], view, np.nan) for view, seen in zip(views, OBSERVED.T, strict=True)]


COLUMN, ROW = LABELS[:, None].astype(float), LABELS[None].astype(np.uint8) + 1
SHAPES = {
    "a row of cells, Y": {"X": cell(VIEWS), "Y": COLUMN},
    "a column of cells, y": {"X": cell(VIEWS, (-1, 1)), "y": ROW},
    "cells of d x n, gt": {"X": cell(transposed(VIEWS)), "gt": COLUMN},
    "numbered variables": {f"X{v + 1}": view for v, view in enumerate(VIEWS)} | {"Y": ROW},
    "fea and gnd": {"fea": VIEWS[1], "gnd": COLUMN + 1},
    "data and truelabel, both cells": {"data": cell(transposed(VIEWS)), "truelabel": cell([ROW] * 3)},
    "a mask of present rows": {
        "data": cell(transposed(hidden(VIEWS))), "truelabel": cell([COLUMN] * 3, (-1, 1)),
        "index": cell(PRESENT), "MissingStatus": np.zeros((N, 3)),
    },
    "a mask of n x V": {"X": cell(VIEWS), "truth": COLUMN, "ind": OBSERVED.astype(float)},
    "sparse cells": {"X": cell([sp.csc_matrix(view) for view in VIEWS]), "truth": ROW},
}  # fmt: skip
MASKED = ("a mask of present rows", "a mask of n x V")


@pytest.mark.parametrize("shape", SHAPES)
def test_a_published_shape_is_read(write, shape):
    bundle = vp.load_mat(write(SHAPES[shape]))
    expected = [VIEWS[1]] if shape.startswith("fea") else hidden(VIEWS) if shape == MASKED[0] else VIEWS
    assert len(bundle.views) == len(expected)
    for found, view in zip(bundle.views.values(), expected, strict=True):
        np.testing.assert_array_equal(plain(found), view)
        assert sp.issparse(found) == shape.startswith("sparse")
    assert vp.evaluate.accuracy(LABELS, bundle.labels) == 1
    if shape in MASKED:
        np.testing.assert_array_equal(bundle.observed, OBSERVED)
    else:
        assert bundle.observed is None


@pytest.mark.parametrize("shape", SHAPES)
def test_only_turned_views_are_reported(write, shape):
    turned = isinstance(SHAPES[shape].get("data", ""), np.ndarray) or "d x n" in shape
    with warnings.catch_warnings(record=True) as seen:
        warnings.simplefilter("always", DataWarning)
        bundle = vp.load_mat(write(SHAPES[shape]))
    assert len(seen) == turned
    assert turned == any("turned" in note for note in bundle.notes)


def test_rows_are_turned_only_where_one_reading_fits(write):
    square = RNG.random((N, N))
    mixed = vp.load_mat(write({"X": cell([square, VIEWS[0]]), "Y": COLUMN}, "a.mat"))
    np.testing.assert_array_equal(mixed.views["1"], square)
    sideways = vp.load_mat(write({"X": cell([square, VIEWS[0].T]), "Y": COLUMN}, "b.mat"))
    np.testing.assert_array_equal(sideways.views["1"], square.T)
    each = vp.load_mat(write({"X": cell([VIEWS[1].T, VIEWS[0]]), "Y": COLUMN}, "c.mat"))
    assert [view.shape for view in each.views.values()] == [(N, 8), (N, 5)]
    two_ways = write({"X": cell([square]), "Y": COLUMN}, "d.mat")
    with pytest.raises(vp.DataError, match="turned=False or turned=True"):
        vp.load_mat(two_ways)
    np.testing.assert_array_equal(vp.load_mat(two_ways, turned=True).views["1"], square.T)
    without_classes = vp.load_mat(write({"X": cell(transposed(VIEWS))}, "e.mat"))
    assert without_classes.n_rows == N
    assert without_classes.labels is None
    with pytest.raises(vp.DataError, match="do not fit 30 labels"):
        vp.load_mat(write({"X": cell([VIEWS[0][:7]]), "Y": COLUMN}, "f.mat"))


def test_images_named_views_and_classes_in_columns(write):
    images = RNG.integers(0, 255, (N, 4, 6)).astype(np.uint8)
    one_hot = np.eye(CLASSES)[LABELS]
    bundle = vp.load_mat(write({"X1": images, "X2": VIEWS[0], "Y": one_hot}))
    np.testing.assert_array_equal(bundle.views["X1"], images.reshape(N, -1))
    np.testing.assert_array_equal(bundle.labels, LABELS)
    variables = {"mfeat_fou": VIEWS[0], "mfeat_kar": VIEWS[1], "other": RNG.random((7, 9)), "truth": COLUMN}
    named = vp.load_mat(write(variables, "named.mat"))
    assert list(named.views) == ["mfeat_fou", "mfeat_kar"]


ONE_HOT, DIMS, FLAGS = np.eye(CLASSES)[LABELS], np.array([WIDTHS]), OBSERVED.astype(float)
NUMBERED = {f"view_{v}": view for v, view in enumerate(VIEWS)}
# What other files hold beside views and classes, and how else these are stored; all open without options.
STRUCT = np.array([(view,) for view in VIEWS], dtype=[("fea", object)])
ONLY_PRESENT = [view[seen] for view, seen in zip(VIEWS, OBSERVED.T, strict=True)]
HABITS = {
    "classes from 0 as floats, as a row": {"X": cell(VIEWS), "Y": LABELS[None].astype(float)},
    "classes of -1 and 1 per class": {"X": cell(VIEWS), "Y": 2 * ONE_HOT - 1},
    "one class per column of a sparse matrix": {"X": cell(VIEWS), "Y": sp.csc_matrix(ONE_HOT.T)},
    "a cell of single classes": {"X": cell(VIEWS), "gt": cell([np.array([[k]]) for k in LABELS], (-1, 1))},
    "the same classes twice": {"X": cell(VIEWS), "Y": COLUMN, "gt": ROW},
    "classes of another length as well": {"X": cell(VIEWS), "Y": COLUMN, "label": ROW[:, :7]},
    "sizes and names beside": {
        "X": cell(VIEWS), "dims": DIMS, "lenSmp": np.array([[30.0]]), "Y": COLUMN,
        "categories": cell([np.array([name]) for name in "abcd"]),
    },
    "sizes beside, and classes of any name": {"X": cell(VIEWS), "dims": DIMS, "cat_id": ROW},
    "a graph beside": {"fea": VIEWS[1], "W": RNG.random((N, N)), "gnd": COLUMN},
    "a graph beside views of any name": {
        "gene_repert": VIEWS[0], "proteome_comp": VIEWS[2], "text": VIEWS[1], "W": np.eye(N), "truth": COLUMN,
    },
    "several classes per row are none": {"X": cell(VIEWS), "Y": RNG.integers(0, 2, (N, 6)), "gt": COLUMN},
    "a struct": {"dataset": {"X": cell(VIEWS), "Y": COLUMN}},
    "an array of structs": {"S": STRUCT, "gt": COLUMN},
    "cells in cells": {"X": cell([cell([view]) for view in VIEWS]), "Y": cell([cell([COLUMN])])},
    "a cell in a cell": {"X": cell([cell(VIEWS)]), "Y": COLUMN},
    "numbered from 0 with an underscore": NUMBERED | {"labels": ROW},
    "twelve numbered": {f"X{v + 1}": VIEWS[v % 3] for v in range(12)} | {"Y": ROW},
    "logical classes and single precision": {
        "X": cell([view.astype(np.float32) for view in VIEWS]), "Y": (LABELS % 2 == 0)[:, None],
    },
    "classes in a column per view": {"X": cell(VIEWS), "Y": np.hstack([COLUMN] * 3)},
    "classes in a row per view": {"X": cell(VIEWS), "truelabel": np.vstack([ROW] * 3)},
    "classes in words, one cell each": {
        "X": cell(VIEWS), "gt": cell([np.array(["abcd"[k]]) for k in LABELS], (1, -1)),
    },
    "a struct array with classes and names": {
        "S": np.array(
            [(view, np.array([name]), COLUMN) for view, name in zip(VIEWS, "abc", strict=True)],
            dtype=[("data", object), ("name", object), ("label", object)],
        ),
    },
    "fields of a struct with names of their own": {
        "mv": {"a": VIEWS[0], "b": VIEWS[1], "c": VIEWS[2], "label": ROW},
    },
    "numbers before the end of the name": {
        **{f"X{v + 1}_view": view for v, view in enumerate(VIEWS)}, "gt": COLUMN,
    },
    "the same mask twice": {"X": cell(VIEWS), "Y": COLUMN, "index": cell(PRESENT), "ind": FLAGS},
    "a mask of V x n": {"X": cell(VIEWS), "Y": COLUMN, "ind": OBSERVED.T.astype(np.uint8)},
    "a mask of 0 and 1 per view": {"X": cell(VIEWS), "Y": COLUMN, "mask": cell(list(FLAGS.T[:, :, None]))},
    "present rows only": {"X": cell(ONLY_PRESENT), "Y": COLUMN, "index": cell(PRESENT)},
    "present columns only": {"X": cell(transposed(ONLY_PRESENT)), "Y": COLUMN, "ind": OBSERVED.astype(float)},
    "present rows only, sparse": {
        "X": cell([sp.csc_matrix(view) for view in ONLY_PRESENT]), "Y": COLUMN, "index": cell(PRESENT),
    },
}  # fmt: skip


@pytest.mark.parametrize("habit", HABITS)
def test_other_habits_are_read_without_options(write, habit):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DataWarning)
        bundle = vp.load_mat(write(HABITS[habit]))
    masked = "mask" in habit or "present" in habit
    assert (bundle.observed is not None) == masked
    if masked:
        np.testing.assert_array_equal(bundle.observed, OBSERVED)
    truth = LABELS % 2 if "logical" in habit else LABELS
    assert vp.evaluate.nmi(truth, bundle.labels) > 1 - 1e-9
    found = list(bundle.views.values())
    if habit == "a graph beside":
        expected = [VIEWS[1]]
    elif "views of any name" in habit:
        expected = [VIEWS[0], VIEWS[2], VIEWS[1]]
    else:
        expected = VIEWS * (4 if "twelve" in habit else 1)
    assert len(found) == len(expected)
    seen = OBSERVED if "present" in habit else np.ones((N, len(found)), dtype=bool)
    for ours, theirs, rows in zip(found, expected, seen.T, strict=True):
        np.testing.assert_allclose(plain(ours)[rows], theirs[rows], rtol=1e-6)


def test_a_numbered_view_may_have_one_column(write):
    narrow = VIEWS[2][:, :1]
    bundle = vp.load_mat(write({"X1": VIEWS[0], "X2": narrow, "Y1": COLUMN, "Y2": COLUMN, "Y": COLUMN}))
    np.testing.assert_array_equal(bundle.views["X2"], narrow)
    assert len(bundle.views) == 2


@pytest.mark.parametrize("stored", ["stacked", "cell"])
def test_kernels_are_views(write, stored):
    kernels = [view @ view.T for view in VIEWS]
    value = np.stack(kernels, axis=2) if stored == "stacked" else cell(kernels)
    bundle = vp.load_mat(write({"KH": value, "Y": COLUMN}))
    for found, kernel in zip(bundle.views.values(), kernels, strict=True):
        np.testing.assert_array_equal(found, kernel)


TWO_READINGS = {
    "two cells": ({"X": cell(VIEWS), "fea": cell(VIEWS[:2]), "Y": COLUMN}, "X and fea", {"views": "X"}),
    "two classes": (
        {"X": cell(VIEWS), "Y": COLUMN, "gt": np.roll(ROW, 1)}, "Y and gt", {"labels": "Y"},
    ),
    "a matrix beside X": (
        {"X": VIEWS[0], "Y": VIEWS[1], "gt": COLUMN, "Z": VIEWS[2]},
        r"views=\['X', 'Z'\]", {"views": ["X", "Y", "Z"]},
    ),
    "three groups of numbers": (
        {"X1": VIEWS[0], "X2": VIEWS[1], "XTe1": VIEWS[0][:9], "XTe2": VIEWS[1][:9], "trainLabel": COLUMN},
        "XTe1", {"views": ["X1", "X2"], "labels": "trainLabel"},
    ),
}  # fmt: skip


@pytest.mark.parametrize("case", TWO_READINGS)
def test_two_readings_are_refused_with_both_named(write, case):
    variables, named, right = TWO_READINGS[case]
    path = write(variables)
    with pytest.raises(vp.DataError, match=named):
        vp.load_mat(path)
    bundle = vp.load_mat(path, **right)
    np.testing.assert_array_equal(
        bundle.views.get("X1", bundle.views.get("1", bundle.views.get("X"))), VIEWS[0]
    )
    assert vp.evaluate.accuracy(LABELS, bundle.labels) == 1


def test_several_masks_are_listed_and_one_is_chosen(write):
    masks = [vp.evaluate.make_mask("paper", N, 3, 0.3, seed) for seed in range(4)]
    path = write({"X": cell(VIEWS), "Y": COLUMN, "folds": cell([mask * 1.0 for mask in masks])})
    with pytest.warns(DataWarning, match=r"4 masks, none used: folds\{1\}"):
        assert vp.load_mat(path).observed is None
    np.testing.assert_array_equal(vp.load_mat(path, mask="folds{3}").observed, masks[2])
    with pytest.raises(vp.DataError, match=r"folds\{4\}"):
        vp.load_mat(path, mask="folds{9}")
    of_rows = cell([cell([1.0 + np.flatnonzero(seen)[:, None] for seen in mask.T]) for mask in masks])
    again = write({"X": cell(VIEWS), "Y": COLUMN, "index": of_rows}, "rows.mat")
    np.testing.assert_array_equal(vp.load_mat(again, mask="index{2}").observed, masks[1])
    stacked = write({"X": cell(VIEWS), "Y": COLUMN, "masks": np.stack(masks, axis=2) * 1.0}, "stack.mat")
    np.testing.assert_array_equal(vp.load_mat(stacked, mask="masks{4}").observed, masks[3])


@pytest.mark.parametrize(
    "content", [b"", b"MATLAB 5.0 MAT-file".ljust(200), b"\x89HDF\r\n\x1a\n" + b"x" * 600]
)
def test_damaged_files_are_refused(tmp_path, content):
    (tmp_path / "set.mat").write_bytes(content)
    with pytest.raises(vp.DataError, match=r"set\.mat"):
        vp.load_mat(tmp_path / "set.mat")
    with pytest.raises(vp.DataError, match="no such file"):
        vp.load_mat(tmp_path / "absent.mat")


def test_a_path_is_taken_wherever_paths_are(write, tmp_path):
    path = write(SHAPES["a mask of n x V"])
    model = vp.OPIMC(CLASSES, random_state=0).fit(vp.scan(path))
    same = vp.OPIMC(CLASSES, random_state=0).fit(VIEWS, observed=OBSERVED)
    np.testing.assert_array_equal(model.labels_, same.labels_)
    shown = CliRunner().invoke(app, ["inspect", str(path)])
    assert shown.exit_code == 0, shown.output
    assert "classes: 4, rows of each: 8 8 7 7" in shown.output
    assert "mask: ind, 30.0% missing" in shown.output
    found = json.loads(CliRunner().invoke(app, ["inspect", str(path), "--json"]).output)
    assert found["classes"] == [8, 8, 7, 7]


@pytest.mark.parametrize("shape", SHAPES)
def test_converting_there_and_back_keeps_everything(write, tmp_path, shape):
    first = vp.load_mat(write(SHAPES[shape]))
    runner, npz, mat = CliRunner(), tmp_path / "set.npz", tmp_path / "again.mat"
    done = runner.invoke(app, ["convert", str(tmp_path / "set.mat"), str(npz)])
    assert done.exit_code == 0, done.output
    assert "classes" in done.output
    assert runner.invoke(app, ["convert", str(npz), str(mat)]).exit_code == 0
    for other in (vp.load_bundle(npz), vp.load_mat(mat)):
        np.testing.assert_array_equal(other.labels, first.labels)
        for ours, theirs in zip(first.views.values(), other.views.values(), strict=True):
            np.testing.assert_array_equal(plain(ours), plain(theirs))
        if first.observed is None:
            assert other.observed is None
        else:
            np.testing.assert_array_equal(other.observed, first.observed)
    refused = runner.invoke(app, ["convert", str(mat), str(npz)])
    assert refused.exit_code == 1
    assert "--force" in refused.output


def test_names_of_views_and_classes_in_words_are_kept(tmp_path):
    words = np.array(["ash", "elm", "fir", "oak"])[LABELS]
    first = Bundle({"image": VIEWS[0], "text of it": sp.csr_array(VIEWS[1])}, words, OBSERVED[:, :2])
    first.write(tmp_path / "set.npz")
    runner = CliRunner()
    for source, out in (("set.npz", "set.mat"), ("set.mat", "again.npz")):
        done = runner.invoke(app, ["convert", str(tmp_path / source), str(tmp_path / out)])
        assert done.exit_code == 0, done.output
    for other in (vp.load_mat(tmp_path / "set.mat"), vp.load_bundle(tmp_path / "again.npz")):
        assert list(other.views) == ["image", "text of it"]
        np.testing.assert_array_equal(other.labels, words)
        np.testing.assert_array_equal(other.observed, OBSERVED[:, :2])


def test_views_that_are_no_names_are_refused(write):
    with pytest.raises(vp.SettingError, match=r"views=3: expected the name.*X, Y"):
        vp.load_mat(write({"X": cell(VIEWS), "Y": COLUMN}), views=3)


def test_what_cannot_be_read_is_left_out(write):
    empty = {"nothing": np.zeros((0, 0)), "s": {}, "c": np.empty((0, 0), dtype=object)}
    bundle = vp.load_mat(write({"X": cell(VIEWS), "Y": COLUMN, **empty}))
    assert list(bundle.views) == ["1", "2", "3"]


def test_an_object_is_no_matrix(tmp_path):
    h5py = pytest.importorskip("h5py")
    write_v73(tmp_path / "set.mat", {"X": cell(VIEWS), "Y": np.arange(6, dtype=np.uint32)[None]})
    with h5py.File(tmp_path / "set.mat", "r+") as file:
        file["Y"].attrs["MATLAB_class"] = np.bytes_(b"categorical")
        file["Y"].attrs["MATLAB_object_decode"] = np.int32(3)
    bundle = vp.load_mat(tmp_path / "set.mat")
    assert bundle.labels is None
    assert "classes: none; Y does not hold one class per row" in bundle.notes


def test_parts_that_do_not_fit_are_not_joined(write):
    parts = {"X_train": VIEWS[0][:20], "X_test": VIEWS[0][20:], "Y_train": COLUMN[:20], "Y_test": COLUMN[20:]}
    bundle = vp.load_mat(write(parts))
    np.testing.assert_array_equal(bundle.views["X"], VIEWS[0])
    np.testing.assert_array_equal(bundle.labels, LABELS)
    assert "training and test rows joined: X_test, X_train, Y_test, Y_train" in bundle.notes
    one = vp.load_mat(write(parts, "one.mat"), views=["X_train"], labels="Y_train")
    np.testing.assert_array_equal(one.views["X_train"], VIEWS[0][:20])
    with pytest.raises(vp.DataError, match="do not"):
        vp.load_mat(write(parts | {"X_test": VIEWS[1][20:]}, "two.mat"))
