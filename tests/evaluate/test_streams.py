"""Generated streams: chunks do not matter, and the history is true."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.metrics import adjusted_rand_score

import viewpass as vp
from viewpass.evaluate import event_scores, make_stream
from viewpass.streams.events import Event

GAP = 4000
EVENTS = ("born", "split", "silent", "died", "merged", "returned")


def stream(events=EVENTS, **more):
    """A stream with the events at multiples of GAP."""
    return make_stream(GAP * (len(events) + 1), events=events, **more)


def whole(made, size=2**20):
    """All rows: views, classes and what is observed."""
    parts = list(made.chunks(size))
    views = [np.concatenate([part.views[name] for part in parts]) for name in made.widths]
    return (
        views,
        np.concatenate([part.labels for part in parts]),
        np.concatenate([part.observed for part in parts]),
    )


@pytest.mark.parametrize("size", [300, 1024, 5000])
def test_chunks_do_not_matter(size):
    made = make_stream(2500, events=["split"], random_state=3)
    (views, *rest), (others, *more) = whole(made), whole(made, size)
    for one, two in zip([*views, *rest], [*others, *more], strict=True):
        np.testing.assert_array_equal(one, two)
    part = made.rows(1000, 1900)
    np.testing.assert_array_equal(part.labels, rest[0][1000:1900])


@pytest.mark.parametrize("seed", range(3))
def test_the_history_is_true(seed):
    made = stream(random_state=seed)
    views, classes, observed = whole(made)
    assert [event.what for event in made.history] == [*EVENTS[:3], "sounding", *EVENTS[3:]]
    for event in made.history:
        before, after = classes[event.row - GAP // 2 : event.row], classes[event.row + GAP // 2 :][: GAP // 2]
        present = event.cluster in before, event.cluster in after
        expected = {"born": (False, True), "returned": (False, True), "died": (True, False)}
        if event.what in expected:
            assert present == expected[event.what]
        elif event.what in ("split", "merged"):
            assert present == (True, True)
            split = event.what == "split"
            assert ((event.others[0] in before), (event.others[0] in after)) == (not split, split)
        else:
            view = list(made.widths).index(event.views[0])
            silent = (
                observed[event.row :, view][:GAP]
                if event.what == "silent"
                else observed[event.row - GAP : event.row, view]
            )
            assert not silent.any()
            assert observed[event.row - GAP : event.row, view].any() or event.what == "sounding"
    for view, seen in zip(views, observed.T, strict=True):
        np.testing.assert_array_equal(np.isfinite(view).all(axis=1), seen)
        np.testing.assert_array_equal(np.isnan(view).any(axis=1), ~seen)
    assert observed.any(axis=1).all()
    assert (classes == -1).mean() == pytest.approx(0.02, abs=0.005)


def test_parts_of_a_split_begin_in_one_place_and_merged_clusters_end_in_one():
    made = stream(["split", "merged"], missing=0.0, noise=0.0, movement=1.0)
    views, classes, _ = whole(made)
    for event in made.history:
        one, two = classes == event.cluster, classes == event.others[0]
        when = (
            slice(event.row, event.row + 50)
            if event.what == "split"
            else slice(event.row + GAP // 5 - 50, event.row + GAP // 5)
        )
        means = [view[when][own[when]].mean(axis=0) for own in (one, two) for view in views[:1]]
        assert np.abs(means[0] - means[1]).mean() < 0.5


def test_clusters_are_those_of_a_fit_while_nothing_happens():
    made = make_stream(3000, events=[], missing=0.2, noise=0.0, movement=0.0)
    views, classes, _ = whole(made)
    labels = vp.ViewPass(5, random_state=0).fit_predict(views)
    assert adjusted_rand_score(classes, labels) > 0.95


def test_rates_of_absence_change_and_have_the_mean_that_was_asked_for():
    _, _, observed = whole(
        make_stream(40_000, events=[], missing=0.3, views={"a": 1, "b": 1, "c": 1, "d": 1})
    )
    assert 1 - observed.mean() == pytest.approx(0.3, abs=0.12)
    quarters = observed.reshape(4, -1, 4).mean(axis=1)
    assert (quarters.max(axis=0) - quarters.min(axis=0) > 0.1).all()


def test_seeds_decide():
    made = [make_stream(500, events=[], random_state=seed).rows(0, 500).views["view0"] for seed in (1, 1, 2)]
    np.testing.assert_array_equal(made[0], made[1])
    assert not np.array_equal(made[0], made[2], equal_nan=True)


@pytest.mark.parametrize(
    ("settings", "said"),
    [
        ({"events": ["returned"]}, "no cluster can have 'returned'"),
        ({"events": ["died"], "n_clusters": 1}, "no cluster can have 'died'"),
        ({"events": ["moved"]}, "events has 'moved'"),
        ({"events": ["silent"], "views": [3]}, "two views"),
        ({"events": ["born"] * 10, "n_rows": 20}, "too many"),
        ({"views": []}, "views is empty"),
        ({"noise": 1.0}, "noise is 1.0"),
        ({"n_clusters": 0}, "n_clusters is 0"),
    ],
)
def test_stories_that_cannot_happen_are_refused(settings, said):
    with pytest.raises(vp.SettingError, match=said):
        make_stream(**settings)


def test_events_are_scored_within_a_tolerance_and_once():
    history = [Event("born", 100, 5), Event("silent", 500, -1, views=("a",)), Event("died", 900, 1)]
    found = [
        Event("born", 150, 9),
        Event("born", 160, 9),
        Event("silent", 600, -1, views=("b",)),
        Event("died", 899, 1),
    ]
    scored = event_scores(history, found, tolerance=100)
    assert (scored.n_right, scored.precision, scored.recall, scored.delay) == (1, 1 / 4, 1 / 3, 50)
    perfect = event_scores(history, history, tolerance=0)
    assert (perfect.precision, perfect.recall, perfect.delay) == (1, 1, 0)
    nothing = event_scores([], [Event("drifted", 5, 1)], tolerance=0)
    assert (nothing.precision, nothing.recall, nothing.n_found) == (1, 1, 0)
    with pytest.raises(vp.SettingError, match="tolerance is -1"):
        event_scores(history, found, tolerance=-1)
