"""What the factorisations that read chunks share."""

from __future__ import annotations

from abc import abstractmethod
from typing import Any, Self

import numpy as np

from viewpass.baselines.algorithms.stream import FactorStream
from viewpass.baselines.base import COUNT, NOT_NEGATIVE, FactorClusterer
from viewpass.baselines.files import pack_factor_stream, unpack_factor_stream
from viewpass.cluster.base import narrated, whole
from viewpass.cluster.validation import check_whole
from viewpass.errors import DataError, FileError
from viewpass.kernels.grid import Array
from viewpass.sources.source import Source
from viewpass.store.container.fields import Fields
from viewpass.store.container.generators import generator_from, generator_state
from viewpass.views.seeds import as_generator


class OnlineFactorClusterer(FactorClusterer):
    """A factorisation that reads chunks."""

    _parameter_constraints: dict[str, list[Any]] = {  # noqa: RUF012 (scikit-learn's own form)
        **FactorClusterer._parameter_constraints,
        "chunk_size": COUNT,
        "n_passes": COUNT,
        "tol": NOT_NEGATIVE,
    }

    def __init__(self, chunk_size: int, n_passes: int, tol: float, *shared: Any) -> None:
        super().__init__(*shared)
        self.chunk_size = chunk_size
        self.n_passes = n_passes
        self.tol = tol

    _learnt: FactorStream

    @abstractmethod
    def _new_stream(self, source: Source | None) -> FactorStream:
        """Begin; `source` is all the data there will be, None when chunks come one by one."""

    @abstractmethod
    def _empty_stream(self, rng: np.random.Generator) -> FactorStream:
        """A stream with these settings that has read nothing."""

    def _seeded_stream(self) -> Any:
        rng = as_generator(self.random_state)
        seed = int(rng.integers(2**31))
        stream = self._empty_stream(rng)
        stream.seed = seed
        return stream

    def _packed(self, arrays: dict[str, Array]) -> dict[str, Any]:
        stream = self._learnt
        self._check_unchanged(stream.n_clusters)
        own = stream.rng is self.random_state  # the user's generator: both draw from it
        return {
            "stream": pack_factor_stream(stream, arrays),
            "n_clusters": int(self.n_clusters),
            "random": generator_state(stream.rng),
            "own_generator": own,
        }

    def _take_packed(self, stored: Fields) -> None:
        rng = generator_from(stored.get("random"))
        if not isinstance(rng, np.random.Generator):
            raise FileError("its field 'random' makes no sense.")
        stored.need(stored.number("n_clusters", least=1) == self.n_clusters, "n_clusters")
        stored.array("coefficients.0", np.float64, (None, self._rank))  # before anything of that size is made
        stream = self._empty_stream(rng)
        unpack_factor_stream(stored.part("stream"), stream)
        self._learnt = stream
        if stored.truth("own_generator"):
            self.random_state = rng

    def fit(self, X: Any, y: Any = None, observed: Any = None) -> Self:
        """Factorise the rows chunk by chunk, then cluster the consensus. `X`, `observed`: see `OPIMC.fit`."""
        fresh, source = self._begin(X, observed)
        with narrated(self.verbose):
            fresh._learnt = stream = fresh._new_stream(source)
            for number in range(self.n_passes):
                read_pass(stream, source, self.chunk_size)
                if number == 0:
                    self._check_enough(stream.n_rows - stream.n_without_views)
        stream.n_last = stream.n_rows
        return self._end(fresh, source)

    def partial_fit(self, X: Any, y: Any = None, observed: Any = None) -> Self:
        """Read one chunk: all rows of X, in one step.

        The consensus coefficients of all rows read are kept: k-means needs them. It runs when
        `labels_` (of this chunk) or `predict` is asked for.
        """
        self._validate_params()
        check_whole(self.n_clusters, "n_clusters")
        begun = hasattr(self, "_learnt")
        fresh = self if begun else self._blank()
        source = fresh._read(X, observed, reset=not begun)
        if source.n_rows == 0:
            raise DataError("the chunk has no rows (0 samples): at least one is needed.")
        stream = self._learnt if begun else fresh._new_stream(None)
        chunk = whole(source)
        known = set(stream.clipped)
        stream.learn(chunk)
        stream.n_last = chunk.n_rows
        fresh._learnt = stream
        if not fresh._cut_by_views:
            fresh.n_features_in_ = sum(width or 0 for width in fresh._fitted_schema().widths)
        if source.row_ids is not None:
            fresh.row_ids_ = source.row_ids
        self._become(fresh)
        self._tell_clipped(known)
        return self


def read_pass(stream: FactorStream, source: Source, chunk_size: int) -> None:
    """Read the source once, from its first row on."""
    if stream.pieces:
        stream.begin_pass()
    for chunk in source.chunks(chunk_size):
        stream.learn(chunk)
