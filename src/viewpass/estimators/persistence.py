"""Model files of estimators: `model.save(path)` and `vp.load(path)`."""

from __future__ import annotations

import os
import re
from importlib import import_module
from numbers import Integral
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from sklearn.utils.validation import check_is_fitted

from viewpass.errors import FileError, SettingError, not_a_file
from viewpass.kernels.grid import Array
from viewpass.sources.kinds import names_columns
from viewpass.store.container import frame
from viewpass.store.container.fields import Fields
from viewpass.store.container.values import from_plain, to_plain
from viewpass.version import __version__

if TYPE_CHECKING:
    from viewpass.estimators.clusterer import ViewClusterer

# Every estimator that can be saved: a name in a file is one of these public names or nothing.
ESTIMATORS = ("ViewPass", "OPIMC", "IMC")
LONGEST_NAME = 1000  # characters of the name of a cluster
MACHINE = ("n_threads",)  # settings that belong to a machine, not to a model


def save(
    estimator: ViewClusterer, path: str | os.PathLike[str], growing: Path | None = None, **how: bool
) -> None:
    """Write a fitted estimator to a file, whole or not at all; `how`: options of its own (`_packed`).

    It is written to `growing` first, or to a temporary file beside it.
    What would be written is read first, by the reader's own rules: no file is left that cannot be loaded.
    """
    arrays: dict[str, Array] = {}
    content = frame.encode(pack(estimator, arrays, **how), arrays)
    try:
        _unpacked(Fields(*frame.decode(memoryview(content), "the model")))
    except FileError as problem:
        raise FileError(
            f"the model cannot be saved, since it could not be loaded again: {problem}"
        ) from problem
    frame.write(Path(path), "model", content, growing)


def load(path: str | os.PathLike[str]) -> Any:
    """Load an estimator that `save` wrote.

    It predicts the same labels, and `partial_fit` continues with the same bits. Nothing in the file is ever
    executed, and a file that is damaged in any way is refused. The labels of the rows it was fitted to are
    not in the file, nor is `n_threads`.

    Parameters
    ----------
    path : str or path

    Returns
    -------
    ViewPass, OPIMC or IMC

    Raises
    ------
    FileError
        If it is not a sound model file, or one of a newer format.

    Examples
    --------
    >>> import numpy as np
    >>> import tempfile, pathlib
    >>> import viewpass as vp
    >>> X = np.repeat(np.eye(3), 5, axis=0)
    >>> model = vp.ViewPass(n_clusters=3, random_state=0).fit([X, 2 * X])
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     model.save(pathlib.Path(folder) / "model.viewpass")
    ...     again = vp.load(pathlib.Path(folder) / "model.viewpass")
    >>> bool((again.predict([X, 2 * X]) == model.labels_).all())
    True
    """
    path = Path(path)
    if (kind := not_a_file(path)) is not None:
        inside = " Give a model file in it, such as model.viewpass." if path.is_dir() else ""
        raise FileError(f"{path} is {kind}, not a model file.{inside}")
    meta, arrays = frame.decode(frame.read(path, "model"), str(path))
    return unpack(meta, arrays, path)


def pack(estimator: ViewClusterer, arrays: dict[str, Array], **how: bool) -> dict[str, Any]:
    """An estimator as JSON; its arrays go into `arrays`."""
    check_is_fitted(estimator)
    name = type(estimator).__name__
    if name not in ESTIMATORS or type(estimator) is not _class(name):
        known = ", ".join(ESTIMATORS)
        raise FileError(f"a {name} cannot be saved as a model file: it is none of {known}.")
    settings = {key: value for key, value in estimator.get_params(deep=False).items() if key not in MACHINE}
    names = getattr(estimator, "feature_names_in_", None)
    digests, clusters = getattr(estimator, "update_digests_", ()), _names(estimator)
    return {
        "estimator": name,
        "library": __version__,
        "settings": {key: to_plain(value, f"the setting {key}", arrays) for key, value in settings.items()},
        "inputs": {
            "n_features": int(estimator.n_features_in_),
            "names": list(estimator.view_names_in_),
            "cut": bool(estimator._cut_by_views),
            "columns": None if names is None else [str(column) for column in names],
        },
        "learnt": estimator._packed(arrays, **how),
        "update_digests": list(digests),
        "cluster_names": clusters,
    }


