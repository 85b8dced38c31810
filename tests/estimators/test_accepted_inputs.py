"""The same rows give the same model in whatever form users have them; columns are views by name."""

from __future__ import annotations

import warnings

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import scipy.sparse as sp
from sklearn.compose import ColumnTransformer
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline

import viewpass as vp
from inputs import GAPS, IMAGE, PLAIN, TEXT, N, small, with_gaps
from viewpass.evaluate import nmi
from zipped import zipped

VIEWS = {
    name: [row.tolist() if seen else None for row, seen in zip(x, GAPS[:, v], strict=True)]
    for v, (name, x) in enumerate({"image": IMAGE, "text": TEXT}.items())
}
TABLE = pa.table(VIEWS)
EXTRA = TABLE.append_column("item", [[f"i{k}" for k in range(N)]]).append_column("price", [np.arange(N)])
ARRAYS = dict(zip(VIEWS, with_gaps(), strict=True))


def relation(table):
    import duckdb  # not held by this module: Hypothesis keeps modules to the end, and nanobind reports it

    return duckdb.from_arrow(table)


FORMS = {
    "PyArrow table": lambda path: TABLE,
    "PyArrow batch": lambda path: TABLE.to_batches()[0],
    "PyArrow reader": lambda path: TABLE.to_reader(),
    "path": str,
    "Path": lambda path: path,
    "list of paths": lambda path: [path],
    "pandas": lambda path: TABLE.to_pandas(),
    "pandas, lists": lambda path: pd.DataFrame(VIEWS),
    "pandas, Arrow types": lambda path: TABLE.to_pandas(types_mapper=pd.ArrowDtype),
    "pandas, an index": lambda path: pd.DataFrame(VIEWS, index=[f"i{k}" for k in range(N)]),
    "polars": lambda path: pl.from_arrow(TABLE),
    "polars, lazy": lambda path: pl.from_arrow(TABLE).lazy(),
    "DuckDB": lambda path: relation(TABLE),
    "dict of pandas series": lambda path: dict(pd.DataFrame(VIEWS).items()),
    "dict of polars series": lambda path: {name: pl.Series(rows) for name, rows in VIEWS.items()},
    "dict of PyArrow columns": lambda path: {name: TABLE[name] for name in VIEWS},
}
ONCE = ("PyArrow reader", "polars, lazy", "DuckDB")


@pytest.fixture(scope="module")
def path(tmp_path_factory):
    path = tmp_path_factory.mktemp("table") / "items.parquet"
    pq.write_table(TABLE, path)
    return path


@pytest.fixture(scope="module")
def plain():
    return small().fit(ARRAYS)


@pytest.mark.parametrize("form", FORMS)
def test_a_table_in_any_form_is_the_dict_of_its_views(form, path, plain):
    model = small()
    labels = model.fit_predict(FORMS[form](path))
    assert (model.view_names_in_, model.n_features_in_) == (("image", "text"), 9)
    np.testing.assert_array_equal(labels, plain.labels_)
    np.testing.assert_array_equal(model.predict(FORMS[form](path)), plain.labels_)
    np.testing.assert_array_equal(plain.predict(FORMS[form](path)), plain.labels_)
    for mine, theirs in zip(model.statistics_.steps, plain.statistics_.steps, strict=True):
        np.testing.assert_array_equal(mine, theirs)
    assert hasattr(model, "labels_") == (form not in ONCE)


@pytest.mark.parametrize("form", ["path", "pandas", "dict of pandas series"])
@pytest.mark.parametrize(("estimator", "settings"), [(vp.IMC, {}), (vp.OMVC, {"max_iter": 2, "n_init": 1})])
@pytest.mark.filterwarnings("ignore:views 'image', 'text'. negative entries were set to 0")
def test_other_estimators_take_the_same_forms(estimator, settings, form, path):
    model = small(estimator, **settings).fit(FORMS[form](path))
    np.testing.assert_array_equal(model.labels_, small(estimator, **settings).fit(ARRAYS).labels_)
    assert model.n_features_in_ == 9


