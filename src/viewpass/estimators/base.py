"""The base class of all estimators, which reads data of several views, and what their fits share."""

from __future__ import annotations

import logging
from abc import ABCMeta, abstractmethod
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import cache
from numbers import Integral, Real
from typing import Any, Self

from sklearn.base import (
    BaseEstimator,
    ClusterMixin,
)
from sklearn.utils._param_validation import Interval, StrOptions
from sklearn.utils.validation import validate_data

from viewpass.errors import DataError
from viewpass.estimators.inputs import (
    explaining,
    fitted_on,
    is_views,
    matrix_source,
    opened,
    refuse_ignored,
    views_source,
    warn_left_out,
)
from viewpass.estimators.validation import check_memory, check_whole
from viewpass.kernels.grid import Array, Labels
from viewpass.sources.kinds import is_frame
from viewpass.sources.source import Source
from viewpass.store.container.fields import MOST_COUNTED, MOST_REPEATS
from viewpass.views.chunk import Chunk, Schema, join

logger = logging.getLogger("viewpass")

PREDICT_BLOCK = 8192  # rows labelled at a time
ALL_ROWS = 2**62  # more rows than there are
COUNT = [Interval(Integral, 1, MOST_COUNTED, closed="both")]
REPEATS = [Interval(Integral, 1, MOST_REPEATS, closed="both")]
NOT_NEGATIVE = [Interval(Real, 0, None, closed="left")]
# What a fit keeps when it goes on from what was learnt; what else it has set is about the rows of one call.
KEPT = ("n_features_in_", "view_names_in_", "feature_names_in_", "_cut_by_views", "update_digests_")


