"""OPIMC on Digit and WebKB against the authors' own program: 44 runs, row by row, on every code path."""

from __future__ import annotations

import os
import subprocess
import sys
from itertools import product

import numpy as np
import pytest

import authors
from viewpass.kernels import backend
from viewpass.kernels.backend import native

pytestmark = [
    pytest.mark.data,
    pytest.mark.filterwarnings("ignore:viewpass has no compiled module"),
    pytest.mark.filterwarnings("ignore:only .* clusters have rows"),
]
PLACES = [("digit", number) for number in range(16)] + [("webkb", number) for number in range(6)]
KINDS = ("float64", "float32", "csr64", "csr32")


@pytest.fixture(scope="module")
def runs(data_folder):
    return {"digit": authors.digit(data_folder), "webkb": authors.webkb(data_folder)}


@pytest.fixture(params=PLACES, ids=lambda place: f"{place[0]}-{place[1]}")
def run(request, runs):
    data, number = request.param
    return runs[data][number]


def test_all_settings_of_the_programs_are_here(runs):
    assert [(data, number) for data in runs for number in range(len(runs[data]))] == PLACES


@pytest.mark.parametrize("run", PLACES[::2], indirect=True)  # the others below, for a kind of rows each
def test_after_every_number_of_passes(run):
    for n_passes in range(1, run.n_passes + 1):
        run.compare("float64", n_passes, 1)


EVERY_KIND = [
    pytest.param(
        place, kind, marks=[] if kind == KINDS[place[1] // 2 % 4] and place[1] % 2 else [pytest.mark.long]
    )
    for place, kind in product(PLACES, KINDS)
]


@pytest.mark.parametrize(("run", "kind"), EVERY_KIND, indirect=["run"])
def test_for_every_kind_of_rows_and_number_of_threads(run, kind):
    for n_threads in (1, 3):
        run.compare(kind, run.n_passes, n_threads)


@pytest.mark.parametrize("run", PLACES[::2], indirect=True)
def test_chunks_take_as_many_updates_but_for_one_that_changes_nothing(run):
    assert set(authors.updates_saved(run)) <= {0, 1}


@pytest.mark.system
@pytest.mark.skipif(native is None, reason="the module is not compiled")
@pytest.mark.parametrize("step", [5, pytest.param(1, marks=pytest.mark.long)])
def test_with_portable_instructions(data_folder, runs, step):
    """The instruction set is chosen when a process begins; the others are those of this processor."""
    code = (
        "import sys, authors; from viewpass._native import kernels; print(kernels());"
        f"runs = (authors.digit(sys.argv[1]) + authors.webkb(sys.argv[1]))[::{step}]; kinds = {KINDS!r};"
        "[run.compare(kinds[n % 4], run.n_passes, 1 + n % 2) for n, run in enumerate(runs)]; print(len(runs))"
    )
    where = {"VIEWPASS_KERNELS": "portable", "PYTHONPATH": os.pathsep.join(sys.path)}
    words = [sys.executable, "-c", code, str(data_folder)]
    done = subprocess.run(words, env={**os.environ, **where}, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert done.stdout.split() == ["portable", str(len(PLACES[::step]))]


@pytest.mark.parametrize(("data", "number", "kind"), [("digit", 2, "float64"), ("webkb", 0, "csr32")])
def test_on_the_reference(runs, data, number, kind, monkeypatch):
    monkeypatch.setattr(backend, "native", None)
    runs[data][number].compare(kind, 1, 1)


@pytest.mark.long
def test_all_on_the_reference(run, monkeypatch):
    monkeypatch.setattr(backend, "native", None)
    for kind, n_passes in (("float64", 1), ("csr32", run.n_passes)):
        run.compare(kind, n_passes, 1)


def test_what_the_runs_tell_apart(runs):
    """An update rule that differs a little gives other labels somewhere: the comparison has teeth."""
    for change in ({"fill": "mean"}, {"max_iter": 3}, {"alpha": 0.2}):
        different = 0
        for run in runs["digit"][:4]:
            model = run.model(**change, compute_labels=False).fit(run.views, observed=run.observed)
            different += int(not np.array_equal(model.stream_labels_, run.labels[0]))
        assert different, change
