"""Writes MATLAB files in both formats."""

from __future__ import annotations

import pytest

from matlab_files import write_v5, write_v73


@pytest.fixture(params=[write_v5, write_v73], ids=["v5", "v7.3"])
def write(request, tmp_path):
    """Writes variables in both formats."""

    def made(variables, name="set.mat"):
        request.param(tmp_path / name, variables)
        return tmp_path / name

    return made
