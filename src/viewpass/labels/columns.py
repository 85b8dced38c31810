"""Columns of label files: cluster, distance, margin and number of observed views; how sure labels are, and
why.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa

from viewpass.errors import NotCalibratedError, SettingError
from viewpass.graph.soft_assignment import soft_assignment
from viewpass.kernels.grid import Array, Floats, Integers, Labels
from viewpass.labels.features import feature_terms
from viewpass.labels.formats import as_ids
from viewpass.labels.names import names_of
from viewpass.model.model import Model, prepare
from viewpass.reasons.calibrate import calibration_of
from viewpass.reasons.confidence import confidence_at, nearest_clusters, probabilities, separations, stability
from viewpass.reasons.contributions import contributions
from viewpass.reasons.outliers import outlier_scores, outliers
from viewpass.sums.row_counts import pattern_text, patterns_of
from viewpass.sums.rules import Workspace
from viewpass.views.chunk import Chunk, Schema
from viewpass.views.rows import MeasuredRows

ID = "id"  # the name of ids, and of row numbers, where the data has none
ROW = "row"  # the column of row numbers in the parts of a label file
COLUMNS = pa.schema(
    [
        pa.field("cluster", pa.int32(), nullable=False),
        pa.field("distance", pa.float32()),
        pa.field("margin", pa.float32()),
        pa.field("views_seen", pa.int16(), nullable=False),
    ]
)
CONFIDENCE, VIEWS, NAME = "confidence", "has_views", "cluster_name"
OWN = frozenset((*COLUMNS.names, CONFIDENCE, VIEWS, NAME))  # columns of label files


class Labelled(NamedTuple):
    """Rows with their clusters, and what the confidence of their labels follows from."""

    clusters: Labels
    columns: Any  # an Arrow table of COLUMNS
    margins: Floats  # of reasons/confidence.py
    patterns: Integers  # which views rows have
    rows: MeasuredRows  # as they were compared


def cluster_rows(chunk: Chunk, model: Model, workspace: Workspace) -> Labelled:
    """Rows with their cluster under a model."""
    rows = prepare(chunk, model, workspace).measure(workspace.n_threads)
    soft = None if model.links is None else soft_assignment(rows, model.centres, workspace)
    near = nearest_clusters(rows, model, workspace, soft)
    margins = near.relative(rows) if soft is None else separations(rows, model, workspace, soft).margins
    near_by = _floats(near.distance), _floats(near.margin)
    arrays = [pa.array(near.labels), *near_by, pa.array(rows.n_seen, pa.int16())]
    columns = pa.Table.from_arrays(arrays, schema=COLUMNS)
    return Labelled(near.labels, columns, margins, patterns_of(rows.inverse > 0), rows)


@dataclass(frozen=True)
class Wanted:
    """Columns that a label file is to have besides those of every label file."""

    keep: tuple[str, ...] = ()  # of the data
    name_by: tuple[str, ...] = ()  # of the data, that clusters are named by
    proba: bool = False  # probabilities of all clusters
    explain: bool = False  # runner-up, parts of views, outlier score, stability
    features: tuple[str, ...] = ()  # views by whose columns clusters are named
    cluster_names: Mapping[int, str] = field(default_factory=dict)  # that the model has

    @classmethod
    def of(
        cls,
        schema: Schema,
        keep: Sequence[str],
        names: Sequence[str],
        *,
        proba: bool = False,
        explain: bool = False,
    ) -> Wanted:
        """Clusters are named by columns of the table, and by views whose columns have names."""
        features = [name for name in names if name in schema.names and schema.columns_of(name) is not None]
        columns = tuple(name for name in names if name not in features)
        return cls(tuple(keep), columns, proba, explain, tuple(features))

    @property
    def named(self) -> bool:
        """Whether names of clusters are found."""
        return bool(self.name_by or self.features)

    def given_names(self, model: Any) -> Wanted:
        """The same with the names that an estimator has, unless names are found."""
        names = {} if self.named else dict(getattr(model, "cluster_names_", {}))
        return replace(self, cluster_names=names)

    def names(self, model: Model, tables: Iterable[Any]) -> dict[int, str]:
        """The names of the clusters; `tables` have the cluster of each row and what it is named by."""
        features = feature_terms(model, self.features) if self.features else ()
        found = names_of(tables, self.name_by, model.clusters.n_clusters, features)
        return {cluster: name for cluster, name in enumerate(found) if name}

    @property
    def kept(self) -> tuple[str, ...]:
        """All columns of the data that are needed."""
        return tuple(dict.fromkeys((*self.keep, *self.name_by)))

    def check(self, id_name: str | None, model: Model | None = None) -> None:
        """Refuse names that two columns would have, and reasons that the model does not have."""
        if self.proba and model is not None and calibration_of(model) is None:
            raise NotCalibratedError(
                "the model does not hold the rows that probabilities are learnt from: it was saved by "
                "save(rows=False)."
            )
        own = set(OWN)
        if model is not None and self.proba:
            own |= set(_probability_names(model))
        if model is not None and self.explain:
            own |= {"runner_up", "outlier_score", "outlier", "stable", *_part_names(model)}
        given = [name for name in (id_name or ID, *self.kept) if name]
        for number, name in enumerate(given):
            if name in own or name in given[:number]:
                raise SettingError(
                    f"column {name!r} of the data would have the name of another column of the label file. "
                    "Rename it, or leave it out."
                )


def _probability_names(model: Model) -> list[str]:
    return [f"probability_{k}" for k in range(model.clusters.n_clusters)]


def _part_names(model: Model) -> list[str]:
    return [f"part_{name}" for name in model.schema.names]


def _views(patterns: Integers, names: Sequence[str]) -> Any:
    """The views that rows have, as in "image + text"."""
    found, inverse = np.unique(patterns, return_inverse=True)
    texts = [pattern_text(pattern, names) for pattern in found.tolist()]
    return pa.array(texts, pa.string()).take(pa.array(inverse))


def with_names(table: Any, names: Mapping[int, str]) -> Any:
    """A table with the names of the rows' clusters, in the place of others that it may have."""
    kept = table.drop_columns([NAME]) if NAME in table.column_names else table
    return kept.append_column(pa.field(NAME, pa.string()), _named(np.asarray(table["cluster"]), names))


