"""`python -m benchmarks.streams.figures NAME ...`: single figures of streams that change, as a table.

late     a class that appears after half of the rows and is 5 % of them: its rows until it is reported
still    clusters reported as new in rows in which nothing happens, and where only rates of absence drift
updates  three views of MNIST in 20 updates: clusters whose rows stay together and that keep their id
refits   the same in 20 fits of ever more rows, each with the ids of the one before
noise    Digit and a quarter as many rows in random directions (20 % of all): NMI of the others
forget   a thousand random rows forgotten, beside a fit that never saw them
cost     processor time with a window and events over that without; the most memory on the way
speed    rows per second learnt and labelled, beside river's clusterers
"""

from __future__ import annotations

import argparse
import resource
import time
from collections.abc import Callable, Iterator
from importlib import import_module
from itertools import pairwise, product
from typing import Any

import numpy as np
from sklearn.metrics import roc_auc_score

import viewpass as vp
from benchmarks.streams.sets import OWN
from viewpass.evaluate import make_stream, nmi
from viewpass.evaluate.data.files import folder_of
from viewpass.sources.bundle import load_bundle
from viewpass.streams.events import Event

UPDATES, COMPARED = 20, 5000
NEW = ("born", "split")
RIVER: dict[str, dict[str, Any]] = {
    "STREAMKMeans": {"n_clusters": 8},
    "CluStream": {"n_macro_clusters": 8},
    "DBSTREAM": {},
}
MEASURED_ROWS = 2000  # of river's methods
Figure = tuple[str, str]


def late(seeds: int) -> Iterator[Figure]:
    for settings in ({"window": 4000}, {}):
        found = list[str]()
        for seed in range(seeds):
            stream = make_stream(**OWN["own_late"], random_state=seed)
            model, classes, ids = _learnt(stream, n_clusters="grow", **settings)
            begins = stream.history[0]
            mine = np.flatnonzero(classes == begins.cluster)
            values, counts = np.unique(ids[mine[-100:]], return_counts=True)
            own = int(values[counts.argmax()])  # the cluster of the class in the end
            told = [event.row for event in model.events_ if own in _new(event, begins.row)]
            found.append(str(int((mine < told[0]).sum())) if told else "never")
        yield f"rows of a class of 5 % until it is reported, {settings or 'no window'}", ", ".join(found)


def _new(event: Event, since: int) -> tuple[int, ...]:
    """The ids that an event after this row reports as new."""
    if event.row <= since or event.what not in NEW:
        return ()
    return (event.cluster,) if event.what == "born" else event.others


def still(seeds: int) -> Iterator[Figure]:
    del seeds
    for more in ({"missing": 0.0}, {"n_rows": 250_000}):
        for settings in ({}, {"window": 20_000}):
            stream = make_stream(**OWN["own_still"] | more, random_state=0)
            model, _, _ = _learnt(stream, n_clusters="grow", **settings)
            rows = [event.row for event in model.events_ if event.what in NEW]
            what = "no view is missing" if "missing" in more else "rates of absence drift"
            name = f"clusters reported as new in {stream.n_rows:,} rows, {what}, {settings or 'no window'}"
            yield name, f"{len(rows)}, of them {sum(row <= 20_000 for row in rows)} in the first 20,000 rows"


def _learnt(stream: Any, **settings: Any) -> tuple[vp.ViewPass, Any, Any]:
    """A stream learnt in chunks: the model, the class of each row and the id it got when it was read."""
    model, classes, ids = vp.ViewPass(random_state=0, n_threads=1, **settings), list[Any](), list[Any]()
    for chunk in stream.chunks(5000):
        ids.append(model.partial_fit(chunk).stream_ids_)
        classes.append(chunk.labels)
    return model, np.concatenate(classes), np.concatenate(ids)


