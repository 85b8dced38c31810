"""`viewpass demo`: clusters handwritten digits, with 30% of each view removed."""

from __future__ import annotations

import csv
import os
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt
from rich.box import SIMPLE_HEAD
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn
from rich.table import Table
from scipy.optimize import linear_sum_assignment
from sklearn.cluster import MiniBatchKMeans
from sklearn.datasets import load_digits
from sklearn.metrics import confusion_matrix
from threadpoolctl import threadpool_limits

from viewpass.cli.picture import Clustering, draw
from viewpass.errors import SettingError
from viewpass.estimators.imc import IMC
from viewpass.estimators.opimc import OPIMC
from viewpass.estimators.viewpass import ViewPass
from viewpass.evaluate import accuracy, make_mask, nmi
from viewpass.evaluate.digits import digit_views
from viewpass.kernels.backend import native

Floats: TypeAlias = npt.NDArray[np.float64]
Integers: TypeAlias = npt.NDArray[np.int64]
Mask: TypeAlias = npt.NDArray[np.bool_]

N_CLUSTERS = 10
RATE = 0.3  # share of each view's rows that is removed
CHUNK = 50
REPEATS, REPEATS_NOT_COMPILED = 5, 1  # seeds that methods are compared on


@dataclass(frozen=True)
class DemoData:
    """The digits in one order, with one choice of views removed."""

    rows: Integers  # indices in scikit-learn's data set
    images: Floats
    digits: Integers
    views: dict[str, Floats]
    observed: Mask
    seed: int  # of the methods

    def part(self, rows: slice) -> DemoData:
        """Some of the rows."""
        views = {name: view[rows] for name, view in self.views.items()}
        return DemoData(
            *(self.rows[rows], self.images[rows], self.digits[rows]),
            *(views, self.observed[rows], self.seed),
        )


def make_trial(seed: int) -> DemoData:
    """Shuffle the digits, compute their views and remove some of them."""
    data = load_digits()
    order, mask, start = (int(word) for word in np.random.SeedSequence(seed).generate_state(3))
    rows = np.random.default_rng(order).permutation(len(data.images))
    images = data.images[rows]
    views = digit_views(images)
    observed = make_mask("paper", len(rows), len(views), RATE, random_state=mask)
    return DemoData(rows, images, data.target[rows], views, observed, start)


# ---- the methods


def default(trial: DemoData) -> ViewPass:
    """The model of the demo, not fitted yet."""
    return ViewPass(N_CLUSTERS, random_state=trial.seed, n_threads=1)


def published(trial: DemoData, n_passes: int) -> OPIMC:
    """Algorithm 1 of the OPIMC paper: one random start on the first chunk."""
    return OPIMC(N_CLUSTERS, chunk_size=CHUNK, n_passes=n_passes, random_state=trial.seed, n_threads=1)


def filled_kmeans(trial: DemoData) -> Any:
    """scikit-learn's MiniBatchKMeans on one wide table with missing views filled.

    Rows have unit length in each view, as in viewpass, so that no view outweighs the others.
    """
    columns = []
    for view, seen in zip(trial.views.values(), trial.observed.T, strict=True):
        unit = view / np.linalg.norm(view, axis=1, keepdims=True)
        columns.append(np.where(seen[:, np.newaxis], unit, unit[seen].mean(axis=0)))
    wide = np.concatenate(columns, axis=1)
    return MiniBatchKMeans(N_CLUSTERS, random_state=trial.seed).fit_predict(wide)


@dataclass(frozen=True)
class Method:
    """A row of the table."""

    name: str
    what: str
    labels: Callable[[DemoData], Any]


def _labels(model: ViewPass | OPIMC | IMC, trial: DemoData) -> Any:
    return model.fit_predict(trial.views, observed=trial.observed)


METHODS = (
    Method(
        "ViewPass",
        "default settings",
        lambda trial: _labels(default(trial), trial),
    ),
    Method(
        "OPIMC, one pass",
        f"the paper's method, in chunks of {CHUNK} rows",
        lambda trial: _labels(published(trial, 1), trial),
    ),
    Method(
        "OPIMC, 10 passes",
        "reads every row ten times",
        lambda trial: _labels(published(trial, 10), trial),
    ),
    Method(
        "offline IMC",
        "all rows at once, best of 10 starts",
        lambda trial: _labels(IMC(N_CLUSTERS, random_state=trial.seed, n_threads=1), trial),
    ),
    Method("MiniBatchKMeans", "views filled with column means", filled_kmeans),
)


@dataclass
class Measured:
    """Scores and seconds of a method, one value per trial."""

    acc: list[float]
    nmi: list[float]
    seconds: list[float]


# ---- the steps of the demo


def run(out: Path, seed: int, repeats: int | None, console: Console) -> None:
    """Cluster, compare, and write labels.csv and clusters.png."""
    _make_folder(out)
    repeats = repeats or (REPEATS if native is not None else REPEATS_NOT_COMPILED)
    trial = make_trial(seed)
    console.print(_introduction(trial))
    with threadpool_limits(limits=1):  # more threads do not pay on so few rows
        model = _read_once(trial, console)
        measured = _compare(seed, repeats, console)
    sign = "+-" if console.options.ascii_only else "±"
    console.print(_table(measured, sign), _notes(repeats, sign))
    found = _clustering(trial, model, seed)
    _write_labels(out / "labels.csv", trial, found.labels)
    draw(found, out / "clusters.png")
    for what, name in (("labels: ", "labels.csv"), ("picture:", "clusters.png")):
        console.print(what, out / name, markup=False, soft_wrap=True)


