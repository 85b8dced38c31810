"""Results are those recorded, to the bit, for any number of threads and any way to pass the rows in."""

from __future__ import annotations

import numpy as np
import pytest

from bits.cells import CELLS, THREADS, Cell, different, input_digest, parts
from bits.recorded import read
from bits.rows import rows
from clusters import write_files
from viewpass.kernels.backend import native

# Some cells ask for more clusters than rows can fill.
pytestmark = pytest.mark.filterwarnings("ignore:only .* clusters have rows")
RECORDED = read()
SOLVED = pytest.mark.skipif(native is None, reason="bits of ViewPass are those of the compiled module")


def cases(cells, few):
    """Cells as parameters, marked as long (all but a few: their names, or one in so many) or as real data."""
    found = []
    for number, cell in enumerate(cells):
        long = cell.long or (number % few > 0 if isinstance(few, int) else cell.name not in few)
        marks = [pytest.mark.long] if long else []
        marks += [pytest.mark.data] if cell.real else []
        marks += [SOLVED] if cell.group == "solved" else []
        found.append(pytest.param(cell, id=str(cell), marks=marks))
    return found


def compare(cell: Cell, mine: dict, how: str, *, apart_from: tuple[str, ...] = ()) -> None:
    recorded = RECORDED[cell.section][cell.name]
    wrong = [name for name in different(mine, recorded) if name not in (*apart_from, *cell.left_out)]
    if not wrong:
        return
    if input_digest(*cell.input) != RECORDED["rows"]["/".join(cell.input)]:
        pytest.fail(f"{cell}: the rows themselves are not those recorded")
    pytest.fail(f"{cell}, {how}: not as recorded: {', '.join(wrong)}")


@pytest.fixture(autouse=True)
def _needed_data(request):
    if request.node.get_closest_marker("data"):
        request.getfixturevalue("data_folder")


def test_every_cell_is_recorded_and_nothing_else():
    recorded = {(section, name) for section in RECORDED.keys() - {"rows"} for name in RECORDED[section]}
    assert recorded == {(cell.section, cell.name) for cell in CELLS}
    assert len(recorded) == len(CELLS)


def some(n):
    """Names of one cell in n, and of one with each start."""
    quick = [cell for cell in CELLS if not cell.long]
    first = {cell.start: cell.name for cell in reversed(quick)}
    return {*first.values(), *(cell.name for cell in quick[::n])}


@pytest.mark.parametrize("cell", cases(CELLS, few=some(20)))
def test_any_number_of_threads(cell):
    for n_threads in THREADS:
        compare(cell, parts(cell.fitted(n_threads)), f"{n_threads} threads")


def in_one_pass(group: str, *, kinds=None, starts=None):
    return [
        cell
        for cell in CELLS
        if cell.n_passes == 1
        and cell.group == group
        and (kinds is None or cell.kind in kinds)
        and (starts is None or cell.start in starts)
    ]


@pytest.mark.parametrize("cell", cases(in_one_pass("published"), few=5))
def test_chunk_by_chunk(cell):
    model, decided = cell.model(2), []
    for chunk in cell.chunks():
        model.partial_fit(chunk)
        decided.append(model.stream_labels_)
    mine = parts(model, labels=model.predict(cell.views), stream_labels=np.concatenate(decided))
    compare(cell, mine, "chunk by chunk")


FROM_FILES = [
    *in_one_pass("published", kinds=("float32", "float64"), starts=("plain", "large-chunks")),
    # Not where a scale is standard: rows of zeros are missing in an array, and values in a file.
    *in_one_pass("solved", kinds=("float32", "float64"), starts=("plain", "graph", "sampled", "default")),
]


@pytest.mark.parametrize("cell", cases(FROM_FILES, few=4))
def test_from_parquet_files(cell, tmp_path):
    n_rows = rows(cell.data).n_rows
    cuts = [n_rows // 3, n_rows // 3 + 1, 3 * n_rows // 4]
    source = write_files(tmp_path / "rows", cell.views, cuts, id=None)  # ids would give another sample
    compare(cell, parts(cell.model(2).fit(source)), "from Parquet files")


@pytest.mark.parametrize(
    "cell", cases([*in_one_pass("published", starts=("plain",)), *in_one_pass("solved")], few=4)
)
def test_missing_views_given_by_a_mask(cell):
    """The values in the place of a missing view are ignored."""
    present = np.column_stack([seen(x) for x in cell.views])
    compare(cell, parts(cell.model(2).fit(filled(cell.views), observed=present)), "with a mask")


def seen(x):
    """Where a view is not missing if nothing is stated: a row of zeros is, too."""
    return np.diff(x.indptr) > 0 if hasattr(x, "indptr") else ~np.isnan(x[:, 0]) & x.any(axis=1)


def filled(views):
    return [x if hasattr(x, "indptr") else np.where(np.isnan(x), x.dtype.type(3), x) for x in views]