def updates(seeds: int) -> Iterator[Figure]:
    views = _mnist()

    def learn(model: vp.ViewPass | None, first: int, last: int, seed: int) -> vp.ViewPass:
        model = model or vp.ViewPass(10, random_state=seed, n_threads=1)
        return model.partial_fit([view[first:last] for view in views])

    yield from _kept("updates", learn, views, seeds)


def refits(seeds: int) -> Iterator[Figure]:
    views = _mnist()

    def learn(model: vp.ViewPass | None, first: int, last: int, seed: int) -> vp.ViewPass:
        del first
        fresh = vp.ViewPass(10, random_state=seed, n_threads=1)
        return fresh.fit([view[:last] for view in views], continue_ids=model)

    yield from _kept("refits", learn, views, seeds)


def _mnist() -> list[Any]:
    bundle = load_bundle(folder_of(None) / "mnist70k_3v.npz")
    order = np.random.default_rng(0).permutation(bundle.n_rows)
    return [view[order] for view in bundle.views.values()]


def _kept(what: str, learn: Callable[..., vp.ViewPass], views: list[Any], seeds: int) -> Iterator[Figure]:
    """Of clusters more than half of whose compared rows are in one cluster later: how many keep their id."""
    kept, n_changes, n_clusters = [], 0.0, 0
    edges = np.linspace(0, len(views[0]), UPDATES + 1).astype(int).tolist()
    for seed in range(seeds):
        model, before = None, None
        for first, last in pairwise(edges):
            model = learn(model, first, last, seed)
            rows = [view[: min(COMPARED, edges[1])] for view in views]
            ids = model.cluster_ids_[model.predict(rows)]
            if before is not None:
                n_changes += float((ids != before).mean()) / seeds
                for id in np.unique(before).tolist():
                    later, numbers = np.unique(ids[before == id], return_counts=True)
                    back = before[ids == later[numbers.argmax()]]
                    if 2 * numbers.max() > numbers.sum() and 2 * numbers.max() > len(back):
                        kept.append(later[numbers.argmax()] == id)
            before, n_clusters = ids, len(model.cluster_ids_)
    bound = n_clusters * np.log(len(views[0])) / len(views[0])
    yield f"MNIST, {UPDATES} {what}: clusters that keep their id", f"{np.mean(kept):.1%} of {len(kept)}"
    yield f"MNIST, {UPDATES} {what}: changes of id per row", f"{n_changes:.2f} (k log n / n: {bound:.4f})"


def noise(seeds: int) -> Iterator[Figure]:
    bundle = load_bundle(folder_of(None) / "mfeat.npz")
    classes, found, areas = np.asarray(bundle.labels), dict[str, list[float]](), list[float]()
    for seed in range(seeds):
        rng, clean, noisy = np.random.default_rng(seed), dict[str, Any](), dict[str, Any]()
        n_more = len(classes) // 4
        for name, view in bundle.views.items():
            rows = np.asarray(view, dtype=np.float64)
            away = rng.standard_normal((n_more, rows.shape[1]))
            lengths = np.linalg.norm(rows - rows.mean(axis=0), axis=1)[rng.integers(len(rows), size=n_more)]
            away *= (lengths / np.linalg.norm(away, axis=1))[:, None]
            clean[name], noisy[name] = rows, np.vstack([rows, rows.mean(axis=0) + away])
        for robust, (name, views) in product((False, True), (("clean", clean), ("with 20 % noise", noisy))):
            settings = {"robust": robust, "random_state": seed, "n_threads": 1}
            model = vp.ViewPass(len(np.unique(classes)), **settings).fit(views)
            which = f"{name}{', robust=True' if robust else ''}"
            found.setdefault(which, []).append(nmi(classes, model.labels_[: len(classes)]))
        far = np.arange(len(classes) + n_more) >= len(classes)
        areas.append(roc_auc_score(far, model.outlier_score(noisy)))
    for which, values in found.items():
        yield f"Digit {which}: NMI ({seeds} seeds)", f"{np.mean(values):.3f} ± {np.std(values):.3f}"
    yield "Digit with 20 % noise, robust=True: area of the outlier score", f"{np.mean(areas):.3f}"


