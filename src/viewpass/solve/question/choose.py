"""Chooses from the sample what was left open: scale, graph, map, number of clusters.

All by the same criterion (hidden_views.py), in this order, the simplest candidate first:

    scale         unit length; what suits the values; the kind they look like; lengths kept
    consensus     a centre for each cluster; an anchor graph, in the scale that is best for it
    projection    a learnt map to fewer columns, where there is a graph (not compared)
    n_clusters    2, 3, 4 ... (number.py)

Clusters that stay the same whichever views rows are labelled by are well separated: then nothing more is to
be gained, and nothing else is tried.
"""

from __future__ import annotations

import logging
from dataclasses import dataclass, field, replace
from typing import NamedTuple

import scipy.sparse

from viewpass.errors import warn
from viewpass.model.choice import Choice
from viewpass.model.curve import Curve
from viewpass.solve.centres import ASSUMED_CLUSTERS
from viewpass.solve.plan import Plan
from viewpass.solve.projection import is_filled, n_mapped
from viewpass.solve.question.candidates import Anchored, Fitted, n_anchors_of, n_small
from viewpass.solve.question.comparison import Difference, Scorer, compared
from viewpass.solve.question.hidden_views import Fold, Question, Score
from viewpass.solve.question.number_of_clusters import curve_of
from viewpass.sums.workspace import Workspace
from viewpass.views.columns import columns_of
from viewpass.views.kinds import KINDS, possible_kind
from viewpass.views.rows import MeasuredRows
from viewpass.views.scaling import Scaling, automatic

logger = logging.getLogger("viewpass")