def _named(clusters: Array, names: Mapping[int, str]) -> Any:
    """The names of clusters; null where there is none."""
    known = pa.array([names.get(k) for k in range(int(clusters.max(initial=-1)) + 1)], pa.string())
    return known.take(pa.array(clusters, mask=clusters < 0))


def label_rows(
    chunk: Chunk,
    model: Model,
    workspace: Workspace,
    wanted: Wanted,
    id_name: str | None,
    id_type: Any = None,
    *,
    numbered: bool = False,
) -> tuple[Labelled, Any]:
    """Rows with their clusters, and as they stand in a label file.

    That is ids (or row numbers), columns kept of the data, those of labels, and why they are so. With
    `numbered` the rows have numbers beside ids.
    """
    found, leading = cluster_rows(chunk, model, workspace), dict[str, Any]()
    if numbered or chunk.row_ids is None:
        numbers = np.arange(chunk.start, chunk.start + chunk.n_rows, dtype=np.int64)
        leading[ROW if numbered else ID] = pa.array(numbers)
    if chunk.row_ids is not None:
        leading[id_name or ID] = as_ids(chunk.row_ids, id_type)
    fields = [pa.field(name, values.type, nullable=False) for name, values in leading.items()]
    reasons = reason_columns(chunk, found, model, workspace, wanted)
    parts = [part for part in (chunk.origin.kept, found.columns, reasons) if part is not None]
    arrays = [*leading.values(), *(column for part in parts for column in part.columns)]
    fields += [field for part in parts for field in part.schema]
    return found, pa.Table.from_arrays(arrays, schema=pa.schema(fields))


def reason_columns(chunk: Chunk, found: Labelled, model: Model, workspace: Workspace, wanted: Wanted) -> Any:
    """The columns about labels of a chunk, as an Arrow table; no confidence if the model does not have it."""
    learnt, n_clusters = calibration_of(model), model.clusters.n_clusters
    columns = {VIEWS: _views(found.patterns, model.schema.names)}
    if learnt is not None:
        columns[CONFIDENCE] = _floats(confidence_at(found.patterns, found.margins, n_clusters, learnt))
    if wanted.proba or wanted.explain:
        rows = prepare(chunk, model, workspace).measure(workspace.n_threads)
    if wanted.explain:
        why = contributions(rows, model, workspace)
        columns["runner_up"] = pa.array(why.runners_up, pa.int32(), mask=why.runners_up < 0)
        parts = np.where(rows.inverse.T > 0, why.views, np.nan)
        parts[why.runners_up < 0] = np.nan
        columns |= _by_name(_part_names(model), parts)
        if learnt is not None:
            columns["outlier_score"] = _floats(outlier_scores(rows, model, learnt, workspace))
            columns["outlier"] = pa.array(outliers(rows, model, learnt, workspace))
        columns["stable"] = pa.array(stability(rows, model, workspace).stable)
    if wanted.proba and learnt is not None:
        columns |= _by_name(_probability_names(model), probabilities(rows, model, learnt, workspace))
    if wanted.cluster_names:
        columns[NAME] = _named(found.clusters, wanted.cluster_names)
    return pa.table(columns)


def _by_name(names: Sequence[str], values: Floats) -> dict[str, Any]:
    return {name: _floats(column) for name, column in zip(names, values.T, strict=True)}


def _floats(values: Array) -> Any:
    return pa.array(values.astype(np.float32), mask=np.isnan(values))
