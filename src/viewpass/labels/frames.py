"""Labels as frames."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from viewpass.errors import DataError, SettingError, missing_extra
from viewpass.sources.source import Source


def labels_frame(
    model: Any,
    source: Source,
    keep: Sequence[str] = (),
    names: Sequence[str] = (),
    proba: bool = False,
    explain: bool = False,
    *,
    kind: str = "pandas",
) -> Any:
    """The labels of rows as a frame (`ViewPass.labels_frame`)."""
    if kind not in ("pandas", "polars", "arrow"):
        raise SettingError(f"kind={kind!r}: choose 'pandas', 'polars' or 'arrow'.")
    pa = arrow()
    from viewpass.labels.columns import Wanted, with_names
    from viewpass.labels.writing import labelled_tables

    wanted = Wanted.of(model._fitted_model().schema, keep, names, proba=proba, explain=explain)
    tables = list(labelled_tables(model, source, wanted))
    if not tables:
        raise DataError("the data has no rows: there is nothing to label.")
    table = pa.concat_tables(tables)
    if names:
        table = with_names(table, wanted.names(model._fitted_model(), [table]))
    if kind == "arrow":
        return table
    if kind == "pandas":
        return table.to_pandas()
    import polars as pl

    return pl.from_arrow(table)


def arrow() -> Any:
    """PyArrow, or an error that says how to install it."""
    try:
        import pyarrow
    except ImportError:
        raise missing_extra("pyarrow", "arrow", "labels as a table") from None
    return pyarrow