WIDE = 1.25  # times as many columns as a map has are worth mapping
NUMBER_FOLDS = 6  # that the number of clusters is read off
SEPARATED = "clusters are well separated"
TOO_FEW = "too few rows or columns to compare"
TELLS_MORE = "its labels tell more about hidden views"
MAPPED = "the wide views of a graph"
SIMPLEST = "the simplest, and no other tells more about hidden views"

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
    _scores: dict[tuple[Names, str, int], Score] = field(default_factory=dict)
    _anchors: dict[tuple[Names, int], Anchored] = field(default_factory=dict)

    def run(self) -> Chosen:
        """All choices, one after another."""
        question, plan = self.question, self.plan
        candidates = scales(question.rows, plan)
        self.spaces = [question.names(names) for names in candidates.values()]
        scale = self._scale(candidates)
        curve = None
        if plan.n_clusters is not None and plan.consensus == "auto":
            consensus, scale = self._consensus(candidates, scale)
            plan = self.plan = replace(plan, consensus=consensus)
        names = question.names(scale)
        if plan.n_clusters is None:
            plan, curve = self._number(scale)
        elif plan.consensus != "plain":
            curve = self._curve(names, plan.consensus, 1)
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

    def _scale(self, candidates: dict[str, Names]) -> Names:
        question, taken = self.question, next(iter(candidates))
        if len(candidates) == 1:
            return candidates[taken]
        if not question.can_be_asked:
            if question.rows.n_columns == 1 and "euclidean" in candidates:
                taken = "euclidean"  # at unit length only the sign of a number would be left
            self._note("scale", taken, TOO_FEW)
            return candidates[taken]
        if self._separated(question.names(candidates[taken])):
            self._note("scale", taken, SEPARATED)
            return candidates[taken]
        graph = self.plan.consensus == "graph" and self.plan.n_clusters is not None and self._n_anchors > 0
        return candidates[self._best_scale(candidates, "graph" if graph else "plain")]

    def _best_scale(self, candidates: dict[str, Names], shape: str) -> str:
        """The scale in which clusters of this shape tell most; it is noted in place of an earlier one."""
        simplest = taken = next(iter(candidates))
        scores, error, most = dict[str, float](), 0.0, 0.0
        for name in list(candidates)[1:]:
            pair = (self._scorer(self.question.names(candidates[each]), shape) for each in (name, simplest))
            found = compared(self.question, *pair)
            scores.setdefault(simplest, found.other)
            scores[name] = scores[simplest] + found.gain  # divisions are as many as each comparison took
            error = max(error, found.error)
            if found.matters and found.gain > most:
                taken, most = name, found.gain
        reason = SIMPLEST if taken == simplest else TELLS_MORE
        others = [choice for choice in self.choices if choice.what != "scale"]
        self.choices = [Choice("scale", taken, scores, error, reason), *others]
        return taken

    def _consensus(self, candidates: dict[str, Names], scale: Names) -> tuple[str, Names]:
        """What forms the clusters, and the scale; `scale` is that of centres, a graph may want another.

        `candidates`: other scales; none where the number of clusters was estimated from the same rows.
        """
        question, names = self.question, self.question.names(scale)
        if not question.can_be_asked or not n_anchors_of(question, self.plan.n_clusters):
            return self._note("consensus", "plain", "too few rows for anchors"), scale
        if question.n_clusters != self.plan.n_clusters:
            return self._note("consensus", "plain", "too many clusters for anchors"), scale
        if self._separated(names):
            return self._note("consensus", "plain", SEPARATED), scale
        plain, other = self._scorer(names), scale
        found = compared(question, self._scorer(names, "graph"), plain)
        if len(candidates) > 1 and found.gain > -found.error:
            noted, best = self.choices, self._best_scale(candidates, "graph")
            scores = self.choices[0].scores
            highest = max(scores, key=lambda name: scores[name])
            for name in dict.fromkeys([best, highest]):  # the simplest may be undecided where another is not
                other = candidates[name]
                found = compared(question, self._scorer(question.names(other), "graph"), plain)
                if found.better:
                    if name != best:
                        self.choices[0] = replace(self.choices[0], chosen=name, reason=TELLS_MORE)
                    break
            else:
                self.choices = noted
        taken = self._decided("consensus", ("plain", "graph"), found)
        return taken, other if taken == "graph" else scale

    def _projection(self, names: Names, plan: Plan) -> int | None:
        """The number of columns that dense views of a graph are mapped to; None: they are not."""
        question, n_columns = self.question, n_mapped(plan.n_clusters or 1)
        if plan.consensus != "graph" or question.n_clusters != plan.n_clusters or plan.n_clusters < 2:
            return None  # nothing to be noted: there is no candidate
        rows = question.rows
        widths = [0 if view is None else view.shape[1] for view in rows.chunk.views]
        wide = any(w >= WIDE * n_columns and is_filled(rows, v) for v, w in enumerate(widths))
        if not wide or not question.can_be_asked or not self._n_anchors:
            return None
        self._note("projection", f"{n_columns} columns", MAPPED)
        return n_columns

    def _number(self, scale: Names) -> tuple[Plan, Curve | None]:
        """The number of clusters, by the curve with the highest score; then what forms them."""
        question, plan, names = self.question, self.plan, self.question.names(scale)
        shapes = {"auto": ("merge", "graph"), "plain": ("merge",)}.get(plan.consensus, (plan.consensus,))
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
        self._scores.clear()
        consensus = plan.consensus
        if consensus == "auto":
            consensus, _ = self._consensus({}, scale)
        return replace(self.plan, consensus=consensus), curve

    def _warn_of_number(self, reason: str, number: int) -> None:
        warn(
            f"n_clusters='auto': {reason}. The {len(self.question.usable):,} rows looked at do not determine "
            f"the number of clusters; {number} were taken. Look at `cluster_curve_`, and give the number."
        )

    def _note(self, what: str, chosen: str, reason: str) -> str:
        self.choices.append(Choice(what, chosen, reason=reason))
        return chosen

    def _decided(self, what: str, names: tuple[str, str], found: Difference) -> str:
        simple, other = names
        taken, reason = (other, TELLS_MORE) if found.better else (simple, SIMPLEST)
        scores = {simple: found.other, other: found.score}
        self.choices.append(Choice(what, taken, scores, found.error, reason))
        return taken

    # ---- what they are chosen by

    def _separated(self, names: Names) -> bool:
        return self._fitted(self.question.fold(0), names, "plain").separated

    def _scorer(self, names: Names, shape: str = "plain") -> Scorer:
        def score(fold: Fold) -> Score:
            key = names, shape, fold.number
            if key not in self._scores:
                self._scores[key] = fold.score(self._fitted(fold, names, shape).labels, self.spaces)
            return self._scores[key]

        return score

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
