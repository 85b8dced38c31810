"""`viewpass paper`: cells are measured once, the page reports them, a stopped run continues."""

from __future__ import annotations

import json
import os
import struct
import xml.etree.ElementTree as ElementTree
from itertools import pairwise

import numpy as np
import pytest
from typer.testing import CliRunner

import viewpass as vp
from viewpass.cli.app import app
from viewpass.evaluate import nmi
from viewpass.paper import measurements as work
from viewpass.paper import published
from viewpass.paper.cells import Cell, PaperRun
from viewpass.paper.figures import fig1
from viewpass.paper.page import CANNOT, CONFIRMED, NOT, Claim, Section, hypertext, markdown
from viewpass.paper.run import PARTS, chosen, preface
from viewpass.paper.settings import METHODS, SEARCH_SEED, SETS, grid, settings_text, trial

SMALL = {"data": "made digit", "rate": 0.4, "seed": 0, "n_passes": 2, "chunk_size": 50, "n_rows": 120}


@pytest.fixture
def counted(monkeypatch):
    seen = []

    def count(*, number, folder, n_threads):
        seen.append(number)
        return {"square": number**2}

    monkeypatch.setitem(work.KINDS, "count", count)
    return seen


def test_a_cell_is_measured_once_and_kept(tmp_path, counted):
    cells = [Cell.of("count", number=number) for number in (3, 1, 3)]
    assert [r["square"] for r in PaperRun(tmp_path).results(cells)] == [9, 1, 9]
    assert counted == [3, 1]
    assert [r["square"] for r in PaperRun(tmp_path).results(cells)] == [9, 1, 9]
    assert counted == [3, 1]


def test_a_stopped_run_continues_and_a_broken_cell_is_measured_again(tmp_path, counted):
    cells = [Cell.of("count", number=number) for number in range(4)]
    PaperRun(tmp_path).results(cells[:2])
    kept = sorted((tmp_path / "cells").iterdir())
    kept[0].write_text('{"format": 1, "resu')
    old = json.loads(kept[1].read_text()) | {"format": 0}
    kept[1].write_text(json.dumps(old))
    (tmp_path / "cells" / "count_number=9.123.new").write_text("half")
    assert [r["square"] for r in PaperRun(tmp_path).results(cells)] == [0, 1, 4, 9]
    assert sorted(counted[2:]) == [0, 1, 2, 3]


@pytest.mark.long
def test_processes_give_the_same(tmp_path):
    cells = [
        Cell.of("passes", method="OPIMC", alpha=0.1, **SMALL),
        Cell.of("passes", method="ONMF-DA", **SMALL),
    ]
    one = PaperRun(tmp_path / "one").results(cells)
    two = PaperRun(tmp_path / "two", n_jobs=2).results(cells)
    for mine, theirs in zip(one, two, strict=True):
        for score in ("acc", "nmi"):
            assert mine[score] == theirs[score]
            assert len(mine[score]) == 2


@pytest.mark.parametrize("method", METHODS)
def test_every_method_runs_with_every_setting_of_its_quick_grid(method):
    for more in grid(method, quick=True)[:2]:
        extra = {"steps": 10} if method == "MultiNMF" else {}
        result = work.passes(method=method, folder=None, n_threads=1, **SMALL, **more, **extra)
        assert len(result["nmi"]) == (1 if method in ("IMC", "MultiNMF") else 2)
        assert all(0 <= value <= 1 for value in result["acc"] + result["nmi"])


def test_passes_of_opimc_are_those_of_the_estimator():
    data = trial("made digit", 0.4, 0, None, SMALL["n_rows"])
    found = list(work.opimc_passes(data, 10, 3, 5, chunk_size=50, alpha=0.1, n_threads=1))
    model = vp.OPIMC(
        10, alpha=0.1, chunk_size=50, n_passes=3, init="random", random_state=np.random.default_rng([5, 77])
    ).fit(data.views, observed=data.observed)
    np.testing.assert_array_equal(found[-1].stream_labels_, model.stream_labels_)
    assert found[-1].n_iter_ == model.n_iter_
    curves = [one.loss_curve_ for one in found]
    for shorter, longer in pairwise(curves):
        np.testing.assert_array_equal(longer[: len(shorter)], shorter)


@pytest.mark.parametrize(
    ("method", "make"), [pytest.param("OMVC", vp.OMVC, marks=pytest.mark.long), ("ONMF-I", vp.ONMF)]
)
def test_scores_of_baselines_are_those_of_the_estimator(method, make):
    data = trial("made digit", 0.4, 0, None, SMALL["n_rows"])
    result = work.passes(method=method, folder=None, n_threads=1, n_init=2, **SMALL)
    more = {"fill": "mean"} if make is vp.ONMF else {}
    n_clusters = len(np.unique(data.truth))
    for number in (1, 2):
        model = make(n_clusters, n_passes=number, chunk_size=50, random_state=0, n_init=2, **more)
        labels = model.fit_predict(data.views, observed=data.observed)
        assert result["nmi"][number - 1] == nmi(data.truth, labels)
    assert min(result["seconds"] + result["kmeans"]) > 0


def test_a_trial_is_the_same_every_time_and_another_for_another_seed():
    one, two, other = (trial("made webkb", 0.3, seed, None, 100) for seed in (0, 0, 1))
    np.testing.assert_array_equal(one.truth, two.truth)
    np.testing.assert_array_equal(one.observed, two.observed)
    assert not np.array_equal(one.observed, other.observed)
    assert one.observed.sum(axis=0).tolist() == [70, 70]


