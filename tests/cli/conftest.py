from __future__ import annotations

import pytest

from commands import write_table


@pytest.fixture(scope="package")
def table(tmp_path_factory):
    return write_table(tmp_path_factory.mktemp("table") / "items.parquet", 6000)


@pytest.fixture(scope="package")
def two_chunks(tmp_path_factory):
    """A table that is labelled in two chunks."""
    return write_table(tmp_path_factory.mktemp("two_chunks") / "items.parquet", 40_000)


@pytest.fixture(scope="package")
def run(commands, table, tmp_path_factory):
    out = tmp_path_factory.mktemp("fitted") / "new" / "run"
    ended = commands.run("fit", table, "-k", "5", "--id", "item", "--out", out)
    assert ended.code == 0, ended.err
    return out, ended.out


@pytest.fixture
def model(run, tmp_path):
    path = tmp_path / "model.viewpass"
    path.write_bytes((run[0] / "model.viewpass").read_bytes())
    return path
