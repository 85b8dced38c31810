"""Chooses from the sample what was left open: scale, graph, map, number of clusters.

All by the same criterion (hidden_views.py), the simplest candidate first:

    scale         unit length; what suits the values; the kind they look like; lengths kept
    consensus     a centre for each cluster; an anchor graph
    projection    a learnt map to fewer columns, where there is a graph (not compared)
    n_clusters    2, 3, 4 ... (candidates.py)

Every scale is tried with every shape (consensus), all of them at once. The scale is chosen for each shape,
and then the shape.

Clusters that stay the same whichever views rows are labelled by are well separated: then nothing more is to
be gained, and nothing else is tried.
"""

from __future__ import annotations

import logging
from dataclasses import dataclass, field, replace
from typing import NamedTuple

import numpy as np
import scipy.sparse

from viewpass.errors import warn
from viewpass.model.choice import Choice, Curve
from viewpass.solve.centres import ASSUMED_CLUSTERS
from viewpass.solve.plan import Plan
from viewpass.solve.projection import is_filled, n_mapped
from viewpass.solve.question.candidates import Anchored, Fitted, curve_of, n_anchors_of, n_small
from viewpass.solve.question.comparison import CLEAR, Scorer, compared, race
from viewpass.solve.question.hidden_views import Fold, Question, Score
from viewpass.sums.rules import Workspace
from viewpass.views.kinds import KINDS, columns_of, possible_kind
from viewpass.views.rows import MeasuredRows
from viewpass.views.scaling import Scaling, automatic

logger = logging.getLogger("viewpass")

NUMBER_FOLDS = 6  # that the number of clusters is read off
SEPARATED = "clusters are well separated"
TOO_FEW = "too few rows or columns to compare"
PREDICTS = "its labels predict hidden views better"
MAPPED = "the wide views of a graph"
SIMPLEST = "the simplest, and no other predicts hidden views clearly better"

Names = tuple[str, ...]


class Chosen(NamedTuple):
    """A plan with nothing left open, the scaling, and how they were chosen."""

    plan: Plan
    scaling: Scaling
    choices: tuple[Choice, ...] = ()
    curve: Curve | None = None  # the score of each number of clusters, where there are anchors


def choose(rows: MeasuredRows, plan: Plan, workspace: Workspace) -> Chosen:
    """Choose what the plan leaves open; `rows` are measured and not scaled."""
    own = Workspace(workspace.n_threads)
    assumed = min(ASSUMED_CLUSTERS, max(int(rows.counted.sum()), 1))
    question = Question(rows, replace(plan, n_clusters=plan.n_clusters or assumed), own)
    chosen = _Choosing(question, plan).run()
    workspace.n_compared += own.n_compared
    for choice in chosen.choices:
        logger.info("%s", choice)
    return chosen


