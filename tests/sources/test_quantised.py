"""Views in fewer bits: the rows, and the labels, of the same numbers as float32."""

from __future__ import annotations

import json

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import viewpass as vp
from clusters import content, made_rows

ROWS, WIDTH = 700, 12
PRESENT = ~np.isnan(made_rows(ROWS)[0][:, 0])
SCALE = np.linspace(0.01, 0.3, WIDTH, dtype=np.float32)
HALF = np.nan_to_num(made_rows(ROWS)[0]).astype(np.float16)
BRAIN = (np.nan_to_num(made_rows(ROWS)[0]).view(np.uint32) >> 16).astype(np.uint16)
BYTES = np.clip(np.rint(np.nan_to_num(made_rows(ROWS)[0]) / SCALE), -127, 127).astype(np.int8)
WIDE = {
    "float16": HALF.astype(np.float32),
    "bfloat16": (BRAIN.astype(np.uint32) << 16).view(np.float32),
    "int8": BYTES.astype(np.float32) * SCALE,
}
STORED = {"float16": HALF, "bfloat16": BRAIN, "int8": BYTES}
SAID = {"float16": "float16", "bfloat16": "bfloat16", "int8": SCALE}


def lists(x):
    values = pa.array(x.ravel())
    return pa.FixedSizeListArray.from_arrays(values, WIDTH, mask=pa.array(~PRESENT))


def ragged(x):
    return pa.array([row if there else None for row, there in zip(x, PRESENT, strict=True)])


def binary(x):
    rows = [row.tobytes() if there else None for row, there in zip(x, PRESENT, strict=True)]
    return pa.array(rows, pa.binary(x.shape[1] * x.dtype.itemsize))


def fitted(source):
    return vp.ViewPass(4, random_state=0, sample_size=300).fit(source)


def table(column, metadata=None):
    field = pa.field("image", column.type, metadata=metadata)
    return pa.table([np.arange(ROWS), column], schema=pa.schema([pa.field("item", pa.int64()), field]))


@pytest.mark.parametrize("kind", WIDE)
@pytest.mark.parametrize(
    ("form", "where"), [(lists, "file"), (ragged, "file"), (binary, "metadata"), (binary, "memory")]
)
def test_the_bits_of_the_numbers_as_float32(tmp_path, kind, form, where):
    expected = fitted(vp.scan(table(lists(WIDE[kind])), id="item"))
    noted = {"quantised": kind if kind != "int8" else json.dumps(SCALE.astype(float).tolist())}
    data = table(form(STORED[kind]), noted if where == "metadata" else None)
    if where != "memory":
        pq.write_table(data, tmp_path / "items.parquet", row_group_size=130)
        data = tmp_path / "items.parquet"
    source = vp.scan(data, id="item", quantised=None if where == "metadata" else {"image": SAID[kind]})
    assert content(fitted(source)) == content(expected)
    np.testing.assert_array_equal(fitted(source).labels_, expected.labels_)
    np.testing.assert_array_equal(
        source.span(100, 50).views[0][PRESENT[100:150]], WIDE[kind][100:150][PRESENT[100:150]]
    )


@pytest.mark.parametrize("kind", WIDE)
def test_arrays_and_npy_files(tmp_path, kind):
    np.save(tmp_path / "image.npy", STORED[kind])
    expected = fitted({"image": WIDE[kind]})
    for given in (STORED[kind], tmp_path / "image.npy"):
        assert content(fitted(vp.scan({"image": given}, quantised={"image": SAID[kind]}))) == content(
            expected
        )


def test_no_more_than_a_block_is_widened():
    source = vp.scan(table(lists(BYTES)), id="item", quantised={"image": SCALE})
    assert all(chunk.views[0].base is None or chunk.n_rows <= 64 for chunk in source.chunks(64))
    assert max(chunk.views[0].nbytes for chunk in source.chunks(64)) == 64 * WIDTH * 4


REFUSED = [
    (lists(BYTES), {"image": SCALE[:5]}, "5 scales were given for 12 columns"),
    (ragged(BYTES), {"image": SCALE[:5]}, "a list of 12 values where 5 were expected"),
    (lists(BYTES), {"image": "bfloat16"}, "does not hold rows of bfloat16 numbers"),
    (lists(WIDE["int8"]), {"image": SCALE}, "does not hold rows of int8 numbers"),
    (binary(np.zeros((ROWS, 5), np.int8)), {"image": "float16"}, "does not hold rows of float16 numbers"),
    (lists(BYTES), {"image": -SCALE}, "must be a positive number"),
    (lists(BYTES), {"image": [[1.0]]}, "must be a positive number, or one for each column"),
    (lists(BYTES), {"image": "int4"}, "expected one of float16, bfloat16, int8"),
    (lists(BYTES), {"picture": "int8"}, "names 'picture', which is no view"),
    (lists(BYTES), "int8", "expected a dict"),
]


@pytest.mark.parametrize(("column", "said", "message"), REFUSED, ids=[message for *_, message in REFUSED])
def test_what_is_refused(column, said, message):
    with pytest.raises(ValueError, match=message):
        fitted(vp.scan(table(column), id="item", quantised=said))


def test_bytes_that_could_be_read_in_two_ways():
    with pytest.raises(vp.DataError, match="Bytes are read as quantised= says"):
        vp.scan(table(binary(BRAIN)), views=["image"], id="item")
    noted = table(binary(BRAIN), {"quantised": "bfloat16"})
    with pytest.raises(vp.SettingError, match="the metadata of the column says another type"):
        vp.scan(noted, id="item", quantised={"image": "float16"})
    with pytest.raises(vp.DataError, match="metadata 'quantised' is 'int9'"):
        vp.scan(table(binary(BRAIN), {"quantised": "int9"}), id="item")
