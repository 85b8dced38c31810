"""What a summary and a page say of a run, computed again from its label file and its table."""

from __future__ import annotations

import shutil

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from sklearn.metrics import confusion_matrix

import viewpass as vp
from fixed_lists import NULLS, REASON
from viewpass.report.findings import headline, mean_confidence, sentences, view_shares
from viewpass.report.wording import percent
from viewpass.runs.folder import RunFolder
from viewpass.runs.run import Run, RunOptions

pytestmark = pytest.mark.skipif(not NULLS, reason=REASON)

N_ROWS = 3000
WORDS = ("river", "boat", "church", "portrait")


@pytest.fixture(scope="module")
def table(tmp_path_factory):
    """Two views with gaps, and titles of a word for each kind of row; the last kind grows along the rows."""
    rng = np.random.default_rng(0)
    kinds = np.minimum(rng.integers(3, size=N_ROWS) + (rng.random(N_ROWS) < np.linspace(0, 1, N_ROWS)), 3)
    columns = {"item": [f"item-{i}" for i in range(N_ROWS)]}
    for name, width in (("image", 6), ("text", 4)):
        rows = rng.standard_normal((4, width))[kinds] + 0.4 * rng.standard_normal((N_ROWS, width))
        missing = rng.random(N_ROWS) < 0.3
        lists = [None if gone else row for gone, row in zip(missing, rows, strict=True)]
        columns[name] = pa.array(lists, pa.list_(pa.float64()))
    columns["title"] = [f"the {WORDS[kind]} number {i}" for i, kind in enumerate(kinds)]
    path = tmp_path_factory.mktemp("table") / "items.parquet"
    pq.write_table(pa.table(columns), path)
    return path


@pytest.fixture(scope="module")
def folder(table, tmp_path_factory):
    path = RunFolder(tmp_path_factory.mktemp("run") / "run")
    path.open(resume=False)
    model = vp.ViewPass(4, sample_size=800, random_state=0)
    Run(model, vp.scan(str(table), id="item"), path, name_by=["title"]).go(RunOptions())
    return path


@pytest.fixture(scope="module")
def found(folder):
    return vp.summary(folder.path)


@pytest.fixture(scope="module")
def labels(folder):
    return pq.read_table(folder.labels).to_pandas()


def test_sizes_shares_confidence_and_names(found, labels):
    seen = labels[labels["cluster"] >= 0]
    assert found["rows"] == len(labels)
    assert found["rows_without_any_view"] == len(labels) - len(seen)
    for cluster in found["clusters"]:
        own = seen[seen["cluster"] == cluster["cluster"]]
        assert cluster["rows"] == len(own)
        assert cluster["share"] == len(own) / len(seen)
        assert cluster["confidence"] == pytest.approx(own["confidence"].mean(), abs=1e-6)
        assert {cluster["name"]} == set(own["cluster_name"])
        patterns = own["has_views"].value_counts()
        assert cluster["patterns"] == {name: patterns[name] for name in cluster["patterns"]}
        assert sum(cluster["patterns"].values()) == len(own)  # all three of them
    clusters = sorted(found["clusters"], key=lambda cluster: -cluster["rows"])
    said = f"from {percent(clusters[-1]['share'])} to {percent(clusters[0]['share'])} of the rows"
    assert said in headline(found)
    assert mean_confidence(found) == pytest.approx(seen["confidence"].mean(), abs=1e-6)


def test_missing_views_and_patterns(found, labels, table):
    data = pq.read_table(table)
    for name, view in found["views"].items():
        assert view["missing"] == data[name].null_count
    assert {view.name: view.missing for view in view_shares(found)} == {
        name: data[name].null_count / N_ROWS for name in ("image", "text")
    }
    sizes = labels["has_views"].value_counts()
    assert {each["views"]: each["rows"] for each in found["patterns"]} == sizes.to_dict()
    for each in found["patterns"]:
        own = labels[labels["has_views"] == each["views"]]
        assert each["share"] == len(own) / N_ROWS
        if each["views"]:
            assert each["confidence"] == pytest.approx(own["confidence"].mean(), abs=1e-6)


def test_growth_is_that_of_the_rows_in_order(found, labels):
    width = found["growth_rows"]
    clusters = labels["cluster"].to_numpy()
    for start in range(0, N_ROWS, width):
        part = clusters[start : start + width]
        counts = np.bincount(part[part >= 0], minlength=4)
        assert [own[start // width] for own in found["growth"]] == counts.tolist()
    bins = np.array(found["growth"])
    cut = bins.shape[1] * 3 // 4
    before, last = (part.sum(axis=1) / part.sum() for part in (bins[:, :cut], bins[:, cut:]))
    grown = int(np.argmax(last - before))
    name = found["clusters"][grown]["name"]
    said = next(text for text in sentences(found) if text.startswith("Grown most"))
    assert f"“{name}” ({percent(before[grown])} to {percent(last[grown])})" in said


def test_shown_rows_are_rows_of_their_cluster(found, labels):
    for cluster in found["clusters"]:
        own = labels[labels["cluster"] == cluster["cluster"]]
        for row in [*cluster["typical"], *cluster["doubtful"]]:
            mine = labels.loc[row["row"]]
            assert mine["cluster"] == cluster["cluster"]
            assert row["confidence"] == pytest.approx(mine["confidence"])
            assert row["shown"] == {"item": mine["item"], "title": mine["title"]}
        least = own["confidence"].nsmallest(3).to_list()
        assert [row["confidence"] for row in cluster["doubtful"]] == pytest.approx(least)


def test_names_are_the_words_of_their_rows(found, labels):
    """Clusters are the kinds, as far as rows show them; each is named by the word of its kind."""
    known = labels[labels["cluster"] >= 0]
    kinds = pd.Categorical(known["title"].str.split().str[1], categories=WORDS).codes
    table = confusion_matrix(kinds, known["cluster"])
    for cluster in found["clusters"]:
        assert cluster["name"] == WORDS[int(table[:, cluster["cluster"]].argmax())]


def test_a_model_that_was_updated_is_not_the_one_of_the_labels(folder, table, tmp_path):
    copied = RunFolder(shutil.copytree(folder.path, tmp_path / "run"))
    model = vp.load(copied.model)
    model.partial_fit(vp.scan(pq.read_table(table).slice(0, 500), views=["image", "text"], id="item"))
    model.save(copied.model)
    with pytest.raises(vp.FileError, match="labels of 3,000: it was updated"):
        vp.summary(copied.path)
