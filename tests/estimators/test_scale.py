"""`scale=` of the estimators equals scaling by hand, for any way the rows are passed in."""

from __future__ import annotations

import numpy as np
import pytest

import viewpass as vp
from cases import computing
from inputs import GAPS, IMAGE, PLAIN, TEXT, N, assert_same, csr, learnt, small, with_gaps
from viewpass.algorithm1.algorithm1 import Algorithm1, Settings
from viewpass.evaluate import make_mask, nmi
from viewpass.sums.rules import Rules, Workspace
from viewpass.views.chunk import Chunk

KINDS = ["standard", "idf", ["standard", "unit"], {"view0": "idf", "view1": "standard"}]


def by_hand(views, observed, model):
    """The views as the model scales them, in NumPy; absent rows zero."""
    out = []
    for v, (x, scale) in enumerate(zip(views, model._fitted_model().scaling.views, strict=True)):
        z = x if scale is None else (x - (0.0 if scale.mean is None else scale.mean)) * scale.weights
        out.append(np.where(observed[:, [v]], z, 0.0))
    return out


def state(model):
    seen = learnt(model)
    for name in ("params", "predict", "scales_"):
        seen.pop(name, None)
    return seen


@pytest.mark.parametrize("kind", KINDS, ids=str)
@pytest.mark.parametrize(
    "settings", [{"consensus": "plain"}, {"consensus": "graph", "n_anchors": 9}], ids=str
)
def test_the_same_as_scaling_by_hand(kind, settings):
    model = small(scale=kind, **settings).fit([IMAGE, TEXT], observed=GAPS)
    hand = by_hand([IMAGE, TEXT], GAPS, model)
    plain = small(scale="unit", **settings).fit(hand, observed=GAPS)
    assert_same(state(model), state(plain))
    np.testing.assert_array_equal(model.predict([IMAGE, TEXT], observed=GAPS), plain.predict(hand))
    np.testing.assert_array_equal(model.transform([IMAGE, TEXT], observed=GAPS), plain.transform(hand))
    assert model.score([IMAGE, TEXT], observed=GAPS) == plain.score(hand)


@pytest.mark.parametrize("kind", KINDS, ids=str)
def test_imc_learns_from_all_rows(kind):
    model = small(vp.IMC, n_init=2, scale=kind).fit([IMAGE, TEXT], observed=GAPS)
    plain = small(vp.IMC, n_init=2).fit(by_hand([IMAGE, TEXT], GAPS, model), observed=GAPS)
    assert_same(state(model), state(plain))
    scale = model._fitted_model().scaling.views[0]
    if scale is not None and scale.mean is not None:
        np.testing.assert_allclose(scale.mean, IMAGE[GAPS[:, 0]].mean(axis=0), rtol=1e-12)


def test_unit_changes_nothing():
    for data in ([IMAGE, TEXT], [csr(IMAGE), csr(TEXT)]):
        model = small(scale="unit").fit(data, observed=GAPS)
        other = small(scale=["unit"] * 2).fit(data, observed=GAPS)
        mine, theirs = learnt(model), learnt(other)
        mine.pop("params"), theirs.pop("params")
        assert_same(mine, theirs)
        assert model._fitted_model().scaling.plain
        assert model.scales_ == {"view0": "unit", "view1": "unit"}


@pytest.mark.parametrize("kind", ["standard", "idf"])
@pytest.mark.parametrize("sample_size", [25, "auto"])
def test_rows_in_any_calls(kind, sample_size):
    whole = small(scale=kind, sample_size=sample_size).partial_fit([IMAGE, TEXT], observed=GAPS)
    parts = small(scale=kind, sample_size=sample_size)
    for start in range(0, N, 12):
        rows = slice(start, start + 12)
        parts.partial_fit([IMAGE[rows], TEXT[rows]], observed=GAPS[rows])
    mine, theirs = state(parts), state(whole)
    for name in ("labels_", "stream_labels_", "stream_ids_"):
        mine.pop(name, None), theirs.pop(name, None)
    assert_same(mine, theirs)
    assert parts.scales_ == whole.scales_


@pytest.mark.parametrize("kind", ["standard", "idf"])
def test_threads_do_not_matter(kind):
    rng = np.random.default_rng(0)
    views = [rng.normal(2.0, 3.0, size=(3000, w)).astype(np.float32) for w in (40, 7)]
    observed = rng.random((3000, 2)) < 0.8
    settings = {"scale": kind, "random_state": 0}
    models = [vp.ViewPass(4, n_threads=t, **settings).fit(views, observed=observed) for t in (1, 2, 3)]
    for other in models[1:]:
        assert_same(state(other), state(models[0]))


@pytest.mark.parametrize("reference", [False, True])
def test_the_reference_gives_the_same_bits(reference):
    settings = Settings(3, Rules(0.1, 20, 1e-6, "mean"), scale=("standard", "idf"))
    algorithm = Algorithm1(settings, np.random.default_rng(0), Workspace(1))
    with computing(reference=reference):
        list(algorithm.learn(Chunk.of([IMAGE, TEXT], observed=GAPS), 12))
    model = small(vp.OPIMC, chunk_size=12, scale=["standard", "idf"]).fit([IMAGE, TEXT], observed=GAPS)
    assert algorithm.model.total == model.statistics_
    assert algorithm.model.loss_curve == model.loss_curve_.tolist()


