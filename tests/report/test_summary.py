"""The summary: one dict that JSON can hold, the same however rows are read."""

from __future__ import annotations

import json

import numpy as np
import pytest

import viewpass as vp
from clusters import made_rows
from viewpass.report.summary.gatherer import typical_rows

VIEWS = dict(zip(("image", "text"), made_rows(900, seed=4), strict=True))


SETTINGS = [{"consensus": "plain"}, {"n_anchors": 24, "consensus": "graph"}]


@pytest.fixture(scope="module", params=SETTINGS)
def model(request):
    return vp.ViewPass(4, random_state=0, scale="unit", **request.param).fit(VIEWS)


def test_json_holds_it_and_sizes_are_those_of_the_labels(model):
    found = model.summary(VIEWS)
    assert json.loads(json.dumps(found, allow_nan=False)) == found
    sizes = np.bincount(model.labels_[model.labels_ >= 0], minlength=4)
    assert [cluster["rows"] for cluster in found["clusters"]] == sizes.tolist()
    assert sum(pattern["rows"] for pattern in found["patterns"]) == 900
    assert found["version"] == 2
    assert abs(sum(view["say"] for view in found["views"].values()) - 1) < 1e-9
    sure = model.labels_frame(VIEWS)["confidence"].to_numpy()
    for k, cluster in enumerate(found["clusters"]):
        assert cluster["confidence"] == pytest.approx(np.nanmean(sure[model.labels_ == k]), abs=1e-5)
        assert k not in cluster["nearest"]
        assert len(cluster["nearest"]) == 3
        doubtful = [row["confidence"] for row in cluster["doubtful"]]
        assert doubtful == pytest.approx(np.sort(sure[model.labels_ == k])[:3].tolist(), abs=1e-6)
        assert all(model.labels_[row["row"]] == k for row in cluster["typical"])


def test_the_sample_is_of_rows_in_order(model):
    rows = [row["row"] for row in model.summary(VIEWS)["sample"]]
    assert rows == sorted(set(rows))
    assert len(rows) == 900  # all of them: there are fewer than are sampled


def test_sampled_rows_show_why(model):
    found = model.summary(VIEWS)
    why, without = model.explain(VIEWS), model.stability(VIEWS).labels
    scores = model.outlier_score(VIEWS)
    for row in found["sample"]:
        reasons, i = row["reasons"], row["row"]
        parts = [0.0 if part is None else part for part in reasons["parts"]]
        assert parts == pytest.approx(why.views[i].tolist(), rel=1e-3, abs=1e-6)
        assert [-1 if label is None else label for label in reasons["without"]] == without[i].tolist()
        assert sum(reasons["weights"]) == pytest.approx(float(row["cluster"] >= 0), abs=0.01)
        if reasons["outlier"] is not None:
            assert reasons["outlier"] == pytest.approx(scores[i], rel=1e-3)


def test_clusters_say_what_sets_them_apart_and_which_views_their_rows_have(model):
    found = model.summary(VIEWS)
    for cluster in found["clusters"]:
        shares = [share for share in cluster["apart"]["views"].values() if share is not None]
        assert sum(shares) == pytest.approx(1.0, abs=1e-3)
        assert 0 < sum(cluster["patterns"].values()) <= cluster["rows"]
    assert list(found["views"]) == list(found["clusters"][0]["apart"]["views"])


def test_without_rows_nothing_of_them_is_in_it(model):
    found = model.summary(VIEWS, rows=False)
    assert found["sample"] == []
    assert not any(cluster["typical"] or cluster["doubtful"] for cluster in found["clusters"])
    assert sum(cluster["rows"] for cluster in found["clusters"]) > 0
    assert found["labels"] == "final"


