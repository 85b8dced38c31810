"""What a cell does: run a method pass by pass, and score and time every pass."""

from __future__ import annotations

import time
import tracemalloc
import warnings
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from viewpass.baselines.base import grouped
from viewpass.baselines.online import OnlineFactorClusterer, read_pass
from viewpass.core.stream import Stream
from viewpass.evaluate import accuracy, nmi
from viewpass.kernels.grid import Labels
from viewpass.paper.checks import complete, filled
from viewpass.paper.published import compared, imc, opimc
from viewpass.paper.settings import SETS, Trial, trial
from viewpass.sources.arrays import ArraySource

Result = dict[str, Any]


class Watch:
    """Seconds since it was made: by the clock, and of the processors (all threads of this process)."""

    def __init__(self) -> None:
        self.began, self.worked = time.perf_counter(), time.process_time()

    def read(self) -> Took:
        """Both."""
        return time.perf_counter() - self.began, time.process_time() - self.worked


Took = tuple[float, float]


# ---- one pass after the other


def opimc_passes(
    data: Trial, *, n_clusters: int, chunk_size: int, n_passes: int, alpha: float, seed: int,
    n_threads: int, **more: Any,
) -> Iterator[tuple[Labels, Took, Stream]]:  # fmt: skip
    """The published procedure: labels and seconds of each pass, and the stream itself."""
    rng = np.random.default_rng([seed, 77])
    model = opimc(n_clusters, alpha=alpha, random_state=rng, n_threads=n_threads, **more)
    source = model._read(data.views, data.observed, reset=True)
    stream = model._new_stream(source)
    labels = np.full(len(data.truth), -1, dtype=np.int32)
    for number in range(n_passes):
        watch = Watch()
        for chunk in source.chunks(chunk_size):
            there = slice(chunk.start, chunk.start + chunk.n_rows)
            decided = stream.learn(chunk) if number == 0 else stream.relearn(chunk, labels[there])
            if decided is not None:
                labels[decided.start : decided.start + len(decided.labels)] = decided.labels
        yield labels.copy(), watch.read(), stream


def factor_passes(
    model: OnlineFactorClusterer, data: Trial, n_passes: int
) -> Iterator[tuple[Labels, Took, float]]:
    """Labels, seconds of the factorisation and of the k-means, pass by pass."""
    source = ArraySource(data.views, data.observed)
    watch = Watch()
    stream = model._new_stream(source)
    for _ in range(n_passes):
        read_pass(stream, source, model.chunk_size)
        took, watch = watch.read(), Watch()
        labels = np.full(stream.n_rows, -1, dtype=np.int32)
        labels[stream.where()] = grouped(stream.consensus(), model.n_clusters, model.n_init, stream.seed)[1]
        yield labels, took, watch.read()[0]
        watch = Watch()


def passes(
    *, data: str, method: str, rate: float, seed: int, n_passes: int, chunk_size: int,
    n_rows: int, folder: str | None, n_threads: int, shuffle: bool = True, steps: int = 0, **more: Any,
) -> Result:  # fmt: skip
    """Scores and seconds of every pass (of the one fit, for methods that are not online)."""
    given = trial(data, rate, seed, folder, n_rows, shuffle=shuffle)
    n_clusters = SETS[data].n_clusters if data in SETS else len(np.unique(given.truth))
    out: Result = {"acc": [], "nmi": [], "seconds": [], "processor": [], "kmeans": []}

    def score(labels: Labels, took: Took, kmeans: float = 0.0) -> None:
        out["acc"].append(accuracy(given.truth, labels))
        out["nmi"].append(nmi(given.truth, labels))
        out["seconds"].append(took[0])
        out["processor"].append(took[1])
        out["kmeans"].append(kmeans)

    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)  # negative entries are clipped: known here
        if method == "OPIMC":
            if more.get("fill") == "none":
                more["fill"] = None
            more |= {"n_clusters": n_clusters, "chunk_size": chunk_size, "n_passes": n_passes}
            for labels, took, stream in opimc_passes(given, seed=seed, n_threads=n_threads, **more):
                score(labels, took)
                out["loss"], out["n_iter"] = list(stream.model.loss_curve), stream.model.n_iter
            return out
        if steps:
            more |= {"max_iter": steps}
        model = compared(method, n_clusters, chunk_size, random_state=seed, n_threads=n_threads, **more)
        if isinstance(model, OnlineFactorClusterer):
            for labels, took, kmeans in factor_passes(model, given, n_passes):
                score(labels, took, kmeans)
            return out
        watch = Watch()
        model.fit(given.views, observed=given.observed)
        score(model.labels_, watch.read())
        out["n_iter"] = model.n_iter_
    return out


def timed(**settings: Any) -> Result:
    """Seconds of a pass, and of the k-means after it: the best of three, of one where it takes long.

    Seconds by the clock depend on who else is at work on the machine; those of the processors less so.
    """
    runs: list[tuple[float, float, float]] = []
    while len(runs) < 3 and sum(seconds for seconds, _, _ in runs) < 5.0:
        result = passes(**settings)
        runs.append((result["seconds"][0], result["processor"][0], result["kmeans"][0]))
    seconds, processor, kmeans = (min(values) for values in zip(*runs, strict=True))
    return {"seconds": seconds, "processor": processor, "kmeans": kmeans, "runs": len(runs)}


def theorem(*, seed: int, alpha: float, folder: str | None, n_threads: int) -> Result:
    """Whether the objective rises inside a chunk, from given labels on, as centres and labels take turns."""
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
    """Seconds of one pass of OPIMC over noise (the best of three), and the memory it asks for."""
    rng = np.random.default_rng(0)
    views = {f"v{v}": rng.standard_normal((n_rows, width), dtype=np.float32) for v in range(n_views)}
    data = Trial(views, np.zeros(n_rows, dtype=np.int64), np.ones((n_rows, n_views), dtype=bool))
    shape: dict[str, Any] = {"n_clusters": n_clusters, "chunk_size": chunk_size, "n_passes": 1, "alpha": 0.1}

    def once() -> tuple[float, int]:
        for _, took, stream in opimc_passes(data, **shape, seed=0, n_threads=n_threads, max_iter=max_iter):
            return took[0], stream.model.n_iter
        raise AssertionError

    once()  # compiles
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