def _make_folder(out: Path) -> None:
    """Refuse a folder that cannot be written to before doing the work."""
    try:
        out.mkdir(parents=True, exist_ok=True)
    except (FileExistsError, NotADirectoryError):
        raise SettingError(f"--out {out}: a file is in the way. Name a folder.") from None
    if not os.access(out, os.W_OK):
        raise SettingError(f"--out {out}: no permission to write there. Name another folder.")


def _introduction(trial: DemoData) -> str:
    partial = (~trial.observed.all(axis=1)).mean()
    return (
        f"[bold]{len(trial.rows):,} handwritten digits[/] from scikit-learn in {len(trial.views)} "
        f"views: {', '.join(trial.views)}. {RATE:.0%} of each view is removed, so that {partial:.0%} "
        "of the digits lack at least one.\n"
    )


def _read_once(trial: DemoData, console: Console) -> ViewPass:
    model = default(trial)
    with _progress(console) as progress:
        task = progress.add_task("one pass, rows", total=len(trial.rows))
        for first in range(0, len(trial.rows), CHUNK):
            chunk = trial.part(slice(first, first + CHUNK))
            model.partial_fit(chunk.views, observed=chunk.observed)
            progress.advance(task, len(chunk.rows))
    return model


def _compare(seed: int, repeats: int, console: Console) -> list[Measured]:
    measured = [Measured([], [], []) for _ in METHODS]
    with _progress(console) as progress:
        task = progress.add_task("comparing, runs", total=repeats * len(METHODS))
        for repeat in range(repeats):
            trial = make_trial(seed + repeat)
            for method, values in zip(METHODS, measured, strict=True):
                began = time.perf_counter()
                labels = method.labels(trial)
                values.seconds.append(time.perf_counter() - began)
                values.acc.append(accuracy(trial.digits, labels))
                values.nmi.append(nmi(trial.digits, labels))
                progress.advance(task)
    return measured


def _progress(console: Console) -> Progress:
    return Progress(TextColumn("{task.description:<16}"), BarColumn(), MofNCompleteColumn(), console=console)


def _table(measured: list[Measured], sign: str) -> Table:
    table = Table("method", box=SIMPLE_HEAD, pad_edge=False, leading=1)
    for heading in ("ACC", "NMI", "seconds"):
        table.add_column(heading, justify="right", no_wrap=True)
    best_acc = max(float(np.mean(values.acc)) for values in measured)
    best_nmi = max(float(np.mean(values.nmi)) for values in measured)
    for method, values in zip(METHODS, measured, strict=True):
        table.add_row(
            f"{method.name}\n[dim]{method.what}[/]",
            _spread(values.acc, best_acc, sign),
            _spread(values.nmi, best_nmi, sign),
            f"{np.mean(values.seconds):.2f}",
        )
    return table


def _spread(values: list[float], best: float, sign: str) -> str:
    mean = float(np.mean(values))
    text = f"{mean:.3f}"
    if len(values) > 1:
        text += f" {sign} {np.std(values, ddof=1):.3f}"
    return f"[bold]{text}[/]" if mean >= best else text


def _notes(repeats: int, sign: str) -> str:
    values = "One seed (row order, removed views, initial centres)."
    if repeats > 1:
        values = f"Mean {sign} sd over {repeats} seeds (row order, removed views, initial centres)."
    return (
        f"{values} All methods get the same rows; settings not named above are defaults; labels are "
        "those under the final centres. Seconds: filling missing views, fitting and labelling, on one "
        "thread.\n"
    )


# ---- output


def _clustering(trial: DemoData, model: ViewPass, seed: int) -> Clustering:
    labels = model.predict(trial.views, observed=trial.observed)
    side = trial.images.shape[1]
    caption = (
        f"Default settings, seed {seed}. ACC {accuracy(trial.digits, labels):.3f}, "
        f"NMI {nmi(trial.digits, labels):.3f} against the true digits, which were not used."
    )
    return Clustering(
        images=trial.images,
        digits=trial.digits,
        labels=labels,
        observed=trial.observed,
        view_names=tuple(trial.views),
        distances=_standard_distances(trial, model, labels),
        means=model.cluster_centers_[0].reshape(-1, side, side),
        matched=match(trial.digits, labels),
        rate=RATE,
        caption=caption,
    )


def _standard_distances(trial: DemoData, model: ViewPass, labels: npt.NDArray[Any]) -> Floats:
    """Distances of rows from their centres, standardised in each view they have.

    Raw distances would rank rows by the views they lack, because the spread differs between views.
    """
    total = np.zeros(len(labels))
    for view, seen in enumerate(trial.observed.T):
        only = np.zeros_like(trial.observed)
        only[:, view] = seen
        distances = model.transform(trial.views, observed=only)[seen, labels[seen]]
        total[seen] += (distances - distances.mean()) / distances.std()
    return np.asarray(total / np.sqrt(trial.observed.sum(axis=1)))


def match(digits: Integers, labels: npt.NDArray[Any]) -> Integers:
    """The digit of each cluster: the one-to-one matching with the most correct rows."""
    table = confusion_matrix(digits, labels, labels=np.arange(N_CLUSTERS))
    matched = np.empty(N_CLUSTERS, dtype=np.int64)
    rows, columns = linear_sum_assignment(-table)
    matched[columns] = rows
    return matched


def _write_labels(path: Path, trial: DemoData, labels: npt.NDArray[Any]) -> None:
    order = np.argsort(trial.rows)
    seen = trial.observed.sum(axis=1)
    columns = (trial.rows[order], labels[order], trial.digits[order], seen[order])
    with path.open("w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file)
        writer.writerow(("row", "cluster", "digit", "views_seen"))
        writer.writerows(zip(*(column.tolist() for column in columns), strict=True))
