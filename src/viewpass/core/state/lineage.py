"""Names of anchors that are born and merge while rows are read.

A row is recorded under the name of the anchor it was assigned to. Names are never used again, so the anchor
that holds the row's sums later, after any number of merges, follows from the name.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from viewpass.kernels.grid import Integers, Labels


def heirs(n_clusters: int, pairs: Integers) -> Integers:
    """For each cluster the one that it has become part of, when in each pair the second joined the first."""
    parent = np.arange(n_clusters)
    parent[pairs[:, 1]] = pairs[:, 0]
    while (parent != parent[parent]).any():
        parent = parent[parent]
    return parent


@dataclass(frozen=True)
class Lineage:
    """The names of the anchors there are, and for each name ever given the one that holds its rows.

    Examples
    --------
    >>> import numpy as np
    >>> anchors = Lineage.of(3).born(1).merged(np.array([[0, 2]]))  # 4 anchors; the third joins the first
    >>> anchors.names
    array([0, 1, 3], dtype=int32)
    >>> anchors.places(np.array([0, 1, 2, 3, -1]))
    array([ 0,  1,  0,  2, -1], dtype=int32)
    """

    names: Labels  # of the anchors, in their order
    heirs: Labels  # for each name: itself, or the name of the anchor it was merged into

    @classmethod
    def of(cls, n_anchors: int) -> Lineage:
        """The first anchors."""
        names = np.arange(n_anchors, dtype=np.int32)
        return cls(names, names)

    @property
    def n_names(self) -> int:
        """Anchors there have ever been."""
        return len(self.heirs)

    def born(self, n_new: int) -> Lineage:
        """The lineage with new anchors behind the others."""
        new = np.arange(self.n_names, self.n_names + n_new, dtype=np.int32)
        return Lineage(np.append(self.names, new), np.append(self.heirs, new))

    def merged(self, pairs: Integers) -> Lineage:
        """The lineage after merges, in this order: the second anchor of a pair joins the first."""
        heir = heirs(len(self.names), pairs)
        table = np.arange(self.n_names, dtype=np.int32)
        table[self.names] = self.names[heir]
        left = np.setdiff1d(np.arange(len(self.names)), pairs[:, 1])
        return Lineage(self.names[left], table[self.heirs])

    def places(self, named: Labels) -> Labels:
        """The numbers of the anchors that now hold rows recorded under these names; -1 stays -1."""
        number = np.full(self.n_names + 1, -1, dtype=np.int32)
        number[self.names] = np.arange(len(self.names), dtype=np.int32)
        return number[np.append(self.heirs, np.int32(-1))][named]
