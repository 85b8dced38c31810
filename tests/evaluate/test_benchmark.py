"""Benchmarks: what a method is given, what is written, what is measured again, and programs as methods."""

from __future__ import annotations

import csv
import os
import re
import shutil
import sys
import textwrap
from pathlib import Path

import numpy as np
import pytest
import scipy.sparse as sp
from typer.testing import CliRunner

import viewpass as vp
from viewpass.cli.app import app
from viewpass.evaluate import benchmark
from viewpass.evaluate.harness.cells import SCORES, Cell, Results, measured
from viewpass.evaluate.harness.draw import Figure, Line, Panel, _draw_panel
from viewpass.evaluate.harness.draw import draw as draw_figure
from viewpass.evaluate.harness.methods import OURS, parsed_methods
from viewpass.evaluate.harness.program import read_labels
from viewpass.evaluate.harness.sections import PUBLISHED, published_figures, published_section
from viewpass.evaluate.harness.sets import Removed, draw, load_set
from viewpass.kernels.threads import available_threads
from viewpass.sources.bundle import Bundle

N, K = 60, 3
RNG = np.random.default_rng(0)
CLASSES = np.arange(N) % K
CENTRES = [3 * RNG.standard_normal((K, width)) for width in (6, 4)]
VIEWS = {
    name: c[CLASSES] + RNG.standard_normal((N, c.shape[1])) for name, c in zip("ab", CENTRES, strict=True)
}
MINE = """
    import numpy as np
    from sklearn.cluster import KMeans

    class Mine:
        def __init__(self, n_clusters, random_state, power=1):
            self.n_clusters, self.random_state, self.power = n_clusters, random_state, power

        def fit_predict(self, views):
            rows = np.hstack([np.where(np.isnan(x), np.nanmean(x, axis=0), x) for x in views]) ** self.power
            return KMeans(self.n_clusters, n_init=1, random_state=self.random_state).fit_predict(rows)
"""


@pytest.fixture
def here(tmp_path, monkeypatch):
    """A folder with a set, and a method of ten lines."""
    monkeypatch.chdir(tmp_path)
    Bundle(VIEWS, CLASSES).write("made.npz")
    Path("mine.py").write_text(textwrap.dedent(MINE))
    return tmp_path


def small(methods, out="out", **more):
    settings = {"out": out, "rates": [0.3], "n_seeds": 2, "n_jobs": 1, **more}
    return benchmark(["made.npz"], methods, **settings)


def figures(found):
    """What must not differ between two runs."""
    return [{name: result[name] for name in (*SCORES, "mask")} for result in found.results]


def test_one_command_gives_a_table_of_my_method(here):
    command = ["benchmark", "made.npz", "--methods", "OPIMC,mine.py:Mine", "--missing", ".1,.3,.5"]
    done = CliRunner().invoke(app, [*command, "--seeds", "2", "--jobs", "1", "--passes", "2", "--out", "out"])
    assert done.exit_code == 0, done.output
    assert "12 cells. The page is" in done.output
    names = {path.name for path in Path("out").iterdir()}
    assert names >= {"index.html", "README.md", "acc.tex", "nmi.tex", "cells.csv", "summary.csv", "masks.csv"}
    assert names >= {"acc-rates.pdf", "nmi-rates.pdf", "nmi-passes.pdf", "paired-nmi.csv", "masks", "cells"}
    table = Path("out/acc.tex").read_text()
    assert r"\multicolumn{3}{c}{made}" in table
    assert table.count(r"\textbf{") + table.count(r"\underline{") == 6  # two equal means are both the best
    assert table.count(r"\textbf{") >= 3
    page = Path("out/index.html").read_text()
    assert "src='http" not in page
    assert page.count("data:image/svg+xml") == 4
    assert "50.0% of cells missing" in page
    assert "12 cells under 6 masks" in Path("out/README.md").read_text()
    with Path("out/cells.csv").open() as file:
        rows = list(csv.DictReader(file))
    assert len(rows) == 12
    assert all(0 <= float(row[score]) <= 1 for row in rows for score in SCORES)
    assert len({row["mask"] for row in rows}) == 6
    assert float(rows[0]["seconds"]) > 0