def test_the_page_has_every_claim_and_escapes_its_text():
    claims = [
        Claim.judged("a < b | c", True, "1 & 2"),
        Claim.judged("d", False, "3"),
        Claim("e", CANNOT, "4"),
    ]
    assert [claim.verdict for claim in claims] == [CONFIRMED, NOT, CANNOT]
    section = Section("x", "Part", "Text.", ["k"], [[0.5], ["<b>"]], "x", "A picture", claims)
    page, text = hypertext([section], "Hello."), markdown([section], "Hello.")
    assert "a &lt; b | c" in page
    assert "&lt;b&gt;" in page
    assert "<img src='x.svg' alt='A picture'>" in page
    assert "| a < b \\| c | **confirmed** | 1 & 2 |" in text
    assert "| 0.500 |" in text


def test_few_seeds_are_said_to_be_inconclusive_beside_every_verdict():
    def claims():
        return [Claim.judged("a", True, "1"), Claim.judged("b", False, "2"), Claim("c", CANNOT, "3")]

    few, enough = (
        Section("x", "Part", "Text.", claims=claims()),
        Section("x", "Part", "Text.", claims=claims()),
    )
    few.doubt_few_seeds(2)
    enough.doubt_few_seeds(5)
    for show in (hypertext, markdown):
        assert show([few], "").count("confirmed (not conclusive: only 2 seeds)") == 2
        assert "not conclusive" not in show([enough], "")
    counted = Section("x", "Part", "Text.", claims=claims(), over_seeds=False)
    counted.doubt_few_seeds(1)
    assert "not conclusive" not in markdown([counted], "")


def test_parts_are_chosen_by_name():
    assert chosen([]) == PARTS
    assert chosen(["fig2", "table1"]) == ("table1", "fig2")
    with pytest.raises(vp.SettingError, match="--only fig9: choose one of table1"):
        chosen(["fig9"])


def test_wrong_usage_is_reported_in_one_line(tmp_path):
    result = CliRunner().invoke(app, ["paper", "--only", "fig9", "--out", str(tmp_path)])
    assert result.exit_code == 1
    assert "--only fig9" in result.output


def test_absent_data_leaves_a_part_out(tmp_path):
    result = CliRunner().invoke(
        app,
        ["paper", "--only", "fig5", "--jobs", "1", "--out", str(tmp_path / "out"), "--data", str(tmp_path)],
    )
    assert result.exit_code == 0, result.output
    assert "fig5: left out. Digit" in " ".join(result.output.split())


@pytest.mark.system
@pytest.mark.data
def test_a_part_of_the_paper(tmp_path, data_folder):
    command = ["paper", "--only", "fig5", "--only", "table1", "--seeds", "1", "--jobs", "1", "--out"]
    command += [str(tmp_path), "--data", str(data_folder)]
    result = CliRunner().invoke(app, command)
    assert result.exit_code == 0, result.output
    assert "Filling degenerate centres helps." in result.output
    for page in (result.output, (tmp_path / "README.md").read_text(), (tmp_path / "index.html").read_text()):
        assert page.count("confirmed (not conclusive: only 1 seed)") == 1  # that of fig5, not those of table1
    ElementTree.parse(tmp_path / "fig5.svg")
    with (tmp_path / "fig5.png").open("rb") as file:
        width, height = struct.unpack(">16x2I", file.read(24))
    assert width > 900
    assert height > 300
    rows = (tmp_path / "fig5.csv").read_text().splitlines()
    assert len(rows) == 1 + 2 * 10
    assert "Digit" in (tmp_path / "README.md").read_text()
    assert (
        str(data_folder) not in (tmp_path / "index.html").read_text() + (tmp_path / "README.md").read_text()
    )
    before = {path: os.stat(path).st_mtime_ns for path in (tmp_path / "cells").iterdir()}
    assert len(before) == 2
    assert CliRunner().invoke(app, command).exit_code == 0
    assert {path: os.stat(path).st_mtime_ns for path in (tmp_path / "cells").iterdir()} == before


def test_sets_know_their_sizes():
    for chosen_set in SETS.values():
        assert chosen_set.chunk(True) <= chosen_set.chunk(False)
        assert chosen_set.rows(False) == 0


def test_settings_are_chosen_on_a_seed_that_is_not_reported(tmp_path, monkeypatch):
    asked = []

    def results(self, cells, **_):
        asked.append([dict(cell.settings)["seed"] for cell in cells])
        return [{"nmi": [0.5], "acc": [0.5]} for _ in cells]

    monkeypatch.setattr(PaperRun, "results", results)
    fig1.measured(PaperRun(tmp_path, quick=True))
    assert set(asked[0]) == {SEARCH_SEED}
    assert set(asked[1]) == {0, 1, 2, 3, 4}


def test_the_published_settings_do_not_depend_on_defaults():
    paper = {"init": "random", "scale": "unit", "max_iter": 20, "tol": 1e-6}
    assert published.opimc(3).get_params().items() >= paper.items()
    assert published.opimc(3, max_iter=7).max_iter == 7
    assert published.imc(3).get_params().items() >= published.IMC_AS_PUBLISHED.items()
    assert published.compared("ONMF-DA", 3, 50, multiple=2).n_components == 6
    assert settings_text({"multiple": 2}) == "components per cluster 2"


def test_the_page_states_the_time_of_all_its_cells(tmp_path, counted):
    cells = [Cell.of("count", number=number) for number in range(3)]
    PaperRun(tmp_path).results(cells[:2])
    plan = PaperRun(tmp_path, parts=True)
    plan.results(cells)
    clock, processor = plan.took()
    assert clock > 0
    assert processor >= 0
    text = preface(plan, 60.0)
    assert "Its 3 cells took" in text
    assert "viewpass paper --parts" in text
