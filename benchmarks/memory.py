"""The most memory a process held while something ran.

Linux can set a process's peak back to what it holds now (5 into clear_refs), so the peak of one fit
is exact and nothing has to sample beside it. Elsewhere the peak of the whole life is all there is,
and growth beyond it all that is seen.
"""

from __future__ import annotations

import contextlib
import ctypes
import resource
import sys
from pathlib import Path


def settled() -> int:
    """Bytes held now, after free heap has gone back to the system; the peak is forgotten."""
    with contextlib.suppress(OSError, AttributeError):
        ctypes.CDLL(None).malloc_trim(0)
    with contextlib.suppress(OSError):
        Path("/proc/self/clear_refs").write_text("5")
    return _status("VmRSS")


def held() -> int:
    """Bytes held now."""
    return _status("VmRSS")


def peak() -> int:
    """The most bytes held since."""
    return _status("VmHWM")


def _status(field: str) -> int:
    try:
        lines = Path("/proc/self/status").read_text().splitlines()
    except OSError:
        most = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
        return most if sys.platform == "darwin" else 1024 * most
    return next(1024 * int(line.split()[1]) for line in lines if line.startswith(field))
