"""`vp.BatchPredictor`: labels Arrow batches, for engines that run a function over them."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

from sklearn.utils.validation import check_is_fitted

from viewpass.errors import DataError, SettingError
from viewpass.labels.frames import arrow
from viewpass.reasons.calibrate import calibration_of
from viewpass.sources.scan import scan


def table_predictor(
    model: Any, schema: Any, views: Any, *, keep: Sequence[str] | None, proba: bool, explain: bool
) -> BatchPredictor:
    """A predictor for the batches of a table; by default it keeps the columns that are no views."""
    made = BatchPredictor(model, views, keep=keep, proba=proba, explain=explain)
    calibration_of(model._fitted_model())  # once, here
    if keep is None:
        empty = schema.empty_table()
        made._keep = scan(empty, views=views if views is not None else made._own_views(empty)).left_out
    return made


class BatchPredictor:
    """Labels Arrow batches: a function of a RecordBatch (or Table) that gives one.

    For engines that run a function over batches of rows: DuckDB, Polars, Lance, Hugging Face datasets, Ray,
    Spark. It can be pickled; made of a path, it loads the model where it is first called.

    Parameters
    ----------
    model : fitted ViewPass, or path of a model file
    views : as in `vp.scan`, optional
        The columns of each view; by default the columns of the model's names.
    keep : list of str, optional
        Columns of the batch to return in front of the labels; by default all. [] returns labels alone.
    proba, explain : bool, default=False
        Also the probabilities of all clusters; the next cluster, the part of each view in the margin, an
        outlier score and whether the label stays without any one view.

    Examples
    --------
    >>> import pyarrow as pa
    >>> import viewpass as vp
    >>> lists = [[1.0, 0.1], [0.9, 0.0], None, [0.0, 1.0]]
    >>> items = pa.table({"item": [1, 2, 3, 4], "image": lists, "text": [[1.0], [2.0], [3.0], [4.0]]})
    >>> model = vp.ViewPass(n_clusters=2, random_state=0).fit(vp.scan(items, id="item"))
    >>> label = vp.BatchPredictor(model, keep=["item"])
    >>> label(items).column_names
    ['item', 'cluster', 'distance', 'margin', 'views_seen', 'has_views', 'confidence']
    """

    def __init__(
        self,
        model: Any,
        views: Any = None,
        *,
        keep: Sequence[str] | None = None,
        proba: bool = False,
        explain: bool = False,
    ) -> None:
        self._path = model if isinstance(model, str | os.PathLike) else None
        self._model: Any = None if self._path is not None else model
        self._views, self._keep, self._proba, self._explain = views, keep, proba, explain
        if self._model is not None:
            check_is_fitted(self._model)

    def __call__(self, batch: Any) -> Any:
        """Give a batch with the labels of its rows."""
        pa = arrow()
        if not isinstance(batch, pa.RecordBatch | pa.Table):
            raise DataError(f"a RecordBatch or a Table was expected, not a {type(batch).__name__}.")
        made = self._labelled(batch)
        if isinstance(batch, pa.Table):
            return made
        whole = made.combine_chunks()
        arrays = [
            column.chunk(0) if column.num_chunks else pa.array([], column.type) for column in whole.columns
        ]
        return pa.RecordBatch.from_arrays(arrays, schema=whole.schema)

    def iterate(self, batches: Iterable[Any]) -> Iterator[Any]:
        """Label batches one after the other, as Spark's `mapInArrow` wants it."""
        return map(self, batches)

    def _labelled(self, batch: Any) -> Any:
        pa = arrow()
        from viewpass.labels.columns import OWN, Wanted
        from viewpass.labels.writing import labelled_tables

        if self._model is None:
            from viewpass.estimators.persistence import load

            assert self._path is not None
            self._model = load(self._path)
        model = self._model
        views = self._views if self._views is not None else self._own_views(batch)
        kept = batch.column_names if self._keep is None else list(self._keep)
        for name in kept:
            if name not in batch.column_names:
                raise SettingError(f"there is no column {name!r} to keep.")
            if name in OWN:
                raise SettingError(f"column {name!r} would have the name of a column of labels. Rename it.")
        rows = pa.table(batch.columns, schema=batch.schema)
        empty = len(rows) == 0
        if empty:  # the columns of labels are known by labelling a row without views
            rows = pa.table({field.name: pa.nulls(1, field.type) for field in rows.schema})
        source = model._read(scan(rows, views=views), None, reset=False)
        found = pa.concat_tables(labelled_tables(model, source, Wanted((), (), self._proba, self._explain)))
        found = found.slice(0, 0) if empty else found
        before = batch.select(kept)
        columns = [*before.columns, *found.columns[1:]]
        return pa.table(columns, names=[*before.schema.names, *found.column_names[1:]])

    def _own_views(self, batch: Any) -> list[str]:
        """The model's views that are columns of the batch."""
        names = [name for name in self._model.view_names_in_ if name in batch.column_names]
        if not names:
            wanted = ", ".join(map(repr, self._model.view_names_in_))
            raise DataError(f"none of the views {wanted} is a column of the batch: name them by views=.")
        return names

    def __getstate__(self) -> dict[str, Any]:
        return {**self.__dict__, "_model": None} if self._path is not None else self.__dict__