def test_columns_of_lists_in_a_list_are_views_in_their_order(plain):
    series = [pd.Series(VIEWS["image"]), pd.Series(VIEWS["text"])]
    assert small().fit(series).view_names_in_ == ("view0", "view1")
    np.testing.assert_array_equal(small().fit(series).labels_, plain.labels_)
    np.testing.assert_array_equal(plain.predict(series), plain.labels_)


def test_files_of_arrays_are_views(tmp_path, plain):
    for name, x in ARRAYS.items():
        np.save(tmp_path / f"{name}.npy", x)
    paths = [tmp_path / f"{name}.npy" for name in ARRAYS]
    for X in (paths, dict(zip(ARRAYS, paths, strict=True)), tmp_path / "*.npy"):
        np.testing.assert_array_equal(small().fit(X).labels_, plain.labels_)


@pytest.mark.parametrize(
    "form", [pa.Table.to_pandas, pl.from_arrow, lambda table: pl.from_arrow(table).lazy()]
)
def test_columns_that_are_no_views_are_left_out_with_one_message(form, plain):
    with pytest.warns(UserWarning, match="columns 'item', 'price' hold no lists and were left out") as said:
        model = small().fit(form(EXTRA))
    assert len(said) == 1
    assert said[0].filename == __file__
    assert all(part in str(said[0].message) for part in ("'image', 'text'", "vp.scan(X, views=", "id="))
    np.testing.assert_array_equal(model.predict(form(EXTRA)), plain.labels_)  # without a further word


def test_chosen_columns_are_left_out_without_a_message(plain):
    for model in (
        small(views=["image", "text"]).fit(EXTRA.to_pandas()),
        small(views={"image": "image", "text": "te*"}).fit(pl.from_arrow(EXTRA)),
    ):
        np.testing.assert_array_equal(model.labels_, plain.labels_)
    by_id = small().fit(vp.scan(EXTRA, id="item"))  # sampled by the ids
    assert by_id.view_names_in_ == plain.view_names_in_
    assert nmi(plain.labels_, by_id.labels_) == pytest.approx(1)


@pytest.mark.parametrize("form", [sp.dok_array, sp.dok_matrix, sp.lil_array, sp.dia_array, sp.bsr_matrix])
def test_a_sparse_matrix_of_any_form_is_one_view(form):
    labels = small(**PLAIN).fit(sp.csr_array(IMAGE)).labels_
    np.testing.assert_array_equal(small(**PLAIN).fit(form(IMAGE)).labels_, labels)
    pair = small(**PLAIN).fit([form(IMAGE), form(TEXT)])
    np.testing.assert_array_equal(pair.labels_, small(**PLAIN).fit([IMAGE, TEXT]).labels_)


# ---- a frame of numbers, its views by name

NUMBERS = pd.DataFrame(
    np.hstack([IMAGE, TEXT]), columns=[*(f"img_{j}" for j in range(4)), *(f"t{j}" for j in range(5))]
)
MIXED = NUMBERS.assign(item=[f"i{k}" for k in range(N)], price=1.0)
NAMED = {"image": "img_*", "text": ["t0", "t1"]}
PARTS = {"image": IMAGE, "text": TEXT[:, :2]}
FRAMES = {"pandas": lambda x: x, "polars": pl.from_pandas, "PyArrow": pa.Table.from_pandas}


@pytest.mark.parametrize(("form", "estimator"), zipped(FRAMES, [vp.ViewPass, vp.IMC]))
def test_named_columns_of_a_frame_are_the_dict_of_their_views(estimator, form):
    model, plain = small(estimator, views=NAMED).fit(FRAMES[form](MIXED)), small(estimator).fit(PARTS)
    assert (model.view_names_in_, model.n_features_in_) == (("image", "text"), 6)
    np.testing.assert_array_equal(model.labels_, plain.labels_)
    for mine, theirs in zip(model.statistics_.steps, plain.statistics_.steps, strict=True):
        np.testing.assert_array_equal(mine, theirs)
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", "X does not have valid feature names")
        for X in (
            FRAMES[form](MIXED[MIXED.columns[::-1]]),  # columns in any order, and others between them
            FRAMES[form](MIXED.assign(img_9=0.0)),  # a pattern means the columns of the fit
            NUMBERS.iloc[:, :6].to_numpy(),
            PARTS,
            list(PARTS.values()),
            pl.from_pandas(MIXED).lazy(),
        ):
            np.testing.assert_array_equal(model.predict(X), plain.labels_)


