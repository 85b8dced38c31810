"""Labels of a Dask run: one Parquet part per block, written by workers; users read them by the manifest.

A part may be written twice, even by two workers at once: its bytes are the same. Parts are valid once the
manifest names them; other files in the folder are removed before it is written.
"""

from __future__ import annotations

import hashlib
import json
import uuid
from collections.abc import Callable, Iterable, Iterator, Sequence
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
from viewpass.store.labels.appended import Extent
from viewpass.store.labels.passes import PassFiles

try:
    import pyarrow as pa
    import pyarrow.parquet as pq

    from viewpass.store.labels.formats import IDS, STREAM, WHICH, layout
    from viewpass.store.labels.parquet import ID, as_ids, label_columns
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
    """The labels of a part, in a form that is sent to workers; calling it reads them."""

    folder: str
    part: Part

    def __call__(self) -> Labels:
        """Read the labels, after checking that the part is the one that was written."""
        return self._labelled()[1]

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

    def clustered(self, folder: Path, clusters: Labels, n_clusters: int) -> Part:
        """Write the part into another folder, with clusters in place of anchors."""
        table, anchors = self._labelled()
        labels = np.append(clusters, np.int32(-1))[anchors]
        at = table.schema.get_field_index("cluster")
        table = table.set_column(at, table.schema.field(at), pa.array(labels, pa.int32()))
        return _written(folder, self.part.start, table, labels, n_clusters)

    def columns(self, names: Sequence[str]) -> Any:
        """Some columns of the part, after the same check."""
        return self._labelled()[0].select(list(names))

    def changed(self, folder: Path, change: Callable[[Any], Any]) -> Part:
        """Write the part into another folder, with other columns beside its labels."""
        table, labels = self._labelled()
        return _written(folder, self.part.start, change(table), labels, len(self.part.clusters))


def write_part(
    folder: Path,
    start: int,
    rows: Array,
    ids: Array | None,
    n_clusters: int,
    which: str = STREAM,
    id_name: str | None = None,
    kept: Any = None,
    more: Any = None,
) -> Part:
    """Write the labels of consecutive rows atomically; `which`: "final" or "stream".

    `id_name`: the column of the ids; `kept`, `more`: Arrow tables of columns before and after the labels.
    """
    numbers = pa.array(np.arange(start, start + len(rows), dtype=np.int64))
    columns, fields = [numbers], [pa.field("row", pa.int64(), nullable=False)]
    if ids is not None:
        columns.append(as_ids(ids))
        fields.append(pa.field(id_name or ID, columns[-1].type, nullable=False))
    values, known = label_columns(rows)
    before, after = (pa.table({}) if table is None else table for table in (kept, more))
    about = {WHICH: which.encode(), IDS: b"" if ids is None else (id_name or ID).encode()}
    schema = pa.schema([*fields, *before.schema, *known, *after.schema], about)
    table = pa.Table.from_arrays([*columns, *before.columns, *values, *after.columns], schema=schema)
    return _written(folder, start, table, rows["cluster"], n_clusters)


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


