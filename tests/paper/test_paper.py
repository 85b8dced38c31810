"""`viewpass paper`: a preset of the benchmark; the page reports its cells, a stopped run continues."""

from __future__ import annotations

import os
import xml.etree.ElementTree as ElementTree
from dataclasses import replace

import numpy as np
import pytest
from typer.testing import CliRunner

import viewpass as vp
from viewpass.cli.app import app
from viewpass.evaluate import nmi
from viewpass.evaluate.harness.cells import Cell, measured
from viewpass.evaluate.harness.draw import Figure, Line, Panel
from viewpass.evaluate.harness.page import CANNOT, CONFIRMED, NOT, Claim, Section, write
from viewpass.evaluate.harness.sets import draw, hidden, load_set
from viewpass.evaluate.harness.table import Marked, Table
from viewpass.paper import baselines, costs, curves, figures, methods
from viewpass.paper.curves import METHODS, SEARCH_SEED, grid, settings_text
from viewpass.paper.plan import PaperRun, method
from viewpass.paper.plan import published as by_title
from viewpass.paper.run import PARTS, chosen, preface

DATA, RATE = "made digit 120", 0.4


def passes(title, n_passes=2, seed=0, **settings):
    cell = Cell(DATA, "paper", RATE, seed, by_title(title, chunk_size=50, **settings), n_passes=n_passes)
    return measured(cell, draw(load_set(DATA), "paper", RATE, seed), None, 1)


def given_rows(seed=0):
    removed = draw(load_set(DATA), "paper", RATE, seed)
    return hidden(load_set(DATA), removed), removed.observed, load_set(DATA).labels[removed.rows]


@pytest.mark.parametrize("title", METHODS)
def test_every_method_runs_with_every_setting_of_its_quick_grid(title):
    for more in grid(title, quick=True)[:2]:
        extra = {"max_iter": 10} if title == "MultiNMF" else {}
        result = passes(title, **more, **extra)
        assert len(result["nmi"]) == (1 if title in ("IMC", "MultiNMF") else 2), result
        assert all(0 <= value <= 1 for value in result["acc"] + result["nmi"])


def test_passes_of_opimc_are_those_of_the_estimator():
    views, observed, truth = given_rows()
    result = passes("OPIMC", 3, alpha=0.1)
    curves = []
    for number in (1, 2, 3):
        rng = np.random.default_rng([0, 77])
        model = vp.OPIMC(10, alpha=0.1, chunk_size=50, n_passes=number, init="random", random_state=rng)
        model.fit(views, observed=observed)
        assert result["nmi"][number - 1] == nmi(truth, model.stream_labels_)
        curves.append(model.loss_curve_)
    assert result["loss_curve"] == curves[-1].tolist()
    assert result["n_iter"] == model.n_iter_


@pytest.mark.parametrize(
    ("title", "make"), [pytest.param("OMVC", vp.OMVC, marks=pytest.mark.long), ("ONMF-I", vp.ONMF)]
)
def test_scores_of_baselines_are_those_of_the_estimator(title, make):
    views, observed, truth = given_rows()
    result = passes(title, n_init=2)
    more = {"fill": "mean"} if make is vp.ONMF else {}
    for number in (1, 2):
        model = make(10, n_passes=number, chunk_size=50, random_state=0, n_init=2, **more)
        labels = model.fit_predict(views, observed=observed)
        assert result["nmi"][number - 1] == nmi(truth, labels)
    assert min(result["seconds"] + result["label_seconds"]) > 0


@pytest.mark.parametrize(
    "cell",
    [
        Cell(DATA, "paper", RATE, 0, method("Theorem", alpha=0.1), n_rows=60),
        costs.noise(n_rows=200, n_views=2, width=4, n_clusters=3, chunk_size=50, max_iter=5),
        *(
            row.cell(PaperRun(None, quick=True), 0)
            for row in baselines.ROWS.values()
            if row.name != "MultiNMF"
        ),
    ],
    ids=lambda cell: cell.method.name,
)
def test_every_measurement_of_the_paper_is_a_cell_of_the_benchmark(cell):
    data = cell.set if cell.set.startswith("noise") else "made digit 120"
    cell = replace(cell, set=data)
    result = measured(cell, draw(load_set(data), "paper", cell.rate, 0, cell.n_rows), None, 1)
    assert "failed" not in result, result
    assert len(result["nmi"]) == 1
    if "Theorem" in cell.method.name:
        assert result["rises"] == 0
    if data.startswith("noise"):
        assert result["bytes"] > 0


PICTURE = Figure([Panel([Line("a", [1, 2], [0.5, 0.6])], "pass", "NMI")], "A <picture>")


def test_the_page_has_every_claim_and_escapes_its_text(tmp_path):
    claims = [
        Claim.judged("a < b | c", True, "1 & 2"),
        Claim.judged("d", False, "3"),
        Claim("e", CANNOT, "4"),
    ]
    assert [claim.verdict for claim in claims] == [CONFIRMED, NOT, CANNOT]
    table = Table(["k"], [[0.5], ["<b>"], [Marked("1 < 2", 1)]])
    section = Section("x", "Part", "Text.", table, PICTURE, claims)
    section.write(tmp_path)
    write(tmp_path, [section], "Hello.", "T")
    page, text = (tmp_path / "index.html").read_text(), (tmp_path / "README.md").read_text()
    assert "a &lt; b | c" in page
    assert "&lt;b&gt;" in page
    assert "<img src='data:image/svg+xml;base64," in page
    assert "alt='A &lt;picture&gt;'>" in page
    assert "| a < b \\| c | **confirmed** | 1 & 2 |" in text
    assert "| 0.500 |" in text
    assert "<td><b>1 &lt; 2</b>" in page
    assert "| **1 < 2** |" in text


