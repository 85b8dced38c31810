"""The methods of `ViewPass` that show what was found: a report, plots, and a text or card in a notebook."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from sklearn.base import BaseEstimator
from sklearn.utils.validation import check_is_fitted

from viewpass.errors import DataError, SettingError
from viewpass.kernels.grid import Integers
from viewpass.model.model import Model
from viewpass.report.card import card_html, card_lines
from viewpass.report.layout import centre_places
from viewpass.report.page import Page, Places, report_page
from viewpass.report.summary.fields import Summary
from viewpass.report.summary.gatherer import RowGatherer
from viewpass.report.summary.overview import summarise, take_labels, timeline_of, view_summaries
from viewpass.report.summary.row_sample import row_sampler

if TYPE_CHECKING:
    from viewpass.estimators.viewpass import ViewPass


def places_of_model(model: Model) -> Places:
    """Where the centres of a model lie on its map."""
    sizes = model.total.flat_counts.max(axis=0)
    clusters = np.arange(len(sizes)) if model.cut is None else model.cut.anchors
    return Places(centre_places(model.centres, sizes), clusters.astype(np.int64), sizes)


def summary(self: ViewPass, X: Any = None, observed: Any = None, *, rows: bool = True) -> Summary:
    """What was found, as one dict that JSON can hold: settings, views, clusters, patterns, some rows.

    Sizes, growth, presence patterns and rows are those of X. Without X there are no rows; sizes and
    growth are those of the labels that rows got when they were read. `labels` says which.

    Parameters
    ----------
    X, observed : as for `predict`, optional
    rows : bool, default=True
        Whether it may hold rows of X (ids, labels, confidence); False for data that must not leave.

    Returns
    -------
    Summary
        `viewpass.report.summary.fields` documents its fields.
    """
    return summarised(self, X, observed, rows=rows)


def report(
    self: ViewPass,
    path: str | os.PathLike[str] | None = None,
    X: Any = None,
    observed: Any = None,
    *,
    keep: Sequence[str] = (),
    names: Sequence[str] = (),
    rows: bool = True,
) -> Page | None:
    """Draw what was found as one HTML page: map, clusters, views, gaps, choices, what to try next.

    The page needs no network and has at most 2 MB, however many rows and clusters there are. With X it
    shows rows; without X, only what the model holds. Needs `pip install 'viewpass[report]'`.

    Parameters
    ----------
    path : path, optional
        File to write. Without a path the page is returned, and a notebook shows it.
    X, observed : as for `predict`, optional
        Rows to show: those of the fit, or others.
    keep : list of str
        Columns of a table (`vp.scan`) to show. Columns of data URIs, or of paths of image files,
        are shown as pictures.
    names : list of str
        Columns of the table to name clusters by; they are shown, too.
    rows : bool, default=True
        Whether the page may hold rows of X; False for data that must not leave.

    Returns
    -------
    Page or None

    Examples
    --------
    >>> import numpy as np
    >>> import viewpass as vp
    >>> rows = np.repeat(np.eye(3), 20, axis=0) + 0.1 * np.random.default_rng(0).standard_normal((60, 3))
    >>> model = vp.ViewPass(n_clusters=3, random_state=0).fit({"image": rows, "text": 2 * rows})
    >>> model.report("found.html", {"image": rows, "text": 2 * rows})
    """
    model = _model(self)
    page = report_page(summarised(self, X, observed, keep, names, rows=rows), places_of_model(model))
    if path is None:
        return page
    page.write(Path(path))
    return None


def plot(self: ViewPass, kind: str = "map", X: Any = None, observed: Any = None, *, ax: Any = None) -> Any:
    """Draw what was found by matplotlib (`pip install 'viewpass[report]'`).

    Parameters
    ----------
    kind : {"map", "sizes", "views", "missing", "curve", "loss", "timeline"}, default="map"
        "map": some rows of X, or the centres, coloured by cluster. "sizes": rows of each cluster.
        "views": the share of each view in what separates clusters. "missing": the share of rows that
        lack each view. "curve": `cluster_curve_` and the number of clusters. "loss": `loss_curve_`.
        "timeline": the shares of clusters along a stream, and its events.
    X, observed : as for `predict`, optional
        Rows to draw in a map or as sizes; by default those of the fit.
    ax : matplotlib axes, optional
        Where to draw; by default a new figure is made.

    Returns
    -------
    matplotlib axes
    """
    from viewpass.report.plots import KINDS, draw_curve, draw_map

    model = _model(self)
    if not isinstance(kind, str) or kind not in KINDS:
        raise SettingError(f"kind={kind!r}: choose one of {', '.join(KINDS)}.")
    if X is not None and kind not in ("map", "sizes"):
        raise SettingError(f"kind={kind!r} is drawn of the model alone: leave X out.")
    if kind == "curve":
        return draw_curve(model, ax)
    found = _outline(self) if X is None and kind != "map" else summarised(self, X, observed)
    return draw_map(found, places_of_model(model), ax) if kind == "map" else KINDS[kind](found, ax)


def as_text(self: ViewPass, N_CHAR_MAX: int = 700) -> str:
    """The settings; of a fitted model what it found, too."""
    settings = BaseEstimator.__repr__(self, N_CHAR_MAX)
    if not _has_model(self):
        return str(settings)
    return "\n".join(card_lines(_outline(self), " ".join(settings.split())))


def as_html(self: ViewPass) -> str:
    """The card that a notebook shows."""
    if not _has_model(self):
        return str(BaseEstimator._repr_html_.fget(self)())
    return card_html(card_lines(_outline(self), type(self).__name__))


def as_bundle(self: ViewPass, **given: Any) -> Any:
    """What a notebook asks for: text and HTML."""
    if not _has_model(self):
        return BaseEstimator._repr_mimebundle_(self, **given)
    return {"text/plain": as_text(self), "text/html": as_html(self)}


def _has_model(self: ViewPass) -> bool:
    try:
        self._fitted_model()
    except (AttributeError, DataError):  # not fitted, or to fewer rows than clusters
        return False
    return True


def _model(self: ViewPass) -> Model:
    check_is_fitted(self)
    return self._fitted_model()


def _sizes(self: ViewPass) -> Integers:
    """Rows of each cluster; where they were not counted, those that have its most frequent view."""
    model = self._fitted_model()
    gatherer = RowGatherer(model.clusters.n_clusters, rows=False)
    if take_labels(self, model, gatherer) is not None:
        return gatherer.census.sizes
    sizes: Integers = model.clusters.flat_counts.max(axis=0) // model.weight_unit
    return sizes


def _outline(self: ViewPass) -> dict[str, Any]:
    """The parts of a summary that follow from the model at once."""
    model, sizes = _model(self), _sizes(self)
    whole, names = max(int(sizes.sum()), 1), self.cluster_names_
    clusters = [
        {"cluster": k, "name": names.get(k), "rows": size, "share": size / whole}
        for k, size in enumerate(sizes.tolist())
    ]
    return {
        "rows": model.n_rows,
        "rows_without_any_view": model.read.n_without_views,
        "n_clusters": model.clusters.n_clusters,
        "consensus": model.consensus,
        "n_anchors": None if model.cut is None else model.total.n_clusters,
        "loss_curve": [float(loss) for loss in model.loss_curve],
        "views": view_summaries(model),
        "timeline": timeline_of(self),
        "clusters": clusters,
        "sample": [],
    }


def summarised(
    self: ViewPass,
    X: Any,
    observed: Any,
    keep: Sequence[str] = (),
    names: Sequence[str] = (),
    *,
    rows: bool = True,
) -> Summary:
    """The summary of X, or of the model alone."""
    from viewpass.labels.columns import Wanted
    from viewpass.labels.writing import labelled_tables

    model = _model(self)
    if X is None:
        return summarise(self, rows=rows)
    wanted, sampler = Wanted.of(model.schema, keep, names), row_sampler()
    tables: Any = labelled_tables(self, self._read(X, observed, reset=False), wanted, sampler)
    named = None
    if wanted.named:
        tables = list(tables)
        named = wanted.names(model, tables)
    return summarise(self, tables, rows=rows, which="final", sampler=sampler, names=named)
