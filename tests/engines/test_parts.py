"""How rows are divided into partitions."""

from __future__ import annotations

import numpy as np
import pytest

import viewpass as vp
from clusters import made_rows, write_files
from viewpass.engines import parts
from viewpass.engines.parts import parts_of


@pytest.mark.parametrize("n_workers", [1, 3, 40])
@pytest.mark.parametrize("most", [100, 500, 2**20])
def test_every_row_is_in_one_partition(tmp_path, monkeypatch, n_workers, most):
    monkeypatch.setattr(parts, "BLOCK", 64)
    monkeypatch.setattr(parts, "MOST_ROWS", most)
    source = write_files(tmp_path / "files", made_rows(3000), (700, 1900), group_rows=137)
    for given in (source, vp.scan({"image": np.eye(3000, 4)})):
        found = [(part.start, part.stop) for part in parts_of(given, n_workers)]
        assert [edge for part in found for edge in part] == [
            0,
            *(edge for _, stop in found[:-1] for edge in (stop, stop)),
            3000,
        ]
        assert all(stop - start <= max(most, 137) for start, stop in found)
        assert len(found) >= min(n_workers, 20)


def test_row_groups_are_not_divided(tmp_path, monkeypatch):
    monkeypatch.setattr(parts, "BLOCK", 64)
    source = write_files(tmp_path / "files", made_rows(3000), (700, 1900), group_rows=137)
    assert len(source.cuts) == 6 + 9 + 9
    assert {part.stop for part in parts_of(source, 3)} <= set(source.cuts)


def test_streams_are_refused(tmp_path):
    source = write_files(tmp_path / "files", made_rows(300), ())
    stream = vp.scan(next(source.tables(300)).to_reader(), id="item")
    with pytest.raises(vp.DataError, match="a stream cannot be divided among workers"):
        parts_of(stream, 2)
