"""`vp.track`: clusters of any two labelings, matched."""

from __future__ import annotations

import json
from itertools import permutations

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

import viewpass as vp
from viewpass.labels.formats import IDS, WHICH
from viewpass.streams.matching import matched

OPPOSITE = {"born": "died", "died": "born", "split": "merged", "merged": "split"}


def blocks(*sizes):
    """Labels of blocks of rows: (label, rows) each."""
    return np.repeat([label for label, _ in sizes], [rows for _, rows in sizes])


def told(track):
    """Kind, cluster and others of each event."""
    return [(event.what, event.cluster, event.others) for event in track.events]


def only_one_keeps_most(counts):
    """Whether one assignment keeps more rows than all others."""
    counts = counts if len(counts) <= len(counts.T) else counts.T
    ways = list(permutations(range(len(counts.T)), len(counts)))
    kept = sorted(counts[range(len(counts)), way].sum() for way in ways)
    return len(kept) < 2 or kept[-1] > kept[-2]


labelings = st.integers(0, 2**32 - 1).map(np.random.default_rng)


@given(labelings, st.integers(1, 6), st.integers(1, 6))
@settings(max_examples=60, deadline=None)
def test_numbers_and_order_do_not_matter(rng, n_old, n_new):
    counts = rng.permutation((n_old + 1) * (n_new + 1)).reshape(n_old + 1, n_new + 1) ** 2
    assume(only_one_keeps_most(counts[1:, 1:]))
    old = np.repeat(np.repeat(np.arange(-1, n_old), n_new + 1), counts.ravel())
    new = np.repeat(np.tile(np.arange(-1, n_new), n_old + 1), counts.ravel())
    one = vp.track(old, new)
    names, order = 10 + rng.permutation(n_new), rng.permutation(len(old))
    two = vp.track(old[order], np.where(new < 0, -1, names[new])[order])
    kept = {label: id for label, id in one.ids.items() if id < n_old}
    assert {label: two.ids[int(names[label])] for label in kept} == kept
    assert [event.what for event in two.events] == [event.what for event in one.events]
    assert two.n_moved == one.n_moved
    assert len(set(two.ids.values())) == len(two.ids)
    # Swapped: what was born died, what split merged.
    there, back = (
        matched(*pair, *sizes) for pair, sizes in (((old, new), (n_old, n_new)), ((new, old), (n_new, n_old)))
    )
    forth = there.events(np.arange(n_old), np.arange(n_new), 0)
    swapped = back.events(np.arange(n_new), np.arange(n_old), 0)
    assert {(OPPOSITE[e.what], e.cluster, e.others) for e in forth} == {
        (e.what, e.cluster, e.others) for e in swapped
    }


def test_the_same_labels_keep_their_ids():
    labels = np.array([3, 3, 7, 7, -1])
    found = vp.track(labels, labels)
    assert (found.ids, found.events, found.n_moved) == ({3: 3, 7: 7}, (), 0)
    np.testing.assert_array_equal(found.row_ids, labels)


def test_clusters_split_and_merge_again():
    whole, halves = blocks((0, 40), (1, 50)), blocks((0, 25), (1, 15), (2, 50))
    split = vp.track(whole, halves)
    assert told(split) == [("split", 0, (2,))]
    assert split.ids == {0: 0, 1: 2, 2: 1}
    merged = vp.track(split, whole)
    assert told(merged) == [("merged", 0, (2,))]
    assert merged.ids == {0: 0, 1: 1}
    again = vp.track(merged, halves)
    assert told(again) == [("returned", 2, ())]  # the part that ended has its id again
    assert again.ids == split.ids


def test_clusters_are_born_die_and_return():
    empty, full = blocks((0, 40), (-1, 30)), blocks((0, 40), (5, 30))
    born = vp.track(empty, full)
    assert told(born) == [("born", 1, ())]
    died = vp.track(born, empty)
    assert told(died) == [("died", 1, ())]
    other = vp.track(died, blocks((0, 20), (7, 20), (-1, 30)))
    assert other.ids == {0: 0, 7: 2}  # 1 is not given to another cluster
    assert told(vp.track(other, blocks((0, 20), (7, 20), (3, 30)))) == [("returned", 1, ())]


def test_scattered_clusters_are_not_merged():
    found = vp.track(
        blocks((0, 90), (1, 90), (2, 90), (3, 30)),
        blocks((0, 90), (1, 90), (2, 90), (0, 10), (1, 10), (2, 10)),
    )
    assert told(found) == [("died", 3, ())]
    assert found.events[0].certainty == pytest.approx(2 / 3)


