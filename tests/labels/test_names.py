"""Names for clusters: by words, categories, lists and numbers; always different."""

from __future__ import annotations

import warnings

import numpy as np
import pyarrow as pa
import pytest

import viewpass as vp
from viewpass.labels.names import CATEGORIES, names_of, of_rows

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
        assert name == own  # the two words as a phrase; nothing that is as frequent elsewhere


def test_names_tell_clusters_from_their_neighbours():
    """Words that all rows have, in any language, are in no name; no stem is there twice; names differ."""
    own = (
        "machine translation statistique grammar grammars grammatical",
        "machine translation neural networks attention",
        "réponse aux questions dialogue dialogues",
    )
    rng = np.random.default_rng(0)
    texts = []
    for i, k in enumerate(CLUSTERS):
        words = own[k].split()
        start = int(rng.integers(len(words) - 1))
        texts.append(f"using models via {' '.join(words[start : start + 3])} based on la méthode{i}")
    names = named(texts)
    for name, words in zip(names, own, strict=True):
        assert not {"using", "models", "via", "based", "la"} & set(name.replace(",", "").split()), name
        assert name.split(", ")[0].split()[0] in words.split()
    assert sum(word.startswith("gramma") for word in names[0].replace(",", "").split()) <= 1
    assert "neural networks" in names[1]
    assert len({frozenset(name.split(", ")) for name in names}) == 3


def test_words_of_most_clusters_are_in_no_name():
    """Even where a cluster has them twice as often as the others: such words are "with" and "over"."""
    rng = np.random.default_rng(0)
    kinds = ("bridge", "castle", "sailing", "portrait", "cloud", "rome")
    clusters = np.repeat(np.arange(6), 150)
    share = np.where(clusters == 0, 0.5, 0.2)
    texts = [
        " ".join([kinds[k], *(w for w in ("with", "over") if rng.random() < share[i]), f"number{i}"])
        for i, k in enumerate(clusters)
    ]
    assert named(texts, 6, clusters) == list(kinds)


def test_names_are_those_of_the_sampled_rows():
    table = pa.table({"cluster": pa.array(CLUSTERS, pa.int32()), "what": ["a"] * 450 + ["b"] * 450})
    parts = [table.slice(0, 7), table.slice(7, 500), table.slice(507)]
    numbers = np.random.default_rng(0).permutation(900)[:200]
    found = pa.concat_tables(of_rows(parts, numbers))
    assert found.equals(table.take(pa.array(np.sort(numbers))))


def test_phrases_categories_and_lists_are_terms():
    kinds = ("oil paint", "ink", "bronze")
    assert [name.split(", ")[0] for name in named([kinds[k] for k in CLUSTERS])] == list(kinds)
    assert [name.split(", ")[0] for name in named([[kinds[k], "art"] for k in CLUSTERS])] == list(kinds)
    phrases = [f"{kinds[k]}; no. {i}" for i, k in enumerate(CLUSTERS)]
    assert [name.split(", ")[0] for name in named(phrases)] == list(kinds)


def test_a_term_that_another_says_is_left_out():
    kinds = ("boat, sailing", "sky", "river")
    phrases = [f"{kinds[k]}; {kinds[k].split(',')[0]}; no. {i}" for i, k in enumerate(CLUSTERS)]
    assert named(phrases) == ["boat sailing", "sky", "river"]


def test_numbers_are_high_or_low():
    rng = np.random.default_rng(0)
    assert named(CLUSTERS * 10.0 + rng.normal(size=900)) == ["low what", "", "high what"]


def test_names_are_different_whatever_the_rows():
    assert named(["same"] * 900) == ["", "", ""]
    assert named(pa.nulls(900, pa.string())) == ["", "", ""]
    assert named(["a", "b"], clusters=[-1, 0]) == ["b", "", ""]
    assert named(["a", "b", "a", "b"], clusters=[0, 0, 1, 1]) == ["", "", ""]
    twice = [("a", "b", "c")[k % 2] for k in range(4) for _ in range(100)]
    assert named(twice, clusters=np.repeat(range(4), 100), n_clusters=4) == [
        "a (1)",
        "b (1)",
        "a (2)",
        "b (2)",
    ]


