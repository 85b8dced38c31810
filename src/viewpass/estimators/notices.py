"""Warnings of a fit about its data, each with a remedy."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from sklearn.exceptions import ConvergenceWarning

from viewpass.errors import RepeatedIdsWarning, warn
from viewpass.kernels.grid import Array
from viewpass.model.model import Model
from viewpass.reasons.calibrate import calibration_of
from viewpass.sample.keys import id_keys
from viewpass.sample.sample import Sample
from viewpass.sums.row_counts import patterns_of
from viewpass.sums.rules import Workspace
from viewpass.sums.statistics import squares_of
from viewpass.views.chunk import format_id

MANY = 0.01  # share of rows that are all zero in a view
EQUAL = 1e-8  # squared distance per row and view up to which rows count as equal; sums are exact to 1e-9
FEW_ROWS = 5  # per cluster
HARDLY = 0.95  # share of labels that stay without a view: fewer are worth a warning


def warn_of_fit(model: Model, n_found: int) -> None:
    """Warn after a whole fit; `n_found`: clusters that rows were labelled with."""
    warn_of_zero_rows(model)
    warn_of_shortened(model)
    warn_of_empty(model, n_found)


def warn_of_zero_rows(model: Model, before: Model | None = None) -> None:
    """Warn of views in which many rows count as missing because they are all zero.

    `before`: the model before it learnt more rows; what held for it has been reported.
    """
    earlier = before.zero_rows if before is not None else {}
    for name, scale in zip(model.schema.names, model.scaling.names, strict=True):
        n_zero = model.zero_rows[name]
        if n_zero <= MANY * model.n_rows:
            continue
        if before is not None and earlier.get(name, 0) > MANY * before.n_rows:
            continue
        mask = "observed= that says where they are there"
        standard = (
            f"with {mask}" if scale == "standard" else f"with scale='standard' (and arrays with {mask})"
        )
        warn(
            f"view {name!r}: {n_zero:,} of {model.n_rows:,} rows are all zero and count as missing, since a "
            f"row of zeros has no direction at scale {scale!r}. If they are missing, say so: NaN, null or "
            f"observed=. If zeros are data (marks, counts), fit {standard} or with scale='euclidean': "
            "centred, they are rows like others."
        )


def warn_of_shortened(model: Model, before: Model | None = None) -> None:
    """Warn of rows that were shortened, once: not if there were any `before` more rows were learnt."""
    for name, n_rows in model.n_shortened.items():
        if n_rows and not (before is not None and before.n_shortened[name]):
            warn(
                f"view {name!r}: {n_rows:,} rows are longer than {model.scaling.longest:g} times the root "
                "mean square (after centring), far beyond the rows that the scale was learnt from, and were "
                "shortened to that. If they are real, learn the scale from more rows (sample_size=)."
            )


def warn_of_absent(model: Model, views_there: Sequence[bool], workspace: Workspace) -> None:
    """Warn if no row has a view that the model was fitted on, and that costs more than a few labels.

    `views_there`: which views some row has; empty without rows.
    """
    fitted = np.array([bool(counts.any()) for counts in model.clusters.counts])
    there = np.array(views_there or fitted, dtype=bool)
    absent, left = np.flatnonzero(fitted & ~there), fitted & there
    if not len(absent) or not left.any():
        return
    learnt, expected = calibration_of(model, workspace), "labels may differ from those with it"
    if learnt is not None:
        share = learnt.kept(int(patterns_of(left[:, None])[0]))
        if share is None or share >= HARDLY:
            return
        expected = f"expect about {share:.0%} of labels to be the same as with it, as in the model's sample"
    names = ", ".join(repr(model.schema.names[v]) for v in absent)
    several = len(absent) > 1
    warn(
        f"no row has the view{'s' if several else ''} {names}, which the model was fitted on: {expected}. "
        "`confidence` says how sure each label is; a model fitted without it does not rely on it."
    )


def warn_of_repeated_ids(ids: Array, sample: Sample, n_before: int) -> None:
    """Warn if rows have ids of rows that were read before, as far as the sample of those shows."""
    if sample.size.half_life is not None:  # its keys depend on when rows came
        return
    known = np.isin(id_keys(ids), sample.keys)
    if not known.any():
        return
    least = "" if sample.n_rows == n_before else "at least "
    some = ", ".join(dict.fromkeys(format_id(one) for one in ids[known][:3]))
    warn(
        f"{least}{int(known.sum()):,} of {len(ids):,} rows have ids that were read before ({some} ...). "
        "A row counts as often as it is read; `forget` removes rows. (The id of a row that was read without "
        "one is its number.)",
        RepeatedIdsWarning,
    )


def warn_of_empty(model: Model, n_found: int) -> None:
    """Warn if rows were given fewer labels than there are clusters."""
    n_clusters = model.clusters.n_clusters
    if n_found >= n_clusters:
        return
    message = f"only {n_found} of {n_clusters} clusters have rows: {_reason(model)}"
    warn(message, ConvergenceWarning)


def _reason(model: Model) -> str:
    clusters = model.clusters
    n_present = [int(counts.sum()) for counts in clusters.counts]
    if clusters.objective(0.0, model.row_squares) * model.square_unit <= EQUAL * sum(n_present):
        constant = [
            repr(name)
            for v, (name, n_rows) in enumerate(zip(model.schema.names, n_present, strict=True))
            if n_rows and _is_constant(model, v, n_rows)
        ]
        which = f" (all rows in view {', '.join(constant)})" if constant else ""
        at = "" if model.scaling.lengths else " at unit length"
        shared = ", or standardise the columns (the scale 'standard')" if model.scaling.plain else ""
        return (
            f"the rows of each are equal{at}{which}, so they cannot be split. Ask for fewer clusters{shared}."
        )
    n_rows = model.read.n_seen
    few = n_rows < FEW_ROWS * clusters.n_clusters
    reason = (
        f"{n_rows} rows are few for {clusters.n_clusters} clusters"
        if few
        else "the others lost theirs as centres moved"
    )
    return f"{reason}. Ask for fewer."


def _is_constant(model: Model, v: int, n_rows: int) -> bool:
    mean = model.clusters.sums(v).sum(axis=0) / n_rows
    length = float((mean**2).sum())
    square = squares_of(model.clusters, model.row_squares)[v] / n_rows
    return (square - length) * model.square_unit <= EQUAL
