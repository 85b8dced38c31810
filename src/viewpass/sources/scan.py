"""`vp.scan`: tables larger than memory, in files or as streams of Arrow data."""

from __future__ import annotations

from typing import Any

from viewpass.errors import missing_extra
from viewpass.sources.source import Source


def scan(data: Any, views: Any = None, id: str | None = None) -> Source:
    """Read a table chunk by chunk."""
    try:
        import pyarrow  # noqa: F401
    except ImportError:
        raise missing_extra("pyarrow", "arrow", "vp.scan") from None
    from viewpass.sources.arrow.files import File
    from viewpass.sources.arrow.parquet import ParquetReader
    from viewpass.sources.arrow.source import ArrowSource

    paths = [data] if not isinstance(data, list | tuple) else data
    return ArrowSource(ParquetReader([File(str(path), str(path), str(path)) for path in paths]), views, id)
