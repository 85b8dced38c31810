"""Settings of a stream, fixed before its first row: the plan, and the rules of its inner loop."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

from viewpass.core.state.alpha import Alpha, each_view
from viewpass.core.state.view_weights import Weights
from viewpass.kernels.backend import backend

MAX_ANCHORS = 1000  # unless n_anchors is given,
MOST_GROWN = 1600  # or their number follows the rows
ANCHORS_PER_CLUSTER = 20
FEWEST_SPARES, CLUSTERS_PER_SPARE = 2, 8
ROWS_PER_ANCHOR = 5  # at least, of the rows that anchors are made from


@dataclass(frozen=True)
class Rules:
    """Settings of the inner loop over one chunk (Eq. 11-16)."""

    alpha: Alpha  # ridge on the centres (Eq. 7), of all views or of each
    max_iter: int  # centre updates per chunk, at most
    tol: float  # stop when the loss changes by less than this share
    fill: str | None  # centre of a cluster without rows: "mean", "zero-filled-mean", None (zero)

    @property
    def zero_filled(self) -> bool:
        """Whether absent rows count as zeros in the mean that fills empty centres."""
        return self.fill == "zero-filled-mean"

    def at_most(self, n_updates: int) -> Rules:
        """The same rules with no more than this many centre updates."""
        return replace(self, max_iter=min(self.max_iter, n_updates))

    def handle(self, n_views: int, *, reference: bool = False) -> object:
        """The rules in the form the kernels take."""
        alpha, fill = each_view(self.alpha, n_views), self.fill is not None
        return backend(reference).Rules(alpha, self.max_iter, float(self.tol), fill, self.zero_filled)


@dataclass(frozen=True)
class Plan:
    """All settings of a stream."""

    n_clusters: int | None  # None: estimated from the anchors
    rules: Rules  # with a ridge in units of 1 / weight_unit
    init: Any = "auto"  # a name (candidates.CANDIDATES, "random", "one seeding"), V, labels or centres
    warmup: int = 0  # rows gathered before the first centres are made
    reference: bool = False  # compute with the NumPy reference
    scale: tuple[str, ...] = ()  # one name per view (scaling.NAMES); (): unit length for all
    n_anchors: int | None = None  # None: derived from the number of clusters and the warm-up
    consensus: str = "plain"  # "plain", "merge", "graph", or "auto": plain or graph, chosen on the warm-up
    weights: Weights | str | None = None  # per view, the largest is 1; "auto": learnt from the warm-up
    reservoir: int = 0  # rows kept and reassigned after every chunk
    n_init: int = 1  # starts made from the warm-up, of which the best is kept
    weight_unit: int = 1  # rows are counted in units of 1 / weight_unit
    adaptive: bool = False  # anchors are born and merge as rows are read
    spares: bool = False  # so are clusters, where there are no anchors: a few more than asked for
    missing_entries: str = "refuse"  # values that rows lack (gaps.CHOICES)
    projection: int | str | None = None  # columns that dense views are mapped to; "auto": chosen; None: none
    auto_alpha: bool = False  # the ridge of each view is estimated, beginning with that of the rules

    def weighted(self, weight_unit: int) -> Plan:
        """The same plan for sample weights in this unit; `alpha` counts rows, so it is in units too."""
        assert isinstance(self.rules.alpha, float)
        rules = replace(self.rules, alpha=self.rules.alpha * weight_unit)
        return replace(self, rules=rules, weight_unit=weight_unit)

    def ridged(self, alpha: Alpha) -> Plan:
        """The same plan with this ridge."""
        return replace(self, rules=replace(self.rules, alpha=alpha), auto_alpha=False)

    @property
    def n_spares(self) -> int:
        """Centres beyond the clusters asked for, where clusters are born and merge."""
        n_clusters = self.n_clusters or 1
        return max(FEWEST_SPARES, n_clusters // CLUSTERS_PER_SPARE)

    @property
    def most_centres(self) -> int:
        """Upper bound on the number of centres."""
        if self.consensus == "plain":
            return self.n_clusters or MAX_ANCHORS
        return max(self.n_clusters or 1, self.n_anchors or MAX_ANCHORS, 2 * (self.n_clusters or 0))
