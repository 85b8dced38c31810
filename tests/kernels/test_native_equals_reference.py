"""The compiled module gives the bits of its specification for any rows, threads and instruction set."""

from __future__ import annotations

import itertools
import os
import subprocess
import sys

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from scipy.sparse import csr_array

from battery import (
    KINDS,
    Made,
    digest,
    everything,
    made,
    nothing,
    parts,
    rows_of,
    run,
    scaled,
    seeds_by_groups,
)
from viewpass.kernels import reference
from viewpass.kernels.backend import native
from viewpass.kernels.grid import PARTIAL_SUMS, RowKind, neighbours

pytestmark = pytest.mark.skipif(native is None, reason="the module is not compiled")

SEEDS = st.integers(0, 2**32 - 1)
THREADS = (1, 2, 5)
tried = settings(max_examples=50, deadline=None, suppress_health_check=list(HealthCheck))


def assert_same(mine, theirs):
    assert mine.keys() == theirs.keys()
    for name, arrays in mine.items():
        for one, other in zip(arrays, theirs[name], strict=True):
            assert one.dtype == other.dtype, name
            np.testing.assert_array_equal(one, other, err_msg=name)


@tried
@given(SEEDS, st.sampled_from(THREADS))
def test_every_function(seed, n_threads):
    case = made(seed)
    assert_same(everything(native, case, n_threads), everything(reference, case))


@tried
@given(SEEDS)
def test_threads_draw_the_same_seeds_by_groups(seed):
    case = made(seed, n_rows=100)
    alone, *others = (seeds_by_groups(native, case, n_threads) for n_threads in THREADS)
    for other in others:
        assert_same(alone, other)


@tried
@given(SEEDS, st.sampled_from(THREADS))
def test_scales(seed, n_threads):
    case = made(seed)
    assert_same(scaled(native, case, n_threads), scaled(reference, case))


# Widths past the partial sums, a panel, a block; clusters past a vector and a panel; rows past a tile.
EDGES = [
    (191, 7, ("float32", "float64"), (64, 65)),
    (192, 8, ("float64",), (256,)),
    (193, 16, ("float32",), (257,)),
    (193, 17, ("csr32", "csr64, long"), (300, 63)),
    (385, 40, ("float32", "csr64", "none", "float64"), (5, 600, 3, 70)),
    (60, 100, ("float64", "float32"), (6, 3)),
    (1, 3, ("float32",), (1,)),
    (0, 2, ("float32", "csr32"), (4, 3)),
    (130, 4, ("float32",) * 70, (2,) * 70),
]


@pytest.mark.parametrize(("n_rows", "n_clusters", "kinds", "widths"), EDGES)
def test_shapes_at_the_edge(n_rows, n_clusters, kinds, widths):
    case = made(n_clusters, n_rows, n_clusters, kinds, list(widths))
    expected = everything(reference, case)
    for n_threads in THREADS:
        assert_same(everything(native, case, n_threads), expected)


@st.composite
def runs(draw):
    return {
        "begin": draw(st.integers(0, 3)),
        "size": draw(st.sampled_from([1, 7, 64, 1000])),
        "rules": (
            draw(st.sampled_from([0.0, 0.1, 10.0])),
            draw(st.integers(1, 20)),
            draw(st.sampled_from([0.0, 1e-3])),
            draw(st.booleans()),
            draw(st.booleans()),
        ),
        "first": draw(st.booleans()),
        "measured": draw(st.booleans()),
    }


def assert_same_runs(case: Made, task, n_threads):
    mine, margins = run(native, case, case.rng, n_threads, **task)
    theirs, exact = run(reference, case, case.rng, 1, **task)
    assert_same({"run": mine}, {"run": theirs})
    # Margins are lower bounds.
    unseen = theirs[2] < 0
    assert (margins[unseen] == np.inf).all()
    assert (margins[~unseen] <= exact[~unseen] + 1e-9).all()


@tried
@given(SEEDS, runs(), st.sampled_from(THREADS))
def test_chunks(seed, task, n_threads):
    assert_same_runs(made(seed), task, n_threads)


LARGE = [
    ("float32", "float32"),
    ("float64", "float32"),
    ("csr32", "csr64"),
    ("float64", "csr32, long", "none"),
]


