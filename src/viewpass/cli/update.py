"""`viewpass update`: a saved model learns from more rows."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from viewpass.cli.arguments import check_absent, file_digests, open_data
from viewpass.cli.progress import working
from viewpass.cli.stopping import signals
from viewpass.engines.progress import Progress
from viewpass.errors import MissingExtraError, RepeatedIdsWarning, SettingError
from viewpass.estimators.persistence import load
from viewpass.estimators.viewpass import ViewPass
from viewpass.labels.columns import Wanted
from viewpass.sources.source import Source

SHOWN = 20  # events


def run(
    model: Path,
    data: Sequence[str],
    views: Sequence[str],
    id: str | None,
    out: Path | None,
    page: tuple[Path | None, Sequence[str]],
    *,
    n_threads: int | None,
    again: bool,
    as_json: bool,
) -> None:
    """Read the rows once; the model is replaced when all have been read, then the page is written."""
    report, keep = page
    if report is not None:
        check_absent(report, force=False)
    elif keep:
        raise SettingError("--keep is for the page: say with --report where to write it.")
    source = open_data(data, views, id)
    estimator = load(model)
    if not isinstance(estimator, ViewPass):
        raise SettingError(
            f"{model} holds {type(estimator).__name__}, which cannot learn from more rows: fit it again."
        )
    seen, files = getattr(estimator, "update_digests_", ()), file_digests(data)
    for name, digest in files.items():
        if digest in seen and not again and _has_rows(open_data([name], views, id)):
            raise SettingError(
                f"{name} has the content of a file that an earlier update of {model} has read: its rows "
                "would count twice. Leave it out, or count them again with --again."
            )
    if report is not None:  # refused now, not once the model is replaced
        Wanted(tuple(keep)).check(source.id_name, estimator._fitted_model())
        next(source.keeping(keep).chunks(1), None)
        source = open_data(data, views, id)
    before = estimator._learnt
    estimator.set_params(n_threads=n_threads)
    target = model if out is None else out
    with working(as_json=as_json) as (shown, show), warnings.catch_warnings():

        def watch(progress: Progress) -> None:
            show(progress.n_rows_read, progress.n_rows, "learning")

        if not again:
            warnings.simplefilter("error", RepeatedIdsWarning)
        try:
            estimator.partial_fit(source, callback=watch)
        except RepeatedIdsWarning as problem:
            raise SettingError(f"{problem} Leave them out, or count them again with --again.") from None
    estimator.update_digests_ = tuple(dict.fromkeys((*seen, *files.values())))
    with signals.finishing():
        estimator.save(target)
    learnt = estimator._learnt
    total, n_sampled = learnt.n_rows, learnt.sample.n_rows
    n_rows, n_moved = total - before.n_rows, learnt.n_moved(before, estimator._workspace())
    shown.say(f"{n_rows:,} rows read, {total:,} in all: {target}")
    shown.say(
        f"{n_moved:,} of {n_sampled:,} sampled rows ({n_moved / n_sampled:.1%}) moved to another cluster."
    )
    if learnt.solved is not None and learnt.solved_at == before.solved_at:
        shown.say(f"Clusters stay as they are until there are {learnt.next_solve:,} rows.")
    events = [event for event in learnt.identities.events if event.row > before.n_rows]
    for event in events[:SHOWN]:
        shown.say(str(event))
    if len(events) > SHOWN:
        shown.say(f"{len(events) - SHOWN:,} more events: see `events_` of the model.")
    figures: dict[str, Any] = {"rows": n_rows, "rows_in_all": total, "sampled": n_sampled, "moved": n_moved}
    if report is not None:
        try:
            estimator.report(report, open_data(data, views, id), keep=keep)
            shown.say(f"report of these rows: {report}")
            figures |= {"report": str(report)}
        except MissingExtraError as problem:
            shown.say(f"{report} was not written: {problem}")
    figures |= {"events": [event.as_dict() for event in events]}
    shown.end("finished", **figures, model=str(target))


def _has_rows(source: Source) -> bool:
    """Whether there is any row: files without rows are often alike."""
    return any(True for _ in source.chunks(1))
