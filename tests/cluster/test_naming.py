"""Names for clusters: by words, categories, lists and numbers; always different."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest

import viewpass as vp
from viewpass.cluster.naming import CATEGORIES, names_of

CLUSTERS = np.repeat([0, 1, 2], 300)


def named(values, n_clusters=3, clusters=CLUSTERS):
    table = pa.table({"cluster": pa.array(clusters, pa.int32()), "what": values})
    return names_of([table.slice(0, 500), table.slice(500)], ["what"], n_clusters)


def test_words_that_set_a_cluster_apart_name_it():
    words = ("river trees", "portrait woman", "abstract colour")
    texts = [f"study number{i} of the {words[k]} by hand{i % 7}" for i, k in enumerate(CLUSTERS)]
    assert len(set(texts)) > CATEGORIES
    names = named(texts)
    for name, own in zip(names, words, strict=True):
        assert set(own.split()) <= set(name.split(", "))
        assert "the" not in name.split(", ")


def test_phrases_categories_and_lists_are_terms():
    kinds = ("oil paint", "ink", "bronze")
    assert [name.split(", ")[0] for name in named([kinds[k] for k in CLUSTERS])] == list(kinds)
    assert [name.split(", ")[0] for name in named([[kinds[k], "art"] for k in CLUSTERS])] == list(kinds)
    phrases = [f"{kinds[k]}; no. {i}" for i, k in enumerate(CLUSTERS)]
    assert [name.split(", ")[0] for name in named(phrases)] == list(kinds)


def test_numbers_are_high_or_low():
    rng = np.random.default_rng(0)
    assert named(CLUSTERS * 10.0 + rng.normal(size=900)) == ["low what", "no name", "high what"]


def test_names_are_different_whatever_the_rows():
    assert len(set(named(["same"] * 900))) == 3
    assert len(set(named(pa.nulls(900, pa.string())))) == 3
    assert named(["a", "b"], clusters=[-1, 0]) == ["b", "no name (1)", "no name (2)"]


def test_columns_that_name_nothing_are_refused():
    with pytest.raises(vp.SettingError, match="of type binary"):
        named([b"x"] * 900)
    with pytest.raises(vp.SettingError, match="no such column"):
        names_of([pa.table({"cluster": pa.array([0], pa.int32())})], ["gone"], 1)
