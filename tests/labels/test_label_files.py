"""A label file returns what was written to it, for any ids."""

from __future__ import annotations

from io import BytesIO
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from viewpass.labels.columns import COLUMNS
from viewpass.labels.formats import TableFile, about_labels
from viewpass.labels.writing import GROUP_ROWS

N = GROUP_ROWS + 1000
IDS = {
    "numbers": None,
    "large": pa.array(np.arange(N, dtype=np.uint64) * np.uint64(2**40 + 7)),
    "small": pa.array((np.arange(N) % 250 - 120).astype(np.int8)),
    "text": pa.array([f"row {i}" for i in range(N)]),
    "moments": pa.array(np.arange(N).astype("datetime64[us]")),
}


@pytest.mark.parametrize("ids", IDS)
def test_it_is_read_as_it_was_written(ids):
    rng = np.random.default_rng(0)
    n_seen = rng.integers(0, 3, size=N)
    labels = np.where(n_seen, rng.integers(0, 5, size=N), -1).astype(np.int32)
    distance, margin = rng.random((2, N), dtype=np.float32)
    distance[n_seen == 0] = margin[n_seen == 0] = np.nan
    ids_of = pa.array(np.arange(N)) if IDS[ids] is None else IDS[ids]
    columns = [
        pa.array(values, field.type, mask=np.isnan(values) if values.dtype.kind == "f" else None)
        for values, field in zip((labels, distance, margin, n_seen), COLUMNS, strict=True)
    ]
    schema = pa.schema([pa.field("id", ids_of.type, nullable=False), *COLUMNS])
    table = pa.Table.from_arrays([ids_of, *columns], schema=schema)
    content, other = BytesIO(), BytesIO()
    for file, step in ((content, 50_000), (other, 7_000)):
        about = about_labels("final", "id")
        with TableFile(Path("labels.parquet"), file, group_rows=GROUP_ROWS, about=about) as out:
            for start in range(0, N, step):
                out.write(table.slice(start, step))
    assert content.getvalue() == other.getvalue()
    found = pq.read_table(BytesIO(content.getvalue()))
    expected = pa.array(np.arange(N)) if IDS[ids] is None else IDS[ids]
    assert found["id"].combine_chunks().equals(expected)
    for name, values in (("cluster", labels), ("views_seen", n_seen)):
        np.testing.assert_array_equal(found[name].to_numpy(), values)
    for name, numbers in (("distance", distance), ("margin", margin)):
        np.testing.assert_array_equal(np.isnan(numbers), found[name].is_null().to_numpy())
        np.testing.assert_array_equal(found[name].to_numpy(), numbers)
