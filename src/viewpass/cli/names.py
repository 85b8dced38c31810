"""`viewpass names`: shows the names that a model has for its clusters, and changes them."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path

import typer

from viewpass.cli.stopping import signals
from viewpass.errors import SettingError, printable
from viewpass.estimators.persistence import load
from viewpass.runs.folder import RunFolder


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
