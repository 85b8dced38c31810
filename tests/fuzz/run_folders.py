"""Run folders whose files were changed and made to fit their digests: resuming ends, or says why not."""

from __future__ import annotations

import contextlib
import hashlib
import io
import shutil
from dataclasses import dataclass
from pathlib import Path

from tests.fuzz.mutants import changed_bytes, closed, mutant, opened, sealed

import viewpass as vp
from commands import write_table
from viewpass.cli import fit
from viewpass.labels import writing as label_file
from viewpass.runs import work
from viewpass.runs.folder import RunFolder
from viewpass.runs.run import Run, RunOptions, StoppedError
from viewpass.sources import source

SECONDS = 4  # reading a table anew takes longer than a model file
BLOCK = 16  # rows read at a time
PLAIN = {"sample_size": 40, "consensus": "plain"}
GRAPH = {"sample_size": 40, "n_anchors": 12, "consensus": "graph"}
BEGUN = [  # settings, whether rows have ids, whether they are read once, steps before the stop
    (PLAIN, True, False, 3),
    (PLAIN, True, False, 12),
    (PLAIN, False, True, 2),
    (PLAIN, True, True, 6),
    ({}, True, True, 3),
    (GRAPH, True, False, 20),
    (GRAPH, True, True, 6),
    ({"sample_size": 40, "projection": 2, "consensus": "graph"}, False, False, 12),
    (PLAIN, True, False, None),
]


@dataclass
class Begun:
    """A run that was stopped, or has ended."""

    settings: dict
    id: str | None
    once: bool
    folder: Path


runs: list[Begun] = []


def prepare(folder):
    write_table(folder / "items.parquet", 120)
    source.READ_ROWS = work.BLOCK = label_file.CHUNK = BLOCK
    for number, (settings, with_ids, once, n_steps) in enumerate(BEGUN):
        begun = Begun(settings, "item" if with_ids else None, once, folder / str(number))
        make(begun, n_steps, folder)
        runs.append(begun)


def parts(begun, folder):
    model = vp.ViewPass(3, random_state=0, n_threads=1, **begun.settings)
    return model, vp.scan(str(folder / "items.parquet"), views=["image", "text"], id=begun.id)


def make(begun, n_steps, folder):
    """Run until so many chunks were read, or to the end."""
    into = RunFolder(begun.folder)
    into.open(resume=False)
    run = Run(*parts(begun, folder), into, stream_labels=begun.once)
    seen = []

    def stopping():
        seen.append(None)
        return n_steps is not None and len(seen) >= n_steps

    with contextlib.suppress(StoppedError):
        run.go(RunOptions(every=1, stopping=stopping))
    into.close()


def trial(random, folder):
    begun = runs[int(random.integers(len(runs)))]
    out = folder / "run"
    shutil.copytree(begun.folder, out)
    damage(out, random)
    shown = io.StringIO()
    with contextlib.suppress(vp.ViewpassError), contextlib.redirect_stdout(shown):
        about, how = {"stream_labels": begun.once}, {"resume": True, "every": 1, "as_json": True}
        fit.run(*parts(begun, folder), RunFolder(out), about, None, **how, report=True)
    with contextlib.suppress(vp.ViewpassError, FileNotFoundError):
        vp.load(out / "model.viewpass")


def damage(out, random):
    into = RunFolder(out)
    staged = sorted(path for path in out.rglob("*") if path.is_file() and path.name != "lock")
    path = staged[int(random.integers(len(staged)))]
    if into.begun and random.random() < 0.5:
        path = into.checkpoint
    if random.random() < 0.03:  # not what it should be
        path.unlink()
        if random.random() < 0.5:
            path.mkdir()
        return
    if path == into.checkpoint:
        others = [begun for begun in runs if RunFolder(begun.folder).begun]
        other = RunFolder(others[int(random.integers(len(others)))].folder).checkpoint
        path.write_bytes(mutant(path.read_bytes(), other.read_bytes(), random, b"ckpt"))
        return
    path.write_bytes(changed_bytes(path.read_bytes() or b"\0", random.bytes(400), random))
    if path.parent == into.staging:
        fit_checkpoint(into, path)


def fit_checkpoint(into, path):
    """Write size and digest of a file into the checkpoint that refers to it."""
    meta, arrays = opened(into.checkpoint.read_bytes())
    content = path.read_bytes()
    extent = {"size": len(content), "sha256": hashlib.sha256(content).hexdigest()}
    if meta["work"].get(path.name) is not None:
        meta["work"][path.name] = extent
    into.checkpoint.write_bytes(sealed(closed(meta, arrays), b"ckpt"))
