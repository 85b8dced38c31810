"""The methods with their published settings."""

from __future__ import annotations

from typing import Any

from viewpass.baselines.multinmf import MultiNMF
from viewpass.baselines.omvc import OMVC
from viewpass.baselines.onmf import ONMF
from viewpass.estimators.imc import IMC
from viewpass.estimators.opimc import OPIMC

IMC_AS_PUBLISHED: dict[str, Any] = {"init": "random", "n_init": 1, "scale": "unit"}


def opimc(n_clusters: int, **more: Any) -> OPIMC:
    """OPIMC as published."""
    return OPIMC(n_clusters, **{"compute_labels": False, **more})


def imc(n_clusters: int, **more: Any) -> IMC:
    """IMC as published, one start; `more` overrides it."""
    return IMC(n_clusters, **{**IMC_AS_PUBLISHED, **more})


def compared(method: str, n_clusters: int, chunk_size: int, **more: Any) -> Any:
    """One of the other methods. `multiple` (of ONMF): components per cluster."""
    if method == "OMVC":
        return OMVC(n_clusters, chunk_size=chunk_size, **more)
    if method.startswith("ONMF"):
        rank = int(more.pop("multiple", 1)) * n_clusters
        hessian = "exact" if method == "ONMF-I" else "diagonal"
        return ONMF(
            n_clusters, n_components=rank, hessian=hessian, fill="mean", chunk_size=chunk_size, **more
        )
    if method == "IMC":
        return imc(n_clusters, **more)
    return MultiNMF(n_clusters, **more)
