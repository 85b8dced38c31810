"""Labels in many files: a Parquet part a block, written by whoever decided its rows, and a manifest for them.

A part may be written twice, by two workers even: it has the same bytes. Parts count when the manifest
names them; what else lies beside them is removed before.
"""

from __future__ import annotations

import hashlib
import json
import uuid
from collections.abc import Iterable, Iterator
from dataclasses import asdict, dataclass
from io import BytesIO
from pathlib import Path
from typing import Any

import numpy as np

from viewpass.errors import FileError, missing_extra
from viewpass.kernels.grid import Array, Labels
from viewpass.store.container.fields import Fields
from viewpass.store.container.files import naming, replacing, sync_folder
from viewpass.store.folder import RunFolder
from viewpass.store.labels.appended import Appended, Extent, verified
from viewpass.store.labels.passes import PassFiles

try:
    import pyarrow as pa
    import pyarrow.parquet as pq

    from viewpass.store.labels.parquet import as_ids, label_columns, layout
except ImportError:
    raise missing_extra("pyarrow", "arrow", "writing labels as Parquet") from None

MANIFEST = "_manifest.json"


@dataclass(frozen=True)
class Part:
    """A part as it was written: its first row, its rows, those of each cluster, its bytes and their hash."""

    start: int
    n_rows: int
    clusters: tuple[int, ...]
    size: int
    sha256: str

    @property
    def name(self) -> str:
        """The file, by its first row."""
        return f"part-{self.start:012d}.parquet"


@dataclass(frozen=True)
class PartLabels:
    """Where the labels of a part are to be had; calling it reads them."""

    folder: str
    part: Part

    def __call__(self) -> Labels:
        """The labels, after the part was compared with what was written."""
        return _clusters(pq.read_table(BytesIO(self._content()), columns=["cluster"]))

    def _content(self) -> bytes:
        path = Path(self.folder) / self.part.name
        try:
            content = path.read_bytes()
        except FileNotFoundError:
            content = b""
        if hashlib.sha256(content).hexdigest() != self.part.sha256:
            raise FileError(f"{path} is not the file that was written. Start over in a new folder.")
        return content

    def clustered(self, folder: Path, clusters: Labels, n_clusters: int) -> Part:
        """Write the part into another folder, with the cluster of each row where it has its centre."""
        table = pq.read_table(BytesIO(self._content()))
        labels = np.append(clusters, np.int32(-1))[_clusters(table)]
        at = table.schema.get_field_index("cluster")
        table = table.set_column(at, table.schema.field(at), pa.array(labels, pa.int32()))
        return _written(folder, self.part.start, table, labels, n_clusters)


def write_part(folder: Path, start: int, rows: Array, ids: Array | None, n_clusters: int) -> Part:
    """Write the labels of consecutive rows, whole or not at all."""
    numbers = pa.array(np.arange(start, start + len(rows), dtype=np.int64))
    columns, fields = [numbers], [pa.field("row", pa.int64(), nullable=False)]
    if ids is not None:
        columns.append(as_ids(ids))
        fields.append(pa.field("id", columns[-1].type, nullable=False))
    values, known = label_columns(rows)
    table = pa.Table.from_arrays([*columns, *values], schema=pa.schema([*fields, *known]))
    return _written(folder, start, table, rows["cluster"], n_clusters)


def _clusters(table: Any) -> Labels:
    return np.ascontiguousarray(table["cluster"].to_numpy(), dtype=np.int32)


def _written(folder: Path, start: int, table: Any, labels: Labels, n_clusters: int) -> Part:
    content = BytesIO()
    pq.write_table(table, content, **layout(table.schema))
    written = content.getvalue()
    sizes = tuple(np.bincount(labels[labels >= 0], minlength=n_clusters).tolist())
    part = Part(start, len(labels), sizes, len(written), hashlib.sha256(written).hexdigest())
    growing = folder / f".{part.name}.{uuid.uuid4().hex}.new"  # others may be writing it as well
    with replacing(folder / part.name, growing) as file, naming(folder / part.name):
        file.write(written)
    return part


