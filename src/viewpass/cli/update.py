"""`viewpass update`: a model goes on learning from new rows."""

from __future__ import annotations

from pathlib import Path

from viewpass.cli.predict import watching
from viewpass.cli.progress import display
from viewpass.cli.stopping import asked_to_stop
from viewpass.cluster.opimc import OPIMC
from viewpass.cluster.persistence import load
from viewpass.cluster.streaming import learn
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
            f"{model} holds {type(estimator).__name__}, which cannot go on learning; fit it anew."
        )
    estimator.set_params(n_threads=n_threads)
    target = model if out is None else out
    with display(as_json=as_json) as shown, asked_to_stop() as stopping:
        watch = watching(shown, data.n_rows, "learning", stopping)
        n_rows = learn(estimator, data, chunk_size=chunk_size or estimator.chunk_size, watch=watch)
        estimator.save(target)
    total = estimator._learnt.n_rows
    shown.say(f"{n_rows:,} rows read, {total:,} in all: {target}")
    shown.end("finished", rows=n_rows, rows_in_all=total, model=str(target))
