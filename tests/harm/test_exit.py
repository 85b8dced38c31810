"""A process that has fitted, pickled and used Dask exits without a word from the bindings."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest

FITTED = """
import pickle
import numpy as np
import viewpass as vp
rng = np.random.default_rng(0)
views = [rng.standard_normal((300, width)) for width in (6, 4)]
models = [
    kind(3, random_state=0, **settings).fit(views)
    for kind, settings in (
        (vp.ViewPass, {}),
        (vp.ViewPass, {"consensus": "graph"}),
        (vp.ViewPass, {"sample_size": 100}),
        (vp.OPIMC, {"chunk_size": 100}),
        (vp.IMC, {}),
    )
]
models += [pickle.loads(pickle.dumps(model)) for model in models]
for model in models:
    model.predict(views)
    model.transform(views)
models[0].explain(views), models[0].predict_proba(views), models[1].impute([views[0], None])
"""
DASK = """
import dask.array as da
from distributed import Client
client = Client(processes=False, n_workers=1, threads_per_worker=2, dashboard_address=None)
blocks = [da.from_array(view, chunks=(100, -1)) for view in views]
models.append(vp.dask.fit(vp.ViewPass(3, random_state=0), blocks, client=client))
"""
THREAD = """
import threading, time
threading.Thread(target=lambda held: time.sleep(60), args=(models,), daemon=True).start()
"""
CYCLES = """
loop = [models]
loop.append(loop)
try:
    models[0].predict([views[0]] * 5)
except vp.DataError as problem:
    kept = problem
"""


def exit_of(code: str, **environment: str) -> str:
    """What a process writes to standard error."""
    given = {"env": os.environ | environment, "capture_output": True, "text": True, "check": False}
    done = subprocess.run([sys.executable, "-c", code], **given)
    assert done.returncode == 0, done.stderr
    return done.stderr


def test_the_bindings_hold_no_cycles() -> None:
    assert "nanobind" not in exit_of(FITTED + CYCLES, VIEWPASS_LEAKS="1")


@pytest.mark.parametrize("code", [THREAD, DASK], ids=["a thread", "Dask in the process"])
def test_nothing_is_said_of_what_threads_hold(code: str) -> None:
    assert "nanobind" not in exit_of(FITTED + code)
