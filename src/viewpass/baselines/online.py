"""Base class of the online baselines, which read chunks: OMVC and ONMF."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterator
from dataclasses import KW_ONLY, dataclass
from typing import Any, Self

import numpy as np

from viewpass.baselines.base import FactorClusterer
from viewpass.baselines.rows import FilledView, RunningMean
from viewpass.baselines.stream import FactorStream
from viewpass.estimators.base import logging_progress, whole
from viewpass.sources.source import Source
from viewpass.views.rows import MeasuredRows
from viewpass.views.seeds import as_generator


@dataclass(eq=False, repr=False)
class OnlineFactorClusterer(FactorClusterer):
    """A factorisation that reads chunks; a subclass says how (`_empty_stream`)."""

    _: KW_ONLY
    chunk_size: int = 2000
    n_passes: int = 1
    tol: float = 1e-4

    @abstractmethod
    def _empty_stream(self, rng: np.random.Generator) -> FactorStream:
        """A stream with these settings that has read nothing."""

    @abstractmethod
    def _read_ahead(self, stream: Any, source: Source) -> None:
        """What is taken from all rows before the first pass, where the settings need it."""

    def _new_stream(self, source: Source | None) -> FactorStream:
        """Start a fit; `source` holds all rows, None when chunks come one by one."""
        rng = as_generator(self.random_state)
        seed = int(rng.integers(2**31))
        stream = self._empty_stream(rng)
        stream.seed = seed
        if source is not None:
            self._read_ahead(stream, source)
        return stream

    def fit(self, X: Any, y: Any = None, observed: Any = None) -> Self:
        """Factorise the rows chunk by chunk, then cluster the consensus. `X`, `observed`: see `OPIMC.fit`."""
        fresh, source = self._begin_fit(X, observed)
        for _ in fresh._passes(source):
            pass
        return self._end_fit(fresh, source)

    def fit_passes(self, X: Any, y: Any = None, observed: Any = None) -> Iterator[Self]:
        """Fit as `fit` does, and yield a model after each of the `n_passes` passes.

        The same model is yielded each time, further fitted. K-means runs when its `labels_` are read.
        This estimator itself is fitted after the last pass.
        """
        fresh, source = self._begin_fit(X, observed)
        yield from fresh._passes(source)
        self._end_fit(fresh, source)

    def _passes(self, source: Source) -> Iterator[Self]:
        with logging_progress(self.verbose):
            stream = self._new_stream(source)
        for number in range(self.n_passes):
            with logging_progress(self.verbose):
                if number:
                    stream.begin_pass()
                for chunk in source.chunks(self.chunk_size):
                    stream.learn(chunk)
            self._check_enough(stream.n_rows - stream.n_without_views)
            self._learnt = stream
            yield self

    def partial_fit(self, X: Any, y: Any = None, observed: Any = None) -> Self:
        """Read one chunk: all rows of X, in one step. Nothing is read ahead, whatever the settings.

        The coefficients of all rows read are kept, because k-means needs them. It runs when `labels_` or
        `predict` is used.
        """
        self._validate()
        begun = hasattr(self, "_learnt")
        fresh = self if begun else self._blank()
        source = fresh._read(X, observed, reset=not begun)
        chunk = whole(source)
        stream = self._learnt if begun else fresh._new_stream(None)
        known = set(stream.clipped)
        stream.learn(chunk)
        fresh._learnt = stream
        fresh._count_features(fresh._fitted_schema())
        self._become(fresh)
        self._warn_clipped(known, stacklevel=3)
        return self


def filled_chunks(
    source: Source, chunk_size: int, means: list[RunningMean], n_threads: int, *, unit: bool
) -> Iterator[list[FilledView | None]]:
    """The views of each chunk, filled with running means that are updated along the way."""
    for chunk in source.chunks(chunk_size):
        rows = MeasuredRows(chunk).measure(n_threads)
        kept = np.flatnonzero(rows.n_seen > 0)
        yield [mean.read(rows, v, kept, unit=unit)[0] for v, mean in enumerate(means)]
