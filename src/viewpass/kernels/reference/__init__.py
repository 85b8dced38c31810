"""What `viewpass._native` computes, in plain NumPy, under the same names.

It runs where the module is not compiled. What specifies the compiled module is compared with it bit for bit
by the tests; a loop there is a loop because the order of adding is part of the specification. For the rest
there are substitutes (substitutes.py).
"""

# ruff: noqa: F401 - the names are those of the compiled module

from viewpass.kernels.reference.centres import Centres, loss, soft_centres, update_centres
from viewpass.kernels.reference.distances import (
    all_distances,
    links_of,
    near_rows,
    nearest_two,
    search_anchors,
    soft_assign,
)
from viewpass.kernels.reference.rows import Rows, accumulate
from viewpass.kernels.reference.scaling import (
    centre_rows,
    map_rows,
    products,
    standardise,
    weigh_entries,
    weigh_rows,
)
from viewpass.kernels.reference.step import Rules, assign, run_chunks
from viewpass.kernels.reference.substitutes import (
    agglomerate,
    draw_seeds,
    eigenpairs,
    graph_labels,
    merge_near,
    nnls,
    small_kmeans,
    spectrum,
)