@pytest.mark.parametrize(("begin", "kinds"), list(enumerate(LARGE)))
def test_chunks_that_threads_share(kinds, begin):
    """Enough work for several threads, many updates, ties, and clusters enough for bounds to decide."""
    for n_rows, n_clusters, size in ((2500, 12, 2500), (1500, 40, 1500), (1500, 40, 700)):
        case = made(n_clusters, n_rows, n_clusters, kinds, [70, 30, 5][: len(kinds)])
        rules = 0.1, 20, 0.0, True, False
        task = {"begin": begin, "size": size, "rules": rules, "first": True}
        theirs, _ = run(reference, case, case.rng, 1, **task)
        for n_threads in THREADS:
            mine, _ = run(native, case, case.rng, n_threads, **task)
            assert_same({"run": mine}, {"run": theirs})


@pytest.mark.parametrize("kinds", [("float32", "csr32"), ("float64",)])
def test_more_updates_than_bounds_remember(kinds):
    """Labels at random move for long."""
    case = made(5, 900, 30, kinds, [40, 90][: len(kinds)], styles=("groups",))
    task = {"begin": 2, "size": 900, "rules": (0.0, 80, 0.0, True, False), "first": True}
    mine, _ = run(native, case, case.rng, 2, **task)
    theirs, _ = run(reference, case, case.rng, 1, **task)
    assert_same({"run": mine}, {"run": theirs})


def test_a_chunk_with_a_row_to_repair_leaves_the_sums_unchanged():
    case = made(3, 300, 4, ("float64", "csr64"), [9, 12], styles=("groups",), kept=False)
    case.views[0][250] = 1e-300
    task = {"begin": 0, "size": 100, "rules": (0.1, 5, 0.0, True, False), "first": False}
    for n_threads in THREADS:
        mine, _ = run(native, case, case.rng, n_threads, measured=False, **task)
        theirs, _ = run(reference, case, case.rng, 1, measured=False, **task)
        assert mine[0][0] == 200
        same = slice(0, 200)  # whose norms and labels are not those of the chunk that was not done
        assert_same(
            {"run": [*mine[:2], mine[2][same], *mine[3:-1], mine[-1][:, same]]},
            {"run": [*theirs[:2], theirs[2][same], *theirs[3:-1], theirs[-1][:, same]]},
        )


# ---- rows with faults