class PartSink(PassFiles):
    """The parts of one run, pass by pass, listed in a file per pass."""

    def __init__(self, folder: RunFolder, n_clusters: int, n_passes: int, *, staged: bool = False) -> None:
        super().__init__(n_clusters)
        self._folder, self._n_passes = folder, n_passes
        self._staged = staged  # labels may be anchors, or others are written at the end of the run
        self.with_distances = True
        self.id_name: str | None = None
        self._last: dict[int, Part] = {}

    def home(self, number: int) -> Path:
        """Return the folder of the parts of a pass: the final one for the last pass unless it is staged."""
        if number == self._n_passes - 1 and not self._staged:
            return self._folder.parts
        return self._folder.staging / f"parts.{number % 2}"

    def path(self, number: int) -> Path:
        """Return the file that lists the parts of a pass."""
        return self._folder.staging / f"notes.{number % 2}"

    def begin(self, number: int) -> None:
        """Start a pass, or continue the one that was resumed."""
        super().begin(number)
        with naming(self.home(number)):
            self.home(number).mkdir(exist_ok=True)
        self._last = {} if number == 0 else {part.start: part for part in self._parts(number - 1)}

    def order(self, number: int, start: int) -> tuple[str, int, bool, str | None]:
        """What a worker needs to write a part: folder, clusters, whether users read it, name of the ids."""
        return str(self.home(number).absolute()), len(self.sizes), self.with_distances, self.id_name

    def put(self, start: int, part: Part) -> None:
        """Record a part that was written."""
        assert self._now is not None
        self._now.append(json.dumps(asdict(part)).encode() + b"\n")
        self._add(np.array(part.clusters))

    def last(self, start: int, stop: int) -> PartLabels:
        """Return the labels of a block in the pass before, to be read by a worker."""
        return PartLabels(str(self.home(self.number - 1).absolute()), self._last[start])

    def _parts(self, number: int) -> Iterator[Part]:
        """Read the list of the parts of a pass."""
        with self.path(number).open("rb") as file:
            for line in file:
                yield self._part(line, number)

    def _part(self, line: bytes, number: int) -> Part:
        try:
            stored = Fields(json.loads(line), {})
            counts = stored.list("clusters", int)
            whole = {name: stored.number(name) for name in ("start", "n_rows", "size")}
            stored.need(len(counts) <= len(self.sizes), "clusters")
            stored.need(all(0 <= n <= whole["n_rows"] for n in counts), "clusters")
            return Part(**whole, clusters=tuple(counts), sha256=stored.text("sha256"))
        except (FileError, ValueError, RecursionError) as problem:
            raise FileError(
                f"{self.path(number)} is damaged: {problem} Start over in a new folder."
            ) from None

    @classmethod
    def resumed(
        cls, folder: RunFolder, n_clusters: int, n_passes: int, stored: Fields, *, staged: bool = False
    ) -> PartSink:
        """Restore the sink that a checkpoint recorded; parts written after it are written again."""
        sink = cls(folder, n_clusters, n_passes, staged=staged)
        sink._resume(stored)
        return sink

    def _verify(self, number: int, upto: Extent) -> None:
        super()._verify(number, upto)
        self._check(number)

    def _recount(self, number: int, upto: Extent) -> None:
        self._check(number)
        for part in self._parts(number):
            self._add(np.array(part.clusters))

    def _check(self, number: int) -> None:
        for part in self._parts(number):
            path = self.home(number) / part.name
            if not path.exists() or path.stat().st_size != part.size:
                raise FileError(
                    f"{path} is missing or does not have the {part.size} bytes that were written. "
                    "Start over in a new folder."
                )

    def ended(self) -> list[PartLabels]:
        """Return the parts of the latest complete pass."""
        home = str(self.home(self.number - 1).absolute())
        return [PartLabels(home, part) for part in self._parts(self.number - 1)]

    def commit(self, clustered: Iterable[Part] | None = None) -> None:
        """Write the manifest of the latest complete pass, or of its parts rewritten with clusters."""
        parts = self._parts(self.number - 1) if clustered is None else clustered
        write_manifest(self._folder.parts, parts, STREAM, self._folder.growing)


def write_manifest(home: Path, parts: Iterable[Part], which: str, growing: Path | None = None) -> None:
    """Write the manifest that makes the parts valid, after removing other files from the folder."""
    written = sorted(parts, key=lambda part: part.start)
    names = {part.name for part in written}
    for path in list(home.iterdir()):
        if path.name not in names and path.name != MANIFEST:
            path.unlink()
    keys = {"file": "name", "first_row": "start", "rows": "n_rows", "bytes": "size", "sha256": "sha256"}
    listed = [{key: getattr(part, name) for key, name in keys.items()} for part in written]
    manifest = {"labels": which, "rows": sum(part.n_rows for part in written), "parts": listed}
    path = home / MANIFEST
    with replacing(path, growing) as file, naming(path):
        file.write((json.dumps(manifest, indent=1) + "\n").encode())
    sync_folder(home)
