"""The compiled module is found, or a warning says once why it is not."""

from __future__ import annotations

import subprocess
import sys
import warnings
from importlib.machinery import EXTENSION_SUFFIXES

import pytest

from viewpass.kernels import backend as finding


@pytest.fixture
def without_module(monkeypatch):
    monkeypatch.setattr(finding, "native", None)
    monkeypatch.setattr(finding, "reason", "it was not compiled when viewpass was installed")
    monkeypatch.setattr(finding, "_warned", False)


def test_the_module_found_is_the_compiled_one():
    if finding.native is None:
        pytest.skip(f"no compiled module: {finding.reason}")
    assert finding.native.__file__.endswith(tuple(EXTENSION_SUFFIXES))
    assert finding.reason == ""


def test_a_module_that_is_absent_was_not_compiled():
    module, reason = finding.find("viewpass._absent")
    assert module is None
    assert "not compiled" in reason


def test_a_module_that_is_broken_says_why(tmp_path, monkeypatch):
    (tmp_path / f"broken_native{EXTENSION_SUFFIXES[0]}").write_bytes(b"not a library")
    monkeypatch.syspath_prepend(tmp_path)
    module, reason = finding.find("broken_native")
    assert module is None
    assert "could not be loaded" in reason
    assert "broken_native" in reason


def test_a_module_that_lacks_another_says_which(tmp_path, monkeypatch):
    (tmp_path / "needy_native.py").write_text("import a_module_nobody_has\n")
    monkeypatch.syspath_prepend(tmp_path)
    module, reason = finding.find("needy_native")
    assert module is None
    assert "a_module_nobody_has" in reason


def test_the_warning_is_given_once_with_cost_and_remedy(without_module):
    with pytest.warns(RuntimeWarning, match="50 to 100 times slower") as given:
        finding.warn_if_not_compiled()
    assert "apt install g++ python3-dev" in str(given[0].message)
    assert "\n" not in str(given[0].message)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        finding.warn_if_not_compiled()


def test_no_warning_with_the_module(without_module, monkeypatch):
    monkeypatch.setattr(finding, "native", sys)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        finding.warn_if_not_compiled()


def test_the_reference_can_be_asked_for(monkeypatch):
    monkeypatch.setenv("VIEWPASS_KERNELS", "reference")
    assert finding.find() == (None, "")


@pytest.mark.system
def test_importing_viewpass_does_not_load_it():
    code = "import sys, viewpass; sys.exit('viewpass._native' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0
