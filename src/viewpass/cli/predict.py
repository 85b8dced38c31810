"""`viewpass predict`: labels of new rows, streaming."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from viewpass.cli.progress import display
from viewpass.cli.stopping import signals
from viewpass.errors import SettingError
from viewpass.estimators.notices import warn_of_absent
from viewpass.estimators.persistence import load
from viewpass.labels.columns import Wanted
from viewpass.labels.formats import label_format
from viewpass.labels.writing import write_labels
from viewpass.sources.source import Source


def check_out(out: Path, *, force: bool) -> None:
    """Refuse a label file that cannot or must not be written, before anything is read."""
    try:
        label_format(out)
    except SettingError as problem:
        raise SettingError(f"--out {problem}") from None
    check_absent(out, force=force)


def check_absent(out: Path, *, force: bool) -> None:
    """Refuse to write over a file."""
    if out.exists() and not force:
        raise SettingError(f"--out {out} exists. Name another file, or write over it with --force.")


def run(
    model: Path,
    data: Source,
    out: Path,
    *,
    n_threads: int | None,
    as_json: bool,
    wanted: Wanted,
) -> None:
    """Label every row; the file appears when all are labelled."""
    estimator = load(model).set_params(n_threads=n_threads)
    with display(as_json=as_json) as shown, signals.asked_to_stop() as stopping:

        def watch(done: int, sizes: Any) -> None:
            shown.show(done, data.n_rows, "labelling", sizes)
            if stopping():
                raise KeyboardInterrupt

        made = write_labels(estimator, data, out, watch, wanted=wanted)
    warn_of_absent(estimator._fitted_model(), made.views_there, estimator._workspace())
    shown.say(f"{made.n_rows:,} rows labelled: {out}")
    shown.end("finished", rows=made.n_rows, clusters=made.sizes.tolist(), labels=str(out))
