"""Rows with known groups, as the tests of this folder need them."""

from __future__ import annotations

import numpy as np
import scipy.sparse as sp

import viewpass as vp

N_CLUSTERS = 3
CENTRES = np.array([[0.0, 5.0, 0.0, 0.0, 1.0], [1.0, 1.0, 4.0, 0.0, 0.0], [1.0, 0.0, 0.0, 5.0, 1.0]])
_rng = np.random.default_rng(3)
GROUP = _rng.permutation(np.repeat(np.arange(N_CLUSTERS), (40, 25, 31)))
X = CENTRES[GROUP] * _rng.uniform(0.5, 3, len(GROUP))[:, None] + 0.2 * _rng.standard_normal((len(GROUP), 5))
UNIT = X / np.linalg.norm(X, axis=1, keepdims=True)
FORMS = {"dense": np.array, "CSR": sp.csr_array, "CSR matrix": sp.csr_matrix, "CSC": sp.csc_array}

# All rows at once, as k-means; and in chunks, as mini-batch k-means. Without ridge and learnt scale.
KINDS = {
    "IMC": vp.IMC(N_CLUSTERS, alpha=0.0, scale="unit", n_init=2, random_state=0),
    "OPIMC": vp.OPIMC(N_CLUSTERS, alpha=0.0, chunk_size=32, random_state=0),
}


def same_groups(one, other):
    """Whether two labellings are equal up to the numbers of the clusters."""
    pairs = set(zip(np.asarray(one).tolist(), np.asarray(other).tolist(), strict=True))
    return len(pairs) == len(set(one)) == len(set(other))
