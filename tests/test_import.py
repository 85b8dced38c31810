"""`import viewpass` is quick and loads nothing heavy."""

from __future__ import annotations

import subprocess
import sys

import pytest

import viewpass as vp

HEAVY = ("numba", "sklearn", "pandas", "polars", "scipy", "pyarrow", "narwhals", "matplotlib", "numpy")


@pytest.mark.system
def test_nothing_heavy_is_loaded():
    code = f"import sys, viewpass; print([name for name in {HEAVY!r} if name in sys.modules])"
    output = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert output.stdout.strip() == "[]"


@pytest.mark.parametrize("name", vp.__all__)
def test_public_names_resolve(name):
    assert getattr(vp, name).__name__ == name
    assert name in dir(vp)


def test_dir_shows_the_public_names_only():
    vp.OPIMC(n_clusters=2).get_params()  # what is imported along the way is not shown
    assert dir(vp) == sorted([*vp.__all__, "__version__", "dask", "distributed", "evaluate", "ray", "spark"])


def test_an_unknown_name_is_an_attribute_error():
    with pytest.raises(AttributeError, match="has no attribute 'OPIMCC'"):
        vp.OPIMCC  # noqa: B018
