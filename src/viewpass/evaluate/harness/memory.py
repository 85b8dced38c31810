"""Peak memory of a process while something runs.

Linux can reset a process's peak to what it holds now (5 into clear_refs), so the peak of one fit is
exact without sampling. Elsewhere only the peak since the start of the process is known, and growth
beyond it.
"""

from __future__ import annotations

import contextlib
import ctypes
import sys
from pathlib import Path


def trimmed() -> int:
    """Bytes held now, after free heap was returned to the system; the peak is reset."""
    with contextlib.suppress(OSError, AttributeError):
        ctypes.CDLL(None).malloc_trim(0)
    with contextlib.suppress(OSError):
        Path("/proc/self/clear_refs").write_text("5")
    return _status("VmRSS")


def held() -> int:
    """Bytes held now."""
    return _status("VmRSS")


def peak() -> int:
    """The most bytes held since `trimmed`."""
    return _status("VmHWM")


def _status(field: str) -> int:
    try:
        lines = Path("/proc/self/status").read_text().splitlines()
    except OSError:
        try:
            import resource
        except ImportError:  # on Windows
            return 0
        most = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
        return most if sys.platform == "darwin" else 1024 * most
    return next(1024 * int(line.split()[1]) for line in lines if line.startswith(field))