def test_a_cluster_that_grows_goes_on_and_one_of_new_rows_is_born():
    old = dict.fromkeys(range(10), 0)
    new = dict.fromkeys(range(500), 4) | dict.fromkeys(range(500, 600), 9)
    found = vp.track(old, new)
    assert found.ids == {4: 0, 9: 1}
    assert (told(found), found.n_rows, found.n_only_after, found.sizes[0]) == (
        [("born", 1, ())],
        10,
        590,
        (10, 500),
    )
    assert told(vp.track(new, old)) == [("died", 9, ())]


def test_more_clusters_than_are_assigned_exactly(monkeypatch):
    labels = np.repeat(np.arange(30), 5)
    exact = vp.track(labels, labels[::-1])
    monkeypatch.setattr("viewpass.streams.matching.MOST", 1)
    assert vp.track(labels, labels[::-1]).ids == exact.ids


def test_labelings_of_any_kind(tmp_path):
    ids, clusters = ["a", "b", "c", "d"], [1, 1, 0, -1]
    texts = ["x", "x", "y", None]
    meta = {WHICH: b"final", IDS: b"item"}
    table = pa.table({"item": ids, "cluster": pa.array(clusters, pa.int32())}).replace_schema_metadata(meta)
    pq.write_table(table, tmp_path / "labels.parquet")
    given_ids = [
        dict(zip(ids, clusters, strict=True)),
        pd.Series(clusters, index=ids),
        pd.DataFrame({"cluster": clusters}, index=ids),
        tmp_path / "labels.parquet",
    ]
    for one in given_ids:
        assert vp.track(given_ids[0], one).ids == {0: 0, 1: 1}
    frame = pl.DataFrame({"topic": clusters, "doc": ids})
    assert vp.track(frame, frame, id="doc", labels="topic").n_moved == 0
    assert vp.track(clusters, [1.0, 1.0, 0.0, float("nan")]).n_moved == 0
    named = vp.track(clusters, texts)
    assert named.ids == {"x": 1, "y": 0}
    assert vp.track(texts, clusters).old_ids == {"x": 0, "y": 1}
    json.dumps(named.as_dict())
    mixed = {"a": np.int64(1), "b": np.float64(1), "c": 0, "d": None}
    assert vp.track(given_ids[0], mixed).n_moved == 0
    nullable = pd.Series([1, 1, 0, None], index=ids, dtype="Int64")
    assert vp.track(given_ids[0], nullable).n_moved == 0


def test_a_fitted_model_is_a_labeling():
    X = np.repeat(np.eye(3), 5, axis=0)
    model = vp.ViewPass(3, random_state=0).fit([X, X])
    assert vp.track(model, model.labels_).n_moved == 0
    frames = vp.frames({"a": pd.DataFrame(X, index=[f"r{i}" for i in range(15)])})
    refit = vp.ViewPass(3, random_state=1).fit(frames)
    assert vp.track(refit, refit).rows.tolist() == [f"r{i}" for i in range(15)]
    with pytest.raises(vp.NoLabelsError, match="not computed"):
        vp.track(vp.ViewPass(3, compute_labels=False).fit([X, X]), model)


@pytest.mark.parametrize(
    ("before", "after", "said"),
    [
        ([0, 1], [0, 1, 1], "2 rows before and 3 after"),
        ({"a": 0}, [0], "one labeling has ids"),
        ({"a": 0}, {"b": 0}, "no row is in both"),
        ([0.5], [0], "0.5 cannot be a label"),
        ([-2], [0], "-2 cannot be a label"),
        (["a", 1], [0, 0], "some labels are numbers and some are text"),
        ([[0, 1]], [0], r"shape \(1, 2\)"),
        (pd.Series([0, 1], index=["a", "a"]), {"a": 0}, "'a' is the id of several rows"),
        (pl.DataFrame({"cluster": [0]}), [0], "without an index"),
        (pd.DataFrame({"topic": [0]}), [0], "no column 'cluster'"),
    ],
)
def test_labelings_that_cannot_be_matched_are_refused(before, after, said):
    with pytest.raises(vp.ViewpassError, match=said):
        vp.track(before, after)


def test_it_is_said_in_words():
    text = str(vp.track(blocks((0, 40), (1, 50), (2, 9)), blocks((0, 25), (1, 15), (2, 50), (-1, 9))))
    assert "99 rows in both" in text
    assert "cluster 0 split; new: 3 (40 -> 25 rows), 100% sure" in text
    assert "cluster 2 died (9 -> 0 rows)" in text
    assert "  1 is 3\n  2 is 1" in text
