"""sample_weight in fit and partial_fit: what it does to models, and what is refused."""

from __future__ import annotations

import pickle

import numpy as np
import pandas as pd
import pytest

import viewpass as vp
from inputs import GAPS, IMAGE, TEXT, small

N = len(IMAGE)
WHOLE = np.arange(N) % 4
FRACTIONS = WHOLE + 0.25


def same(one, other):
    assert one.statistics_ == other.statistics_
    assert one.objective_ == other.objective_
    for mine, theirs in zip(one.cluster_centers_, other.cluster_centers_, strict=True):
        np.testing.assert_array_equal(mine, theirs)


def learnt_in_parts(model, weights, after=lambda model: model):
    for first in range(0, N, 12):
        part = slice(first, first + 12)
        model.partial_fit([IMAGE[part], TEXT[part]], observed=GAPS[part], sample_weight=weights[part])
        model = after(model)
    return model


@pytest.mark.parametrize("weights", [WHOLE, FRACTIONS], ids=["whole", "fractions"])
@pytest.mark.parametrize("settings", [{}, {"sample_size": 20}, {"consensus": "graph", "n_anchors": 9}])
def test_chunk_by_chunk_is_fit_also_through_files(weights, settings, tmp_path):
    def stored(model):
        model.save(tmp_path / "model")
        return vp.load(tmp_path / "model")

    whole = small(**settings).partial_fit([IMAGE, TEXT], observed=GAPS, sample_weight=weights)
    for after in (lambda model: model, stored, lambda model: pickle.loads(pickle.dumps(model))):
        parts = learnt_in_parts(small(**settings), weights, after)
        same(parts, whole)
        assert parts.n_samples_seen_ == N


def test_the_sample_keeps_the_weights_of_its_rows(tmp_path):
    model = small().partial_fit([IMAGE, TEXT], sample_weight=FRACTIONS)
    assert model.counts_[0].sum() == FRACTIONS.sum()
    model.save(tmp_path / "model")
    same(vp.load(tmp_path / "model"), model)


def test_counts_are_in_units_of_weight():
    model = small().fit([IMAGE, TEXT], sample_weight=FRACTIONS)
    assert model.counts_[1].sum() == FRACTIONS.sum()
    assert model.statistics_.counts[1].sum() == 1024 * FRACTIONS.sum()
    whole = small().fit([IMAGE, TEXT], sample_weight=WHOLE)
    assert whole.counts_[0].dtype == np.int64
    assert whole.counts_[0].sum() == WHOLE.sum()


@pytest.mark.parametrize("kind", [vp.ViewPass, vp.OPIMC])
def test_rows_without_weights_count_as_one(kind):
    one, other = (small(kind) for _ in range(2))
    one.partial_fit([IMAGE[:20], TEXT[:20]], sample_weight=FRACTIONS[:20])
    other.partial_fit([IMAGE[:20], TEXT[:20]], sample_weight=FRACTIONS[:20])
    one.partial_fit([IMAGE[20:], TEXT[20:]])
    other.partial_fit([IMAGE[20:], TEXT[20:]], sample_weight=np.ones(N - 20))
    same(one, other)
    plain = small(kind).partial_fit([IMAGE[:20], TEXT[:20]])
    plain.partial_fit([IMAGE[20:], TEXT[20:]], sample_weight=WHOLE[20:])
    assert plain.counts_[0].sum() == 20 + WHOLE[20:].sum()


def test_equal_weights_change_nothing_but_the_unit():
    plain = small().fit([IMAGE, TEXT], observed=GAPS)
    ones = small().fit([IMAGE, TEXT], observed=GAPS, sample_weight=np.ones(N))
    same(ones, plain)
    np.testing.assert_array_equal(ones.labels_, plain.labels_)
    assert np.array_equal(
        vp.IMC(3, random_state=0).fit_predict([IMAGE, TEXT], sample_weight=[1] * N),
        vp.IMC(3, random_state=0).fit_predict([IMAGE, TEXT]),
    )


