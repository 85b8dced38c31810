"""Labels of a Dask run: one Parquet part per block, written by workers; users read them by the manifest.

A part may be written twice, even by two workers at once: its bytes are the same. Parts are valid once the
manifest names them; other files in the folder are removed before it is written.
"""

from __future__ import annotations

import hashlib
import json
import uuid
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from io import BytesIO
from pathlib import Path
from typing import Any

import numpy as np

from viewpass.errors import FileError, missing_extra
from viewpass.kernels.grid import Labels
from viewpass.store.container.files import naming, replacing, sync_folder

try:
    import pyarrow as pa
    import pyarrow.parquet as pq

    from viewpass.labels.columns import ROW
    from viewpass.labels.formats import FINAL, about_labels, layout
except ImportError:
    raise missing_extra("pyarrow", "arrow", "writing labels as Parquet") from None

MANIFEST = "_manifest.json"


@dataclass(frozen=True)
class Part:
    """A part that was written: its first row, its number of rows, rows per cluster, size and hash."""

    start: int
    n_rows: int
    clusters: tuple[int, ...]
    size: int
    sha256: str

    @property
    def name(self) -> str:
        """The name of the file, which holds the number of its first row."""
        return f"part-{self.start:012d}.parquet"


@dataclass(frozen=True)
class PartLabels:
    """The labels of a part, in a form that is sent to workers."""

    folder: str
    part: Part

    def _labelled(self) -> tuple[Any, Labels]:
        """The table and its labels, which must be of as many rows and of clusters that there are."""
        try:
            table = pq.read_table(BytesIO(self._content()))
            labels = np.ascontiguousarray(table["cluster"].to_numpy())
        except (pa.ArrowException, OSError, KeyError, ValueError, MemoryError):
            labels = np.empty(0)
        if (
            labels.dtype != np.int32
            or len(labels) != self.part.n_rows
            or not -1 <= labels.min(initial=0) <= labels.max(initial=-1) < len(self.part.clusters)
        ):
            path = Path(self.folder) / self.part.name
            raise FileError(f"{path} does not hold the labels of its rows. Start over in a new folder.")
        return table, labels

    def _content(self) -> bytes:
        path = Path(self.folder) / self.part.name
        try:
            content = path.read_bytes()
        except FileNotFoundError:
            content = b""
        if hashlib.sha256(content).hexdigest() != self.part.sha256:
            raise FileError(f"{path} is not the file that was written. Start over in a new folder.")
        return content

    def columns(self, names: Sequence[str]) -> Any:
        """Some columns of the part, after the same check."""
        return self._labelled()[0].select(list(names))

    def changed(self, folder: Path, change: Callable[[Any], Any]) -> Part:
        """Write the part into another folder, with other columns beside its labels."""
        table, labels = self._labelled()
        return _written(folder, self.part.start, change(table), labels, len(self.part.clusters))


def write_part(folder: Path, table: Any, id_name: str | None, n_clusters: int) -> Part:
    """Write consecutive rows of a label file, which have their numbers beside ids, atomically."""
    start = table[ROW][0].as_py()
    table = table.replace_schema_metadata(about_labels(FINAL, id_name))
    return _written(folder, start, table, np.asarray(table["cluster"]), n_clusters)


def _written(folder: Path, start: int, table: Any, labels: Labels, n_clusters: int) -> Part:
    content = BytesIO()
    pq.write_table(table, content, **layout(table.schema))
    written = content.getvalue()
    sizes = tuple(np.bincount(labels[labels >= 0], minlength=n_clusters).tolist())
    part = Part(start, len(labels), sizes, len(written), hashlib.sha256(written).hexdigest())
    growing = folder / f".{part.name}.{uuid.uuid4().hex}.new"  # other workers may be writing it, too
    with replacing(folder / part.name, growing) as file, naming(folder / part.name):
        file.write(written)
    return part


def write_manifest(home: Path, parts: Iterable[Part], growing: Path | None = None) -> None:
    """Write the manifest that makes the parts valid, after removing other files from the folder."""
    written = sorted(parts, key=lambda part: part.start)
    names = {part.name for part in written}
    for path in list(home.iterdir()):
        if path.name not in names and path.name != MANIFEST:
            path.unlink()
    keys = {"file": "name", "first_row": "start", "rows": "n_rows", "bytes": "size", "sha256": "sha256"}
    listed = [{key: getattr(part, name) for key, name in keys.items()} for part in written]
    manifest = {"labels": FINAL, "rows": sum(part.n_rows for part in written), "parts": listed}
    path = home / MANIFEST
    with replacing(path, growing) as file, naming(path):
        file.write((json.dumps(manifest, indent=1) + "\n").encode())
    sync_folder(home)
