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
from viewpass.cluster.runs.run import Run, RunOptions, StoppedError
from viewpass.store.folder import RunFolder

SECONDS = 4  # reading a table anew takes longer than a model file
PLAIN = {"n_passes": 3, "warmup": 0, "n_anchors": None}
BEGUN = [  # settings, whether rows have ids, steps before the stop
    (PLAIN, True, 3),
    (PLAIN, True, 9),
    (PLAIN, False, 6),
    ({"n_passes": 2}, True, 3),  # collecting rows
    ({"n_passes": 2, "warmup": 40, "n_anchors": 12, "consensus": "graph"}, True, 8),
    ({"n_passes": 2, "warmup": 0, "reservoir": 9}, False, 8),
    (PLAIN, True, None),
]


@dataclass
class Begun:
    """A run that was stopped, or has ended."""

    settings: dict
    id: str | None
    folder: Path


runs: list[Begun] = []


def prepare(folder):
    write_table(folder / "items.parquet", 120)
    for number, (settings, with_ids, n_steps) in enumerate(BEGUN):
        begun = Begun(settings, "item" if with_ids else None, folder / str(number))
        make(begun, n_steps, folder)
        runs.append(begun)


def parts(begun, folder):
    model = vp.OPIMC(3, chunk_size=20, random_state=0, n_threads=1, **begun.settings)
    return model, vp.scan(str(folder / "items.parquet"), views=["image", "text"], id=begun.id)


def make(begun, n_steps, folder):
    """Run until so many chunks were read, or to the end."""
    into = RunFolder(begun.folder)
    into.open(resume=False)
    run = Run(*parts(begun, folder), into, stream_labels=begun.id is not None)
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
        given = {"every": 1, "as_json": True, "stream_labels": begun.id is not None}
        fit.run(*parts(begun, folder), out, resume=True, **given)
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
    labels, ids = meta["run"]["labels"], meta["run"]["ids"]
    content = path.read_bytes()
    extent = {"size": len(content), "sha256": hashlib.sha256(content).hexdigest()}
    for name, number in (("now", labels["pass"]), ("before", labels["pass"] - 1)):
        if labels[name] is not None and path.name == f"labels.{number % 2}":
            labels[name] = extent
    if ids is not None and path.name == "ids":
        meta["run"]["ids"] = extent
    into.checkpoint.write_bytes(sealed(closed(meta, arrays), b"ckpt"))