def forget(seeds: int) -> Iterator[Figure]:
    views = [view[:30_000] for view in _mnist()]
    equal = list[bool]()
    for seed in range(seeds):
        gone = np.random.default_rng(seed).choice(len(views[0]), 1000, replace=False)
        left = [np.delete(view, gone, axis=0) for view in views]
        model, never = (vp.ViewPass(10, random_state=seed, n_threads=1) for _ in range(2))
        model.fit(views).forget(gone, data=left)
        never.fit(left)
        one, other = model._learnt.sample, never._learnt.sample
        pairs = [(one.keys, other.keys), *zip(model.counts_, never.counts_, strict=True)]
        pairs += zip(model.cluster_centers_, never.cluster_centers_, strict=True)
        equal.append(all(np.array_equal(*pair) for pair in pairs))
    yield "1,000 of 30,000 rows of MNIST forgotten: sample, centres, counts equal to the bit", f"{equal}"


def cost(seeds: int) -> Iterator[Figure]:
    stream = make_stream(1_000_000, views=(32, 32), events=[], movement=0.0, random_state=0)
    seconds, memory = dict[str, float](), dict[str, list[int]]()
    for name, settings in (("with", {"window": 100_000}), ("without", {})):
        model, spent, peaks = vp.ViewPass(8, random_state=0, n_threads=1, **settings), 0.0, list[int]()
        for chunk in stream.chunks(50_000):
            begin = time.process_time()
            model.partial_fit(chunk)
            spent += time.process_time() - begin
            peaks.append(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024)
        seconds[name], memory[name] = spent, peaks
    ratio = seconds["with"] / seconds["without"]
    yield "a million rows: processor time with a window over that without", f"{ratio:.2f}"
    peaks = memory["with"]
    yield "most memory with a window, after 250,000 and 1,000,000 rows", f"{peaks[4]} and {peaks[-1]} MiB"


def speed(seeds: int) -> Iterator[Figure]:
    rows = make_stream(40_000, views=(32, 32), missing=0.0, random_state=0).rows(0, 40_000)
    views = list(rows.views.values())
    model, begin = vp.ViewPass(8, window=4000, random_state=0, n_threads=1), time.process_time()
    for start in range(0, 40_000, 500):
        model.partial_fit([view[start : start + 500] for view in views])
    mine = 40_000 / (time.process_time() - begin)
    yield "rows per second, learnt and labelled: ViewPass, window 4000", f"{mine:,.0f}"
    for kind, settings in RIVER.items():
        try:
            peer = getattr(import_module("river.cluster"), kind)(**settings)
        except ImportError:
            yield f"the same: river's {kind}", "not installed"
            continue
        begin, labels = time.process_time(), set[int]()
        for row in np.hstack(views)[:MEASURED_ROWS].tolist():
            one = dict(enumerate(row))
            peer.learn_one(one)
            try:
                labels.add(peer.predict_one(one))
            except (KeyError, ValueError, IndexError, AttributeError):
                continue  # no clusters so far
        theirs = MEASURED_ROWS / (time.process_time() - begin)
        alike = ", all rows in one cluster" if len(labels) < 2 else ""
        yield f"the same: river's {kind}", f"{theirs:,.0f} (ViewPass: {mine / theirs:.1f} x){alike}"


FIGURES = {each.__name__: each for each in (late, still, updates, refits, noise, forget, cost, speed)}


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.streams.figures", description=__doc__)
    parser.add_argument("names", nargs="*", default=list(FIGURES), metavar="NAME")
    parser.add_argument("--seeds", type=int, default=3)
    options = parser.parse_args()
    print("| figure | measured |\n|---|---|")
    for name in options.names:
        for what, found in FIGURES[name](options.seeds):
            print(f"| {what} | {found} |", flush=True)


if __name__ == "__main__":
    main()