def test_means_spreads_and_paired_differences_are_those_of_the_cells(here):
    found = small(["OPIMC", "k-means"], n_seeds=3, n_starts=2)
    line = found.groups[("made", 0.3), "k-means"]
    assert len(line.seeds) == 6
    own = [
        r["nmi"][-1] for c, r in zip(found.cells, found.results, strict=True) if c.method.name == "k-means"
    ]
    assert found.mean("made", 0.3, "k-means") == pytest.approx(np.mean(own))
    other = [
        r["nmi"][-1] for c, r in zip(found.cells, found.results, strict=True) if c.method.name == "OPIMC"
    ]
    with Path("out/paired-nmi.csv").open() as file:
        (row,) = csv.DictReader(file)
    gaps = 100 * (np.array(own) - other)
    assert float(row["NMI less that of OPIMC"]) == pytest.approx(gaps.mean(), abs=0.006)
    assert float(row["standard error"]) == pytest.approx(gaps.std(ddof=1) / np.sqrt(6), abs=0.006)


def test_tuned_methods_are_ranked_apart(here):
    small(["OPIMC", "k-means", "Mine=mine.py:Mine"], tuned=["Mine"])
    text = Path("out/acc.tex").read_text()
    tuned = next(line for line in text.splitlines() if line.startswith("Mine & yes"))
    assert r"\textbf{" in tuned
    assert text.count(r"\textbf{") == 2
    assert text.count(r"\midrule") == 2
    with pytest.raises(vp.SettingError, match="tuned 'other' is not one of"):
        small(["OPIMC"], tuned=["other"])


class Sees:
    """Keeps what it was given."""

    given: list = []  # noqa: RUF012

    def fit(self, views, observed=None):
        self.given.append((views, observed))
        self.labels_ = np.zeros(len(observed), dtype=int)


class SeesDense(Sees):
    def fit(self, views):
        self.given.append((views, None))
        self.labels_ = np.zeros(len(views[0]), dtype=int)


@pytest.mark.parametrize("make", [Sees, SeesDense])
def test_a_method_sees_neither_classes_nor_hidden_rows(here, make):
    lacking = np.ones((N, 2), dtype=bool)
    lacking[:5, 0] = lacking[4, 1] = False  # row 4 has no view: no method gets it
    Bundle({**VIEWS, "b": sp.csr_array(VIEWS["b"])}, CLASSES, lacking).write("made.npz")
    make.given.clear()
    found = small([make], n_seeds=1, protocol="P1")
    ((a, b), mask), removed = make.given[0], Results(Path("out")).removed(found.cells[0])
    seen = removed.observed.any(axis=1)
    assert seen.sum() == N - 1
    observed, rows = removed.observed[seen], removed.rows[seen]
    np.testing.assert_array_equal(np.isnan(a).any(axis=1), ~observed[:, 0])
    np.testing.assert_array_equal(a[observed[:, 0]], VIEWS["a"][rows[observed[:, 0]]])
    if make is Sees:
        np.testing.assert_array_equal(mask, observed)
        assert sp.issparse(b)
        b = np.where(observed[:, [1]], b.toarray(), np.nan)
        assert not make.given[0][0][1].toarray()[~observed[:, 1]].any()
    np.testing.assert_array_equal(np.isnan(b).any(axis=1), ~observed[:, 1])
    np.testing.assert_array_equal(b[observed[:, 1]], VIEWS["b"][rows[observed[:, 1]]])


def test_only_what_has_changed_is_measured_again(here):
    first = small(["OPIMC", "mine.py:Mine"])
    kept = {path: path.stat().st_mtime_ns for path in Path("out/cells").iterdir()}
    assert len(kept) == 4
    again = small(["OPIMC", "mine.py:Mine"], n_seeds=3)
    assert figures(again)[:4] == figures(first)
    assert all(path.stat().st_mtime_ns == when for path, when in kept.items())
    assert len(list(Path("out/cells").iterdir())) == 6
    Path("mine.py").write_text(textwrap.dedent(MINE) + "\n# changed\n")
    small(["OPIMC", "mine.py:Mine"])
    assert len(list(Path("out/cells").iterdir())) == 8
    broken = next(iter(kept))
    broken.write_text('{"cell": {"set"')
    assert figures(small(["OPIMC", "mine.py:Mine"])) == figures(first)


def test_a_class_without_a_file_is_measured_every_time(here):
    for answer, expected in ((0, 1 / K), (1, 1.0)):
        space = {"__name__": "nowhere", "truth": [CLASSES, np.zeros(N, dtype=int)][1 - answer]}
        exec("class Typed:\n    def fit_predict(self, views): return truth[rows]", space)
        space["rows"] = draw(load_set("made.npz"), "paper", 0.3, 0).rows
        found = small([space["Typed"]], n_seeds=1)
        assert found.mean("made", 0.3, "Typed", "acc") == pytest.approx(expected)


