"""`viewpass predict`: labels of new rows, streaming."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from viewpass.cli.progress import display
from viewpass.cli.stopping import asked_to_stop
from viewpass.cluster.persistence import load
from viewpass.cluster.runs.label_file import write_labels
from viewpass.errors import SettingError
from viewpass.sources.source import Source


def run(
    model: Path,
    data: Source,
    out: Path,
    *,
    chunk_size: int,
    n_threads: int | None,
    force: bool,
    as_json: bool,
) -> None:
    """Label every row; the file appears when all are labelled."""
    if out.exists() and not force:
        raise SettingError(f"--out {out} exists. Name another file, or write over it with --force.")
    estimator = load(model).set_params(n_threads=n_threads)
    with display(as_json=as_json) as shown, asked_to_stop() as stopping:

        def watch(done: int, sizes: Any) -> None:
            shown.show(done, data.n_rows, "labelling", None, sizes)
            if stopping():
                raise KeyboardInterrupt

        n_rows, sizes = write_labels(estimator, data, out, chunk_size=chunk_size, watch=watch)
    shown.say(f"{n_rows:,} rows labelled: {out}")
    shown.end("finished", rows=n_rows, clusters=sizes.tolist(), labels=str(out))