def test_every_table_and_figure_has_a_page_of_its_own_with_its_claims(tmp_path):
    sections = [
        Section("fig1", "Figure 1: passes", "How.", figure=PICTURE, claims=[Claim.judged("a", True, "1")]),
        Section(
            "table2", "Table 2: time", "How long.", Table(["k"], [[0.5]]), None, [Claim("b", CANNOT, "2")]
        ),
    ]
    sections[0].doubt_few_seeds(2)
    for section in sections:
        section.write(tmp_path)
    write(tmp_path, sections, "Hello.", "T", apart=True)
    pages = {path.name: path.read_text() for path in tmp_path.glob("*.md")}
    assert sorted(pages) == ["README.md", "fig1.md", "table2.md"]
    assert "| [Figure 1: passes](fig1.md) | 1 | 0 | 0 |" in pages["README.md"]
    assert "| a | **confirmed (only 2 seeds)** | 1 |" in pages["fig1.md"]
    assert pages["fig1.md"].startswith("# Figure 1: passes\n\nHow.\n\n| the paper says | here | figures |")
    assert "![A <picture>](fig1.svg)" in pages["fig1.md"]
    assert "| b | **cannot be checked here** | 2 |" in pages["table2.md"]
    assert "| 0.500 |" in pages["table2.md"]


def test_few_seeds_are_said_to_be_inconclusive_beside_every_verdict():
    def section(n_seeds, **more):
        claims = [Claim.judged("a", True, "1"), Claim.judged("b", False, "2"), Claim("c", CANNOT, "3")]
        made = Section("x", "Part", "Text.", claims=claims, **more)
        made.doubt_few_seeds(n_seeds)
        return "\n".join(made.markdown())

    assert section(2).count("confirmed (only 2 seeds)") == 2
    assert "only" not in section(5)
    assert "only" not in section(1, over_seeds=False)


def test_parts_are_chosen_by_name():
    assert chosen([]) == tuple(PARTS)
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
    for page in (result.output, (tmp_path / "fig5.md").read_text(), (tmp_path / "index.html").read_text()):
        assert page.count("confirmed (only 1 seed)") == 1  # that of fig5, not those of table1
    ElementTree.parse(tmp_path / "fig5.svg")
    assert (tmp_path / "fig5.pdf").read_bytes().startswith(b"%PDF")
    rows = (tmp_path / "fig5.csv").read_text().splitlines()
    assert len(rows) == 1 + 2 * 10
    assert "Digit" in (tmp_path / "table1.md").read_text()
    assert "| digit | 0.4 | 40.0% of cells missing" in (tmp_path / "fig5.md").read_text()
    assert (
        str(data_folder) not in (tmp_path / "index.html").read_text() + (tmp_path / "README.md").read_text()
    )
    before = {path: os.stat(path).st_mtime_ns for path in (tmp_path / "cells").iterdir()}
    assert len(before) == 2
    assert CliRunner().invoke(app, command).exit_code == 0
    assert {path: os.stat(path).st_mtime_ns for path in (tmp_path / "cells").iterdir()} == before


def test_settings_are_chosen_on_a_seed_that_is_not_reported(tmp_path, monkeypatch):
    asked = []

    def results(self, cells, **_):
        asked.append([cell.seed for cell in cells])
        return [{"nmi": [0.5], "acc": [0.5], "presence": [0.5]} for _ in cells]

    monkeypatch.setattr(PaperRun, "results", results)
    curves.measured(PaperRun(tmp_path, quick=True))
    assert set(asked[0]) == {SEARCH_SEED}
    assert set(asked[1]) == {0, 1, 2, 3, 4}


def test_figure_3_rests_on_all_seeds(tmp_path, monkeypatch):
    asked = []

    def results(self, cells, **_):
        asked.append({cell.seed for cell in cells})
        return [{"loss_curve": [-1.0] * 40, "nmi": [0.5] * 20, "rises": 0} for _ in cells]

    monkeypatch.setattr(PaperRun, "results", results)
    section = figures.fig3(PaperRun(tmp_path, n_seeds=3))
    assert all(seeds == {0, 1, 2} for seeds in asked)
    assert "mean over 3 seeds" in section.text


def test_the_published_settings_do_not_depend_on_defaults():
    paper = {"init": "random", "scale": "unit", "max_iter": 20, "tol": 1e-6}
    assert methods.opimc(3).get_params().items() >= paper.items()
    assert methods.opimc(3, max_iter=7).max_iter == 7
    assert methods.imc(3).get_params().items() >= methods.IMC_AS_PUBLISHED.items()
    assert methods.compared("ONMF-DA", 3, 50, multiple=2).n_components == 6
    assert settings_text({"multiple": 2}) == "components per cluster 2"


def test_the_page_states_the_time_of_all_its_cells(tmp_path):
    cells = [Cell(DATA, "paper", RATE, seed, by_title("OPIMC")) for seed in range(3)]
    PaperRun(tmp_path).results(cells[:2])
    plan = PaperRun(tmp_path, parts=True)
    plan.results(cells)
    clock, processor = plan.took()
    assert clock > 0
    assert processor >= 0
    text = preface(plan, 60.0)
    assert "3 cells took" in text
    assert "viewpass paper --parts" in text


def test_a_method_that_fails_is_an_error_of_the_paper(tmp_path):
    with pytest.raises(vp.EngineError, match="alpha"):
        PaperRun(tmp_path).results([Cell(DATA, "paper", RATE, 0, by_title("OPIMC", alpha=-1))])
