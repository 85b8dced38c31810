"""`viewpass join`, `sample`, `dedup` and `names`: what follows from the labels of a run."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path

import typer

from viewpass.cli.predict import check_out
from viewpass.cli.progress import display
from viewpass.cli.stopping import signals
from viewpass.errors import SettingError, printable
from viewpass.estimators.persistence import load
from viewpass.labels.formats import TableFile
from viewpass.runs.duplicates import dedup
from viewpass.runs.folder import RunFolder
from viewpass.runs.labels import RunLabels
from viewpass.runs.tables import join, sample
from viewpass.sources.source import Source
from viewpass.store.container.files import replacing


def run_join(run: Path, data: Source, out: Path, *, force: bool, as_json: bool) -> None:
    """Write the data with its labels."""
    check_out(out, force=force)
    labels = RunLabels(run)
    with display(as_json=as_json) as shown, signals.asked_to_stop() as stopping:

        def watch(done: int) -> None:
            shown.show(done, data.n_rows, "joining", None)
            if stopping():
                raise KeyboardInterrupt

        n_rows = join(labels, data, out, watch)
    shown.say(f"{n_rows:,} rows with their labels: {out}")
    shown.end("finished", rows=n_rows, out=str(out))


def run_sample(
    run: Path, out: Path, number: int, *, doubtful: bool, seed: int, force: bool, as_json: bool
) -> None:
    """Write some rows of each cluster."""
    check_out(out, force=force)
    drawn = sample(RunLabels(run), number, doubtful=doubtful, seed=seed)
    with replacing(out) as file, TableFile(out, file) as written:
        written.write(drawn)
    with display(as_json=as_json) as shown:
        shown.say(f"{len(drawn):,} rows: {out}")
        shown.end("finished", rows=len(drawn), out=str(out))


def run_dedup(
    run: Path, data: Source, out: Path, *, threshold: float, threads: int | None, force: bool, as_json: bool
) -> None:
    """Write the pairs of rows that are nearly the same."""
    check_out(out, force=force)
    labels, model = RunLabels(run), load(RunFolder(run).model).set_params(n_threads=threads)
    with display(as_json=as_json) as shown, signals.asked_to_stop() as stopping:

        def watch(what: str, done: int) -> None:
            shown.show(done, labels.n_rows, what, None)
            if stopping():
                raise KeyboardInterrupt

        n_pairs, n_rows = dedup(labels, model, data, out, threshold, watch)
    shown.say(f"{n_pairs:,} pairs among {n_rows:,} rows: {out}")
    shown.end("finished", pairs=n_pairs, rows=n_rows, out=str(out))


def run(path: Path, given: Sequence[str], *, as_json: bool) -> None:
    """Change the names that are given, and print all."""
    file = RunFolder(path).model if path.is_dir() else path
    model = load(file)
    if not hasattr(type(model), "cluster_names_"):
        raise SettingError(f"{file} holds {type(model).__name__}, whose clusters have no names.")
    names, n_clusters = dict(model.cluster_names_), model._fitted_model().n_clusters
    for word in given:
        cluster, name = parsed_name(word, n_clusters)
        names.pop(cluster, None)
        names |= {cluster: name} if name else {}
    if names != model.cluster_names_:
        model.cluster_names_ = names
        with signals.finishing():
            model.save(file)
    if as_json:
        typer.echo(json.dumps({str(k): names[k] for k in sorted(names)}, ensure_ascii=False))
        return
    width = len(str(n_clusters - 1))
    lines = [f"{k:>{width}}  {names.get(k, '')}".rstrip() for k in range(n_clusters)]
    typer.echo("\n".join(map(printable, lines)))
    if given and path.is_dir():
        typer.echo(printable(f"report.html is drawn with them by: viewpass report {path}"))


def parsed_name(word: str, n_clusters: int) -> tuple[int, str]:
    """A cluster and its name, of NUMBER=NAME.

    >>> parsed_name("3=machine translation", 10), parsed_name("3=", 10)
    ((3, 'machine translation'), (3, ''))
    """
    number, equals, name = word.partition("=")
    if not (equals and number.isdecimal() and int(number) < n_clusters):
        raise SettingError(
            f"{word}: expected NUMBER=NAME with a cluster from 0 to {n_clusters - 1}, as in 3='machine "
            "translation'; NUMBER= takes the name away."
        )
    return int(number), name.strip()
