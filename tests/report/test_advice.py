"""Each piece of advice has rows in which it is given, and in which following it helps."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.metrics import normalized_mutual_info_score as nmi

import viewpass as vp
from viewpass.estimators.report_methods import summarised
from viewpass.report.advice import advice
from viewpass.report.findings import view_shares

N = 600


def around(group, width, noise, seed):
    """Rows around random centres of their groups."""
    rng = np.random.default_rng(seed)
    centres = rng.standard_normal((int(group.max()) + 1, width))
    return centres[group] + noise * rng.standard_normal((len(group), width))


def fitted(views, n_clusters, **settings):
    return vp.ViewPass(n_clusters, scale="unit", random_state=0, **settings).fit(views)


def given(model, views):
    return [each.what for each in advice(model.summary(views))]


@pytest.fixture(scope="module")
def topic():
    return np.random.default_rng(0).integers(6, size=N)


def test_a_view_of_repeated_values_is_left_out(topic):
    """Papers of two views about their topic, and the volume that they appeared in."""
    volume = np.random.default_rng(1).integers(12, size=N)
    views = {"title": around(topic, 10, 1.6, 2), "abstract": around(topic, 10, 1.6, 3)}
    views |= {"volume": around(volume, 10, 0.0, 4)}
    model = fitted(views, 6, consensus="plain")
    assert "Try without the view volume (--view-weights volume=0)." in given(model, views)
    del views["volume"]
    without = fitted(views, 6, consensus="plain")
    assert nmi(topic, without.labels_) > nmi(topic, model.labels_) + 0.3
    assert not [each for each in given(without, views) if "without" in each]


def test_a_view_of_noise_is_left_out(topic):
    views = {"title": around(topic, 10, 1.8, 2), "abstract": around(topic, 10, 1.8, 3)}
    views |= {"noise": around(np.zeros(N, dtype=int), 10, 1.0, 4)}
    model = fitted(views, 6, consensus="plain")
    assert "Try without the view noise (--view-weights noise=0)." in given(model, views)
    del views["noise"]
    assert nmi(topic, fitted(views, 6, consensus="plain").labels_) > nmi(topic, model.labels_)


def test_a_view_that_takes_no_part_gets_no_advice(topic):
    views = {"title": around(topic, 10, 1.0, 2), "other": around(topic, 10, 1.0, 4)}
    model = fitted(views, 6, view_weights={"title": 1.0, "other": 0.0})
    assert not [each for each in given(model, views) if "other" in each]


def test_a_view_of_weight_0_is_left_out_of_all_that_is_said(topic):
    """What is said of the views is said of the right ones, wherever it comes; the page can be drawn."""
    views = {name: around(topic, 10, 1.0, seed) for seed, name in enumerate(("other", "title", "note"), 2)}
    views["note"][::2] = np.nan
    rest = {name: views[name] for name in ("title", "note")}
    model = fitted(views, 6, view_weights={"other": 0.0, "title": 1.0, "note": 1.0})
    assert view_shares(model.summary(views)) == view_shares(fitted(rest, 6).summary(rest))
    assert "</html>" in model.report(X=views).text


def test_rows_of_uncertain_clusters_are_left_out(topic):
    """Many rows have one view only, which says nothing."""
    rng = np.random.default_rng(3)
    views = {"title": around(topic, 8, 0.5, 2), "note": around(topic, 8, 0.5, 3), "size": rng.random((N, 2))}
    lacks = rng.random(N) < 0.6
    views["title"][lacks] = views["note"][lacks] = np.nan
    model = fitted(views, 6)
    assert "Do not rely on the rows of uncertain clusters." in given(model, views)
    clusters = model.summary(views)["clusters"]
    weak = [each["cluster"] for each in clusters if (each["confidence"] or 1.0) < 0.5]
    sure = ~np.isin(model.labels_, weak)
    assert nmi(topic[sure], model.labels_[sure]) > nmi(topic, model.labels_)


def test_a_missing_view_that_is_found_helps(topic):
    views = {"title": around(topic, 8, 0.5, 2), "note": around(topic, 8, 4.0, 3)}
    whole = {name: rows.copy() for name, rows in views.items()}
    lacks = np.random.default_rng(5).random(N) < 0.3
    views["title"][lacks] = np.nan
    model = fitted(views, 6)
    assert "Look for the missing views of rows that have only note." in given(model, views)
    found = model.predict(whole)
    assert nmi(topic[lacks], found[lacks]) > nmi(topic[lacks], model.labels_[lacks])


def test_the_number_of_clusters_of_the_curve_is_better(topic):
    views = {"title": around(topic, 8, 0.5, 2), "abstract": around(topic, 8, 0.5, 3)}
    model = fitted(views, 2, consensus="graph", n_anchors=40)
    (number,) = [int(each.split()[1]) for each in given(model, views) if each.endswith(" clusters.")]
    assert nmi(topic, fitted(views, number).labels_) > nmi(topic, model.labels_)


def test_the_largest_cluster_is_split():
    """Six of twelve groups are near each other."""
    topic = np.random.default_rng(0).integers(12, size=N)
    views = {}
    for seed, name in ((2, "title"), (3, "abstract")):
        views[name] = 3 * around(np.where(topic < 6, 0, topic - 5), 8, 0.0, seed)
        views[name] += around(topic, 8, 0.2, seed + 10)
    model = fitted(views, 7)
    assert "Split the largest cluster." in given(model, views)
    assert nmi(topic, fitted(views, 12).labels_) > nmi(topic, model.labels_)


def test_columns_name_clusters(topic):
    import pyarrow as pa

    words = np.array(["sea", "town", "field", "wood", "hill", "lake"])
    rows = {"title": list(around(topic, 8, 0.5, 2)), "abstract": list(around(topic, 8, 0.5, 3))}
    table = vp.scan(pa.table({**rows, "word": words[topic]}))
    model = fitted(table, 6)
    assert "Give clusters names." in [each.what for each in advice(summarised(model, table, None, ["word"]))]
    found = summarised(model, table, None, names=["word"])
    assert sorted(each["name"] for each in found["clusters"]) == sorted(words)
    assert "Give clusters names." not in [each.what for each in advice(found)]