def test_a_method_that_fails_is_shown_and_tried_again(here):
    command = ["benchmark", "made.npz", "--methods", "OPIMC(alpha=-1),k-means", "--missing", "0.3"]
    done = CliRunner().invoke(app, [*command, "--seeds", "2", "--jobs", "1", "--out", "out"])
    assert done.exit_code == 1
    assert "4 cells, 2 of them failed." in done.output
    assert "| OPIMC(alpha=-1) | no | fails |" in Path("out/README.md").read_text()
    assert "alpha" in Path("out/README.md").read_text().split("## Cells that failed")[1]
    before = {path: path.stat().st_mtime_ns for path in Path("out/cells").iterdir()}
    CliRunner().invoke(app, [*command, "--seeds", "2", "--jobs", "1", "--out", "out"])
    changed = [path.name for path, when in before.items() if path.stat().st_mtime_ns != when]
    assert len(changed) == 2
    assert all("OPIMC" in name for name in changed)


def test_given_masks_are_used_and_known_by_their_hash(here):
    first = small(["OPIMC"], "theirs", protocol="P3")
    path = Path("theirs/masks") / f"{first.cells[0].mask_name}.npz"
    mask = Removed.read(path)
    Removed(mask.rows, np.roll(mask.observed, 1, axis=0)).write(path)
    second = small(["OPIMC"], "ours", protocol="P3", masks="theirs/masks")
    assert second.results[1]["mask"] == first.results[1]["mask"]
    assert second.results[0]["mask"] == Removed.read(path).sha256 != first.results[0]["mask"]
    with Path("ours/masks.csv").open() as file:
        assert [row["sha256"] for row in csv.DictReader(file)] == [r["mask"] for r in second.results]
    Removed(mask.rows + N, mask.observed).write(path)
    with pytest.raises(vp.DataError, match="Give the masks of this set"):
        small(["OPIMC"], "other", protocol="P3", masks="theirs/masks")


THREADS = """
    import os
    from mine import Mine

    class Counts(Mine):
        def fit_predict(self, views):
            self.figures_ = {"threads": os.environ.get("OMP_NUM_THREADS"), "process": os.getpid()}
            return super().fit_predict(views)
"""


