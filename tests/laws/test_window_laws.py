"""Laws of streams that change: chunks, files, windows, ids."""

from __future__ import annotations

from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import viewpass as vp
from commands import write_table
from label_paths import Partitions
from viewpass.errors import DataError, SettingError
from viewpass.runs import work
from viewpass.runs.folder import RunFolder
from viewpass.runs.run import Run, RunOptions, StoppedError
from viewpass.sources import source
from viewpass.streams.horizon import microseconds

N_ROWS = 800
SETTINGS: list[dict[str, Any]] = [
    {},
    {"sample_size": 300},
    {"window": 200},
    {"window": 500, "sample_size": 100},
    {"half_life": 100},
    {"half_life": 100, "sample_size": 120},
    {"n_clusters": "grow", "max_clusters": 6, "sample_size": 200},
    {"n_clusters": "grow", "max_clusters": 2},
    {"window": 200, "view_weights": [0, 1]},
    {"robust": True, "window": 500, "sample_size": 100},
    {"robust": True, "window": 200},
    {"robust": True, "half_life": 100, "consensus": "graph"},
]


@pytest.fixture(scope="module")
def views() -> list[np.ndarray]:
    """Two views of clusters of which one leaves, one comes, one leaves and returns; a third is missing."""
    rng = np.random.default_rng(5)
    parts = ([0, 1, 2], [0, 1], [0, 1, 3], [0, 1, 2, 3])
    classes = np.concatenate([rng.choice(part, N_ROWS // 4) for part in parts])
    found = []
    for width in (6, 4):
        centres = 4 * np.eye(width)[:4]
        found.append(centres[classes] + 0.3 * rng.standard_normal((N_ROWS, width)))
    gone = rng.random(N_ROWS)
    found[0][gone < 0.2] = np.nan
    found[1][gone > 0.9] = np.nan
    return found


def made(settings: dict[str, Any]) -> vp.ViewPass:
    given = {"n_clusters": 3, "scale": "unit", "consensus": "plain", "random_state": 0} | settings
    return vp.ViewPass(**given)


def state(model: vp.ViewPass) -> tuple[Any, ...]:
    """What people see of a model."""
    counts = [counts.tolist() for counts in model.counts_]
    return model.cluster_ids_.tolist(), model.events_, model.inertia_, counts


def learn(model: vp.ViewPass, views: list[np.ndarray], first: int, last: int, size: int) -> list[int]:
    ids = list[int]()
    for start in range(first, last, size):
        model.partial_fit([view[start : min(start + size, last)] for view in views])
        ids += model.stream_ids_.tolist()
    return ids


@pytest.mark.parametrize("settings", SETTINGS)
def test_chunks_do_not_matter(views: list[np.ndarray], settings: dict[str, Any]) -> None:
    whole, parts = made(settings), made(settings)
    learn(whole, views, 0, N_ROWS, N_ROWS)
    learn(parts, views, 0, N_ROWS, 37)
    assert state(whole) == state(parts)
    assert np.array_equal(whole.predict(views), parts.predict(views))
    once = made(settings | {"compute_labels": False}).fit(views)
    assert once.stream_ids_.shape == (N_ROWS,)


@pytest.mark.parametrize("settings", SETTINGS)
@pytest.mark.parametrize("first", [90, 450])
def test_a_file_goes_on_like_the_model(
    views: list[np.ndarray], settings: dict[str, Any], first: int, tmp_path: Path
) -> None:
    model = made(settings)
    learn(model, views, 0, first, first)
    model.save(tmp_path / "model.viewpass")
    again = vp.load(tmp_path / "model.viewpass")
    assert state(model) == state(again)
    learn(model, views, first, N_ROWS, 333)
    learn(again, views, first, N_ROWS, 333)
    assert state(model) == state(again)
    assert np.array_equal(model.stream_ids_, again.stream_ids_)


@pytest.mark.parametrize("settings", SETTINGS)
def test_a_file_without_rows_predicts(
    views: list[np.ndarray], settings: dict[str, Any], tmp_path: Path
) -> None:
    model = made(settings).fit(views)
    model.save(tmp_path / "model.viewpass", rows=False)
    again = vp.load(tmp_path / "model.viewpass")
    assert state(model) == state(again)
    assert np.array_equal(model.predict(views), again.predict(views))


@pytest.mark.parametrize("size", [1, 8, 120])
def test_the_sample_is_that_of_the_rows_of_the_window(views: list[np.ndarray], size: int) -> None:
    learning = made({"window": 400, "sample_size": size, "n_clusters": 1}).fit(views)._learnt
    alone = vp.ViewPass(1, sample_size=N_ROWS).fit(views)._learnt.sample  # all rows, by key
    first = learning.buckets.first_row
    assert N_ROWS - 450 < first <= N_ROWS - 400
    assert np.array_equal(learning.sample.numbers, alone.numbers[alone.numbers >= first][:size])


def test_counts_are_those_of_the_window(views: list[np.ndarray]) -> None:
    model = made({"window": 200}).fit(views)
    first = model._learnt.buckets.first_row
    labels = model.predict([view[first:] for view in views])
    for v, view in enumerate(views):
        there = ~np.isnan(view[first:, 0])
        assert np.array_equal(model.counts_[v], np.bincount(labels[there], minlength=3))


def test_rows_age_by_half(views: list[np.ndarray]) -> None:
    numbers = made({"half_life": 100, "sample_size": 100}).fit(views)._learnt.sample.numbers
    ages = (N_ROWS - 1 - numbers) // 100
    counts = np.bincount(ages, minlength=8)
    assert counts[0] > 1.4 * counts[1] > 1.9 * counts[2] > 0


def test_no_more_clusters_than_allowed(views: list[np.ndarray]) -> None:
    assert len(made({"n_clusters": "grow", "max_clusters": 2, "window": 200}).fit(views).cluster_ids_) == 2


@pytest.mark.parametrize(
    "settings", [SETTINGS[3], SETTINGS[4], {"window": 200, "consensus": "graph", "projection": 2}]
)
@pytest.mark.parametrize("order", [(0, 1), (1, 0)])
def test_views_that_come_and_go(
    views: list[np.ndarray], settings: dict[str, Any], order: tuple[int, int], tmp_path: Path
) -> None:
    """Chunks that have nothing of a view leave it as it was, or unknown."""
    model = made(settings)
    alone = [[views[0], None], [views[1], None][::-1]]
    for part in (alone[order[0]], alone[order[1]], views, alone[0]):
        model.partial_fit(part)
        model.save(tmp_path / "model.viewpass")
        again = vp.load(tmp_path / "model.viewpass")
        assert state(again) == state(model)
        assert np.array_equal(again.predict(part), model.predict(part))


def test_a_window_of_rows_without_views(views: list[np.ndarray]) -> None:
    model = made({"window": 40, "consensus": "graph", "n_anchors": 6}).partial_fit(views)
    model.partial_fit([np.full_like(view, np.nan) for view in views])
    assert (model.stream_ids_ == -1).all()
    assert model.partial_fit(views).n_samples_seen_ == 3 * N_ROWS


def test_what_happened_is_told_and_ids_last() -> None:
    rng = np.random.default_rng(1)
    classes, part = rng.integers(2, size=2400), np.arange(2400) // 600
    third = (part % 2 == 1) & (rng.random(2400) < 0.4)  # comes, goes and comes again
    classes[third] = 2
    rows = 3 * np.eye(5)[classes] + 0.3 * rng.standard_normal((2400, 5))
    model = made({"n_clusters": "grow", "window": 240}).fit([rows])
    ids = set(model.stream_ids_[third & (np.arange(2400) % 600 >= 240)].tolist())
    assert len(ids) == 1
    told = [event for event in model.events_ if event.cluster in ids and event.what != "drifted"]
    assert [event.what for event in told] == ["born", "died", "returned"]
    assert told[0].row <= 600 + 60
    assert model.stream_ids_[(classes != 2) & (part == 2)].tolist().count(*ids) == 0
    assert model.timeline_[-1].rows.keys() == set(model.cluster_ids_.tolist())


@pytest.mark.parametrize("settings", [{}, {"sample_size": 300}, {"window": 400}])
def test_ids_last_from_the_first_rows_on(settings: dict[str, Any], tmp_path: Path) -> None:
    """Before the sample is full, the rows so far are solved anew with each call."""
    rng = np.random.default_rng(2)
    classes = rng.integers(3, size=600)
    rows = 3 * np.eye(5)[classes] + 0.3 * rng.standard_normal((600, 5))
    model, ids = made(settings), list[int]()
    for start in range(0, 600, 40):
        ids += model.partial_fit([rows[start : start + 40]]).stream_ids_.tolist()
        assert set(model.stream_ids_) <= set(model.cluster_ids_)
        model.save(tmp_path / "model.viewpass", rows=False)
        assert np.array_equal(vp.load(tmp_path / "model.viewpass").cluster_ids_, model.cluster_ids_)
    assert len({*zip(classes.tolist(), ids, strict=True)}) == 3


def test_a_refit_keeps_ids(views: list[np.ndarray]) -> None:
    old = made({"n_clusters": 4}).fit([view[:600] for view in views])
    new = made({"n_clusters": 4, "random_state": 7}).fit(views, continue_ids=old)
    first, second = (model.cluster_ids_[model.predict(views)] for model in (old, new))
    assert (first == second).mean() > 0.95
    again = made({"n_clusters": 4}).fit(views, continue_ids=new)
    assert sorted(again.cluster_ids_) == sorted(new.cluster_ids_)
    fewer = made({"n_clusters": 3}).fit(views, continue_ids=new)
    assert set(fewer.cluster_ids_) < set(new.cluster_ids_)
    assert [event.what for event in fewer.events_] in (["merged"], ["died"])
    back = made({"n_clusters": 4}).fit(views, continue_ids=fewer)
    assert sorted(back.cluster_ids_) == sorted(new.cluster_ids_)
    assert back.events_[-1].what == "returned"


def test_a_refit_of_the_same_rows_keeps_all_ids() -> None:
    """Those of single rows far from all others, too, and of rows that are all equal."""
    rows = np.random.default_rng(0).standard_normal((90, 5)) + 6 * np.eye(5)[np.arange(90) % 2]
    rows[:2] = 60 * np.eye(5)[3:]
    for X, n_clusters in ((rows, 4), (np.ones((9, 5)), 1)):
        old = made({"n_clusters": n_clusters, "scale": "euclidean"}).fit([X])
        new = made({"n_clusters": n_clusters, "scale": "euclidean"}).fit([X], continue_ids=old)
        assert new.cluster_ids_.tolist() == old.cluster_ids_.tolist()
        assert new.events_ == ()


def test_a_window_without_a_view_goes_on_from_a_file(views: list[np.ndarray], tmp_path: Path) -> None:
    """None of the rows that count has the first view for a while."""
    whole, model = made({"window": 120}), made({"window": 120})
    for first in range(0, N_ROWS, 100):
        X = [view[first : first + 100] if v or first < 200 else None for v, view in enumerate(views)]
        whole.partial_fit(X)
        model.partial_fit(X)
        model.save(tmp_path / "model.viewpass")
        model = vp.load(tmp_path / "model.viewpass")
        assert np.isfinite(model.confidence([None, views[1]])).any()
        model.explain(views)
    assert state(model) == state(whole)


def test_a_window_left_with_too_few_rows_goes_on() -> None:
    """A graph is solved at fixed row counts; here no row that counts has a view then."""
    rows = np.random.default_rng(0).standard_normal((400, 4))
    rows[100:300] = np.nan
    model = made({"window": 40, "consensus": "graph"}).fit([rows])
    assert (model.predict([rows]) >= 0).sum() == 200


def test_estimated_counts_are_no_more_than_the_rows_with_views(tmp_path: Path) -> None:
    """Here half of the rows have none, and all sampled ones may have one."""
    rows = np.random.default_rng(0).standard_normal((400, 4))
    rows[::2] = np.nan
    for seed in range(5):
        model = made({"n_clusters": 1, "sample_size": 5, "compute_labels": False, "random_state": seed})
        model.fit([rows])
        assert model.counts_[0].sum() == 200
        model.cut(1).save(tmp_path / "model.viewpass")


@pytest.mark.parametrize("settings", [{"window": 600}, {"window": "8h", "time": "when"}])
def test_a_run_that_was_stopped_goes_on(
    settings: dict[str, Any], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(work, "BLOCK", 200)
    monkeypatch.setattr(source, "READ_ROWS", 200)
    table = write_table(tmp_path / "items.parquet", 1500)
    minutes = np.datetime64("2026-01-01T00:00", "s") + 60 * np.arange(1500)
    pq.write_table(pq.read_table(table).append_column("when", pa.array(minutes)), table)

    def run(out: str) -> tuple[Run, RunFolder]:
        folder = RunFolder(tmp_path / out)
        return Run(made(settings), vp.scan(str(table), id="item"), folder), folder

    whole, folder = run("whole")
    folder.open(resume=False)
    whole.begin()
    whole.go(RunOptions())
    parts, stopped = run("parts")
    stopped.open(resume=False)
    parts.begin()
    looks = iter(range(100))
    with pytest.raises(StoppedError):
        parts.go(RunOptions(every=1, stopping=lambda: next(looks) >= 3))
    stopped.close()
    again, stopped = run("parts")
    stopped.open(resume=True)
    again.resume()
    assert 0 < again.first_row < 1500
    again.go(RunOptions())
    assert folder.model.read_bytes() == stopped.model.read_bytes()
    assert folder.labels.read_bytes() == stopped.labels.read_bytes()


def test_what_has_no_meaning_for_a_stream_is_refused(views: list[np.ndarray]) -> None:
    model = made({"window": 400}).fit(views)
    for wrong in (
        lambda: vp.merge([model, model]),
        lambda: model.forget([3]),
        lambda: made({"window": 400}).fit(views, continue_ids=model),
        lambda: made({"window": 400, "half_life": 100}).fit(views),
        lambda: made({"max_clusters": 9}).fit(views),
        lambda: made({"window": 10, "n_clusters": 11}).fit(views),
        lambda: made({"half_life": 1}).fit(views),
        lambda: made({}).fit(views, continue_ids=vp.OPIMC(3).fit(views)),
        lambda: made({}).fit(views, continue_ids="model.viewpass"),
        lambda: made({}).fit({"a": views[0], "b": views[1]}, continue_ids=made({}).fit(views)),
    ):
        with pytest.raises(SettingError):
            wrong()


@pytest.fixture(scope="module")
def dated(views: list[np.ndarray]) -> pa.Table:
    """The same rows over forty days, with a week in which none comes."""
    hours = np.sort(np.random.default_rng(0).integers(0, 33 * 24, N_ROWS))
    times = np.datetime64("2026-01-01T00", "h") + hours + np.where(hours > 500, 7 * 24, 0)
    lists = [[None if np.isnan(row[0]) else row for row in view.tolist()] for view in views]
    return pa.table({"a": lists[0], "b": lists[1], "when": times.astype("datetime64[s]")})


def scanned(dated: pa.Table, first: int, last: int) -> Any:
    return vp.scan(dated.slice(first, last - first), views=["a", "b"])


@pytest.mark.parametrize("window", ["5D", "12 D", "36h", 200])
def test_windows_of_time(dated: pa.Table, window: Any, tmp_path: Path) -> None:
    """Neither chunks nor files on the way matter, and rows that are older than the window do not count."""
    settings = {"window": window, "time": "when"}
    whole, model = made(settings).partial_fit(scanned(dated, 0, N_ROWS)), made(settings)
    ids = list[int]()
    for start in range(0, N_ROWS, 57):
        model.partial_fit(scanned(dated, start, min(start + 57, N_ROWS)))
        ids += model.stream_ids_.tolist()
        model.save(tmp_path / "model.viewpass")
        model = vp.load(tmp_path / "model.viewpass")
    assert state(whole) == state(model)
    assert np.array_equal(whole.stream_ids_[-57:], ids[-57:])
    assert all(event.time is not None for event in model.events_)
    if window != 200:
        first, times = model._learnt.buckets.first_row, np.asarray(dated["when"])
        length = microseconds(window)
        ages = (times[-1] - times).astype("timedelta64[us]").astype(int)
        assert (ages[first:] <= length + length / 8).all()
        assert (ages[:first] > length - length / 8).all()


def test_times_that_cannot_be_followed_are_refused(dated: pa.Table, views: list[np.ndarray]) -> None:
    model = made({"window": "5D", "time": "when"})
    with pytest.raises(DataError, match="order of their times"):
        model.partial_fit(vp.scan(dated.take(list(range(9, -1, -1))), views=["a", "b"]))
    model.partial_fit(scanned(dated, 400, 500))
    with pytest.raises(DataError, match="row 0: its time is before"):
        model.partial_fit(scanned(dated, 0, 100))
    empty = dated.slice(0, 9).set_column(2, "when", pa.nulls(9, pa.timestamp("s")))
    with pytest.raises(DataError, match="the time is null"):
        model.partial_fit(vp.scan(empty, views=["a", "b"]))
    for second in (2**60, -(2**63), 2**43):
        far = dated.slice(0, 9).set_column(2, "when", pa.array([second] * 9, pa.timestamp("s")))
        with pytest.raises(DataError, match="'when', row 0 on"):
            model.partial_fit(vp.scan(far, views=["a", "b"]))
    assert model.n_samples_seen_ == 100
    for settings in ({"time": "when"}, {"window": "5D"}, {"window": "5", "time": "when"}):
        with pytest.raises(SettingError):
            made(settings).fit(scanned(dated, 0, N_ROWS))
    for column in ("b", "day"):
        with pytest.raises(SettingError, match="time"):
            made({"window": "5D", "time": column}).fit(scanned(dated, 0, N_ROWS))
    with pytest.raises(SettingError, match="names a column of a table"):
        model.partial_fit(views)


@pytest.mark.parametrize("settings", SETTINGS[2:])
def test_engines_give_the_bits_of_one_process(views: list[np.ndarray], settings: dict[str, Any]) -> None:
    rng = np.random.default_rng(0)

    def engine(data: Any) -> Partitions:
        edges = np.array([0, 130, 131, 555, N_ROWS])
        return Partitions([data.span(a, b - a) for a, b in pairwise(edges.tolist())], rng)

    expected = made(settings).fit(views)
    found = vp.distributed.fit(made(settings), views, engine)
    assert state(found) == state(expected)
    assert np.array_equal(found.stream_labels_, expected.stream_labels_)
    assert np.array_equal(found.stream_ids_, expected.stream_ids_)


def test_clusters_without_rows_keep_their_ids_in_a_file(tmp_path: Path) -> None:
    """Fewer kinds of rows than clusters, where the sample was just solved early."""
    rng = np.random.default_rng(0)
    kinds = rng.integers(3, size=60)
    views = [rng.standard_normal((3, width))[kinds] for width in (5, 4)]
    for n_rows in (5, 6, 12, 13):
        model = vp.ViewPass(5, window=100, random_state=0).partial_fit([view[:n_rows] for view in views])
        model.save(tmp_path / "model.viewpass")
        assert vp.load(tmp_path / "model.viewpass").cluster_ids_.tolist() == model.cluster_ids_.tolist()


def test_a_view_that_stays_silent_is_told_once(views: list[np.ndarray]) -> None:
    model = made({"window": 200})
    parts = [views, [None, views[1]], [None, views[1]], views, views]
    for part in parts:
        model.partial_fit(part)
    told = [event.what for event in model.events_ if event.views == ("view0",) and event.cluster == -1]
    assert told == ["silent", "sounding"]