@dataclass
class _Choosing:
    """The choices of one plan. Fits are kept, since several choices compare the same ones."""

    question: Question
    plan: Plan  # as far as it is decided
    spaces: list[Names] = field(default_factory=list)  # scales that candidates are scored in
    choices: list[Choice] = field(default_factory=list)
    _fits: dict[tuple[Names, str, int], Fitted] = field(default_factory=dict)
    _anchors: dict[tuple[Names, int], Anchored] = field(default_factory=dict)

    def run(self) -> Chosen:
        """All choices, one after another."""
        question, plan = self.question, self.plan
        candidates = scales(question.rows, plan)
        self.spaces = [question.names(names) for names in candidates.values()]
        scale, consensus = self._scale_and_shape(candidates)
        curve = None
        names = question.names(scale)
        if plan.n_clusters is None:
            plan, curve = self._number(scale)
        else:
            plan = self.plan = replace(plan, consensus=consensus)
            if consensus == "graph":
                curve = self._curve(names, consensus, 1)
        if plan.projection == "auto":
            plan = replace(plan, projection=self._projection(names, plan))
        scaling = (
            Scaling.learn(question.rows, scale, plan.weight_unit)
            if question.by_columns
            else question.scaling(names)
        )
        pairs = zip(scale, plan.scale, strict=True) if plan.scale else ()
        scaling = replace(scaling, chosen=tuple(name in KINDS and given == "auto" for name, given in pairs))
        return Chosen(plan, scaling, tuple(self.choices), curve)

    # ---- each choice

    def _scale_and_shape(self, candidates: dict[str, Names]) -> tuple[Names, str]:
        """The best of these scales, by name, and what forms the clusters."""
        question, shapes = self.question, self._shapes()
        given, simplest = self.plan.consensus, next(iter(candidates))
        open_ = {"scale": len(candidates) > 1, "consensus": len(shapes) > 1}
        reason = None
        if not question.can_be_asked:
            reason = TOO_FEW
            if question.rows.n_columns == 1 and "euclidean" in candidates:
                simplest = "euclidean"  # at unit length only the sign of a number would be left
        elif any(open_.values()) and self._separated(question.names(candidates[simplest])):
            reason = SEPARATED
        if reason or not any(open_.values()):
            for what, chosen in (("scale", simplest), ("consensus", shapes[0])):
                if reason and open_[what]:
                    self._note(what, chosen, reason)
            return candidates[simplest], given if given != "auto" else shapes[0]
        entries = [(name, shape) for shape in shapes for name in candidates]
        scorers = [self._scorer(question.names(candidates[name]), shape) for name, shape in entries]
        scores = dict(zip(entries, race(question, scorers), strict=True))
        best = {
            shape: _decided("scale", {name: scores[name, shape] for name in candidates}) for shape in shapes
        }
        by_shape = {shape: scores[best[shape].chosen, shape] for shape in shapes}
        consensus = shape(by_shape)
        scale = best[consensus.chosen]
        self.choices += [each for each in (scale, consensus) if open_[each.what]]
        return candidates[scale.chosen], consensus.chosen if given == "auto" else given

    def _shapes(self) -> tuple[str, ...]:
        """What may form the clusters, the simplest first."""
        question, plan = self.question, self.plan
        if plan.n_clusters is None or plan.consensus in ("plain", "neighbours"):
            return ("plain",)
        if plan.consensus == "graph":
            return ("graph",) if self._n_anchors else ("plain",)
        if not question.can_be_asked or not n_anchors_of(question, plan.n_clusters):
            self._note("consensus", "plain", "too few rows for anchors")
        elif question.n_clusters != plan.n_clusters:
            self._note("consensus", "plain", "too many clusters for anchors")
        else:
            return "plain", "graph"
        return ("plain",)

    def _projection(self, names: Names, plan: Plan) -> int | None:
        """The number of columns that dense views of a graph are mapped to; None: they are not."""
        question, n_columns = self.question, n_mapped(plan.n_clusters or 1)
        if plan.consensus != "graph" or question.n_clusters != plan.n_clusters or plan.n_clusters < 2:
            return None  # nothing to be noted: there is no candidate
        rows = question.rows
        widths = [0 if view is None else view.shape[1] for view in rows.chunk.views]
        wide = any(w > n_columns and is_filled(rows, v) for v, w in enumerate(widths))
        if not wide or not question.can_be_asked or not self._n_anchors:
            return None
        self._note("projection", f"{n_columns} columns", MAPPED)
        return n_columns

    def _number(self, scale: Names) -> tuple[Plan, Curve | None]:
        """The number of clusters, by the curve with the highest score; then what forms them."""
        question, plan, names = self.question, self.plan, self.question.names(scale)
        shapes = {"auto": ("merge", "graph"), "graph": ("graph",)}.get(plan.consensus, ("merge",))
        curves = [self._curve(names, shape, NUMBER_FOLDS) for shape in shapes]
        known = [curve for curve in curves if curve is not None]
        if not known:
            number, curve = min(2, max(len(question.usable), 1)), None
            self._note("n_clusters", str(number), TOO_FEW)
            self._warn_of_number(TOO_FEW, number)
        else:
            curve = max(known, key=lambda each: float(each.values.max()))
            number, clear, reason = curve.estimate(plan.known_clusters)
            if not clear:
                self._warn_of_number(reason, number)
            scores = dict(zip(map(str, curve.numbers.tolist()), curve.values.tolist(), strict=True))
            self.choices.append(Choice("n_clusters", str(number), scores, float(curve.errors.max()), reason))
        question.plan, self.plan = (replace(each, n_clusters=number) for each in (question.plan, plan))
        self._fits.clear()
        _, consensus = self._scale_and_shape({"": scale})
        return replace(self.plan, consensus=consensus), curve

    def _warn_of_number(self, reason: str, number: int) -> None:
        warn(
            f"n_clusters='auto': {reason}. The {len(self.question.usable):,} rows looked at do not determine "
            f"the number of clusters; {number} were taken. Look at `cluster_curve_`, and give the number."
        )

    def _note(self, what: str, chosen: str, reason: str) -> str:
        self.choices.append(Choice(what, chosen, reason=reason))
        return chosen

    # ---- what they are chosen by

    def _separated(self, names: Names) -> bool:
        return self._fitted(self.question.fold(0), names, "plain").separated

    def _scorer(self, names: Names, shape: str = "plain") -> Scorer:
        return lambda fold: fold.score(self._fitted(fold, names, shape).labels, self.spaces)

    def _fitted(self, fold: Fold, names: Names, shape: str) -> Fitted:
        key = names, shape, fold.number
        if key not in self._fits:
            anchored, n_clusters = self._anchored(fold, names), self.question.n_clusters
            if shape == "graph":
                self._fits[key] = Fitted(next(anchored.cuts([n_clusters], shape)))
            else:
                self._fits[key] = anchored.plain(n_clusters)
        return self._fits[key]

    def _anchored(self, fold: Fold, names: Names) -> Anchored:
        key = names, fold.number
        if key not in self._anchors:
            number = self._n_anchors or n_small(self.question)
            self._anchors[key] = Anchored.fitted(fold, names, number)
        return self._anchors[key]

    @property
    def _n_anchors(self) -> int:
        n_clusters = None if self.plan.n_clusters is None else self.question.n_clusters
        return n_anchors_of(self.question, n_clusters)

    def _curve(self, names: Names, shape: str, n_folds: int) -> Curve | None:
        if not self.question.can_be_asked or not self._n_anchors:
            return None
        fits = [self._anchored(fold, names) for fold in self.question.folds(n_folds)]
        return curve_of(self.question, fits, shape, self.spaces)