@pytest.mark.long
def test_processes_give_the_same_and_share_the_processors(here):
    Path("counts.py").write_text(textwrap.dedent(THREADS))
    one = small(["OPIMC", "counts:Counts"], "one", n_seeds=3)
    two = small(["OPIMC", "counts:Counts"], "two", n_seeds=3, n_jobs=2)
    assert figures(one) == figures(two)
    counted = [result for result in two.results if "threads" in result]
    assert {result["threads"] for result in counted} == {str(max(1, available_threads() // 2))}
    assert os.getpid() not in {result["process"] for result in counted}


# ---- programs


PROGRAM = """
    import sys
    import numpy as np
    from sklearn.cluster import KMeans

    given = np.load(sys.argv[1])
    assert "labels" not in given.files
    views = [given[name] for name in given.files if name.startswith("view_")]
    rows = np.hstack([np.where(np.isnan(x), np.nanmean(x, axis=0), x) for x in views])
    labels = KMeans(int(given["n_clusters"]), n_init=1, random_state=int(given["seed"])).fit_predict(rows)
    np.savetxt(sys.argv[2], labels)
"""
DEEP = """
    import sys
    import warnings
    import numpy as np
    from sklearn.cluster import KMeans
    from sklearn.neural_network import MLPRegressor
    from sklearn.preprocessing import scale

    given = np.load(sys.argv[1])
    seed, n_clusters = int(given["seed"]), int(given["n_clusters"])
    views = [given[name] for name in given.files if name.startswith("view_")]
    rows = scale(np.hstack([np.where(np.isnan(x), np.nanmean(x, axis=0), x) for x in views]))
    warnings.simplefilter("ignore")
    sizes = 16, n_clusters, 16
    net = MLPRegressor(hidden_layer_sizes=sizes, activation="tanh", max_iter=200, random_state=seed)
    net.fit(rows, rows)
    code = rows
    for weights, bias in list(zip(net.coefs_, net.intercepts_))[:2]:
        code = np.tanh(code @ weights + bias)
    np.save(sys.argv[2], KMeans(n_clusters, n_init=10, random_state=seed).fit_predict(code))
"""
OCTAVE = """
    arguments = argv();
    load(arguments{1});
    V = numel(X); n = size(X{1}, 1);
    rows = [];
    for v = 1:V
        x = X{v};
        seen = logical(observed(:, v));
        x(! seen, :) = repmat(mean(x(seen, :), 1), sum(! seen), 1);
        rows = [rows x];
    end
    rand("twister", seed);
    centres = rows(randperm(n)(1:n_clusters), :);
    for turn = 1:20
        distances = sumsq(rows, 2) - 2 * rows * centres' + sumsq(centres, 2)';
        [unused, labels] = min(distances, [], 2);
        for k = 1:n_clusters
            if any(labels == k), centres(k, :) = mean(rows(labels == k, :), 1); end
        end
    end
    save("-v7", arguments{2}, "labels");
"""


def test_a_python_program_is_the_same_as_the_class(here):
    Path("prog.py").write_text(textwrap.dedent(PROGRAM))
    found = small([f"prog=cmd:{sys.executable} prog.py {{in.npz}} {{out}}", "mine.py:Mine"])
    program, mine = found.groups[("made", 0.3), "prog"], found.groups[("made", 0.3), "Mine"]
    assert not program.failed, program.failed
    np.testing.assert_array_equal(program.values["nmi"], mine.values["nmi"])
    assert (program.values["memory"] > 10).all()


@pytest.mark.system
def test_a_deep_program_takes_part(here):
    """An autoencoder and k-means on its code, the shape of the deep methods, without torch."""
    Path("deep.py").write_text(textwrap.dedent(DEEP))
    found = small([f"deep=cmd:{sys.executable} deep.py {{in.npz}} {{out}}"], rates=[0.1])
    assert not found.groups[("made", 0.1), "deep"].failed, found.results
    assert found.mean("made", 0.1, "deep") > 0.5


@pytest.mark.system
@pytest.mark.skipif(shutil.which("octave") is None, reason="octave is not installed: apt-get install octave")
def test_an_octave_program_takes_part(here):
    Path("my.m").write_text(textwrap.dedent(OCTAVE))
    command = "octave=cmd:octave --no-gui --quiet my.m {in} {out}"
    found = small([command], n_seeds=1)
    assert not found.groups[("made", 0.3), "octave"].failed, found.results
    assert found.mean("made", 0.3, "octave") > 0.3


@pytest.mark.parametrize(
    ("command", "said"),
    [
        ("cmd:false {in} {out}", "false ended with 1"),
        ("cmd:true {in} {out}", "true ended with 0 and wrote no labels"),
        ("cmd:no-such-program {in} {out}", "cannot be started"),
        ("cmd:true", "needs {in}"),
        (f"cmd:{sys.executable} two.py {{out}} {{in}}", "2 labels"),
    ],
)  # fmt: skip
def test_a_program_that_fails_says_so(here, command, said):
    Path("two.py").write_text("import sys; open(sys.argv[1], 'w').write('1 2')")
    method = parsed_methods([command])[0]
    removed = draw(load_set("made.npz"), "paper", 0.3, 0)
    assert said in measured(Cell("made.npz", "paper", 0.3, 0, method), removed, None, 1)["failed"]


def test_labels_are_read_from_any_usual_file(tmp_path):
    import scipy.io

    labels = np.array([1, 2, 2, 0])
    out = tmp_path / "labels"
    writers = [
        lambda: out.write_text("1\n2\n2\n0\n"),
        lambda: out.write_text("1,2,2,0\n"),
        lambda: np.savetxt(out, labels),
        lambda: scipy.io.savemat(out, {"labels": labels[:, None].astype(float)}, appendmat=False),
    ]
    for write in writers:
        write()
        np.testing.assert_array_equal(read_labels(out, 4), labels)
    for save in (lambda f: np.save(f, labels), lambda f: np.savez(f, labels=labels)):
        with out.open("wb") as file:
            save(file)
        np.testing.assert_array_equal(read_labels(out, 4), labels)
    with pytest.raises(vp.DataError, match="4 labels; 5"):
        read_labels(out, 5)


# ---- methods, sets, published figures


@pytest.mark.parametrize("name", OURS)
def test_every_method_of_ours_runs(here, name):
    quick = {"MultiNMF": "(max_iter=5)", "ViewPass": "(sample_size=60)"}.get(name, "")
    found = small([name + quick], n_seeds=1)
    assert not found.groups[("made", 0.3), name + quick].failed, found.results


def test_methods_of_imml_run_where_it_is_installed(here):
    pytest.importorskip("imml", reason="imml is not installed: pip install 'viewpass[bench]'")
    found = small(["imml.cluster:NEMO"], n_seeds=1)
    assert not found.groups[("made", 0.3), "NEMO"].failed, found.results


def test_what_cannot_be_measured_is_refused_first(here):
    shutil.copytree(here, here / "other")
    for more, said in [
        ({"protocol": "P9"}, "Choose one of paper"),
        ({"rates": [1.0]}, "from 0 to less than 1"),
        ({"n_seeds": 0}, "at least 1 seed"),
    ]:
        with pytest.raises(vp.SettingError, match=said):
            small(["OPIMC"], **more)
    with pytest.raises(vp.SettingError, match="two sets are named 'made'"):
        benchmark(["made.npz", "other/made.npz"], ["OPIMC"], out="out")
    assert not Path("out").exists()


def test_methods_are_parsed():
    named = parsed_methods(
        ["A=OPIMC(alpha=1, chunk_size=50),IMC", "cmd:octave a.m {in} {out}", "x.y:Z(a='b')"]
    )
    assert [(m.name, m.spec) for m in named] == [
        ("A", "viewpass:OPIMC(compute_labels=False, alpha=1, chunk_size=50)"),
        ("IMC", "viewpass:IMC"),
        ("octave", "cmd:octave a.m {in} {out}"),
        ("Z(a='b')", "x.y:Z(a='b')"),
    ]
    for wrong, said in [
        (["OPIMCC"], "choose ViewPass, OPIMC"),
        (["IMC", "IMC"], "two methods are named 'IMC'"),
        (["no_such_module:A"], "cannot be loaded"),
        (["viewpass:OPIMC(alpha=open)"], "cannot be loaded"),
    ]:
        with pytest.raises(vp.SettingError, match=said):
            [method.digest for method in parsed_methods(wrong)]


def test_sets_are_found_by_path_name_and_view(here, monkeypatch):
    monkeypatch.setenv("VIEWPASS_DATA", str(here))
    for name in ("made.npz", "made"):
        np.testing.assert_array_equal(load_set(name).labels, CLASSES)
    assert list(load_set("made[b]").views) == ["b"]
    assert load_set("made webkb 50").n_rows == 50
    with pytest.raises(vp.DataError, match="has no view 'c'"):
        load_set("made[c]")
    with pytest.raises(vp.DataError, match="no such set"):
        load_set("unheard of")
    Bundle(VIEWS).write("bare.npz")
    with pytest.raises(vp.DataError, match="no classes"):
        load_set("bare.npz")


def test_published_figures_are_whole_and_say_whether_the_protocol_is_the_same():
    for row in published_figures():
        assert all(row[name] for name in PUBLISHED), row
        assert 0 < float(row["rate"]) < 1
        assert 0 < float(row["nmi"]) <= float(row["acc"]) + 40
        assert row["tuned"] in ("yes", "no", "not stated")
    section = published_section(["mfeat"], "paper")
    same = {row[0]: row[-1] for row in section.table.rows}
    assert same["DIMVC-HIA"] == "the same"
    assert same["GAVIM"].startswith("differs: floor(r n) rows keep 1 to V - 1")
    assert {row[0]: row[-3] for row in section.table.rows}["ASCR"] == "yes"
    assert "none of these sets" in published_section(["mine"], "paper").text


@pytest.mark.parametrize("n_panels", [1, 2, 4])
@pytest.mark.parametrize("name", ["A", "A method with a long name"])
def test_legends_are_inside_the_figure(tmp_path, n_panels, name):
    lines = [Line(f"{name} {number}", [0.1, 0.3], [50.0, 60.0]) for number in range(6)]
    draw_figure(Figure([Panel(lines, "rate", "NMI")] * n_panels, "Text.", n_columns=3), tmp_path, "x")
    text = (tmp_path / "x.svg").read_text()
    width = float(re.search(r'viewBox="0 0 ([\d.]+)', text)[1])
    entries = re.findall(rf'x="([\d.-]+)" y="[\d.-]+"[^>]*>{name} \d<', text) or re.findall(
        rf"translate\(([\d.-]+) [^>]*>{name} \d<", text
    )
    assert len(entries) == 6
    assert all(20 < float(x) < width - 5 * len(name) for x in entries)


def test_a_logarithmic_axis_fits_its_lines():
    matplotlib = pytest.importorskip("matplotlib.figure")
    axis = matplotlib.Figure().subplots()
    panel = Panel([Line("stated", [1, 80], [0.003, 0.24])], "L", "seconds", logarithmic="xy")
    _draw_panel(axis, panel, ["stated"])
    low, high = axis.get_ylim()
    assert 0.001 < low < 0.003
    assert 0.24 < high < 0.5
