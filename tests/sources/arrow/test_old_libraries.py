"""Libraries too old to be read from are refused with one error that names the version needed."""

from __future__ import annotations

import fsspec
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import viewpass as vp
from fixed_lists import needs_nulls
from tables import FORMS
from viewpass.sources.arrow import tables

ROWS = {"image": [[1.0, 2.0], [3.0, 4.0], None]}
WAYS = {"scan": vp.scan, "fit": lambda X: vp.OPIMC(2, random_state=0).fit(X)}


@pytest.fixture(params=WAYS)
def read(request):
    return WAYS[request.param]


def refused(read, data, says):
    with pytest.raises(vp.DataError, match=says) as said:
        read(data)
    assert "\n" not in str(said.value)


def installed(monkeypatch, found):
    monkeypatch.setattr(tables, "version", lambda library: found)


def test_duckdb(monkeypatch, tmp_path, read):
    installed(monkeypatch, "1.1.3")
    says = (
        r"Relation needs duckdb 1\.2 or newer, and 1\.1\.3 is installed.*'duckdb>=1\.2'.*`\.arrow\(\)` of it"
    )
    refused(read, FORMS["DuckDB relation"](tmp_path), says)


@pytest.mark.parametrize("found", ["1.2.0", "1.2.0rc1", "1.10.0", "2.0.0.dev12"])
def test_a_duckdb_that_is_new_enough(monkeypatch, tmp_path, found):
    installed(monkeypatch, found)
    assert vp.scan(FORMS["DuckDB relation"](tmp_path)).schema.names == ("image", "text")


def test_duckdb_without_arrow_streams(monkeypatch, read):
    """That of 1.0 is found by its module, as it has no `__arrow_c_stream__`."""
    installed(monkeypatch, "1.0.0")
    relation = type("DuckDBPyRelation", (), {"__module__": "duckdb.duckdb", "project": None})()
    refused(read, relation, r"duckdb 1\.2 or newer, and 1\.0\.0 is installed")


def test_a_lazy_frame(monkeypatch, read):
    installed(monkeypatch, "1.33.1")
    monkeypatch.delattr(pl.LazyFrame, "collect_batches")
    says = r"lazy frame needs polars 1\.34 or newer, and 1\.33\.1 is installed.*'polars>=1\.34'.*collect\(\)"
    refused(read, pl.LazyFrame(ROWS), says)


@pytest.mark.parametrize("form", [pl.DataFrame, lambda rows: {"image": pl.Series(rows["image"])}])
def test_a_frame_or_series_of_polars(monkeypatch, read, form):
    installed(monkeypatch, "1.0.0")
    for kind in (pl.DataFrame, pl.Series):
        monkeypatch.delattr(kind, "__arrow_c_stream__")
    says = r"of polars needs polars 1\.34 or newer, and 1\.0\.0 is installed.*to_arrow\(\)"
    refused(read, form(ROWS), says)


PROBLEM = "Expected all lists to be of size=8 but index 2 had size=0"


def at_an_address(folder, form):
    path = FORMS[form](folder)
    address = f"{folder.name}/{path.name}"
    fsspec.filesystem("memory").pipe(f"/{address}", path.read_bytes())
    return vp.scan(f"memory://{address}", id="id")


@pytest.mark.parametrize(("found", "named"), [("17.0.0", True), ("25.0.1", True), ("26.0.0", False)])
def test_nulls_among_lists_of_a_fixed_size(monkeypatch, tmp_path, found, named):
    """PyArrow's error, with the version that reads them if this one does not."""

    def failing(self, *arguments, **names):
        raise pa.ArrowInvalid(PROBLEM)

    source = at_an_address(tmp_path, "Parquet, lists")
    monkeypatch.setattr(pa, "__version__", found)
    monkeypatch.setattr(pq.ParquetFile, "iter_batches", failing)
    with pytest.raises(vp.DataError, match=rf"items\.parquet.*{PROBLEM}") as said:
        list(source.chunks(64))
    assert ("pip install 'pyarrow>=26'" in str(said.value)) == named


@pytest.mark.parametrize("form", [pytest.param("Parquet, fixed lists", marks=needs_nulls), "Parquet, lists"])
def test_what_the_installed_pyarrow_reads(tmp_path, form):
    assert sum(chunk.n_rows for chunk in at_an_address(tmp_path, form).chunks(64)) == 500
