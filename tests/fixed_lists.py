"""Lists of a fixed size in Parquet files: PyArrow 25 began to write nulls among them, 26 to read them.

viewpass itself reads them with any version, from local files of floats.
"""

from __future__ import annotations

import numpy as np
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

NULLS = int(pa.__version__.partition(".")[0]) >= 26
REASON = f"PyArrow {pa.__version__} cannot store nulls among Parquet lists of a fixed size; 26 can"
needs_nulls = pytest.mark.skipif(not NULLS, reason=REASON)
FIXED = pytest.param("fixed", marks=needs_nulls)


def write_lists(table, path, row_group_size):
    """Write a table; by polars where PyArrow cannot, so that lists of a fixed size remain such."""
    if NULLS:
        pq.write_table(table, path, row_group_size=row_group_size)
    else:
        whole = table.take(np.arange(len(table)))  # polars refuses slices of lists of a fixed size
        pl.DataFrame(whole).write_parquet(path, row_group_size=row_group_size)


def storable(lists):
    """The same rows, as lists of any size where PyArrow cannot store nulls among those of a fixed size."""
    if NULLS:
        return lists
    lengths = np.where(lists.is_null(), 0, lists.type.list_size)
    offsets = pa.array(np.concatenate([[0], np.cumsum(lengths)]), pa.int32())
    return pa.ListArray.from_arrays(offsets, lists.flatten(), mask=lists.is_null())
