"""Settings of a solve."""

from __future__ import annotations

from dataclasses import dataclass, replace

from viewpass.sums.rules import Rules, Weights

SHAPES = ("auto", "plain", "neighbours", "graph")  # that clusters may be asked to have
ANCHORS_PER_CLUSTER = 20
ROWS_PER_CENTRE = 5  # at least, of the rows that anchors or clusters are made from
SMALL_PER_CLUSTER = 4  # small clusters or anchors that are merged into one cluster
FEW_ROWS = 2000  # that the neighbour graph links, and that candidates are fitted to
VALUES = 2**23  # of rows, or of centres in all columns, at most: a limit to memory


@dataclass(frozen=True)
class Plan:
    """All settings of a solve."""

    n_clusters: int | None  # None: estimated from the anchors
    rules: Rules  # with a ridge in units of 1 / weight_unit
    scale: tuple[str, ...] = ()  # one name per view (scaling.SCALE_NAMES); (): unit length for all
    n_anchors: int | None = None  # None: derived from the number of clusters and of rows
    consensus: str = "plain"  # one of SHAPES
    weights: Weights | None = None  # per view, the largest is 1
    weight_unit: int = 1  # rows are counted in units of 1 / weight_unit
    missing_entries: str = "refuse"  # values that rows lack (gaps.GAP_RULES)
    projection: int | str | None = None  # columns that dense views are mapped to; "auto": chosen; None: none
    known_clusters: int | None = None  # of the solve before: estimated anew only where others score higher
    auto_alpha: bool = False  # the ridge of each view is estimated, beginning with that of the rules
    robust: bool = False  # rows beyond the outlier limit do not move centres (tally/robust.py)

    def weighted(self, weight_unit: int) -> Plan:
        """The same plan for sample weights in this unit; `alpha` counts rows, so it is in units too."""
        assert isinstance(self.rules.alpha, float)
        rules = replace(self.rules, alpha=self.rules.alpha * weight_unit)
        return replace(self, rules=rules, weight_unit=weight_unit)