def test_a_model_of_named_columns_is_saved_and_goes_on(tmp_path):
    model = small(views=NAMED).partial_fit(MIXED[:20]).partial_fit(MIXED[20:])
    model.save(tmp_path / "model.viewpass")
    again = vp.load(tmp_path / "model.viewpass")
    assert again.views == NAMED
    np.testing.assert_array_equal(again.predict(MIXED), model.predict(MIXED))
    np.testing.assert_array_equal(again.partial_fit(MIXED).labels_, model.partial_fit(MIXED).labels_)
    whole = small(views=NAMED).fit(MIXED, observed={"text": GAPS[:, 1], "image": GAPS[:, 0]})
    assert [counts.sum() for counts in whole.counts_] == GAPS.sum(axis=0).tolist()


def test_streams_and_frames_of_numbers_have_the_same_named_views():
    lazy = small(views=NAMED).fit(pl.from_pandas(MIXED).lazy())
    np.testing.assert_array_equal(lazy.stream_labels_, small(views=NAMED).fit(MIXED).labels_)
    np.testing.assert_array_equal(lazy.predict(MIXED), small().fit(PARTS).labels_)


@pytest.mark.parametrize("output", ["pandas", "polars"])
def test_the_parts_of_a_column_transformer_are_views(output):
    parts = ColumnTransformer(
        [("image", "passthrough", list(NUMBERS.columns[:4])), ("text", "passthrough", ["t0", "t1"])]
    ).set_output(transform=output)
    pipeline = make_pipeline(parts, small(views={"image": "image__*", "text": "text__*"}))
    np.testing.assert_array_equal(pipeline.fit_predict(NUMBERS), small().fit(PARTS).labels_)
    search = GridSearchCV(pipeline, {"viewpass__alpha": [0.1, 1.0]}, cv=2).fit(NUMBERS)
    assert np.isfinite(search.cv_results_["mean_test_score"]).all()


IGNORED = {
    "an array": (
        lambda: NUMBERS.to_numpy(),
        r'without names. Give a frame .*set_output\(transform="pandas"\)',
    ),
    "nested lists": (lambda: NUMBERS.to_numpy().tolist(), "names columns, but X is an array"),
    "a list of views": (lambda: [IMAGE, TEXT], "X has its views already.*a dict"),
    "a dict of views": (lambda: PARTS, "X has its views already.*a dict"),
    "a source": (lambda: vp.scan(TABLE), r"X has its views already.*vp\.scan\(\.\.\., views="),
}


@pytest.mark.parametrize("what", IGNORED)
def test_names_of_columns_are_refused_where_they_would_be_ignored(what):
    make, message = IGNORED[what]
    with pytest.raises(vp.SettingError, match=message):
        small(views=NAMED).fit(make())


@pytest.mark.parametrize("views", [2, [4, 5], [4, -1]])
@pytest.mark.parametrize("form", ["path", "pandas", "polars, lazy", "DuckDB"])
def test_widths_do_not_cut_a_table(form, views, path):
    with pytest.raises(vp.SettingError, match=r"cuts the columns of an array.*Name the columns"):
        small(views=views).fit(FORMS[form](path))


@pytest.mark.parametrize("form", [lambda x: x.lazy(), relation])
def test_a_stream_of_numbers_must_name_its_views(form):
    numbers = pl.from_pandas(NUMBERS)
    with pytest.raises(vp.DataError, match=r"no column holds lists.*views=\{'image': 'pix_\*'"):
        small().fit(form(numbers if form is not relation else numbers.to_arrow()))