def test_a_first_chunk_of_weight_0_waits_for_rows_that_count():
    weights = np.r_[np.zeros(12), np.ones(N - 12)]
    model = small().fit([IMAGE, TEXT], sample_weight=weights)
    assert model.counts_[0].sum() == N - 12
    assert (model.labels_ >= 0).all()
    assert model.n_rows_without_views_ == 0


def test_frames_bundles_and_one_array_take_weights(tmp_path):
    frames = vp.frames({"image": pd.DataFrame(IMAGE), "text": pd.DataFrame(TEXT)})
    expected = small().fit({"image": IMAGE, "text": TEXT}, sample_weight=WHOLE)
    same(small().fit(frames, sample_weight=pd.Series(WHOLE)), expected)
    path = tmp_path / "data.npz"
    np.savez(path, view_image=IMAGE, view_text=TEXT)
    same(small().fit(vp.load_bundle(path), sample_weight=WHOLE.tolist()), expected)
    one = small(views=[4, 5]).fit(np.hstack([IMAGE, TEXT]), sample_weight=WHOLE)
    same(one, expected)


def test_merged_models_have_the_sums_of_both():
    halves = [slice(0, 24), slice(24, N)]
    parts = [small().fit([IMAGE[rows], TEXT[rows]], sample_weight=FRACTIONS[rows]) for rows in halves]
    both = vp.merge(parts)
    assert both.counts_[0].sum() == FRACTIONS.sum()
    assert both.partial_fit([IMAGE, TEXT]).counts_[0].sum() == FRACTIONS.sum() + N
    whole = small().fit([IMAGE[24:], TEXT[24:]])
    with pytest.raises(vp.SettingError, match="fractional sample weights"):
        vp.merge([parts[0], whole])


BAD = {
    "short": (np.ones(N - 1), f"shape .*{N}"),
    "two columns": (np.ones((N, 1)), "one weight per row"),
    "a number": (2.0, "one weight per row"),
    "negative": (np.where(np.arange(N) == 7, -1.0, 1.0), "row 7: -1"),
    "NaN": (np.where(np.arange(N) == 9, np.nan, 1.0), "row 9: nan"),
    "infinite": (np.where(np.arange(N) == 3, np.inf, 1.0), "row 3: inf"),
    "all zero": (np.zeros(N), "every row"),
    "lost on the grid": (np.where(np.arange(N) == 5, 1e-5, 1.0), "row 5: 1e-05"),
    "huge": (np.full(N, 2.0**40), "overflow"),
    "words": (["a"] * N, "numbers"),
}


@pytest.mark.parametrize(("weights", "message"), BAD.values(), ids=BAD)
@pytest.mark.parametrize("how", ["fit", "partial_fit", "IMC"])
def test_bad_weights_are_refused_before_anything_changes(weights, message, how):
    if how == "IMC":
        model = vp.IMC(3, random_state=0).fit([IMAGE, TEXT])
    else:
        model = small().partial_fit([IMAGE, TEXT])
    before = model.statistics_
    with pytest.raises(vp.DataError, match=message):
        getattr(model, how if how != "IMC" else "fit")([IMAGE, TEXT], sample_weight=weights)
    assert model.statistics_ == before


@pytest.mark.parametrize("kind", [vp.ViewPass, vp.IMC])
def test_weights_that_could_overflow_one_cluster_are_refused(kind):
    with pytest.raises(vp.DataError, match="overflow"):
        kind(1).fit([IMAGE, TEXT], sample_weight=np.full(N, 2.0**25))


def test_fractions_after_whole_numbers_are_refused():
    model = small().partial_fit([IMAGE, TEXT], sample_weight=WHOLE)
    with pytest.raises(vp.DataError, match=r"row 0: 0.25.*from the first rows on"):
        model.partial_fit([IMAGE, TEXT], sample_weight=FRACTIONS)


def test_what_weights_do_not_go_with_is_refused(tmp_path):
    pd.DataFrame(IMAGE, columns=list("abcd")).to_parquet(tmp_path / "rows.parquet")
    source = vp.scan(tmp_path / "rows.parquet", views={"image": list("abcd")})
    for kind in (vp.ViewPass, vp.IMC):
        with pytest.raises(vp.SettingError, match="files and streams"):
            kind(3).fit(source, sample_weight=WHOLE)
