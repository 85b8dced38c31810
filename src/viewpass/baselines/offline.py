"""What the factorisations that read all rows at once share."""

from __future__ import annotations

from abc import abstractmethod
from typing import Any, Self

import numpy as np

from viewpass.baselines.algorithms.offline import Whole
from viewpass.baselines.algorithms.projection import agreed
from viewpass.baselines.algorithms.rows import Filled
from viewpass.baselines.base import FactorClusterer, not_negative
from viewpass.baselines.files import pack_whole, unpack_whole
from viewpass.cluster.base import narrated, whole
from viewpass.kernels.grid import Array, Floats, Integers
from viewpass.kernels.threads import single_threaded_blas
from viewpass.store.container.fields import Fields
from viewpass.views.rows import MeasuredRows
from viewpass.views.seeds import as_generator


class OfflineFactorClusterer(FactorClusterer):
    """A subclass learns from all rows (`_learn`)."""

    agreement: float
    _learnt: Whole

    @abstractmethod
    def _learn(self, rows: MeasuredRows, kept: Integers, rng: np.random.Generator, seed: int) -> Whole:
        """Factorise the rows `kept`, those that have a view."""

    def fit(self, X: Any, y: Any = None, observed: Any = None) -> Self:
        """Factorise the rows, then cluster the consensus. `X` and `observed` are as in `OPIMC.fit`."""
        fresh, source = self._begin(X, observed)
        rows = MeasuredRows(whole(source)).measure()
        kept = np.flatnonzero(rows.n_seen > 0)
        self._check_enough(len(kept))
        rng = as_generator(self.random_state)
        seed = int(rng.integers(2**31))
        with narrated(self.verbose), single_threaded_blas():
            fresh._learnt = fresh._learn(rows, kept, rng, seed)
        return self._end(fresh, source)

    def _packed(self, arrays: dict[str, Array]) -> dict[str, Any]:
        self._check_unchanged(len(self._groups()[0]))
        return {"whole": pack_whole(self._learnt, self._groups()[0], arrays)}

    def _take_packed(self, stored: Fields) -> None:
        self._learnt = unpack_whole(stored.part("whole"), self.n_clusters)

    def _scaled(self, matrix: Any, v: int) -> Any:
        total = self._learnt.totals[v]
        return None if total is None else not_negative(matrix) * matrix.dtype.type(1.0 / total)

    def _project(self, views: list[Filled | None], n_rows: int) -> tuple[Floats, Floats]:
        bases = self._learnt.bases
        return agreed(views, bases, self.agreement, n_rows, self.n_clusters, self._threads())
