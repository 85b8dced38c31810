"""Quality benchmarks: finished cells are not run again, data sets are as described. No timings."""

from __future__ import annotations

import json

import numpy as np
import pytest
from benchmarks.data import buffers, observed
from benchmarks.quality import report
from benchmarks.quality.bars import Bar, bars
from benchmarks.quality.cells import Cells, Key
from benchmarks.quality.methods import METHODS, MODELS, chosen
from benchmarks.quality.page import filled
from benchmarks.quality.run import Wanted, fill
from benchmarks.quality.sets import DIGIT_SORTED, NATURAL, REPORTED, SETS, TUNED
from benchmarks.quality.summary import results

SMALL = Wanted(("nutrimouse",), ("kmeans", "opimc1"), seeds=2)


def cell(seed: int, method: str = "imc5", nmi: float = 0.5, missing: str = "0.3") -> dict:
    scores = {METHODS[method].labels: {"nmi": nmi, "acc": nmi, "ari": nmi}}
    about = {"set": "nutrimouse", "missing": missing, "seed": seed, "method": method}
    return {**about, "processor_seconds": 1.0, "bytes_above": 1 << 20, "scores": scores}


def test_halves_are_the_sets_by_name_in_turn():
    names = sorted(set(SETS) - {DIGIT_SORTED})
    assert (tuple(names[0::2]), tuple(names[1::2])) == (TUNED, REPORTED)
    assert len(names) == 18


@pytest.mark.long
@pytest.mark.data
def test_a_stopped_run_continues(data_folder, tmp_path):
    path = tmp_path / "out" / "cells.jsonl"
    fill(Cells(path), SMALL)
    lines = path.read_text().splitlines()
    assert {Key.of(json.loads(line)) for line in lines} == set(SMALL.all())
    for found in map(json.loads, lines):
        assert set(found["scores"]) == (
            {"labels_", "stream_labels_"} if found["method"] == "opimc1" else {"labels_"}
        )
        assert all(-1 <= value <= 1 for scores in found["scores"].values() for value in scores.values())

    path.write_text("\n".join([*lines[:-1], lines[-1][:40]]))  # stopped while it wrote
    fill(Cells(path), SMALL)
    again = path.read_text().splitlines()
    assert again[: len(lines) - 1] == lines[:-1]
    last, before = json.loads(again[-1]), json.loads(lines[-1])
    assert (Key.of(last), last["scores"]) == (Key.of(before), before["scores"])

    size = path.stat().st_size
    fill(Cells(path), SMALL)
    assert path.stat().st_size == size


@pytest.mark.data
@pytest.mark.parametrize("name", ["nutrimouse", "webkb", "emoji_l10n", "bdgp", DIGIT_SORTED])
def test_sets(data_folder, name):
    real = SETS[name]
    for missing in real.missing:
        data, same, other = (real.make(missing, seed) for seed in (1, 1, 2))
        assert data.n_rows == real.n_rows
        assert all(
            np.array_equal(a, b, equal_nan=True)
            for x, y in zip(data.views, same.views, strict=True)
            for a, b in zip(buffers(x), buffers(y), strict=True)
        )
        there = np.stack([observed(view) for view in data.views], axis=1)
        assert there.any(axis=1).all() or name == "bdgp"  # some of its rows have no view at all
        if missing != NATURAL:
            assert (~there).mean(axis=0) == pytest.approx(float(missing), abs=0.01)
        if real.sorted_by_class:
            assert (np.diff(data.classes) >= 0).all()
        else:
            assert not np.array_equal(data.classes, other.classes)


def test_cells_are_forgotten_by_name_and_the_others_stay(tmp_path):
    cells = Cells(tmp_path / "cells.jsonl")
    for seed in range(3):
        cells.add(cell(seed))
    cells.forget([Key("nutrimouse", "0.3", 1, "imc5")])
    assert [key.seed for key in Cells(cells.path).known] == [0, 2]


def test_of_two_lines_the_later_counts(tmp_path):
    cells = Cells(tmp_path / "cells.jsonl")
    cells.add(cell(0, nmi=0.1))
    cells.add(cell(0, nmi=0.9))
    assert [each["scores"]["labels_"]["nmi"] for each in Cells(cells.path).known.values()] == [0.9]


def test_methods_are_chosen_by_name_or_prefix():
    assert chosen(["opimc1"]) == ["opimc1"]
    assert chosen(["opimc"]) == ["opimc1", "opimc10"]
    assert all(name.startswith("viewpass") for name in chosen(["viewpass"]))


def test_settings_are_parameters_of_the_estimator_and_the_default_ones_are_a_column():
    for method in METHODS.values():
        if method.kind in MODELS:
            MODELS[method.kind](3).set_params(**method.settings)
    assert METHODS["viewpass"].settings == {}
    assert METHODS["viewpass"].title == "viewpass, default settings"


@pytest.mark.parametrize(("n_rows", "rows"), [(400, 150), (2000, 500), (1_000_000, 16_384)])
def test_a_sample_of_a_quarter_has_fifty_rows_per_cluster_and_no_more_than_the_default(n_rows, rows):
    assert METHODS["viewpass-quarter"].sizes(n_rows, 3) == {"sample_size": rows}
    assert METHODS["viewpass"].sizes(n_rows, 3) == {}


def test_mean_and_checks():
    cells = [cell(seed, "viewpass", nmi) for seed, nmi in enumerate((0.4, 0.6))]
    cells += [cell(seed, "imc5", 0.53) for seed in range(2)]
    found = results(cells, seeds=2)
    figure = found["nutrimouse", "0.3", "viewpass"].figures["nmi"]
    assert (figure.mean, figure.spread, figure.seeds) == (pytest.approx(0.5), pytest.approx(0.1), 2)
    checks = list(bars(found))
    assert checks == [Bar(checks[0].what, pytest.approx(0.5), pytest.approx(0.51), 2)]
    assert not checks[0].met
    assert "MISSED" in report.text(found, 2)
    assert ".500 ± .100" in report.text(found, 2)


def test_a_page_gets_its_tables_between_the_marks():
    page = "before\n<!-- tables -->\nold\n<!-- end of tables -->\nafter\n"
    assert filled(page, "new\n") == "before\n<!-- tables -->\n\nnew\n\n<!-- end of tables -->\nafter\n"
    with pytest.raises(ValueError, match="marks"):
        filled("no marks", "new")
