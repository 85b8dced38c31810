"""The specification of `viewpass._native` in plain NumPy, under the same names.

It runs where the module is not compiled, and tests compare the two bit for bit. What is written as a loop
here is a loop because the order of adding is part of the specification.
"""

from viewpass.kernels.reference.agglomeration import agglomerate, merge_near
from viewpass.kernels.reference.centres import Centres, loss, update_centres
from viewpass.kernels.reference.distances import all_distances, near_rows, nearest_two
from viewpass.kernels.reference.eigen import eigenpairs, spectrum
from viewpass.kernels.reference.factors import nnls
from viewpass.kernels.reference.kmeans import graph_labels, small_kmeans
from viewpass.kernels.reference.rows import Rows, accumulate
from viewpass.kernels.reference.scaling import (
    centre_rows,
    map_rows,
    products,
    standardise,
    weigh_entries,
    weigh_rows,
)
from viewpass.kernels.reference.soft import links_of, search_anchors, soft_assign
from viewpass.kernels.reference.starts import draw_seeds, soft_centres
from viewpass.kernels.reference.step import Rules, assign, run_chunks

__all__ = [
    "Centres",
    "Rows",
    "Rules",
    "accumulate",
    "agglomerate",
    "all_distances",
    "assign",
    "centre_rows",
    "draw_seeds",
    "eigenpairs",
    "graph_labels",
    "links_of",
    "loss",
    "map_rows",
    "merge_near",
    "near_rows",
    "nearest_two",
    "nnls",
    "products",
    "run_chunks",
    "search_anchors",
    "small_kmeans",
    "soft_assign",
    "soft_centres",
    "spectrum",
    "standardise",
    "update_centres",
    "weigh_entries",
    "weigh_rows",
]
