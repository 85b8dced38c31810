"""Forgetting: what is left is what a fit would have learnt that never saw the rows."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

import viewpass as vp
from viewpass.errors import DataError, RepeatedIdsWarning
from viewpass.tally.forgetting import keys_of

N_ROWS, N_GONE = 600, 90
SETTINGS: list[dict[str, Any]] = [
    {"scale": "unit", "consensus": "plain"},
    {"scale": "unit", "consensus": "neighbours"},
    {"scale": "standard", "consensus": "graph"},
]


@pytest.fixture(scope="module")
def frames() -> dict[str, pd.DataFrame]:
    """Two views of three clusters, with ids; a third is missing."""
    rng = np.random.default_rng(3)
    classes = rng.integers(3, size=N_ROWS)
    names = np.array([f"row {number}" for number in range(N_ROWS)])
    found = {}
    for view, width in (("image", 6), ("text", 4)):
        values = 3 * np.eye(width)[classes] + rng.standard_normal((N_ROWS, width))
        there = rng.random(N_ROWS) < 0.8
        found[view] = pd.DataFrame(values[there], index=names[there])
    return found


def some(frames: dict[str, pd.DataFrame], ids: Any) -> Any:
    return vp.frames({name: frame[frame.index.isin(ids)] for name, frame in frames.items()})


def state(model: vp.ViewPass) -> tuple[Any, ...]:
    centres = [centre.tobytes() for centre in model.cluster_centers_]
    return centres, [counts.tolist() for counts in model.counts_], model.inertia_, model.n_samples_seen_


@pytest.mark.parametrize("settings", SETTINGS)
@pytest.mark.parametrize("sample_size", ["auto", 200])
def test_forgetting_is_never_having_seen(
    frames: dict[str, pd.DataFrame], settings: dict[str, Any], sample_size: Any, tmp_path: Path
) -> None:
    ids = np.array(vp.ViewPass(3).fit(vp.frames(frames)).row_ids_)
    gone = np.random.default_rng(0).choice(ids, N_GONE, replace=False)
    left = some(frames, np.setdiff1d(ids, gone))
    how = {"random_state": 0, "sample_size": sample_size, **settings}
    never = vp.ViewPass(3, **how).fit(left)
    model = vp.ViewPass(3, **how).fit(vp.frames(frames))
    if sample_size == "auto":
        model.forget(gone)
    else:
        with pytest.raises(DataError, match="data="):
            model.forget(gone)
        model.forget(gone, data=left)
    assert state(model) == state(never)
    assert np.array_equal(model.predict(left), never.predict(left))
    assert not np.isin(model._learnt.sample.keys, keys_of(gone)).any()
    assert model.receipts_[0][:2] == (N_GONE, len(ids) - N_GONE)
    model.save(tmp_path / "model.viewpass")
    again = vp.load(tmp_path / "model.viewpass")
    assert again.receipts_ == model.receipts_
    assert state(again) == state(model)


def test_a_thousand_rows_of_many() -> None:
    """Rows without ids, more than the sample holds: sample, centres and counts are equal to the bit."""
    rng = np.random.default_rng(1)
    classes = rng.integers(4, size=6000)
    views = [2 * np.eye(width)[classes] + rng.standard_normal((6000, width)) for width in (6, 5)]
    gone = rng.choice(6000, 1000, replace=False)
    left = [np.delete(view, gone, axis=0) for view in views]
    settings: dict[str, Any] = {"sample_size": 2000, "consensus": "plain", "random_state": 0}
    model = vp.ViewPass(4, **settings).fit(views)
    for wrong in (views, [view[:-1] for view in left]):
        with pytest.raises(DataError, match="5,000 are left"):
            model.forget(gone, data=wrong)
    never = vp.ViewPass(4, **settings).fit(left)
    assert state(model.forget(gone, data=left)) == state(never)
    assert np.array_equal(model._learnt.sample.keys, never._learnt.sample.keys)
    assert np.array_equal(model._learnt.sample.numbers, never._learnt.sample.numbers)


def test_what_was_not_read_is_refused(frames: dict[str, pd.DataFrame]) -> None:
    model = vp.ViewPass(3, random_state=0).fit(vp.frames(frames))
    before = state(model)
    wrong = [(["row x"], "never read"), (["row 1", "row 1"], "more than once")]
    wrong += [([["row 1"]], "a list of ids"), ([True, False], "np.flatnonzero")]
    wrong += [(model.row_ids_, "0 samples"), (model.row_ids_[2:], "2 samples")]
    for rows, said in wrong:
        with pytest.raises(DataError, match=said):
            model.forget(rows)
    assert state(model) == before


@pytest.mark.parametrize(("sample_size", "shown"), [("auto", "2 of 2 rows"), (200, "at least")])
def test_rows_that_come_again_are_counted_again_with_a_warning(
    frames: dict[str, pd.DataFrame], sample_size: Any, shown: str, tmp_path: Path
) -> None:
    """While the sample holds all rows every id is known, beyond that its part of them; saved or not."""
    model = vp.ViewPass(3, random_state=0, sample_size=sample_size).partial_fit(vp.frames(frames))
    ids, (model_id, other) = np.array(model.row_ids_), model.row_ids_[:2]
    model.save(tmp_path / "model.viewpass")
    again = vp.load(tmp_path / "model.viewpass")
    for each in (model, again):
        with pytest.warns(RepeatedIdsWarning, match=shown):
            each.partial_fit(some(frames, ids if shown == "at least" else [model_id, other]))
        if sample_size == "auto":
            with pytest.raises(DataError, match="share an id"):
                each.forget([other])
    assert state(model) == state(again)


def test_rows_that_are_forgotten_may_come_again(frames: dict[str, pd.DataFrame]) -> None:
    model = vp.ViewPass(3, random_state=0).fit(vp.frames(frames))
    ids, before = np.array(model.row_ids_)[:9], model.n_samples_seen_
    model.forget(ids).partial_fit(some(frames, ids))
    assert model.n_samples_seen_ == before
