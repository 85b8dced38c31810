"""`vp.write_labels`: clusters of observations, written into a MuData or AnnData by scverse's conventions."""

from __future__ import annotations

import os
from collections.abc import Mapping
from contextlib import suppress
from numbers import Number
from typing import Any

import numpy as np
from sklearn.utils.validation import check_is_fitted

from viewpass.errors import NotCalibratedError, SettingError, missing_extra
from viewpass.estimators.clusterer import ViewClusterer
from viewpass.model.model import cluster_distances, label, prepare
from viewpass.sources.hdf5 import elements, modality_groups, opened
from viewpass.sources.kinds import is_anndata, is_mudata
from viewpass.sources.mudata import ALONE, from_mudata
from viewpass.sources.source import Source
from viewpass.version import __version__

WITHOUT_EFFECT = ("n_threads", "verbose", "compute_labels")  # settings without effect on the labels


def write_labels(
    data: Any, model: Any, key_added: str = "viewpass", *, layer: Any = None, use_rep: Any = None
) -> None:
    """Label the observations of a MuData or AnnData, and write the labels into it.

    Everything is computed before anything is written, and only these entries are written (earlier ones of
    the same names are replaced)::

        obs[key_added]                  the cluster: categories "0", "1", ... in natural order; none for an
                                        observation without any view
        obs[key_added + "_n_views"]     number of modalities that the cluster was judged by
        obs[key_added + "_confidence"]  where the model has `confidence`
        obsm[key_added + "_distances"]  squared distances to the clusters, over the views that are there
        uns[key_added]["params"]        the settings of the model

    Parameters
    ----------
    data : MuData, AnnData or path
        An object, or a `.h5mu` or `.h5ad` file, which is changed in place.
    model : ViewPass, OPIMC or IMC
        Fitted; on these observations or on others with the same views.
    key_added : str, default="viewpass"
    layer, use_rep : str or dict of str, optional
        The matrices that the model was fitted on, as for `vp.from_mudata`.

    Examples
    --------
    >>> import anndata
    >>> import pandas as pd
    >>> import viewpass as vp
    >>> rna = pd.DataFrame({"g1": [9.0, 8.0, 1.0], "g2": [1.0, 2.0, 7.0]}, index=["p1", "p2", "p3"])
    >>> patients = anndata.AnnData(rna)
    >>> vp.write_labels(patients, vp.ViewPass(n_clusters=2, random_state=0).fit(patients))
    >>> patients.obs["viewpass"].value_counts().tolist()
    [2, 1]
    """
    check_is_fitted(model)
    if not isinstance(model, ViewClusterer):
        raise SettingError(f"vp.write_labels takes a ViewPass, OPIMC or IMC, not a {type(model).__name__}.")
    if not isinstance(key_added, str) or not key_added or "/" in key_added:
        raise SettingError(f"key_added={key_added!r}: a name without '/' was expected.")
    is_path = isinstance(data, str | os.PathLike)
    if not (is_path or is_mudata(data) or is_anndata(data)):
        raise SettingError(
            f"vp.write_labels was given a {type(data).__name__}; expected a MuData, an AnnData or the path "
            "of a .h5mu or .h5ad file. For other data, `predict` gives the labels."
        )
    known = [name for name in _modalities(data) if name in model.view_names_in_]
    source = model._read(from_mudata(data, layer, use_rep, known or None), None, reset=False)
    entries = _entries(model, source, key_added, {"layer": layer, "use_rep": use_rep})
    if is_path:
        _write_file(os.fspath(data), entries)
    else:
        _write_object(data, entries)


def _modalities(data: Any) -> list[str]:
    if isinstance(data, str | os.PathLike):
        with opened(os.fspath(data)) as file:
            return list(modality_groups(file)) or [ALONE]
    return [ALONE] if is_anndata(data) else list(map(str, data.mod))


def _entries(model: Any, source: Source, key: str, given: Mapping[str, Any]) -> dict[str, dict[str, Any]]:
    """What is written: `obs`, `obsm` and `uns` by name."""
    try:
        import pandas as pd
    except ImportError:
        raise missing_extra("pandas", "omics", "vp.write_labels") from None
    learnt, workspace = model._fitted_model(), model._workspace(source)
    labels, n_views, distances = [], [], []
    for chunk in model._blocks_of(source):
        labels.append(label(chunk, learnt, workspace))
        n_views.append(prepare(chunk, learnt, workspace).measure(workspace.n_threads).n_seen)
        distances.append(cluster_distances(chunk, learnt, workspace).astype(np.float32))
    far = np.concatenate(distances)
    names = pd.Index([str(k) for k in range(far.shape[1])])
    obs: dict[str, Any] = {key: pd.Categorical.from_codes(np.concatenate(labels), categories=names)}
    obs[f"{key}_n_views"] = np.concatenate(n_views).astype(np.int32)
    if hasattr(model, "confidence"):
        with suppress(NotCalibratedError):
            obs[f"{key}_confidence"] = model.confidence(source)
    params = _plain({**model.get_params(deep=False), **given, "estimator": type(model).__name__})
    params |= {"views": list(model.view_names_in_), "viewpass_version": __version__}
    return {"obs": obs, "obsm": {f"{key}_distances": far}, "uns": {key: {"params": params}}}


def _plain(settings: Mapping[str, Any]) -> dict[str, Any]:
    """Settings that are numbers, text, or dicts of them: what files can hold."""
    kept: dict[str, Any] = {}
    for name, value in settings.items():
        if isinstance(value, Mapping):
            kept[name] = _plain({str(part): own for part, own in value.items()})
        elif isinstance(value, str | bool | Number) and name not in WITHOUT_EFFECT:
            kept[name] = value
    return kept


def _write_object(data: Any, entries: dict[str, dict[str, Any]]) -> None:
    for name, values in entries["obs"].items():
        data.obs[name] = values
    for name, values in entries["obsm"].items():
        data.obsm[name] = values
    data.uns.update(entries["uns"])


def _write_file(path: str, entries: dict[str, dict[str, Any]]) -> None:
    with opened(path, "r+") as file:
        for group, values in entries.items():
            if group not in file:
                elements().write_elem(file, group, {})
            for name, value in values.items():
                elements().write_elem(file[group], name, value)
        columns = [str(name) for name in file["obs"].attrs.get("column-order", ())]
        columns += [name for name in entries["obs"] if name not in columns]
        file["obs"].attrs["column-order"] = np.array(columns, dtype=object)
