"""The label file of a run, with the names of clusters where they are asked for."""

from __future__ import annotations

from collections.abc import Callable

from viewpass.kernels.grid import Integers
from viewpass.labels.columns import Wanted, with_names
from viewpass.labels.files.formats import TableFile, staged_tables
from viewpass.labels.names import of_rows
from viewpass.labels.writing import Also, Watch, write_rows
from viewpass.model.model import Model
from viewpass.runs.folder import RunFolder
from viewpass.sources.source import Source
from viewpass.store.container.files import naming, replacing
from viewpass.sums.rules import Workspace

Watched = Callable[[str], Watch]  # what is called while this is done with rows


def write_final_labels(
    model: Model,
    source: Source,
    folder: RunFolder,
    workspace: Workspace,
    watched: Watched,
    wanted: Wanted,
    also: Also,
    sampled: Integers,
) -> tuple[Integers, dict[int, str]]:
    """Write the label file of a run; gives rows per cluster, and the names of clusters.

    Names of clusters follow from the labels of the `sampled` rows; rows are staged until then.
    """
    given = workspace, watched("labelling"), wanted
    if not wanted.named:
        return write_rows(model, source, folder.labels, *given, growing=folder.growing, also=also).sizes, {}
    staged = folder.staging / "final.arrows"
    sizes = write_rows(model, source, staged, *given, growing=folder.growing, also=also, staged=True).sizes
    names = wanted.names(model, of_rows(staged_tables(staged, ["cluster", *wanted.name_by]), sampled))
    with (
        naming(staged),
        replacing(folder.labels, folder.growing) as file,
        TableFile(folder.labels, file) as out,
    ):
        watch = watched("naming")
        for rows in staged_tables(staged):
            out.write(with_names(rows, names))
            watch(out.n_rows, sizes)
    staged.unlink()
    return sizes, names