class ViewReader(ClusterMixin, BaseEstimator, metaclass=ABCMeta):
    """Base of every estimator: reads data of several views."""

    # Of all parameters that several estimators have; a subclass adds its own.
    _parameter_constraints: dict[str, list[Any]] = {  # noqa: RUF012 (scikit-learn's own form)
        "n_clusters": COUNT,
        "alpha": NOT_NEGATIVE,
        "chunk_size": COUNT,
        "n_passes": COUNT,
        "n_init": REPEATS,
        "max_iter": REPEATS,
        "tol": NOT_NEGATIVE,
        "fill": [StrOptions({"mean", "zero-filled-mean"}), None],
        "compute_labels": ["boolean"],
        "n_threads": [*COUNT, None],
        "verbose": ["verbose"],
    }

    # Set by subclasses' __init__.
    n_clusters: Any
    views: Any
    n_threads: int | None
    verbose: int

    # Set by fit.
    n_features_in_: int
    view_names_in_: tuple[str, ...]
    feature_names_in_: Array
    labels_: Labels
    update_digests_: tuple[str, ...]
    _cut_by_views: bool
    _learnt: Any

    def __sklearn_is_fitted__(self) -> bool:
        return "_learnt" in self.__dict__

    def _checked_learnt(self) -> Any:
        if "_learnt" not in self.__dict__:
            raise AttributeError(f"this {type(self).__name__} is not fitted yet.")
        return self._learnt

    @abstractmethod
    def _fitted_schema(self) -> Schema:
        """Names and widths of the views, or AttributeError."""

    @classmethod
    @cache
    def _get_param_names(cls) -> list[str]:
        """Asked at every fit, and found by way of the signature of `__init__`."""
        names: list[str] = super()._get_param_names()
        return names

    def _validate(self) -> None:
        self._validate_params()
        for name, value in self.get_params(deep=False).items():
            if any(isinstance(kind, Interval) for kind in self._parameter_constraints.get(name, ())):
                check_whole(value, name)

    # ---- a fit that fails changes nothing: it works on a blank copy

    def _blank(self) -> Self:
        """A copy with the same settings and nothing learnt."""
        blank = self.__class__.__new__(self.__class__)
        for name, value in self.__dict__.items():
            if not name.endswith("_") and name not in ("_learnt", "_cut_by_views", "_by_chunk", "_n_last"):
                blank.__dict__[name] = value
        return blank

    def _continued(self) -> Self:
        """A copy that goes on from what was learnt, without labels."""
        other = self._blank()
        other.__dict__.update({name: self.__dict__[name] for name in KEPT if name in self.__dict__})
        other._learnt = self._learnt.twin()
        return other

    def _become(self, other: Self) -> None:
        self.__dict__ = other.__dict__

    # ---- data in

    def _read(self, X: Any, observed: Any, *, reset: bool) -> Source:
        """Make a source of X; `reset` while fitting, otherwise X must fit the model."""
        if reset:
            refuse_ignored(X, self.views)
            self.__dict__.pop("feature_names_in_", None)
        names, fitted = (None, None) if reset else (self.view_names_in_, self._fitted_on)
        with explaining(X, fitted if is_frame(X) else None):
            given = opened(X, self.views, names, getattr(self, "feature_names_in_", None))
        one_array = not (is_views(given) or isinstance(given, Source))
        if one_array:
            source = self._matrix_source(given, observed, fitted, reset=reset)
        else:
            source = views_source(given, observed, names)
            if source.n_rows == 0:
                raise DataError("the data has no rows (0 samples): at least one is needed.")
        if names is not None:
            with explaining(X, fitted):
                source = source.suited(self._fitted_schema()).arranged(names)
        if getattr(self, "missing_entries", "refuse") != "refuse":
            source = source.marking_gaps()
        if reset:
            time = getattr(self, "time", None)
            source = source if time is None else source.timed(time)
            check_memory(self.n_clusters, source)
            self.view_names_in_ = source.schema.names
            self._cut_by_views = one_array
            self._count_features(source.schema)
            if not (source is X or given is X):
                warn_left_out(source, self.views)
        return source

    def _matrix_source(
        self, X: Any, observed: Any, fitted: Callable[[], str] | None, *, reset: bool
    ) -> Source:
        """Cut one 2-D array into views."""
        how = {"accept_sparse": "csr", "ensure_all_finite": False, "dtype": "numeric"}
        with explaining(X, fitted):
            if not reset and not self._cut_by_views and len(self.view_names_in_) > 1 and is_frame(X):
                raise DataError(
                    "X is a single frame, but the model has several views. Say which columns belong to which "
                    "view."
                )
            array = validate_data(self, X, reset=reset, **how)
        views: Any = self.views
        if not reset and not self._cut_by_views:
            views = [width or 0 for width in self._fitted_schema().widths]
        columns = getattr(self, "feature_names_in_", None)
        return matrix_source(
            array, X, observed, views, names=None if reset else self.view_names_in_, columns=columns
        )

    def _blocks_of(self, source: Source) -> Iterator[Chunk]:
        """The rows of a source, a block at a time; an empty block of data without any."""
        n_blocks = 0
        for chunk in source.chunks(PREDICT_BLOCK):
            n_blocks += 1
            yield chunk
        if not n_blocks:
            names = self.view_names_in_
            yield Chunk((None,) * len(names), names, 0)

    def _fitted_on(self) -> str:
        columns = getattr(self, "feature_names_in_", None)
        return fitted_on(self._fitted_schema(), self._cut_by_views, self.n_features_in_, columns)

    def _count_features(self, schema: Schema) -> None:
        """Set `n_features_in_`; lists, and views absent so far, show their columns only in reading."""
        if not self._cut_by_views:
            self.n_features_in_ = sum(width or 0 for width in schema.widths)

    @abstractmethod
    def fit(self, X: Any, y: Any = None, observed: Any = None) -> Self:
        """Fit to data."""

    def fit_predict(self, X: Any, y: Any = None, observed: Any = None) -> Labels:
        """Fit, then give `labels_`."""
        self.fit(X, observed=observed)
        return self.labels_

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        return tags


def whole(source: Source) -> Chunk:
    """All rows as one chunk."""
    chunks = list(source.chunks(source.n_rows or ALL_ROWS))
    if not chunks:
        raise DataError("the data has no rows (0 samples): at least one is needed.")
    return join(chunks)


@contextmanager
def logging_progress(verbose: int) -> Iterator[None]:
    """Show the progress of a fit on standard error if `verbose` is set."""
    if not verbose or logger.hasHandlers():
        yield
        return
    handler = logging.StreamHandler()
    handler.setFormatter(logging.Formatter("%(name)s: %(message)s"))
    level = logger.level
    logger.addHandler(handler)
    logger.setLevel(logging.INFO)
    try:
        yield
    finally:
        logger.removeHandler(handler)
        logger.setLevel(level)
