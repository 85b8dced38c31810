"""`viewpass update`: a saved model learns from more rows."""

from __future__ import annotations

from pathlib import Path

from viewpass.cli.progress import display
from viewpass.cli.stopping import asked_to_stop
from viewpass.cluster.opimc import OPIMC
from viewpass.cluster.persistence import load
from viewpass.engine.run import Progress
from viewpass.errors import SettingError
from viewpass.sources.source import Source


def run(
    model: Path,
    data: Source,
    out: Path | None,
    *,
    chunk_size: int | None,
    n_threads: int | None,
    as_json: bool,
) -> None:
    """Read the rows once; the model is replaced when all have been read."""
    estimator = load(model)
    if not isinstance(estimator, OPIMC):
        raise SettingError(
            f"{model} holds {type(estimator).__name__}, which cannot learn from more rows: fit it again."
        )
    before, saved_size = estimator.n_samples_seen_, estimator.chunk_size
    estimator.set_params(n_threads=n_threads, chunk_size=chunk_size or saved_size)
    target = model if out is None else out
    with display(as_json=as_json) as shown, asked_to_stop() as stopping:

        def watch(progress: Progress) -> None:
            shown.show(progress.n_rows_read, progress.n_rows, "learning", progress.loss, None)
            if stopping():
                raise KeyboardInterrupt

        estimator.partial_fit(data, callback=watch)
        estimator.set_params(chunk_size=saved_size)  # of the model, not of this command
        estimator.save(target)
    total = estimator.n_samples_seen_
    n_rows = total - before
    shown.say(f"{n_rows:,} rows read, {total:,} in all: {target}")
    shown.end("finished", rows=n_rows, rows_in_all=total, model=str(target))
