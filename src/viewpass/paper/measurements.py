"""The measurements behind cells: run a method pass by pass; score and time every pass."""

from __future__ import annotations

import time
import tracemalloc
import warnings
from collections.abc import Callable, Iterator
from dataclasses import dataclass, fields
from typing import Any

import numpy as np

from viewpass.baselines.online import OnlineFactorClusterer
from viewpass.estimators.opimc import OPIMC
from viewpass.evaluate import accuracy, nmi
from viewpass.kernels.grid import Labels
from viewpass.paper.checks import complete, filled
from viewpass.paper.published import compared, imc, opimc
from viewpass.paper.settings import SETS, Trial, trial

Result = dict[str, Any]
Took = tuple[float, float]  # seconds: wall clock, processor time of all threads


class Stopwatch:
    """Measures the seconds since it was created."""

    def __init__(self) -> None:
        self.clock, self.processor = time.perf_counter(), time.process_time()

    def read(self) -> Took:
        """Seconds of wall clock and of processor time."""
        return time.perf_counter() - self.clock, time.process_time() - self.processor


@dataclass(frozen=True)
class Passes:
    """Settings of a `passes` cell; `more` are parameters of the method."""

    data: str
    method: str
    rate: float
    seed: int
    n_passes: int
    chunk_size: int
    n_rows: int
    more: dict[str, Any]
    shuffle: bool = True
    steps: int = 0  # of MultiNMF per view and round; 0: its default

    @classmethod
    def of(cls, settings: dict[str, Any]) -> Passes:
        """Separate the parameters of the method from the rest."""
        own = {field.name for field in fields(cls)}
        more = {name: value for name, value in settings.items() if name not in own}
        return cls(**{name: value for name, value in settings.items() if name in own}, more=more)


# ---- one pass after the other


def opimc_passes(data: Trial, n_clusters: int, n_passes: int, seed: int, **more: Any) -> Iterator[OPIMC]:
    """The published procedure after 1, 2, ... passes, as separate fits that share their first passes."""
    for number in range(1, n_passes + 1):
        rng = np.random.default_rng([seed, 77])
        model = opimc(n_clusters, n_passes=number, random_state=rng, **more)
        yield model.fit(data.views, observed=data.observed)


def passes(*, folder: str | None, n_threads: int, **settings: Any) -> Result:
    """Scores and seconds after every pass (of the one fit, for methods that are not online).

    The seconds of OPIMC are those of a fit with that many passes.
    """
    run = Passes.of(settings)
    given = trial(run.data, run.rate, run.seed, folder, run.n_rows, shuffle=run.shuffle)
    n_clusters = SETS[run.data].n_clusters if run.data in SETS else len(np.unique(given.truth))
    out: Result = {"acc": [], "nmi": [], "seconds": [], "processor": [], "kmeans": []}

    def score(labels: Labels, took: Took, kmeans: float = 0.0) -> None:
        values = accuracy(given.truth, labels), nmi(given.truth, labels), *took, kmeans
        for name, value in zip(out, values, strict=False):
            out[name].append(value)

    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)  # negative entries are clipped: known here
        watch = Stopwatch()
        if run.method == "OPIMC":
            more: dict[str, Any] = {"chunk_size": run.chunk_size, "n_threads": n_threads, **run.more}
            if more.get("fill") == "none":
                more["fill"] = None
            for ours in opimc_passes(given, n_clusters, run.n_passes, run.seed, **more):
                score(ours.stream_labels_, watch.read())
                out["loss"], out["n_iter"] = ours.loss_curve_.tolist(), ours.n_iter_
                watch = Stopwatch()
            return out
        more = {"random_state": run.seed, "n_threads": n_threads, **run.more}
        if run.steps:
            more["max_iter"] = run.steps
        model = compared(run.method, n_clusters, run.chunk_size, **more)
        if isinstance(model, OnlineFactorClusterer):
            model.set_params(n_passes=run.n_passes)
            for fitted in model.fit_passes(given.views, observed=given.observed):
                took, watch = watch.read(), Stopwatch()
                labels = fitted.labels_  # runs the k-means
                score(labels, took, watch.read()[0])
                watch = Stopwatch()
            return out
        model.fit(given.views, observed=given.observed)
        score(model.labels_, watch.read())
        out["n_iter"] = model.n_iter_
    return out


def timed(**settings: Any) -> Result:
    """Seconds of one pass, and of the k-means after it: the best of up to three runs.

    Wall-clock time depends on other work on the machine; processor time does so less.
    """
    runs: list[tuple[float, float, float]] = []
    while len(runs) < 3 and sum(seconds for seconds, _, _ in runs) < 5.0:
        result = passes(**settings)
        runs.append((result["seconds"][0], result["processor"][0], result["kmeans"][0]))
    seconds, processor, kmeans = (min(values) for values in zip(*runs, strict=True))
    return {"seconds": seconds, "processor": processor, "kmeans": kmeans, "runs": len(runs)}


def theorem(*, seed: int, alpha: float, folder: str | None, n_threads: int) -> Result:
    """How often the objective increases inside a chunk as centres and labels alternate."""
    given = trial("digit", 0.4, seed, folder, 250)
    start = np.random.default_rng(seed).integers(10, size=250)
    values = []
    for n_turns in range(1, 21):
        model = imc(10, alpha=alpha, init=start, fill=None, max_iter=n_turns, tol=0, n_threads=n_threads)
        model.fit(given.views, observed=given.observed)
        values.append(model.statistics_.objective(alpha))
    rises = int((np.diff(values) > 1e-9 * abs(values[0])).sum())
    return {"rises": rises, "values": values}


def scaling(
    *, n_rows: int, n_views: int, width: int, n_clusters: int, chunk_size: int, max_iter: int,
    folder: str | None, n_threads: int,
) -> Result:  # fmt: skip
    """Seconds of one pass of OPIMC over noise (the best of three), and its peak memory."""
    rng = np.random.default_rng(0)
    views = {f"v{v}": rng.standard_normal((n_rows, width), dtype=np.float32) for v in range(n_views)}
    data = Trial(views, np.zeros(n_rows, dtype=np.int64), np.ones((n_rows, n_views), dtype=bool))
    more: dict[str, Any] = {"chunk_size": chunk_size, "max_iter": max_iter, "n_threads": n_threads}

    def once() -> tuple[float, int]:
        watch = Stopwatch()
        (model,) = opimc_passes(data, n_clusters, 1, 0, alpha=0.1, **more)
        return watch.read()[0], model.n_iter_

    runs = [once() for _ in range(3)]
    tracemalloc.start()
    once()
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    return {"seconds": min(seconds for seconds, _ in runs), "n_iter": runs[0][1], "bytes": peak}


KINDS: dict[str, Callable[..., Result]] = {
    "passes": passes,
    "timed": timed,
    "theorem": theorem,
    "scaling": scaling,
    "complete": complete,
    "filled": filled,
}
