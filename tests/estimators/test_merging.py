"""vp.merge: the union of samples, solved; exact, associative, in any order to the same bits."""

from __future__ import annotations

import itertools

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp

import viewpass as vp
from clusters import made_rows
from inputs import PLAIN

VIEWS = made_rows(900, seed=3)
PARTS = [slice(0, 250), slice(250, 600), slice(600, 900)]
SETTINGS = {
    "all rows": PLAIN,
    "a sample": {"sample_size": 200},
    "graph": {"sample_size": 300, "scale": "unit", "consensus": "graph"},
    "read once": {**PLAIN, "sample_size": 200, "compute_labels": False},
}


def site(part, seed=0, **settings):
    return vp.ViewPass(4, **{"random_state": seed, "n_threads": 1, **settings}).fit([x[part] for x in VIEWS])


def framed(part, **settings):
    rows = vp.frames({f"view{v}": pd.DataFrame(x[part]).set_index(ids()[part]) for v, x in enumerate(VIEWS)})
    return vp.ViewPass(4, random_state=0, **settings).fit(rows)


def ids():
    return pd.Index([f"row {number}" for number in range(900)])


@pytest.fixture
def content(tmp_path):
    """All that was learnt, as bytes."""

    def read(model):
        model.save(tmp_path / "model")
        return (tmp_path / "model").read_bytes()

    return read


@pytest.mark.parametrize("settings", SETTINGS.values(), ids=SETTINGS)
def test_any_order_and_any_grouping_give_the_same_bits(settings, content):
    models = [site(part, seed, **settings) for seed, part in enumerate(PARTS)]
    expected = content(vp.merge(models))
    for one, two, three in itertools.permutations(models):
        assert content(vp.merge([one, two, three])) == expected
        assert content(vp.merge([vp.merge([one, two]), three])) == expected
    assert vp.merge(models).n_samples_seen_ == 900


@pytest.mark.parametrize("size", ["auto", 200])
def test_rows_with_ids_give_the_model_of_all_rows(size):
    parts = [framed(part, sample_size=size) for part in PARTS]
    merged, whole = vp.merge(parts), framed(slice(0, 900), sample_size=size, compute_labels=False)
    np.testing.assert_array_equal(merged._learnt.sample.keys, whole._learnt.sample.keys)
    # A stream keeps the numbers of its clusters at every solve: those of a merged model are new.
    pairs = sorted(set(zip(merged.predict(VIEWS).tolist(), whole.predict(VIEWS).tolist(), strict=True)))
    mine, theirs = (list(numbers) for numbers in zip(*(pair for pair in pairs if pair[0] >= 0), strict=True))
    assert mine == sorted(theirs) == list(range(4))
    for v in range(len(VIEWS)):
        np.testing.assert_array_equal(merged.cluster_centers_[v], whole.cluster_centers_[v][theirs])
        np.testing.assert_array_equal(merged.counts_[v], whole.counts_[v][theirs])


def test_sums_are_exact_while_the_sample_holds_all_rows():
    models = [site(part) for part in PARTS]
    merged = vp.merge(models)
    labels = merged.predict(VIEWS)
    for v, x in enumerate(VIEWS):
        there = ~np.isnan(x[:, 0])
        np.testing.assert_array_equal(merged.counts_[v], np.bincount(labels[there], minlength=4))
    assert merged.n_rows_without_views_ == (labels < 0).sum()  # rows of zeros are data in some scales only
    sizes = [cluster["rows"] for cluster in merged.summary()["clusters"]]
    np.testing.assert_array_equal(sizes, np.bincount(labels[labels >= 0], minlength=4))


def test_sizes_of_more_rows_than_the_sample_add_up():
    merged = vp.merge([site(part, sample_size=100) for part in PARTS])
    n_seen = 900 - merged.n_rows_without_views_
    found = sum(cluster["rows"] for cluster in merged.summary()["clusters"])
    error = 900 * np.sqrt(n_seen / 900 * (1 - n_seen / 900) / 100)  # of a share, by 100 rows
    assert abs(found - n_seen) <= 3 * error


@pytest.mark.parametrize("form", [np.float32, sp.csr_array], ids=["float32", "sparse"])
def test_rows_of_equal_number_are_ordered_by_what_they_hold(form, content):
    """Models without ids number their rows from 0: half of the keys are shared."""
    views = [np.nan_to_num(x) for x in VIEWS]
    parts = [
        vp.ViewPass(4, random_state=0, sample_size=150).fit([form(x[part::2]) for x in views])
        for part in (0, 1)
    ]
    assert content(vp.merge(parts)) == content(vp.merge(parts[::-1]))


def test_a_merged_model_is_saved_explains_and_goes_on(tmp_path):
    merged = vp.merge([site(PARTS[0]), site(PARTS[1], 1)])
    merged.save(tmp_path / "model.viewpass")
    again = vp.load(tmp_path / "model.viewpass")
    more = [x[PARTS[2]] for x in VIEWS]
    np.testing.assert_array_equal(again.predict(more), merged.predict(more))
    np.testing.assert_array_equal(again.confidence(more), merged.confidence(more))
    assert again.partial_fit(more).statistics_ == merged.partial_fit(more).statistics_
    assert merged.n_samples_seen_ == 900


def test_the_models_stay_as_they_were(content):
    models = [site(PARTS[0]), site(PARTS[1], 1)]
    before = list(map(content, models))
    vp.merge(models).partial_fit([x[PARTS[2]] for x in VIEWS])
    assert list(map(content, models)) == before


def test_models_that_are_not_solved_yet_are_merged():
    parts = [vp.ViewPass(4, random_state=0).partial_fit([x[part] for x in VIEWS]) for part in PARTS]
    np.testing.assert_equal(
        vp.merge(parts).cluster_centers_, vp.merge([site(part) for part in PARTS]).cluster_centers_
    )


def test_what_cannot_be_merged():
    one, rows = site(PARTS[0]), [x[PARTS[1]] for x in VIEWS]
    with pytest.raises(vp.DataError, match="no model"):
        vp.merge([])
    for settings in ({"alpha": 0.5}, {"scale": "unit"}, {"consensus": "graph"}, {"sample_size": 99}):
        ((name, value),) = settings.items()
        with pytest.raises(vp.SettingError, match=f"model 1 has {name}={value!r}, model 0 has 'auto'"):
            vp.merge([one, site(PARTS[1], **settings)])
    with pytest.raises(vp.SettingError, match="model 1 has n_clusters=3, model 0 has 4"):
        vp.merge([one, one.cut(3)])
    with pytest.raises(vp.DataError, match="model 1 is a IMC"):
        vp.merge([one, vp.IMC(4).fit(rows)])
    with pytest.raises(vp.DataError, match="columns where"):
        vp.merge([one, vp.ViewPass(4).fit([x[:, :3] for x in rows])])
    with pytest.raises(vp.SettingError, match="model 1 uses fractional sample weights and model 0 does not"):
        vp.merge([one, vp.ViewPass(4).fit(rows, sample_weight=np.full(350, 0.5))])
