"""Every form of a table gives the same rows, and the same model."""

from __future__ import annotations

import json
import subprocess
import sys
from functools import cache

import numpy as np
import pytest

import viewpass as vp
from tables import FORMS, IDS, IMAGE, ONCE, TEXT, N, rows_of, views_for
from zipped import zipped

SETTINGS = {"n_clusters": 4, "chunk_size": 64, "random_state": 0}

ARRAYS = {"image": IMAGE, "text": TEXT}


@cache
def of_arrays(n_passes=1):
    """The model of the same rows as arrays, which no test changes."""
    return vp.OPIMC(**SETTINGS, n_passes=n_passes).fit(ARRAYS)


@cache
def offline_of_arrays():
    return vp.IMC(4, n_init=2, random_state=0).fit(ARRAYS)


@cache
def of_three_views():
    return vp.OPIMC(**SETTINGS).fit({"text": TEXT, "extra": np.ones((N, 3)), "image": IMAGE})


def scanned(form, folder):
    return vp.scan(FORMS[form](folder), views=views_for(form), id="id")


@pytest.mark.parametrize(
    ("form", "size", "start"), zipped(FORMS, [(7, 0), (64, 0), (64, 64), (120, 171), (1000, 0), (50, N - 1)])
)
def test_rows_are_read_unchanged(tmp_path, form, size, start):
    (image, text), chunks = rows_of(scanned(form, tmp_path), size, start)
    np.testing.assert_array_equal(image, IMAGE[start:])
    np.testing.assert_array_equal(text, TEXT[start:])
    assert [chunk.start for chunk in chunks] == [start, *range((start // size + 1) * size, N, size)]
    assert np.concatenate([chunk.row_ids for chunk in chunks]).tolist() == IDS[start:]


@pytest.mark.parametrize("form", FORMS)
def test_starting_at_the_end_gives_no_rows(tmp_path, form):
    assert list(scanned(form, tmp_path).chunks(64, N)) == []


@pytest.mark.parametrize("form", list(FORMS)[::3])
def test_fit_equals_that_of_arrays(tmp_path, form):
    source = scanned(form, tmp_path)
    model, arrays = vp.OPIMC(**SETTINGS).fit(source), of_arrays()
    assert model.statistics_ == arrays.statistics_
    np.testing.assert_array_equal(model.stream_labels_, arrays.stream_labels_)
    assert model.row_ids_.tolist() == IDS
    assert model.n_features_in_ == 13
    assert model.view_names_in_ == ("image", "text")


@pytest.mark.parametrize("form", [form for form in FORMS if form not in ONCE][::3])
def test_what_can_be_read_again_has_several_passes_and_final_labels(tmp_path, form):
    source = scanned(form, tmp_path)
    assert source.rereadable
    model, arrays = vp.OPIMC(**SETTINGS, n_passes=2).fit(source), of_arrays(2)
    assert model.statistics_ == arrays.statistics_
    np.testing.assert_array_equal(model.labels_, arrays.labels_)
    np.testing.assert_array_equal(model.predict(source), arrays.labels_)
    np.testing.assert_array_equal(model.transform(source), arrays.transform(ARRAYS))
    assert model.score(source) == arrays.score(ARRAYS)
    offline = vp.IMC(4, n_init=2, random_state=0).fit(source)
    assert offline.statistics_ == offline_of_arrays().statistics_
    assert offline.row_ids_.tolist() == IDS


@pytest.mark.parametrize("form", ONCE)
def test_what_is_read_once_has_stream_labels_only(tmp_path, form):
    source = scanned(form, tmp_path)
    assert not source.rereadable
    assert source.n_rows is None
    with pytest.raises(vp.DataError, match=r"2 passes over a stream that can be read only once"):
        vp.OPIMC(**SETTINGS, n_passes=2).fit(source)
    with pytest.raises(vp.DataError, match=r"read only once"):
        vp.OPIMC(**SETTINGS).fit_transform(source)
    model = vp.OPIMC(**SETTINGS)
    labels = model.fit_predict(source)  # neither refusal has read anything
    assert not hasattr(model, "labels_")
    np.testing.assert_array_equal(labels, model.stream_labels_)
    assert len(labels) == N
    with pytest.raises(vp.DataError, match=r"has been read already"):
        model.predict(source)


@pytest.mark.parametrize("form", ONCE)
def test_a_stream_can_be_predicted(tmp_path, form):
    model = of_arrays()
    np.testing.assert_array_equal(model.predict(scanned(form, tmp_path)), model.labels_)


@pytest.mark.parametrize("form", list(FORMS)[::3])
def test_views_can_come_in_another_order_or_be_absent(tmp_path, form):
    model = of_three_views()
    expected = model.predict({"text": TEXT, "image": IMAGE})
    np.testing.assert_array_equal(model.predict(scanned(form, tmp_path)), expected)


@pytest.mark.parametrize("form", FORMS)
def test_identity_is_plain_data_and_the_same_each_time(tmp_path, form):
    for name in ("one", "other"):
        (tmp_path / name).mkdir()
    one, other = (scanned(form, tmp_path / name).identity() for name in ("one", "other"))
    assert json.loads(json.dumps(one)) == one
    assert one == other


def test_identity_tells_data_apart(tmp_path):
    for name in ("one", "other"):
        (tmp_path / name).mkdir()
    path = FORMS["Parquet, lists"](tmp_path / "one")
    plain = vp.scan(path).identity()
    assert plain != vp.scan(path, views=["text"]).identity()
    assert plain != vp.scan(path, id="id").identity()
    assert plain != vp.scan(FORMS["Parquet, fixed lists"](tmp_path / "other")).identity()


@pytest.mark.parametrize("form", ["Parquet, fixed lists", "Parquet, wide", "DuckDB relation"])
def test_partial_fit_goes_on_chunk_by_chunk(tmp_path, form):
    model, other = (
        vp.OPIMC(**SETTINGS).partial_fit({"image": IMAGE[:90], "text": TEXT[:90]}) for _ in range(2)
    )
    model.partial_fit(scanned(form, tmp_path))
    labels = []
    for start in range(0, N, 64):
        rows = slice(start, start + 64)
        other.partial_fit({"image": IMAGE[rows], "text": TEXT[rows]})
        labels.append(other.stream_labels_)
    assert model.statistics_ == other.statistics_
    np.testing.assert_array_equal(model.loss_curve_, other.loss_curve_)
    assert model.row_ids_.tolist() == IDS
    np.testing.assert_array_equal(model.stream_labels_, np.concatenate(labels))


# Rows read once are labelled before the last solve, whose clusters may be others.
@pytest.mark.filterwarnings("ignore:only .* clusters have rows")
@pytest.mark.parametrize("form", list(FORMS)[::3])
@pytest.mark.parametrize("sample_size", [100, "auto"])
def test_viewpass_of_a_table_is_that_of_its_ids(tmp_path, form, sample_size):
    settings = {"sample_size": sample_size, "compute_labels": form not in ONCE, "random_state": 0}
    model = vp.ViewPass(4, **settings).fit(scanned(form, tmp_path))
    expected = vp.ViewPass(4, **settings).fit(scanned("PyArrow table", tmp_path))
    assert model.statistics_ == expected.statistics_
    assert model.row_ids_.tolist() == IDS
    name = "stream_labels_" if form in ONCE else "labels_"
    np.testing.assert_array_equal(getattr(model, name), getattr(expected, name))


def test_a_table_learnt_first_is_the_first_chunks(tmp_path):
    model = vp.OPIMC(**SETTINGS).partial_fit(scanned("Parquet, lists", tmp_path))
    fitted = vp.OPIMC(**SETTINGS).fit(scanned("PyArrow table", tmp_path))
    assert model.statistics_ == fitted.statistics_
    np.testing.assert_array_equal(model.stream_labels_, fitted.stream_labels_)
    assert model.n_features_in_ == 13


@pytest.mark.system
@pytest.mark.parametrize("form", ["Parquet, lists", "polars lazy frame", "DuckDB relation"])
def test_the_interpreter_may_exit_in_the_middle_of_a_table(tmp_path, form):
    path = FORMS["Parquet, lists"](tmp_path)
    opened = {
        "Parquet, lists": repr(str(path)),
        "polars lazy frame": f"__import__('polars').scan_parquet({str(path)!r})",
        "DuckDB relation": f"(kept := __import__('duckdb').connect()).sql(\"select * from '{path}'\")",
    }[form]
    program = f"import viewpass as vp; read = vp.scan({opened}).chunks(7); print(next(read).n_rows)"
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=600)
    assert (done.returncode, done.stdout, done.stderr) == (0, "7\n", "")