def test_words_of_every_title_name_nothing():
    """Titles of some clusters are sentences, those of others are not: words such as "the" differ, too."""
    rng, texts = np.random.default_rng(0), []
    things = ("river", "castle", "church", "bridge", "portrait", "still life")
    clusters = np.repeat(range(6), 200)
    for i, k in enumerate(clusters):
        plain = rng.random() < (0.3, 0.3, 0.4, 0.4, 0.9, 0.9)[k]
        texts.append(f"{things[k]} {i}a" if plain else f"the {things[k]} from the hill with trees {i}a")
    names = named(texts, clusters=clusters, n_clusters=6)
    assert all(thing in name for name, thing in zip(names, things, strict=True))
    assert not {"the", "from", "with"} & {word for name in names for word in name.replace(",", "").split()}


def test_columns_that_name_nothing_are_refused():
    with pytest.raises(vp.SettingError, match="of type binary"):
        named([b"x"] * 900)
    with pytest.raises(vp.SettingError, match="no such column"):
        names_of([pa.table({"cluster": pa.array([0], pa.int32())})], ["gone"], 1)


def test_how_tables_are_cut_makes_no_difference(monkeypatch):
    monkeypatch.setattr("viewpass.labels.names.ROWS", 128)
    monkeypatch.setattr("viewpass.labels.names.MOST_TERMS", 40)
    rng = np.random.default_rng(1)
    texts = [" ".join(f"word{w}" for w in rng.integers(60 + 30 * k, size=4)) for k in CLUSTERS]
    table = pa.table({"cluster": pa.array(rng.permutation(CLUSTERS), pa.int32()), "what": texts})
    whole = names_of([table], ["what"], 3)
    assert names_of([table.slice(0, 301), table.slice(301, 17), table.slice(318)], ["what"], 3) == whole


def made_frames(kind):
    rng = np.random.default_rng(0)
    means = np.zeros((3, 6))
    means[[0, 1, 2], [0, 2, 4]] = 6.0
    means[[0, 1, 2], [1, 3, 5]] = -6.0
    values = means[CLUSTERS] + rng.normal(size=(900, 6))
    other = np.eye(3)[CLUSTERS] + 0.2 * rng.normal(size=(900, 3))
    index = [f"row{i}" for i in range(900)]
    pandas = pytest.importorskip("pandas")
    genes = pandas.DataFrame(values, columns=[f"gene {j}" for j in "abcdef"], index=index)
    plain = pandas.DataFrame(other, columns=["x", "y", "z"], index=index)
    if kind == "frames":
        return vp.frames({"rna": genes, "other": plain})
    mudata, anndata = pytest.importorskip("mudata"), pytest.importorskip("anndata")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return mudata.MuData({"rna": anndata.AnnData(genes), "other": anndata.AnnData(plain)})


@pytest.mark.parametrize("kind", ["frames", "mudata"])
@pytest.mark.parametrize("more", [{"consensus": "plain"}, {"n_anchors": 12, "consensus": "graph"}], ids=str)
def test_features_that_differ_most_name_clusters(kind, more, tmp_path):
    data = made_frames(kind)
    model = vp.ViewPass(3, random_state=0, scale="standard", **more).fit(data)
    frame = model.labels_frame(data, names=["rna"])
    for k, (high, low) in enumerate(("ab", "cd", "ef")):
        name = set(frame["cluster_name"][k == CLUSTERS])
        assert len(name) == 1
        assert {f"high gene {high}", f"low gene {low}"} <= set(name.pop().split(", "))
    model.save(tmp_path / "model.viewpass")
    again = vp.load(tmp_path / "model.viewpass").labels_frame(data, names=["rna"])
    assert frame["cluster_name"].tolist() == again["cluster_name"].tolist()


def test_views_without_names_of_columns_name_nothing():
    rows = [np.random.default_rng(0).normal(size=(60, 4)) for _ in range(2)]
    model = vp.ViewPass(3, random_state=0, scale="unit", consensus="plain").fit(rows)
    with pytest.raises(vp.SettingError, match="view0"):
        model.labels_frame(rows, names=["view0"])
