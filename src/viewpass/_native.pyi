import numpy as np
from numpy.typing import NDArray

def spectrum(links: NDArray[np.int64], n_leading: int) -> tuple[NDArray[np.float64], NDArray[np.float64]]: ...
def small_kmeans(
    places: NDArray[np.float64], weights: NDArray[np.float64], n_clusters: int, n_restarts: int, seed: int
) -> tuple[NDArray[np.int64], NDArray[np.float64]]: ...
def graph_labels(
    near: NDArray[np.int32],
    weights: NDArray[np.int64],
    places: NDArray[np.float64],
    centres: NDArray[np.float64],
) -> NDArray[np.int32]: ...
def products(a: NDArray[np.float64], b: NDArray[np.float64]) -> NDArray[np.float64]: ...