def test_columns_that_cannot_be_views_are_named():
    with pytest.raises(vp.DataError, match=r"column 'item' holds text.*views=\{"):
        small().fit(MIXED)
    with pytest.raises(vp.DataError, match=r"view 'a': there is no column 'pix_\*'; the columns are 'img_0'"):
        small(views={"a": "pix_*"}).fit(MIXED)
    with pytest.raises(vp.DataError, match=r"column 'tags' holds string values.*views= to leave others out"):
        small().fit(pd.DataFrame(VIEWS).assign(tags=[["a"]] * N))
    with pytest.raises(vp.DataError, match=r"'image' and 'text' are frames with different indexes"):
        small().fit({"image": pd.Series(VIEWS["image"]), "text": pd.Series(VIEWS["text"])[::-1]})


# ---- what does not fit a model says what would

TABLES = (
    r"The model was fitted on the views 'image' \(4 columns\), 'text' \(5 columns\)\. Give a list of these"
)
ONE = r"The model was fitted on one array or frame of 9 columns \('img_0', .* and 3 more\)"
MISFITS = {
    "numbers": (lambda: small().fit(ARRAYS), lambda: NUMBERS.iloc[:, :5].to_numpy(), TABLES),
    "one frame": (
        lambda: small().fit(ARRAYS),
        lambda: NUMBERS,
        "belong to which view. " + TABLES,
    ),
    "other lists": (lambda: small().fit(TABLE), lambda: TABLE.rename_columns(["image", "q"]), TABLES),
    "other lists, pandas": (lambda: small().fit(ARRAYS), lambda: pd.DataFrame({"q": VIEWS["text"]}), TABLES),
    "too few views": (lambda: small().fit(ARRAYS), lambda: [IMAGE], TABLES),
    "fewer columns": (lambda: small().fit(NUMBERS), lambda: NUMBERS.iloc[:, :5], ONE),
    "other columns": (lambda: small().fit(NUMBERS), lambda: NUMBERS.add_prefix("q"), ONE),
    "lists for numbers": (lambda: small().fit(NUMBERS), TABLE.to_pandas, ONE),
    "text": (lambda: small().fit(NUMBERS), lambda: NUMBERS.assign(t4="a"), ONE),
    "a named column": (
        lambda: small(views=NAMED).fit(NUMBERS),
        lambda: NUMBERS.drop(columns="t1"),
        "cut into",
    ),
}


@pytest.mark.parametrize("what", MISFITS)
def test_data_that_does_not_fit_says_what_the_model_was_fitted_on(what):
    fit, make, message = MISFITS[what]
    model = fit()
    for method in (model.predict, model.transform, model.score, model.partial_fit):
        with pytest.raises(vp.DataError, match=message):
            method(make())


# ---- labels that a model does not have


@pytest.mark.parametrize("estimator", [vp.ViewPass, vp.IMC])
def test_a_loaded_model_says_that_labels_are_not_in_its_file(estimator, tmp_path):
    small(estimator).fit([np.abs(IMAGE), np.abs(TEXT)]).save(tmp_path / "model.viewpass")
    loaded = vp.load(tmp_path / "model.viewpass")
    assert not hasattr(loaded, "labels_")
    with pytest.raises(vp.NoLabelsError, match=r"loaded.*file.*`predict`"):
        loaded.labels_  # noqa: B018


def test_labels_that_were_not_computed_say_why():
    stream = small(consensus="plain").fit(TABLE.to_reader())
    assert not hasattr(stream, "labels_")
    for model, reason in (
        (stream, "cannot be read again"),
        (small(compute_labels=False).fit(ARRAYS), "compute_labels=False"),
        (small(n_anchors=12, consensus="graph").fit(TABLE.to_reader()), "cannot be read again"),
    ):
        with pytest.raises(vp.NoLabelsError, match=rf"{reason}.*`stream_labels_`.*`predict`"):
            model.labels_  # noqa: B018
        assert model.stream_labels_.shape == (N,)


def test_what_an_unfitted_estimator_lacks_says_so():
    for estimator in (vp.ViewPass, vp.IMC):
        with pytest.raises(AttributeError, match="is not fitted yet"):
            estimator().objective_  # noqa: B018
        assert not hasattr(estimator(), "labels_")


@pytest.mark.parametrize("form", ONCE)
def test_a_stream_is_not_fitted_and_transformed_at_once(form, path):
    with pytest.raises(vp.DataError, match="read only once"):
        small().fit_transform(FORMS[form](path))