class PartSink(PassFiles):
    """The parts of one run, pass by pass: what was written is noted in a file that only grows."""

    def __init__(self, folder: RunFolder, n_clusters: int, n_passes: int, *, staged: bool = False) -> None:
        super().__init__(n_clusters)
        self._folder, self._n_passes = folder, n_passes
        self._staged = staged  # what rows are given to may be anchors: clusters are known at the end
        self._last: dict[int, Part] = {}

    def home(self, number: int) -> Path:
        """Where the parts of a pass lie: those of the last one are there to stay."""
        if number == self._n_passes - 1 and not self._staged:
            return self._folder.parts
        return self._folder.staging / f"parts.{number % 2}"

    def _notes(self, number: int) -> Path:
        return self._folder.staging / f"notes.{number % 2}"

    def begin(self, number: int) -> None:
        """Start a pass; go on with it if it was resumed."""
        if self._now is None:
            self.number, self._now = number, Appended(self._notes(number))
            self.sizes[:] = 0
        with naming(self.home(number)):
            self.home(number).mkdir(exist_ok=True)
        self._last = {} if number == 0 else {part.start: part for part in self._parts(number - 1)}

    def order(self, number: int, start: int) -> tuple[str, int]:
        """What a worker must know to write a part."""
        return str(self.home(number).absolute()), len(self.sizes)

    def put(self, start: int, part: Part) -> None:
        """Note a part that was written."""
        assert self._now is not None
        self._now.append(json.dumps(asdict(part)).encode() + b"\n")
        self.sizes += np.array(part.clusters)

    def last(self, start: int, stop: int) -> PartLabels:
        """Where the labels of a block in the pass before are."""
        return PartLabels(str(self.home(self.number - 1).absolute()), self._last[start])

    def _parts(self, number: int) -> Iterator[Part]:
        """What is noted of a pass that ended."""
        with self._notes(number).open("rb") as file:
            for line in file:
                noted = json.loads(line)
                yield Part(**{**noted, "clusters": tuple(noted["clusters"])})

    @classmethod
    def resumed(
        cls, folder: RunFolder, n_clusters: int, n_passes: int, stored: Fields, *, staged: bool = False
    ) -> PartSink:
        """As a checkpoint says it was; parts that were written later are written again."""
        sink = cls(folder, n_clusters, n_passes, staged=staged)
        sink.number = stored.number("pass")
        if stored.get("before") is not None:
            sink._before = Extent.unpacked(stored.part("before"))
            verified(sink._notes(sink.number - 1), sink._before)
            sink._check(sink.number - 1)
        if stored.get("now") is not None:
            sink._now = Appended(sink._notes(sink.number), Extent.unpacked(stored.part("now")))
        counted = sink.number - (sink._now is None)
        try:
            if counted >= 0:
                sink._check(counted)
                for part in sink._parts(counted):
                    sink.sizes += np.array(part.clusters)
        except (FileError, ValueError):
            sink.close()
            raise
        return sink

    def _check(self, number: int) -> None:
        for part in self._parts(number):
            path = self.home(number) / part.name
            if not path.exists() or path.stat().st_size != part.size:
                raise FileError(
                    f"{path} is gone or has another size than the {part.size} bytes that were written. "
                    "Start over in a new folder."
                )

    def ended(self) -> list[PartLabels]:
        """The parts of the pass that ended."""
        home = str(self.home(self.number - 1).absolute())
        return [PartLabels(home, part) for part in self._parts(self.number - 1)]

    def commit(self, clustered: Iterable[Part] | None = None) -> None:
        """Write the manifest of the pass that ended, or of its parts written once more."""
        parts = self._parts(self.number - 1) if clustered is None else clustered
        write_manifest(self._folder.parts, parts, self._folder.growing)


def write_manifest(home: Path, parts: Iterable[Part], growing: Path | None = None) -> None:
    """Let the parts count, after removing whatever else lies beside them."""
    written = sorted(parts, key=lambda part: part.start)
    names = {part.name for part in written}
    for path in list(home.iterdir()):
        if path.name not in names and path.name != MANIFEST:
            path.unlink()
    told = [
        {
            "file": part.name,
            "first_row": part.start,
            "rows": part.n_rows,
            "bytes": part.size,
            "sha256": part.sha256,
        }
        for part in written
    ]
    manifest = {"rows": sum(part.n_rows for part in written), "parts": told}
    path = home / MANIFEST
    with replacing(path, growing) as file, naming(path):
        file.write((json.dumps(manifest, indent=1) + "\n").encode())
    sync_folder(home)
