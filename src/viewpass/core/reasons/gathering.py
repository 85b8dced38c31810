"""A uniform sample of the rows of a fit, gathered when they are read once more for their final labels.

The first rows of a stream need not be like the others, and centres move. So where rows are read again under
the final model, what the warm-up showed is replaced by what this sample shows. Which rows are in it follows
from their number alone: chunks, threads, workers and interruptions make no difference.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import lru_cache

import numpy as np

from viewpass.core.model import Model, assign, prepare
from viewpass.core.reasons.learning import ROWS, learn
from viewpass.core.reasons.outliers import measuring_centres, nearest_distances
from viewpass.core.state.calibration import patterns_of
from viewpass.core.step.workspace import Workspace
from viewpass.kernels.grid import Floats, Integers, Mask
from viewpass.views.chunk import Chunk, join
from viewpass.views.seeds import own_generator

MEASURED_ROWS = 2**15  # whose distances are noted


@dataclass(frozen=True)
class Gathered:
    """Of the sampled rows of a chunk: presence patterns and distances; and some of the rows themselves."""

    patterns: Integers
    distances: Floats
    rows: Chunk | None


def needed(model: Model) -> bool:
    """Whether rows were read after those that the calibration rests on."""
    return model.calibration is None or model.calibration.n_rows < model.n_rows


@lru_cache(maxsize=4)
def _sampled(n_rows: int) -> tuple[Integers, Mask]:
    """The numbers of the sampled rows, ascending, and which of them are kept."""
    rng = own_generator()
    chosen = np.sort(rng.choice(n_rows, min(n_rows, MEASURED_ROWS), replace=False))
    kept = np.zeros(len(chosen), dtype=bool)
    kept[rng.choice(len(chosen), min(len(chosen), ROWS), replace=False)] = True
    return chosen, kept


def gathered(chunk: Chunk, model: Model, workspace: Workspace) -> Gathered:
    """What the sampled rows of a chunk show; `model` is the final one, of `model.n_rows` rows."""
    chosen, kept = _sampled(model.n_rows)
    first, last = np.searchsorted(chosen, (chunk.start, chunk.start + chunk.n_rows))
    mine = chosen[first:last] - chunk.start
    if not len(mine):
        return Gathered(np.empty(0, dtype=np.int64), np.empty(0), None)
    rows = prepare(chunk.take(mine), model, workspace).measure(workspace.n_threads)
    small = () if model.calibration is None else model.calibration.small
    distances = nearest_distances(rows, measuring_centres(model, small), workspace)
    seen = rows.n_seen > 0
    patterns = patterns_of(rows.inverse > 0)[seen]
    some = mine[kept[first:last]]
    return Gathered(patterns, distances[seen], chunk.take(some) if len(some) else None)


def recalibrate(model: Model, parts: Sequence[Gathered], workspace: Workspace) -> None:
    """Let a model take over what the sample shows, given what its chunks show in the order of their rows."""
    chunks = [part.rows for part in parts if part.rows is not None]
    if not chunks:
        return
    rows = prepare(join(chunks), model, workspace).measure(workspace.n_threads)
    assigned = assign(rows, model.centres, workspace)[0]
    measured = (
        np.concatenate([part.patterns for part in parts]),
        np.concatenate([part.distances for part in parts]),
    )
    learnt = learn(rows, model, assigned, workspace, measured)
    if learnt is not None:
        model.calibration = replace(learnt, n_rows=model.n_rows)