def test_every_way_to_mark_a_missing_view_gives_the_same():
    by_mask = small(scale="standard").fit([IMAGE, TEXT], observed=GAPS)
    for gap in (np.nan, 0.0):
        model = small(scale="standard").fit(with_gaps(gap))
        assert_same(state(model), state(by_mask))
    assert by_mask.labels_[11] == -1
    assert by_mask.n_rows_without_views_ == (~GAPS.any(axis=1)).sum()
    np.testing.assert_array_equal(by_mask.counts_[0].sum(), GAPS[:, 0].sum())
    late = by_mask.predict([None, TEXT])
    np.testing.assert_array_equal(late, by_mask.predict([np.zeros_like(IMAGE), TEXT]))


def test_the_scale_is_that_of_the_rows_so_far_until_the_sample_is_full():
    model = small(scale="standard").partial_fit([IMAGE[:20], TEXT[:20]])
    first = small(scale="standard").fit([IMAGE[:20], TEXT[:20]])
    assert model.scales_ == first.scales_ == {"view0": "standard", "view1": "standard"}
    np.testing.assert_array_equal(
        model._fitted_model().scaling.views[0].mean, first._fitted_model().scaling.views[0].mean
    )
    model.partial_fit([IMAGE[20:], TEXT[20:]])
    np.testing.assert_allclose(model._fitted_model().scaling.views[0].mean, IMAGE.mean(axis=0))


def test_opimc_leaves_a_view_first_seen_later_at_unit_length():
    model = small(vp.OPIMC, scale="standard").partial_fit([IMAGE[:24], None])
    assert model.scales_ == {"view0": "standard", "view1": "unit"}
    model.partial_fit([IMAGE[24:], TEXT[24:]])
    assert model.scales_ == {"view0": "standard", "view1": "unit"}
    assert model.counts_[1].sum() == N - 24


def test_small_chunks_together_equal_one_after_another():
    def algorithm():
        settings = Settings(3, Rules(0.1, 20, 1e-6, "mean"), scale=("standard", "standard"))
        return Algorithm1(settings, np.random.default_rng(0), Workspace(1))

    together, apart = algorithm(), algorithm()
    list(together.learn(Chunk.of([IMAGE, TEXT], observed=GAPS), 6))
    for start in range(0, N, 6):
        rows = slice(start, start + 6)
        list(apart.learn(Chunk.of([IMAGE[rows], TEXT[rows]], observed=GAPS[rows], start=start), 6))
    assert together.n_rows == apart.n_rows == N
    assert together.model.total == apart.model.total
    bad = IMAGE.copy()
    bad[40, 1] = np.nan
    with pytest.raises(vp.DataError, match="row 40: 1 of 4 values are NaN"):
        list(algorithm().learn(Chunk.of([bad, TEXT]), 6))


def test_data_of_another_width_is_refused_before_it_is_scaled():
    model = small(scale="standard").fit({"image": IMAGE, "text": TEXT})
    for call in (model.predict, model.transform, model.partial_fit):
        with pytest.raises(vp.DataError, match="view 'text': 4 columns where 5"):
            call({"image": IMAGE, "text": TEXT[:, :4]})


WRONG = {
    "a name": ("standrad", r"scale='standrad': one of 'auto', 'unit', 'standard', 'idf'"),
    "a number": (3, "scale=3: one of 'auto'"),
    "nothing": (None, "scale=None: one of"),
    "a list too short": (["unit"], "scale has 1 entries, the data has 2 views"),
    "a name in a list": (["unit", "log"], "scale of view 'view1': 'log'"),
    "a number in a list": (["unit", 1], "scale of view 'view1': 1"),
    "a view too few": ({"view0": "unit"}, "scale is given for 'view0'; the views are 'view0', 'view1'"),
    "a view unknown": ({"view0": "unit", "sound": "idf"}, "the views are 'view0', 'view1'"),
    "a name in a dict": ({"view0": "unit", "view1": "x"}, "scale of view 'view1': 'x'"),
}


@pytest.mark.parametrize("what", WRONG)
@pytest.mark.parametrize("estimator", [vp.ViewPass, vp.IMC])
def test_an_invalid_scale_is_refused(estimator, what):
    scale, message = WRONG[what]
    with pytest.raises(vp.SettingError, match=message):
        small(estimator, scale=scale).fit([IMAGE, TEXT])


@pytest.mark.data
def test_standard_is_no_worse_than_unit_on_digits(data_folder):
    digits = vp.load_bundle(data_folder / "mfeat.npz")
    names = ["fou", "fac", "kar", "pix", "zer"]
    found = {}
    for seed in range(4):
        order = np.random.default_rng(seed).permutation(2000)
        views = {name: digits.views[name][order] for name in names}
        observed = make_mask("paper", 2000, 5, 0.3, seed)
        for scale in ("unit", "standard"):
            settings = {**PLAIN, "scale": scale}
            model = vp.ViewPass(10, random_state=seed, **settings).fit(views, observed=observed)
            found.setdefault(scale, []).append(nmi(digits.labels[order], model.labels_))
    assert np.mean(found["standard"]) > np.mean(found["unit"]) - 0.03


@pytest.mark.data
@pytest.mark.parametrize("name", ["webkb", "hw2sources"])
def test_auto_leaves_words_and_digits_at_unit_length(data_folder, name):
    bundle = vp.load_bundle(data_folder / f"{name}.npz")
    settings = {**PLAIN, "scale": "auto"}
    model = vp.ViewPass(3, random_state=0, **settings).fit(bundle)
    assert set(model.scales_.values()) == {"unit"}


@pytest.mark.parametrize("sparse", [False, True])
def test_numbers_near_the_largest_float_need_no_warning(sparse):
    rows = np.array([[1e308, 1e308], [-1e308, 1e308], [1.7e308, 1e-308], [1e308, -1e308]])
    views = [csr(rows) if sparse else rows]
    assert set(vp.ViewPass(2, random_state=0).fit(views).labels_) == {0, 1}