def test_without_data_sizes_growth_and_patterns_are_those_of_the_fit(model, tmp_path):
    found, whole = model.summary(), model.summary(VIEWS)
    for key in ("labels", "growth", "growth_rows"):
        assert found[key] == whole[key]
    assert [(one["views"], one["rows"]) for one in found["patterns"]] == [
        (one["views"], one["rows"]) for one in whole["patterns"]
    ]
    assert [one["rows"] for one in found["clusters"]] == [one["rows"] for one in whole["clusters"]]
    model.save(tmp_path / "model.viewpass")
    loaded = vp.load(tmp_path / "model.viewpass").summary()  # without labels: what the pass counted
    assert loaded["growth"] == found["growth"]
    assert loaded["patterns"] == found["patterns"]


def test_growth_is_the_rows_of_each_cluster_along_the_data(model):
    found = model.summary(VIEWS)
    width = found["growth_rows"]
    assert width == 16
    for k, counts in enumerate(found["growth"]):
        mine = np.flatnonzero(model.labels_ == k)
        assert counts == np.bincount(mine // width, minlength=-(-900 // width)).tolist()


@pytest.mark.parametrize("more", [*SETTINGS, {}])
def test_what_the_pass_counts_is_the_same_in_any_parts(more, tmp_path):
    settings = {"random_state": 0, "scale": "unit", **more}
    whole = vp.ViewPass(4, compute_labels=False, n_threads=2, **settings).fit(VIEWS)
    found = whole.summary()
    assert found["labels"] == "stream"
    sizes = np.bincount(whole.stream_labels_[whole.stream_labels_ >= 0], minlength=4)
    assert [cluster["rows"] for cluster in found["clusters"]] == sizes.tolist()
    parts = vp.ViewPass(4, **settings)
    for start in range(0, 900, 100):
        parts.partial_fit({name: x[start : start + 100] for name, x in VIEWS.items()})
        if start == 500:
            parts.save(tmp_path / "half.viewpass")
            parts = vp.load(tmp_path / "half.viewpass")
    again = parts.summary()
    assert {**again, "settings": {}} == {**found, "settings": {}}
    if more.get("n_anchors"):
        labels = whole.cut(3).predict(VIEWS)
        sizes = np.bincount(labels[labels >= 0], minlength=3)
        assert [sum(one) for one in whole.cut(3).summary()["growth"]] == sizes.tolist()


def test_threads_and_blocks_make_no_difference(model, monkeypatch):
    whole = model.summary(VIEWS)
    monkeypatch.setattr("viewpass.labels.writing.CHUNK", 77)
    model.set_params(n_threads=2)
    assert model.summary(VIEWS) == whole
    model.set_params(n_threads=None)


def sampled(row, anchor, weight, title, *, missing=False):
    reasons = {"cluster": 0, "near": [anchor], "weights": [weight], "parts": [1.0, None if missing else 1.0]}
    reasons["outlier"] = None
    shown = {"item": row, "title": title}
    return {"row": row, "cluster": 0, "confidence": None, "shown": shown, "reasons": reasons}


def test_typical_rows_are_of_the_largest_anchors_and_differ():
    sample = [
        sampled(0, 7, 0.9, "boat"),
        sampled(1, 7, 0.8, "ship"),
        sampled(2, 7, 0.7, "raft"),
        sampled(3, 5, 0.6, "boat"),
        sampled(4, 5, 0.5, "harbour"),
        sampled(5, 3, 1.0, "sky", missing=True),
    ]
    others = [sampled(8, 1, 1.0, "pier"), sampled(0, 7, 0.9, "boat")]
    found = [row["row"] for row in typical_rows(sample, others, 7)]
    assert found == [0, 1, 4, 2, 5, 8, 3]  # 7, 5, 7, 5, 7 take turns; another boat comes last
    assert [row["row"] for row in typical_rows(sample[::-1], others, 3)] == [0, 1, 4]
    assert [row["row"] for row in typical_rows([], others, 3)] == [8, 0]
    assert all("reasons" not in row for row in typical_rows(sample, others, 7))
    doubted = [{**row, "confidence": 0.05 if row["row"] == 0 else 0.9} for row in sample]
    assert [row["row"] for row in typical_rows(doubted, [], 7)][-1] == 0
