"""Random legal settings and awkward data: every path to a label agrees (tests/label_paths.py)."""

from __future__ import annotations

from pathlib import Path

import numpy as np

import odd_data
from label_paths import accepted, check, quiet

SECONDS = 20
MEMORY = 400 * 2**20


def trial(rng: np.random.Generator, folder: Path, kind: str | None = None) -> None:
    """Fit some data; what is accepted must keep the laws."""
    kind = kind or str(rng.choice(list(odd_data.KINDS)))
    data = odd_data.data(rng, kind)
    model = odd_data.model(rng, data.X)
    settings = f"{type(model).__name__}({', '.join(f'{k}={v!r}' for k, v in model.get_params().items())})"
    with quiet():
        try:
            if accepted(model.fit, *data):
                check(model, *data, folder, rng)
        except Exception as problem:
            text = " ".join(str(problem).split())
            raise AssertionError(f"{kind}, {settings}: {type(problem).__name__}: {text}") from problem