def _decided(what: str, scores: dict[str, list[Score]]) -> Choice:
    """The simplest candidate, or the best of those that are clearly better; the simplest is given first."""
    simplest = taken = next(iter(scores))
    error = most = 0.0
    for name in list(scores)[1:]:
        found = compared(scores[name], scores[simplest])
        error = max(error, found.error)
        if found.better and found.gain > most:
            taken, most = name, found.gain
    means = {name: float(np.mean([each.mean for each in own])) for name, own in scores.items()}
    return Choice(what, taken, means, error, SIMPLEST if taken == simplest else PREDICTS)


def shape(scores: dict[str, list[Score]]) -> Choice:
    """What forms the clusters: the graph also where it is about as good as centres, and tells something."""
    decided = _decided("consensus", scores)
    if len(scores) == 1 or decided.chosen == "graph":
        return decided
    graph, plain = scores["graph"], scores["plain"]
    found = compared(graph, plain)
    if compared(plain, graph).better or found.score <= CLEAR * found.error:
        return decided
    return replace(decided, chosen="graph", reason="centres do not predict hidden views clearly better")


def scales(rows: MeasuredRows, plan: Plan) -> dict[str, Names]:
    """The scales to choose from, by name: for each view its scale, the simplest first."""
    wanted = plan.scale or ("unit",) * rows.n_views
    suited, kinds, lengths = list(wanted), list(wanted), list(wanted)
    for v, (view, name) in enumerate(zip(rows.chunk.views, wanted, strict=True)):
        if name == "auto":
            seen = rows.present(v) & rows.counted
            suited[v] = kinds[v] = lengths[v] = "unit"
            if view is not None and seen.any():
                gaps = rows.chunk.gaps[v] if rows.chunk.gaps else None
                columns = columns_of(view, seen, gaps=gaps)
                suited[v] = automatic(columns)
                kinds[v] = possible_kind(view, seen, columns) or suited[v]
                lengths[v] = suited[v] if scipy.sparse.issparse(view) else "euclidean"
    found = {"unit": tuple("unit" if name == "auto" else name for name in wanted)}
    for names in (suited, kinds, lengths):
        if tuple(names) not in found.values():
            views = zip(names, wanted, rows.chunk.views, strict=True)
            own = {name for name, given, view in views if given == "auto" and view is not None}
            found["+".join(sorted(own))] = tuple(names)
    return found
