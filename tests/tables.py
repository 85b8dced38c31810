"""A small table of two views with gaps, in all the forms that `vp.scan` reads."""

from __future__ import annotations

import atexit

import fsspec
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.csv
import pyarrow.feather
import pyarrow.parquet as pq

from fixed_lists import write_lists

N = 500
WIDTHS = (8, 5)
_rng = np.random.default_rng(0)
IMAGE = _rng.normal(size=(N, 8)).astype(np.float32)
TEXT = _rng.normal(size=(N, 5))
IMAGE[_rng.random(N) < 0.3] = np.nan
TEXT[_rng.random(N) < 0.3] = np.nan
IDS = [f"item{i}" for i in range(N)]
WIDE = {"image": "i0:i7", "text": "t*"}  # the views of `wide()`
CONNECTIONS = []  # kept: DuckDB before 1.5 closes one that no variable holds, and its relations with it
atexit.register(CONNECTIONS.clear)


def lists(x, kind="list"):
    """A column of lists, null where the row is NaN."""
    values = [None if np.isnan(row).all() else row.tolist() for row in x]
    element = pa.float32() if x.dtype == np.float32 else pa.float64()
    types = {"list": pa.list_(element), "large list": pa.large_list(element)}
    return pa.array(values, types.get(kind, pa.list_(element, x.shape[1])))


def table(kind="list", start=0, stop=N):
    """Ids, a column that is not used, and a column of lists per view."""
    rows = slice(start, stop)
    views = {"image": lists(IMAGE[rows], kind), "text": lists(TEXT[rows], kind)}
    return pa.table({"id": IDS[rows], "note": ["x"] * (stop - start), **views})


def wide(start=0, stop=N):
    """The same with one column per feature."""
    columns = {"id": pa.array(IDS[start:stop])}
    for name, x in (("i", IMAGE), ("t", TEXT)):
        for j in range(x.shape[1]):
            columns[f"{name}{j}"] = pa.array(x[start:stop, j], from_pandas=True)
    return pa.table(columns)


def pieces(folder, kind="list"):
    """The table as three Parquet files."""
    folder.mkdir(exist_ok=True, parents=True)
    paths = []
    for number, (start, stop) in enumerate(((0, 170), (170, 171), (171, N))):
        paths.append(folder / f"part-{number}.parquet")
        pq.write_table(table(kind, start, stop), paths[-1], row_group_size=60)
    return paths


def _parquet(kind):
    def made(folder):
        path = folder / "items.parquet"
        if kind == "fixed":
            write_lists(table(kind), path, 120)
        else:
            pq.write_table(table(kind), path, row_group_size=120)
        return path

    return made


def _hive(folder):
    for number, (start, stop) in enumerate(((0, 170), (170, 400), (400, N))):
        below = folder / "hive" / f"year={2020 + number}"
        below.mkdir(parents=True)
        pq.write_table(table("list", start, stop), below / "data.parquet")
    (folder / "hive" / "_SUCCESS").touch()
    return folder / "hive"


def _folder(folder):
    pieces(folder / "all")
    (folder / "all" / "README.txt").write_text("not data")
    return str(folder / "all")


def _memory(folder):
    system = fsspec.filesystem("memory")
    for path in pieces(folder / "local"):
        system.pipe(f"/{folder.name}/{path.name}", path.read_bytes())
    return f"memory://{folder.name}/part-*.parquet"


def _feather(folder):
    pyarrow.feather.write_feather(table(), folder / "items.feather", chunksize=90)
    return folder / "items.feather"


def _ipc_stream(folder):
    with pa.ipc.new_stream(folder / "items.arrows", table().schema) as writer:
        writer.write_table(table(), max_chunksize=90)
    return folder / "items.arrows"


def _csv(folder):
    exact = pa.schema(
        [field if field.name == "id" else field.with_type(pa.float64()) for field in wide().schema]
    )
    pyarrow.csv.write_csv(wide().cast(exact), folder / "items.csv")
    return folder / "items.csv"


def _wide_parquet(folder):
    pq.write_table(wide(), folder / "wide.parquet", row_group_size=77)
    return folder / "wide.parquet"


def _relation(folder):
    import duckdb  # not held by this module: Hypothesis keeps modules to the end, and nanobind reports it

    path = _parquet("list")(folder)
    CONNECTIONS.append(duckdb.connect())
    return CONNECTIONS[-1].sql(f"select * from read_parquet('{path}')")


def _lazy(folder):
    return pl.scan_parquet(_parquet("list")(folder))


def _pandas(folder):
    columns = {
        name: pd.Series([None if np.isnan(row).all() else row for row in x], dtype=object)
        for name, x in (("image", IMAGE), ("text", TEXT))
    }
    return pd.DataFrame({"id": IDS, **columns})


FORMS = {
    "Parquet, lists": _parquet("list"),
    "Parquet, large lists": _parquet("large list"),
    "Parquet, fixed lists": _parquet("fixed"),
    "Parquet, wide": _wide_parquet,
    "paths": lambda folder: pieces(folder),
    "pattern": lambda folder: str(pieces(folder / "a")[0].parent.parent / "**" / "part-*.parquet"),
    "folder": _folder,
    "hive folder": _hive,
    "file address": lambda folder: pieces(folder)[0].parent.as_uri(),
    "memory address": _memory,
    "Feather": _feather,
    "IPC stream": _ipc_stream,
    "CSV": _csv,
    "PyArrow table": lambda folder: table("fixed"),
    "PyArrow batch": lambda folder: table("fixed").combine_chunks().to_batches()[0],
    "PyArrow reader": lambda folder: table().to_reader(max_chunksize=33),
    "polars frame": lambda folder: pl.DataFrame(table("fixed")),
    "polars lazy frame": _lazy,
    "pandas frame": _pandas,
    "DuckDB relation": _relation,
}
ONCE = ("PyArrow reader", "polars lazy frame", "DuckDB relation")


def views_for(form):
    return WIDE if form in ("CSV", "Parquet, wide") else {"image": "image", "text": "text"}


def rows_of(source, size, start=0):
    """Every view as one array (NaN where it is missing), and the chunks."""
    chunks = list(source.chunks(size, start))
    views = []
    for v, width in enumerate(WIDTHS):
        parts = []
        for chunk in chunks:
            part = np.full((chunk.n_rows, width), np.nan)
            if chunk.views[v] is not None:
                part[chunk.wanted(v)] = chunk.views[v][chunk.wanted(v)]
            parts.append(part)
        views.append(np.concatenate([np.empty((0, width)), *parts]))
    return views, chunks


def with_size(data, at, number):
    """Replace a number of a Parquet page header by another one of as many bytes; also where it ends."""
    length = next(n for n in range(1, 6) if data[at + n - 1] < 128)
    groups = [(2 * number >> 7 * n) & 127 | 128 for n in range(length)]
    groups[-1] &= 127
    assert 2 * number < 128**length
    return data[:at] + bytes(groups) + data[at + length :], at + length