def kinds_of(module, views, n_rows, observed=None, n_threads=1):
    case = Made(views, observed, [1.0] * len(views), [], n_rows, 1, 0)
    _, inverse, kinds, worst = rows_of(module, case, n_threads)
    return inverse, kinds, worst


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("width", [1, 2, PARTIAL_SUMS - 1, PARTIAL_SUMS + 1, 200])
def test_faults_are_distinguished(dtype, width):
    x = np.ones((600, width), dtype=dtype)
    x[1, width // 2] = np.nan
    x[2, 0], x[3, width // 2], x[4], x[5] = np.nan, np.inf, np.nan, 0
    x[8, :1], x[8, -1:] = np.nan, np.inf
    partly = RowKind.PARTLY_NAN if width > 1 else RowKind.ABSENT
    expected = {
        0: RowKind.PRESENT,
        1: partly,
        2: partly,
        3: RowKind.INFINITE,
        4: RowKind.ABSENT,
        5: RowKind.ABSENT,
    }
    expected[8] = partly if width > 1 else RowKind.INFINITE
    if dtype == np.float64:
        x[6], x[7] = 1e-300, 1e300
        expected |= {6: RowKind.EXTREME, 7: RowKind.EXTREME}
    forms = [
        x,
        (
            x.ravel(),
            np.tile(np.arange(width, dtype=np.int32), 600),
            np.arange(601, dtype=np.int32) * width,
            width,
        ),
    ]
    for form, observed in itertools.product(forms, (None, np.arange(600)[:, None] % 3 > 0)):
        theirs = kinds_of(reference, [form], 600, observed)
        for n_threads in THREADS:
            mine = kinds_of(native, [form], 600, observed, n_threads)
            for one, other in zip(mine, theirs, strict=True):
                np.testing.assert_array_equal(one, other)
        kinds = {
            row: RowKind.ABSENT if observed is not None and not observed[row] else kind
            for row, kind in expected.items()
        }
        assert {row: theirs[1][0, row] for row in kinds} == kinds
        assert (theirs[0][0, [row for row, kind in kinds.items() if kind != RowKind.PRESENT]] == 0).all()


@pytest.mark.parametrize("index", [np.int32, np.int64])
def test_sparse_rows_out_of_order_or_out_of_range_are_run_battery(index):
    values, columns, starts = parts(np.ones((7, 4)), index=index)
    columns[4:8], columns[8:12] = [0, 2, 1, 3], [0, 1, 1, 3]
    columns[12:16], columns[16:20], columns[20:24] = [0, 1, 2, 4], [-1, 1, 2, 3], [3, 1, 9, 0]
    for module in (native, reference):
        _, kinds, worst = kinds_of(module, [(values, columns, starts, 4)], 7)
        assert kinds[0].tolist() == [
            RowKind.PRESENT,
            RowKind.UNSORTED,
            RowKind.UNSORTED,
            RowKind.OUTSIDE,
            RowKind.OUTSIDE,
            RowKind.OUTSIDE,
            RowKind.PRESENT,
        ]
        assert worst == RowKind.OUTSIDE


@pytest.mark.parametrize(
    "starts", [[0, 5, 3, 8], [-1, 2, 4, 8], [0, 2, 4, 9], [0, 4, 8]], ids=["fall", "below", "beyond", "short"]
)
def test_row_starts_that_would_be_read_past_the_end_are_refused(starts):
    view = np.ones(8), np.tile(np.arange(4, dtype=np.int32), 2), np.array(starts, dtype=np.int32), 4
    with pytest.raises(ValueError, match="CSR"):
        rows_of(native, Made([view], None, [1.0], [4], 3, 1, 0))


def test_what_does_not_fit_is_refused():
    case = made(0, 10, 3, ("float32",), [4])
    rows = rows_of(native, case)[0]
    wide = native.Centres([np.ones((3, 5))], np.ones((1, 3), dtype=bool))
    labels = np.zeros(10, dtype=np.int32)
    with pytest.raises(ValueError, match="width"):
        native.assign(rows, wide, labels, 1)
    good = native.Centres([np.ones((3, 4))], np.ones((1, 3), dtype=bool))
    with pytest.raises(ValueError, match="label"):
        native.accumulate(rows, None, labels + 3, 1, *nothing(case), 1)
    with pytest.raises(ValueError, match="label"):
        native.assign(rows, good, labels[:4].copy(), 1)
    with pytest.raises(TypeError):
        native.Rows([np.ones((10, 4), dtype=np.int32)], None, [1.0], *rows_of(native, case)[1:3], False)


@pytest.mark.parametrize(
    "kernel",
    [
        lambda rows, none: native.assign(rows, none, np.zeros(10, dtype=np.int32), 1),
        lambda rows, none: native.soft_assign(rows, none, 1, 1),
        lambda rows, none: native.search_anchors(rows, none, none, np.zeros(0, dtype=np.int32), 0, 1),
        lambda rows, none: native.all_distances(rows, none, True, 1),
        lambda rows, none: native.nearest_two(rows, none, 1),
        lambda rows, none: none.suited(rows),
    ],
    ids=["assign", "soft_assign", "search_anchors", "all_distances", "nearest_two", "suited"],
)
def test_no_centres_are_refused(kernel):
    rows = rows_of(native, made(0, 10, 3, ("float32",), [4]))[0]
    with pytest.raises(ValueError, match="there are no centres"):
        kernel(rows, native.Centres([np.ones((0, 4))], np.ones((1, 0), dtype=bool)))


# ---- instruction sets

BATTERY = """
from viewpass._native import kernels
from battery import KINDS, digest, everything, made, run, scaled, seeds_by_groups
import viewpass._native as native
print(kernels())
for seed in range(12):
    case = made(seed, 400, 11 + seed, [KINDS[seed % 6], KINDS[(seed + 1) % 6]], [1 + 23 * seed, 64])
    found = everything(native, case, 2)
    for begin in range(4):
        task = {"size": 150, "rules": (0.1, 20, 0.0, True, False), "first": True}
        found[f"run {begin}"] = run(native, case, case.rng, 2, begin=begin, **task)[0]
    print(digest(found), digest(scaled(native, case)), digest(seeds_by_groups(native, case)))
"""


def run_battery(kernels):
    where = {"VIEWPASS_KERNELS": kernels, "PYTHONPATH": os.pathsep.join(sys.path)}
    words = [sys.executable, "-c", BATTERY]
    return subprocess.run(words, env={**os.environ, **where}, capture_output=True, text=True, check=False)


@pytest.mark.system
def test_every_instruction_set_gives_the_same_bits():
    portable, fast = run_battery("portable"), run_battery("avx2")
    assert portable.returncode == 0, portable.stderr
    name, *digests = portable.stdout.splitlines()
    assert name == "portable"
    assert len(digests) == 12
    if fast.returncode and "this build and processor have 'portable'." in fast.stderr:
        pytest.skip("this build or processor has no other")
    assert fast.returncode == 0, fast.stderr
    assert fast.stdout.splitlines() == ["avx2", *digests]


@pytest.mark.system
def test_unknown_kernels_are_refused():
    found = run_battery("fast")
    assert found.returncode
    assert "VIEWPASS_KERNELS is 'fast'" in found.stderr


# ---- links between anchors


@tried
@given(SEEDS, st.integers(1, 40), st.integers(1, 5), st.booleans())
def test_links(seed, n_anchors, n_near, weighted):
    """Rows without weights, and anchors without links."""
    rng = np.random.default_rng(seed)
    n_rows = int(rng.integers(0, 60))
    near = rng.integers(n_anchors, size=(n_rows, n_near)).astype(np.int32)
    weights = rng.integers(0, 3, size=(n_rows, n_near)) * (rng.random((n_rows, 1)) < 0.8)
    copies = rng.integers(0, 3, size=n_rows) if weighted else None
    found = [module.links_of(near, weights, copies, n_anchors) for module in (native, reference)]
    assert_same({"links": list(found[0])}, {"links": list(found[1])})


@tried
@given(SEEDS, st.integers(1, 8))
def test_near_rows(seed, n_near):
    """Many rows are equal, or share no column with any other."""
    rng = np.random.default_rng(seed)
    x = rng.integers(0, 3, size=(30, 6)) * (rng.random((30, 6)) < 0.3) * rng.choice([1.0, 0.1])
    x[rng.random(30) < 0.2] = 0.0  # without the view
    x[:9, 0] = 1.0
    dense = x.astype(rng.choice(["f4", "f8"]))
    sparse = csr_array(dense)
    parts = sparse.data, sparse.indices, sparse.indptr, 6
    found = []
    for module, n_threads in ((native, 1), (native, 3), (reference, 1)):
        for view in (dense, parts):
            case = Made([view], None, [1.0], [6], 30, 1, 0)
            found.append(module.near_rows(rows_of(module, case)[0], 0, n_near, n_threads))
    for other in found[1:]:
        np.testing.assert_array_equal(other, found[0])
    assert not (found[0][:9] == np.arange(9)[:, None]).any()


@pytest.mark.parametrize("size", [1e-20, 1e20])
def test_rows_that_float32_products_say_nothing_about(size):
    """Squares of their values are out of float32's range: exact distances decide everything."""
    rng = np.random.default_rng(0)
    x = (rng.standard_normal((90, 8)) * rng.choice([1.0, size], size=(90, 1))).astype(np.float32)
    case = Made([x], None, [1.0], [8], 90, 40, 0)
    values = rng.standard_normal((40, 8))
    found = []
    for module in (native, reference):
        rows = rows_of(module, case)[0]
        centres = module.Centres([values], np.ones((1, 40), dtype=bool)).suited(rows)
        groups = module.Centres([values[::8]], np.ones((1, 5), dtype=bool)).suited(rows)
        group_of = (np.arange(40) % 5).astype(np.int32)
        searched = module.search_anchors(rows, centres, groups, group_of, 16, 1)
        found.append([*module.soft_assign(rows, centres, neighbours(40), 1), *searched])
    assert_same({"all": found[0]}, {"all": found[1]})


@pytest.mark.parametrize("n_near", [1, 14, 15, 16, 17, 38])
def test_soft_assignment_to_any_number_of_anchors(n_near):
    rng = np.random.default_rng(n_near)
    case = Made([rng.standard_normal((30, 5))], None, [1.0], [5], 30, 39, 0)
    values = rng.standard_normal((39, 5))
    found = []
    for module in (native, reference):
        rows = rows_of(module, case)[0]
        centres = module.Centres([values], np.ones((1, 39), dtype=bool)).suited(rows)
        found.append(list(module.soft_assign(rows, centres, n_near, 1)))
    assert_same({"all": found[0]}, {"all": found[1]})


def test_kinds_are_all_tried():
    assert {type(x) for seed in range(30) for x in made(seed).views} == {np.ndarray, tuple, type(None)}
    assert digest({"a": [np.ones(2)]}) != digest({"a": [np.zeros(2)]})
    assert len(set(KINDS)) == 7
