"""What is chosen from the sample: the better candidate where it is clear, the simplest where not."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.datasets import make_blobs

import viewpass as vp
from cases import workspace
from viewpass.errors import DataWarning
from viewpass.evaluate import nmi
from viewpass.solve.plan import Plan
from viewpass.solve.question.choose import PREDICTS, choose, scales, shape
from viewpass.solve.question.hidden_views import Question, Score
from viewpass.sums.rules import Rules
from viewpass.views.chunk import Chunk
from viewpass.views.rows import MeasuredRows

RULES = Rules(0.1, 20, 1e-6, "mean")


def measured(views, observed=None):
    return MeasuredRows(Chunk.of(views, observed=observed)).measure()


def chosen(views, names=None, n_clusters=4, observed=None, **settings):
    scale = tuple(names or ["auto"] * len(views))
    plan = Plan(n_clusters, RULES, scale=scale, auto_alpha=True, **settings)
    return choose(measured(views, observed), plan, workspace())


def clusters(rng, n_rows=800, n_views=2, spread=None):
    """The same clusters in each view; columns in units of their own if `spread`."""
    group = rng.integers(4, size=n_rows)
    views = []
    for _ in range(n_views):
        x = 4 * rng.standard_normal((4, 12))[group] + rng.standard_normal((n_rows, 12))
        views.append(x if spread is None else x * spread + 20 * spread)
    return views


def arcs(n_rows=1500, seed=0):
    """Arcs of a circle in each view: clusters that are not round."""
    rng = np.random.default_rng(seed)
    truth = rng.integers(3, size=n_rows)
    starts, lengths = np.array([0.0, 4.2, 5.4]), np.array([4.0, 1.0, 0.7])
    angles = [starts[truth] + lengths[truth] * rng.random(n_rows) for _ in range(2)]
    return [np.column_stack([f(k * a) for k in (1, 2) for f in (np.cos, np.sin)]) for a in angles], truth


def test_columns_of_mixed_units_are_standardised():
    rng = np.random.default_rng(0)
    views = clusters(rng, spread=np.geomspace(1e-3, 1e3, 12))
    assert chosen(views).scaling.names == ("standard", "standard")
    assert chosen(views, observed=rng.random((800, 2)) > 0.4).scaling.names == ("standard", "standard")
    assert chosen(views, ["unit", "unit"]).scaling.names == ("unit", "unit")
    assert chosen(views, ["auto", "unit"]).scaling.names[1] == "unit"  # a given scale is kept


def test_well_separated_clusters_need_no_further_question():
    found = chosen(clusters(np.random.default_rng(1)), consensus="auto")
    assert (found.scaling.names, found.plan.consensus) == (("unit", "unit"), "plain")
    assert [choice.reason for choice in found.choices] == ["clusters are well separated"] * 2
    assert not any(choice.scores for choice in found.choices)


def test_lengths_are_kept_where_they_tell_rows_apart():
    x, group = make_blobs(2000, 2, centers=5, random_state=3)
    found = chosen([x], n_clusters=5)
    assert found.scaling.names == ("euclidean",)
    assert nmi(group, vp.ViewPass(5, random_state=0).fit([x]).labels_) > 0.9


def test_a_single_column_is_not_reduced_to_its_sign():
    x = np.random.default_rng(0).standard_normal((200, 1))
    assert chosen([x]).scaling.names == ("euclidean",)


def test_clusters_that_are_not_round_get_a_graph_and_a_curve():
    views, truth = arcs()
    model = vp.ViewPass(3, random_state=0).fit(views)
    assert (model.consensus_, round(nmi(truth, model.labels_), 2)) == ("graph", 1.0)
    choice = next(choice for choice in model.choices_ if choice.what == "consensus")
    assert choice.scores["graph"] > choice.scores["plain"] + choice.error
    assert model.cluster_curve_ is not None


def test_a_graph_may_want_another_scale_than_centres():
    """Rings of one centre each: centres tell them apart by direction alone, a graph by their distance too."""
    rng = np.random.default_rng(0)
    truth = rng.integers(2, size=1500)
    views = []
    for _ in range(2):
        angle = 2 * np.pi * rng.random(1500)
        length = np.where(truth, 5.0, 1.0) + 0.1 * rng.standard_normal(1500)
        views.append(length[:, None] * np.column_stack([np.cos(angle), np.sin(angle)]))
    found = chosen(views, n_clusters=2, consensus="auto")
    assert (found.scaling.names, found.plan.consensus) == (("euclidean", "euclidean"), "graph")
    assert [choice.what for choice in found.choices][:2] == ["scale", "consensus"]
    assert [choice.reason for choice in found.choices][:2] == [PREDICTS] * 2
    assert nmi(truth, vp.ViewPass(2, random_state=0).fit(views).labels_) > 0.95


def test_rows_drawn_by_a_common_seed_are_not_drawn_alike():
    """Rows that lack a view by `default_rng(0)` are not the rows set aside."""
    views, _ = arcs()
    observed = np.ones((1500, 2), dtype=bool)
    observed[np.random.default_rng(0).permutation(1500)[:600], 1] = False
    found = chosen(views, n_clusters=3, observed=observed, consensus="auto")
    assert found.plan.consensus == "graph"
    question = Question(measured(views, observed), Plan(3, RULES), workspace())
    both = np.array([observed[question.pool[fold._tested]].all(axis=1).mean() for fold in question.folds(4)])
    assert abs(both - 0.6).max() < 0.1


def test_noise_gets_the_simplest_of_everything():
    views = [np.random.default_rng(2).standard_normal((400, 5)) for _ in range(3)]
    found = chosen(views, consensus="auto")
    assert (found.scaling.names, found.plan.consensus) == (("unit",) * 3, "plain")
    again = chosen(views, consensus="auto")
    assert again.choices == found.choices  # to the bit


@pytest.mark.parametrize("n_rows", [1, 2, 15])
def test_few_rows_are_accepted(n_rows):
    rng = np.random.default_rng(4)
    found = chosen([rng.standard_normal((n_rows, 3)) for _ in range(2)], consensus="auto", n_clusters=1)
    assert len(found.scaling.names) == 2
    assert found.plan.consensus == "plain"


def test_the_scales_to_choose_from_suit_the_values():
    rng = np.random.default_rng(5)
    dense, counts = rng.standard_normal((60, 4)), sp.csr_array((rng.random((60, 30)) < 0.1).astype(float))
    weighted = sp.csr_array(rng.random((60, 30)) * (rng.random((60, 30)) < 0.1))

    def offered(*views, names=None):
        plan = Plan(2, RULES, scale=tuple(names or ["auto"] * len(views)))
        return list(scales(measured(list(views)), plan).items())

    assert offered(weighted) == [("unit", ("unit",))]
    assert offered(counts) == [("unit", ("unit",)), ("idf", ("idf",))]
    assert [name for name, _ in offered(dense)] == ["unit", "standard", "euclidean"]
    assert [name for name, _ in offered(dense, counts)] == ["unit", "idf+standard", "euclidean+idf"]
    assert offered(dense, names=["standard"]) == [("unit", ("standard",))]
    depth = rng.poisson(rng.gamma(0.2, 9.0, size=(60, 30))).astype(float)
    grey = rng.integers(0, 17, size=(60, 30)).astype(float)
    parts = rng.dirichlet(np.ones(5), size=60)
    kinds = [list(dict(offered(view)))[2:-1] for view in (depth, counts.toarray(), parts, grey, dense)]
    assert kinds == [["counts"], ["binary"], ["composition"], [], []]
    assert [name for name, _ in offered(sp.csr_array(depth))] == ["unit", "counts"]


def test_choices_do_not_depend_on_threads_or_the_seed():
    views, _ = arcs(800)
    found = [
        vp.ViewPass(3, random_state=seed, n_threads=n_threads).fit(views).choices_
        for seed, n_threads in ((0, 1), (0, 2), (7, 1))
    ]
    assert found[0] == found[1] == found[2]


def test_very_many_clusters_get_no_graph():
    rng = np.random.default_rng(0)
    views = [rng.standard_normal((3000, 6)) for _ in range(2)]
    found = chosen(views, ["unit", "unit"], n_clusters=60, consensus="auto")
    assert found.plan.consensus == "plain"
    assert found.choices[0].reason == "too many clusters for anchors"


def test_choices_are_kept_in_files(tmp_path):
    views, _ = arcs(600)
    model = vp.ViewPass(3, random_state=0).fit(views)
    model.save(tmp_path / "model.viewpass")
    again = vp.load(tmp_path / "model.viewpass")
    assert again.choices_ == model.choices_
    for mine, theirs in zip(again.cluster_curve_, model.cluster_curve_, strict=True):
        np.testing.assert_array_equal(mine, theirs)


def in_order(n_clusters, n_rows=2000, noise=0.7):
    """Rows sorted by cluster."""
    rng = np.random.default_rng(0)
    classes = np.sort(rng.integers(n_clusters, size=n_rows))
    return [
        rng.standard_normal((n_clusters, width))[classes] + noise * rng.standard_normal((n_rows, width))
        for width in (12, 8)
    ]


def test_the_number_of_clusters_does_not_rest_on_the_first_rows():
    views = in_order(9)
    order = np.random.default_rng(1).permutation(len(views[0]))
    for given in (views, [view[order] for view in views]):
        model = vp.ViewPass("auto", random_state=0, sample_size=800).fit(given)
        assert len(model.cluster_centers_[0]) == 9


def test_a_curve_that_still_rises_is_warned_of():
    with pytest.warns(DataWarning, match="n_clusters='auto': the score keeps rising"):
        vp.ViewPass("auto", random_state=0, sample_size=800).fit(in_order(50))


@pytest.mark.parametrize(
    ("plain", "graph", "chosen"),
    [(1.0, 1.5, "graph"), (1.0, 1.0, "graph"), (1.0, 0.5, "plain"), (0.0, 0.0, "plain")],
)
def test_of_a_graph_and_centres_that_are_alike_the_graph_is_taken_if_it_tells_anything(plain, graph, chosen):
    rng, scores = np.random.default_rng(0), {}
    for name, mean in (("plain", plain), ("graph", graph)):
        noise = rng.normal(0, 1, (4, 400))
        rows = mean + noise - noise.mean(axis=1, keepdims=True)
        scores[name] = [Score(fold, np.ones(400, dtype=np.int64)) for fold in rows]
    assert shape(scores).chosen == chosen
