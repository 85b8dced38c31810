"""The peers of the speed benchmarks: their input, how each is called, and where its labels are.

All get rows of unit length, as viewpass makes them itself; a single view they get as it is. What is done to
prepare the data for a peer is timed separately from its fit; the memory of the prepared copy is counted.
"""

from __future__ import annotations

from typing import Any, Protocol

import numpy as np
import scipy.sparse

from benchmarks.data import observed

ALPHA = 0.1  # iMML's own default, 10, pulls the centres of chunks of 50 rows to the origin


class Peer(Protocol):
    """A method to compare with; `fit` is timed."""

    name: str
    takes_sparse: bool
    slow: bool

    def prepare(self, views: list[Any]) -> Any: ...
    def fit(self, prepared: Any, settings: dict[str, Any], n_threads: int) -> Any: ...
    def labels(self, fitted: Any, prepared: Any) -> np.ndarray: ...


class Imml:
    """iMML's OPIMC, python engine: the same method."""

    name, takes_sparse, slow = "iMML OPIMC", False, True

    def prepare(self, views: list[Any]) -> Any:
        return [unit(view) for view in views]

    def fit(self, prepared: Any, settings: dict[str, Any], n_threads: int) -> Any:
        from imml.cluster import OPIMC  # type: ignore[import-not-found,unused-ignore]

        model = OPIMC(
            n_clusters=settings["n_clusters"],
            batch_size=settings["chunk_size"],
            num_passes=settings["n_passes"],
            alpha=ALPHA,
            random_state=0,
        )
        return model.fit(prepared)

    def labels(self, fitted: Any, prepared: Any) -> np.ndarray:
        return np.asarray(fitted.labels_)


class MiniBatch:
    """scikit-learn's MiniBatchKMeans, on the same chunks of the concatenated views; by itself on one view."""

    name, takes_sparse, slow = "MiniBatchKMeans", True, False

    def prepare(self, views: list[Any]) -> Any:
        return concatenated(views)

    def fit(self, prepared: Any, settings: dict[str, Any], n_threads: int) -> Any:
        from sklearn.cluster import MiniBatchKMeans

        size = settings["chunk_size"]
        model = MiniBatchKMeans(settings["n_clusters"], random_state=0)
        if settings["one_view"]:
            return model.fit(prepared).labels_
        for _ in range(settings["n_passes"]):
            labels = []
            for start in range(0, prepared.shape[0], size):
                model.partial_fit(prepared[start : start + size])
                labels.append(model.labels_)
        return np.concatenate(labels)

    def labels(self, fitted: Any, prepared: Any) -> np.ndarray:
        return np.asarray(fitted)


class KMeans:
    """scikit-learn's KMeans, the best of ten starts."""

    name, takes_sparse, slow = "KMeans", True, False

    def prepare(self, views: list[Any]) -> Any:
        return concatenated(views)

    def fit(self, prepared: Any, settings: dict[str, Any], n_threads: int) -> Any:
        from sklearn.cluster import KMeans

        return KMeans(settings["n_clusters"], n_init=10, random_state=0).fit(prepared)

    def labels(self, fitted: Any, prepared: Any) -> np.ndarray:
        return np.asarray(fitted.labels_)


class Faiss:
    """FAISS Kmeans on all rows. The search for labels afterwards is not timed."""

    takes_sparse, slow = False, False

    def __init__(self, n_iterations: int) -> None:
        self.n_iterations = n_iterations
        self.name = f"FAISS Kmeans, {n_iterations} iteration{'s' * (n_iterations > 1)}"

    def prepare(self, views: list[Any]) -> Any:
        return concatenated(views)

    def fit(self, prepared: Any, settings: dict[str, Any], n_threads: int) -> Any:
        import faiss

        faiss.omp_set_num_threads(n_threads)
        n_rows, width = prepared.shape
        limits = {"min_points_per_centroid": 1, "max_points_per_centroid": n_rows}
        how = {"niter": self.n_iterations, "seed": 1, "verbose": False}
        model = faiss.Kmeans(width, settings["n_clusters"], **how, **limits)
        model.train(prepared)
        return model

    def labels(self, fitted: Any, prepared: Any) -> np.ndarray:
        return np.asarray(fitted.index.search(prepared, 1)[1][:, 0])


FAISS = Faiss(1), Faiss(10)
PEERS: dict[str, Peer] = {peer.name: peer for peer in (Imml(), KMeans(), MiniBatch(), *FAISS)}


def unit(view: Any) -> Any:
    """Rows of unit length; absent ones stay NaN, or empty."""
    if scipy.sparse.issparse(view):
        lengths = np.sqrt(np.asarray(view.multiply(view).sum(axis=1)).ravel())
        scale = np.repeat(lengths, np.diff(view.indptr)).astype(view.dtype)
        return scipy.sparse.csr_array((view.data / scale, view.indices, view.indptr), shape=view.shape)
    return view / np.sqrt(np.einsum("ij,ij->i", view, view))[:, np.newaxis]


def concatenated(views: list[Any]) -> Any:
    """All views as one matrix. Absent rows get the view's mean, or zeros in sparse views."""
    if len(views) == 1:
        return views[0]
    if scipy.sparse.issparse(views[0]):
        return scipy.sparse.csr_array(scipy.sparse.hstack([unit(view) for view in views], format="csr"))
    ends = np.cumsum([view.shape[1] for view in views])
    joined = np.empty((len(views[0]), ends[-1]), dtype=np.float32)
    for view, end in zip(views, ends, strict=True):
        there = observed(view)
        place = joined[:, end - view.shape[1] : end]
        place[:] = unit(view)
        place[~there] = place[there].mean(axis=0)
    return joined
