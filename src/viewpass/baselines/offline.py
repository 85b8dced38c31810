"""Base class of the offline baselines: MultiNMF, MIC and DAIMC."""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import dataclass
from typing import Any, Self

import numpy as np

from viewpass.baselines.base import FactorClusterer
from viewpass.baselines.factors import Factors, PreparedViews, divided_views
from viewpass.baselines.rows import FilledView
from viewpass.estimators.base import logging_progress, whole
from viewpass.kernels.grid import Floats, Integers
from viewpass.kernels.threads import single_threaded_blas
from viewpass.views.rows import MeasuredRows
from viewpass.views.seeds import as_generator


@dataclass(eq=False, repr=False)
class OfflineFactorClusterer(FactorClusterer):
    """A factorisation of all rows at once; a subclass says how (`_factorise`)."""

    @abstractmethod
    def _factorise(
        self, views: list[FilledView], rng: np.random.Generator, seed: int
    ) -> tuple[list[Floats], Floats, list[float]]:
        """Bases, consensus coefficients and objective curve of the prepared views."""

    def _prepare(self, rows: MeasuredRows, kept: Integers) -> PreparedViews:
        return divided_views(rows, kept)

    def _rounds(self, curve: list[float]) -> int:
        return len(curve)

    def fit(self, X: Any, y: Any = None, observed: Any = None) -> Self:
        """Factorise the rows, then cluster the consensus. `X` and `observed` are as in `OPIMC.fit`."""
        fresh, source = self._begin_fit(X, observed)
        rows = MeasuredRows(whole(source)).measure()
        kept = np.flatnonzero(rows.n_seen > 0)
        self._check_enough(len(kept))
        rng = as_generator(self.random_state)
        seed = int(rng.integers(2**31))
        with logging_progress(self.verbose), single_threaded_blas():
            prepared = self._prepare(rows, kept)
            bases, agreed, curve = self._factorise(prepared.there(), rng, seed)
        fresh._learnt = Factors(
            schema=rows.chunk.schema,
            n_rows=rows.n_rows,
            n_without_views=rows.n_rows - len(kept),
            kept=kept,
            agreed=agreed,
            bases=prepared.spread(bases),
            totals=prepared.totals,
            curve=curve,
            value=curve[-1],
            n_iter=self._rounds(curve),
            seed=seed,
            clipped=prepared.clipped,
        )
        return self._end_fit(fresh, source)