def unpack(meta: dict[str, Any], arrays: dict[str, Array], path: Path) -> Any:
    """The estimator again; FileError names the file."""
    library = meta.get("library")
    try:
        stored = Fields(meta, arrays)
        return _unpacked(stored)
    except (FileError, RecursionError, MemoryError) as problem:
        version_note = (
            "" if library == __version__ else f" Written by viewpass {library}, this is {__version__}."
        )
        raise FileError(f"{path} is damaged: {problem}{version_note}") from problem


def _unpacked(stored: Fields) -> ViewClusterer:
    name = stored.text("estimator")
    stored.need(name in ESTIMATORS, "estimator")
    stored.text("library")
    kind = _class(name)
    wanted = set(kind._get_param_names()) - set(MACHINE)
    given = stored.part("settings").values
    settings = {key: from_plain(value, stored.arrays) for key, value in given.items()}
    stored.need(set(settings) == wanted, "settings")
    estimator: ViewClusterer = kind(**settings)
    for key, value in settings.items():
        stored.need(not isinstance(value, int) or value.bit_length() <= 128, key)  # seeds are as long
    try:
        estimator._validate_params()
    except (ValueError, TypeError) as problem:
        raise FileError(f"a setting makes no sense ({' '.join(str(problem).split())}).") from problem
    inputs = stored.part("inputs")
    estimator.n_features_in_ = inputs.number("n_features")
    estimator.view_names_in_ = tuple(inputs.list("names", str))
    estimator._cut_by_views = inputs.truth("cut")
    if inputs.get("columns") is not None:
        estimator.feature_names_in_ = np.array(inputs.list("columns", str), dtype=object)
    estimator._take_packed(stored.part("learnt"))
    digests = tuple(stored.list("update_digests", str))
    sound = all(re.fullmatch("[0-9a-f]{64}", digest) for digest in digests)
    stored.need(sound and len(set(digests)) == len(digests), "update_digests")
    if digests:
        estimator.update_digests_ = digests
    _take_names(estimator, stored)
    schema = estimator._fitted_schema()
    inputs.need(estimator.view_names_in_ == schema.names, "names")
    estimator._count_features(schema)  # a checkpoint may have been written before the rows showed them
    n_columns = sum(width or 0 for width in schema.widths)
    shared = names_columns(settings["views"])  # views that are named may share columns
    inputs.need(
        estimator.n_features_in_ == n_columns or (shared and estimator.n_features_in_ < n_columns),
        "n_features",
    )
    if estimator._cut_by_views and isinstance(settings["views"], int):
        inputs.need(settings["views"] == len(schema.names), "cut")
    columns = inputs.values["columns"]
    inputs.need(columns is None or len(columns) == estimator.n_features_in_, "columns")
    return estimator


def _names(estimator: Any) -> list[list[Any]]:
    """Names of clusters: pairs of a number and a name, by number."""
    names = getattr(estimator, "cluster_names_", {})
    for number, name in names.items():
        if not _is_name(estimator, number, name):
            raise SettingError(
                f"cluster_names_ has {number!r}: {name!r}. Give numbers of clusters, from 0 to "
                f"{estimator._fitted_model().n_clusters - 1}, and texts of 1 to {LONGEST_NAME:,} characters."
            )
    return [[int(number), name] for number, name in sorted(names.items())]


def _take_names(estimator: Any, stored: Fields) -> None:
    if not (pairs := stored.list("cluster_names", list)):
        return
    stored.need(hasattr(type(estimator), "cluster_names_"), "cluster_names")
    sound = all(len(pair) == 2 and _is_name(estimator, *pair) for pair in pairs)
    stored.need(sound and len(dict(pairs)) == len(pairs), "cluster_names")
    estimator.cluster_names_ = dict(pairs)


def _is_name(estimator: Any, number: Any, name: Any) -> bool:
    """Whether a cluster of an estimator may have this name."""
    there = isinstance(number, Integral) and 0 <= int(number) < estimator._fitted_model().n_clusters
    return there and isinstance(name, str) and 0 < len(name) <= LONGEST_NAME


def _class(name: str) -> Any:
    return getattr(import_module("viewpass"), name)
