"""Facts about the machine and the libraries, without names of hosts or folders."""

from __future__ import annotations

import os
import platform
from hashlib import sha256
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[1]
LIBRARIES = ("viewpass", "numpy", "scipy", "scikit-learn", "imml", "faiss-cpu")


def facts() -> dict[str, Any]:
    return {
        "processor": _processor(),
        "cores": _cores(),
        "memory_bytes": os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES"),
        "load": os.getloadavg()[0],  # at the start; above 0 where the machine is busy
        "system": platform.system(),
        "python": platform.python_version(),
        "libraries": {name: _version(name) for name in LIBRARIES},
        "blas": _blas(),
    }


def code_digest() -> str:
    """A digest of the package's own files: what other code measured is measured anew."""
    digest = sha256()
    for path in sorted([*(ROOT / "src").rglob("*.py"), *(ROOT / "native").rglob("*.?pp")]):
        digest.update(path.read_bytes())
    return digest.hexdigest()[:12]


def _cores() -> int:
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def _processor() -> str:
    try:
        lines = Path("/proc/cpuinfo").read_text().splitlines()
    except OSError:
        return platform.processor() or platform.machine()
    named = (line.partition(":")[2].strip() for line in lines if line.startswith("model name"))
    return next(named, platform.machine())


def _version(name: str) -> str | None:
    try:
        return version(name)
    except PackageNotFoundError:
        return None


def _blas() -> list[str]:
    import scipy.linalg  # noqa: F401  (its BLAS must be loaded to be found)
    from threadpoolctl import threadpool_info

    found = [pool for pool in threadpool_info() if pool["user_api"] == "blas"]
    keys = ("internal_api", "version", "architecture")
    return sorted({" ".join(str(pool.get(key)) for key in keys) for pool in found})
