"""MATLAB files: the shapes in which multi-view sets are published, written by SciPy and by h5py."""

from __future__ import annotations

import json
import warnings

import numpy as np
import pytest
import scipy.io
import scipy.sparse as sp
from typer.testing import CliRunner

import viewpass as vp
from viewpass.cli.app import app
from viewpass.errors import DataWarning

N, WIDTHS, CLASSES = 30, (5, 8, 3), 4
RNG = np.random.default_rng(0)
VIEWS = [RNG.random((N, width)) for width in WIDTHS]
LABELS = np.arange(N) % CLASSES
OBSERVED = vp.evaluate.make_mask("paper", N, 3, 0.3, 0)
PRESENT = [1 + np.flatnonzero(seen)[:, None].astype(float) for seen in OBSERVED.T]


def cell(values, shape=(1, -1)):
    found = np.empty(len(values), dtype=object)
    found[:] = values
    return found.reshape(shape)


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


def write_v5(path, variables):
    scipy.io.savemat(path, variables)


def write_v73(path, variables):
    """As MATLAB does: arrays transposed, cells of references, sparse matrices by column."""
    h5py = pytest.importorskip("h5py")
    with h5py.File(path, "w", userblock_size=512) as file:
        refs = file.create_group("#refs#")

        def put(group, name, value):
            if sp.issparse(value):
                columns = sp.csc_matrix(value)
                own = group.create_group(name)
                own.attrs["MATLAB_sparse"] = np.uint64(columns.shape[0])
                for part, array in (("data", columns.data), ("ir", columns.indices), ("jc", columns.indptr)):
                    own[part] = array
                return own
            if value.dtype == object:
                places = [put(refs, f"r{len(refs)}", one).ref for one in value.ravel(order="F")]
                own = group.create_dataset(name, value.T.shape, h5py.ref_dtype)
                own[...] = np.array(places, dtype=h5py.ref_dtype).reshape(value.T.shape)
                own.attrs["MATLAB_class"] = b"cell"
                return own
            own = group.create_dataset(name, data=value.T)
            own.attrs["MATLAB_class"] = b"double"
            return own

        for name, value in variables.items():
            put(file, name, value)
    with path.open("r+b") as file:
        file.write(b"MATLAB 7.3 MAT-file".ljust(124) + b"\x00\x02IM")


@pytest.fixture(params=[write_v5, write_v73], ids=["v5", "v7.3"])
def write(request, tmp_path):
    def made(variables, name="set.mat"):
        request.param(tmp_path / name, variables)
        return tmp_path / name

    return made


def plain(view):
    return view.toarray() if sp.issparse(view) else view


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
