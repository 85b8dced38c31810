"""Labels, ids and sampled rows of a run on one machine, on disk until it ends."""

from __future__ import annotations

from concurrent.futures import Future, ThreadPoolExecutor
from typing import Any

from viewpass.cluster.runs.sampled_rows import RowSampler
from viewpass.core.model import Assigned
from viewpass.core.step.workspace import Workspace
from viewpass.engine.labelling import bare_rows, label_rows
from viewpass.engine.run import Position
from viewpass.errors import FileError
from viewpass.kernels.grid import Integers, Labels
from viewpass.store.container.fields import Fields
from viewpass.store.folder import RunFolder
from viewpass.store.labels.appended import Extent
from viewpass.store.labels.parquet import IdSink
from viewpass.store.labels.staging import LabelSink
from viewpass.views.chunk import Chunk


class FileSink:
    """Labels and ids of a run on disk until it ends.

    A thread computes distances and writes, while the next chunk is processed; whatever reads the files, and
    every checkpoint, waits for it.
    """

    by_chunk = True

    def __init__(
        self,
        labels: LabelSink,
        ids: IdSink | None,
        folder: RunFolder,
        sampler: RowSampler | None,
        *,
        final: bool,
    ) -> None:
        self.labels, self.ids, self._folder, self._sampler = labels, ids, folder, sampler
        self._final = final  # users get other labels, and ids, when the rows are read once more
        self._thread = ThreadPoolExecutor(1, thread_name_prefix="viewpass-labels")
        self._writing: Future[None] | None = None

    def begin(self, number: int) -> None:
        """A pass begins."""
        self._written()
        self.labels.begin(number)

    def end(self) -> None:
        """The pass is complete."""
        self._written()
        self.labels.end()

    def last(self, start: int, n_rows: int) -> Labels:
        """Labels of rows in the pass before."""
        return self.labels.last(start, n_rows)

    def _written(self) -> None:
        """Wait until everything is written, or raise what went wrong."""
        if self._writing is not None:
            writing, self._writing = self._writing, None
            writing.result()

    @property
    def sizes(self) -> Integers:
        """Rows per centre so far."""
        return self.labels.sizes

    def put(self, assigned: Assigned, workspace: Workspace) -> None:
        """Keep the labels of rows, with their distances and margins."""
        assigned.rows.measure(workspace.n_threads)
        self._written()  # at most one chunk waits
        self._writing = self._thread.submit(self._write, assigned, workspace)

    def _write(self, assigned: Assigned, workspace: Workspace) -> None:
        made = bare_rows if self._final else label_rows
        self.labels.put(assigned.start, made(assigned, workspace))

    def put_rows(self, chunk: Chunk) -> None:
        """Keep the ids of rows, and the sampled ones."""
        if self._sampler is not None:
            self._sampler.add(chunk)
        if chunk.row_ids is not None and not self._final:
            if self.ids is None:
                self.ids = IdSink(self._folder.ids)
            self.ids.put(chunk.row_ids)

    def sync(self) -> None:
        """Write all of it to the disk."""
        self._written()
        self.labels.sync()
        if self.ids is not None:
            self.ids.sync()

    def close(self) -> None:
        """Close the files."""
        self._thread.shutdown(wait=True)
        self._writing = None
        self.labels.close()
        if self.ids is not None:
            self.ids.close()

    def check_rows(self, at: Position, n_rows: int) -> None:
        """Refuse files of another number of rows than the stream has read: `n_rows` of them are labelled."""
        now = n_rows if at.number == 0 else at.row
        self.labels.check_rows(n_rows if at.number else None, now if at.row else None)
        n_ids = at.row if at.number == 0 else n_rows
        if self.ids is not None and self.ids.n_rows != n_ids:
            raise FileError(
                f"{self._folder.ids} holds {self.ids.n_rows:,} ids where {n_ids:,} rows were read. "
                "Start over in a new folder."
            )

    def packed(self) -> dict[str, Any]:
        """What a checkpoint stores."""
        self._written()
        return {"labels": self.labels.packed(), "ids": self.ids and self.ids.extent.packed()}

    @classmethod
    def resumed(
        cls, folder: RunFolder, n_clusters: int, stored: Fields, sampler: RowSampler | None, *, final: bool
    ) -> FileSink:
        """As it was when the checkpoint was written."""
        labels = LabelSink.resumed(folder.staging, n_clusters, stored.part("labels"))
        ids = None
        try:
            if stored.get("ids") is not None:
                ids = IdSink(folder.ids, Extent.unpacked(stored.part("ids")))
        except FileError:
            labels.close()
            raise
        return cls(labels, ids, folder, sampler, final=final)
