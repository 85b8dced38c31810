"""scikit-learn's own checks, counted: a generic suite that ran nothing would pass too."""

from __future__ import annotations

import json
import os
import subprocess
import sys

import pytest
import sklearn

pytestmark = pytest.mark.system

# What scikit-learn 1.9.1 has for a clusterer that transforms; 1.6 has one less.
AT_LEAST = 50 if sklearn.__version__.startswith("1.6.") else 51
OF_TRANSFORMERS = 5  # of these, which the compared methods are not

# Checks that fit twice, once with weights and once with repeated rows, and expect the same labels. That holds
# to the bit for a given start (tests/laws/test_sample_weight_laws.py), but random starts draw from as many
# rows as there are. scikit-learn expects its own KMeans to fail them for the same reason.
REASON = "a random start draws other rows where rows are repeated"
REPEATED_ROWS = {f"check_sample_weight_equivalence_on_{kind}_data": REASON for kind in ("dense", "sparse")}

# Checks that take whatever has `predict_proba` for a classifier, and ask for its four classes by a tag that a
# clusterer does not have. Sparse rows are tested elsewhere (tests/estimators/test_explained.py).
CLASSES = "the check expects the classes of a classifier where there is predict_proba"
CLASSIFIERS = {f"check_estimator_sparse_{kind}": CLASSES for kind in ("array", "matrix")}

SHORT = {  # fits of the suite at the published lengths would take minutes
    "OMVC": {"max_iter": 10, "n_init": 1},
    "ONMF": {"n_init": 1},
    "MultiNMF": {"n_rounds": 1, "max_iter": 5, "n_tries": 1, "n_init": 1},
    "MIC": {"max_iter": 5, "n_tries": 1, "n_init": 1},
    "DAIMC": {"max_iter": 4, "n_init": 1},
}

# One that reads chunks and one that reads all rows at once: the others have the same base class.
FIRST = ("ONMF", "MultiNMF")

SCRIPT = """
import json, sys
from sklearn.utils.estimator_checks import check_estimator
import viewpass as vp
keys = "check_name", "status", "exception", "expected_to_fail"
for line in sys.stdin:
    name, settings, known = json.loads(line)
    how = {"on_fail": None, "on_skip": None, "expected_failed_checks": known}
    results = check_estimator(getattr(vp, name)(**settings), **how)
    print(json.dumps([[repr(result[key]) for key in keys] for result in results]), flush=True)
"""


@pytest.fixture(scope="module")
def checks():
    """A process of its own: the array API check needs the variable set before SciPy is imported."""
    environment = {**os.environ, "SCIPY_ARRAY_API": "1"}
    words = [sys.executable, "-W", "ignore", "-c", SCRIPT]
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE}
    with subprocess.Popen(words, env=environment, text=True, **pipes) as process:
        yield process
        process.stdin.close()


@pytest.mark.parametrize(
    ("name", "settings"),
    [
        *(("ViewPass", {}), ("OPIMC", {})),
        pytest.param("ViewPass", {"views": 2}, marks=pytest.mark.long),
        pytest.param("ViewPass", {"views": 2, "consensus": "graph"}, marks=pytest.mark.long),
        pytest.param("OPIMC", {"views": 2}, marks=pytest.mark.long),
        *(pytest.param("IMC", {}, marks=pytest.mark.long), ("IMC", {"views": 2})),
        *(
            pytest.param(name, {"views": 2, **short}, marks=[] if name in FIRST else pytest.mark.long)
            for name, short in SHORT.items()
        ),
    ],
    ids=str,
)
def test_every_check_runs_and_passes(checks, name, settings):
    known = {} if name in SHORT else REPEATED_ROWS
    if name == "ViewPass":
        known = known | CLASSIFIERS
    print(json.dumps([name, settings, known]), file=checks.stdin, flush=True)
    results = json.loads(checks.stdout.readline())
    not_passed = [result for result in results if result[1:] != ["'passed'", "None", "False"]]
    assert [(name, status) for name, status, *_ in not_passed] == [(repr(name), "'xfail'") for name in known]
    assert len(results) >= AT_LEAST - (OF_TRANSFORMERS if name in SHORT else 0)
