"""`vp.scan`: opens tables larger than memory, from files or from Arrow streams."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from viewpass.errors import DataError, SettingError, missing_extra
from viewpass.sources.files import find_files
from viewpass.sources.kinds import common_index, is_frame, is_path, is_relation, is_series
from viewpass.sources.memory_maps import mapped, mapped_files
from viewpass.sources.mudata import of_files
from viewpass.sources.quantised import Quantised, check_names, read_quantised
from viewpass.sources.source import Source
from viewpass.views.chunk import unique_names

IN_MEMORY = ("npy", "npz", "mat")  # in memory, or memory-mapped


def scan(
    data: Any,
    views: Any = None,
    id: str | None = None,
    storage_options: Mapping[str, Any] | None = None,
    quantised: Mapping[str, Any] | None = None,
) -> Source:
    """Read a table chunk by chunk: from files, from a frame, or from a stream.

    Parameters
    ----------
    data : path, list of paths, table, frame or stream
        Files of Parquet, Arrow IPC (Feather) or CSV: a path, a glob pattern (`"items/*.parquet"`), a
        folder (with all its subfolders; names such as `year=2026` give a column), a URL that fsspec
        can open (`"s3://..."`), or a list of those. Or an object that exports an Arrow stream: a
        PyArrow table or reader, a polars frame (lazy or not) or pandas frame, a DuckDB relation. Or
        `.h5mu` and `.h5ad` files, whose modalities are views (`vp.from_mudata` to choose layers and
        embeddings). Or npz bundles and npy files (`{"image": "image.npy", "text": "text.npy"}`), which are
        memory-mapped, or a MATLAB file (`vp.load_mat`). Or a dict of columns of lists:
        `{"image": df["image"], ...}`.
    views : str, list or dict, optional
        The columns of each view, as {name: columns}; a list names each view by its column. Columns
        are one column of lists (of equal length), a pattern (`"pix_*"`), a range (`"f0:f63"`, in the
        order of the table) or a list of number columns. `("tokens", 30000)` is a sparse column
        (`struct<indices, values>` or `list<struct<index, value>>`) with its width, which may
        instead be metadata `width` of the field. By default every column of lists is a view.
    id : str, optional
        The column that identifies the rows; it comes with the chunks, and is `row_ids_` after `fit`.
    storage_options : dict, optional
        Options of the fsspec file system of a URL, such as `{"anon": True}` or credentials for
        `"s3://..."`. They are used whenever the files are opened, by Dask workers too, and are not
        written to any file. Refused for local files, tables and streams, which do not use them.
    quantised : dict, optional
        How views are stored in fewer bits than float32, by view name: "float16" or "bfloat16" (columns of
        fixed-size binary, little-endian, or of lists of uint16). Or the scale of int8, a number or one
        for each column (lists, fixed-size binary or arrays): the values are int8 times scale, in float32.
        Metadata `quantised` of a field does the same, as text or JSON. Lists and arrays of float16 need
        nothing.

    Returns
    -------
    Source
        To be given to `fit`, `partial_fit`, `predict`, `transform` or `score`. Files, tables and
        frames can be read several times; streams, relations and lazy frames once.

    Notes
    -----
    A null (or an empty list) is a missing view. Only the named columns are read, in a thread ahead of
    the computation, and no more of a file than the next rows is in memory.

    Examples
    --------
    >>> import pyarrow as pa
    >>> import viewpass as vp
    >>> items = pa.table({
    ...     "item": [1, 2, 3, 4],
    ...     "image": [[1.0, 0.1], [0.9, 0.0], None, [0.0, 1.0]],
    ...     "text": [[3.0, 1.0, 0.0], None, [0.0, 1.0, 2.0], [0.1, 1.0, 3.0]],
    ... })
    >>> model = vp.OPIMC(n_clusters=2, random_state=0).fit(vp.scan(items, id="item"))
    >>> model.view_names_in_, model.row_ids_
    (('image', 'text'), array([1, 2, 3, 4]))
    """
    if storage_options is not None and not isinstance(storage_options, Mapping):
        kind = type(storage_options).__name__
        raise SettingError(f"storage_options is a {kind}; expected a dict such as {{'anon': True}}.")
    stored = read_quantised(quantised)
    if is_path(data) or (isinstance(data, list | tuple) and data and all(map(is_path, data))):
        return _files(data, views, id, storage_options, stored)
    if storage_options:
        raise SettingError(
            f"storage_options= was given with a {type(data).__name__}, to which it does not apply. "
            "Leave it out, or give a URL such as 's3://bucket/items.parquet'."
        )
    if isinstance(data, Mapping):
        columns = [x for x in data.values() if is_series(x)]
        if not columns:
            return mapped(data, views, id, stored)
        if len(columns) < len(data):
            raise DataError("vp.scan was given columns and other data in one dict: give columns only.")
        data = dict(zip(unique_names(data), columns, strict=True))
        common_index(columns, tuple(data))
    _check_arrow()
    from viewpass.sources.arrow.chunks import ArrowSource
    from viewpass.sources.arrow.tables import MemoryReader, arrow_stream, lazy_frame

    # columns, a table, a frame, one batch
    if isinstance(data, Mapping) or is_frame(data) or hasattr(data, "__arrow_c_array__"):
        return ArrowSource(MemoryReader(data), views, id, stored)
    if hasattr(data, "collect_schema"):
        return ArrowSource(lazy_frame(data), views, id, stored)
    if is_relation(data) or hasattr(data, "__arrow_c_stream__"):
        return ArrowSource(arrow_stream(data), views, id, stored)
    raise DataError(
        f"vp.scan was given a {type(data).__name__}; expected a path or a list of paths, a table, a frame, "
        "or an object that exports an Arrow stream (`__arrow_c_stream__`)."
    )


def _check_arrow() -> None:
    try:
        import pyarrow  # noqa: F401
    except ImportError:
        raise missing_extra("pyarrow", "arrow", "vp.scan") from None


def _modalities(views: Any, id: str | None) -> Any:
    """The modalities that `views=` names; none are renamed, and rows have ids already."""
    if id is not None:
        raise SettingError(
            f"id={id!r}: the rows of .h5mu and .h5ad files are known by their observation names."
        )
    if isinstance(views, Mapping):
        if list(views) != list(views.values()):
            raise SettingError(f"views={views!r}: give the modalities of the file by their names, as a list.")
        return list(views)
    return views


def _files(
    paths: Any,
    views: Any,
    id: str | None,
    storage_options: Mapping[str, Any] | None,
    stored: Mapping[str, Quantised],
) -> Source:
    files = find_files(paths, storage_options)
    first = files[0].format
    for file in files:
        if file.format != first:
            raise DataError(
                f"{files[0].name} is of format {first}, {file.name} of {file.format}: give one format."
            )
        if first in IN_MEMORY and file.system is not None:
            raise DataError(f"{file.name}: npy, npz and mat files must be local files.")
    if first in IN_MEMORY:
        return mapped_files([file.path for file in files], views, id, stored)
    if first in ("h5mu", "h5ad"):
        check_names(stored, ())
        return of_files(files, modalities=_modalities(views, id))
    _check_arrow()
    from viewpass.sources.arrow.chunks import ArrowSource
    from viewpass.sources.arrow.formats import Csv, Ipc, Parquet
    from viewpass.sources.arrow.tables import Format, TableReader

    formats: dict[str, Format] = {"parquet": Parquet(), "ipc": Ipc(), "csv": Csv(id)}
    return ArrowSource(TableReader(files, formats[first]), views, id, stored)
