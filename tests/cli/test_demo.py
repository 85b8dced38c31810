"""Command demo: the table, the label file and the picture."""

import csv
import re
import struct
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from sklearn.datasets import load_digits
from sklearn.metrics import adjusted_mutual_info_score
from typer.testing import CliRunner

from viewpass import __version__
from viewpass.cli import main
from viewpass.cli.app import app
from viewpass.cli.demo import CHUNK, METHODS, default, make_trial, match
from viewpass.cli.stopping import signals
from viewpass.errors import SettingError
from viewpass.evaluate import accuracy

pytestmark = pytest.mark.system

SEED = 3


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return tmp_path_factory.mktemp("demo") / "new" / "out"


@pytest.fixture(scope="module")
def output(folder):
    result = CliRunner().invoke(app, ["demo", "--out", str(folder), "--seed", str(SEED), "--repeats", "1"])
    assert result.exit_code == 0, result.output
    return result.output


@pytest.fixture(scope="module")
def written(output, folder):
    with (folder / "labels.csv").open(newline="", encoding="utf-8") as file:
        rows = list(csv.DictReader(file))
    return {name: np.array([int(row[name]) for row in rows]) for name in rows[0]}


@pytest.fixture(scope="module")
def trial():
    return make_trial(SEED)


def run_main(monkeypatch, capsys, *arguments):
    monkeypatch.setattr(sys, "argv", ["viewpass", *map(str, arguments)])
    monkeypatch.setattr(signals, "take_over", lambda: None)  # they are pytest's here
    with pytest.raises(SystemExit) as end:
        main()
    return end.value.code, capsys.readouterr()


def test_the_table_has_every_method_and_states_its_settings(output):
    for method in METHODS:
        assert method.name in output
    assert all(word in output for word in ("ACC", "NMI", "seconds", "1797/1797"))
    assert f"chunks of {CHUNK} rows" in output


def test_labels_are_written_for_every_digit_in_the_order_of_the_data_set(written):
    assert list(written) == ["row", "cluster", "digit", "views_seen"]
    np.testing.assert_array_equal(written["row"], np.arange(1797))
    np.testing.assert_array_equal(written["digit"], load_digits().target)
    assert set(written["cluster"]) <= set(range(10))
    assert set(written["views_seen"]) <= {1, 2, 3, 4}
    assert written["views_seen"].sum() == 4 * (1797 - 539)  # 30 % of each view, rounded down


def test_partial_fit_of_every_chunk_equals_fit(written, trial):
    model = default(trial).fit(trial.views, observed=trial.observed)
    np.testing.assert_array_equal(written["cluster"][trial.rows], model.labels_)


def test_labels_are_better_than_chance(written):
    assert accuracy(written["digit"], written["cluster"]) > 0.5


def test_the_picture_is_a_large_png(output, folder):
    content = (folder / "clusters.png").read_bytes()
    assert content.startswith(b"\x89PNG")
    width, height = struct.unpack(">II", content[16:24])
    assert width > 2000
    assert height > 1000


def test_rows_views_and_images_of_a_trial_belong_together(trial):
    data = load_digits()
    np.testing.assert_array_equal(np.sort(trial.rows), np.arange(1797))
    np.testing.assert_array_equal(trial.images, data.images[trial.rows])
    np.testing.assert_array_equal(trial.digits, data.target[trial.rows])
    np.testing.assert_array_equal(trial.views["pixels"], trial.images.reshape(1797, -1))
    assert trial.observed.any(axis=1).all()


def test_the_match_of_clusters_to_digits_is_that_of_the_accuracy(written):
    matched = match(written["digit"], written["cluster"])
    assert sorted(matched) == list(range(10))
    right = matched[written["cluster"]] == written["digit"]
    assert right.mean() == pytest.approx(accuracy(written["digit"], written["cluster"]))


def test_version(monkeypatch, capsys):
    code, said = run_main(monkeypatch, capsys, "--version")
    assert (code, said.out) == (0, f"viewpass {__version__}\n")


@pytest.mark.parametrize("arguments", [["--help"], ["demo", "--help"]])
def test_help_has_an_example(monkeypatch, capsys, arguments):
    code, said = run_main(monkeypatch, capsys, *arguments)
    assert code == 0
    assert "Example" in said.out


@pytest.mark.parametrize("arguments", [["demo", "--seed", "-1"], ["demo", "--sed", "1"], ["dmo"]])
def test_wrong_usage_exits_with_2(monkeypatch, capsys, arguments):
    code, said = run_main(monkeypatch, capsys, *arguments)
    assert code == 2
    assert "Traceback" not in said.err


@pytest.mark.parametrize("below", [".", "deeper/still"])
def test_a_file_in_the_way_is_one_line(monkeypatch, capsys, tmp_path, below):
    file = tmp_path / "file"
    file.write_text("mine")
    code, said = run_main(monkeypatch, capsys, "demo", "--out", file / below)
    assert code == 1
    assert said.out == ""
    assert said.err.startswith("viewpass: --out ")
    assert said.err.count("\n") == 1
    assert file.read_text() == "mine"


def test_debug_shows_where_an_error_comes_from(monkeypatch, tmp_path):
    file = tmp_path / "file"
    file.write_text("mine")
    monkeypatch.setattr(sys, "argv", ["viewpass", "--debug", "demo", "--out", str(file)])
    with pytest.raises(SettingError):
        main()


def test_without_matplotlib_the_extra_is_named(monkeypatch, capsys, tmp_path):
    for name in ("viewpass.cli.demo", "viewpass.cli.picture"):
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    code, said = run_main(monkeypatch, capsys, "demo", "--out", tmp_path / "out")
    assert code == 1
    assert "viewpass[report]" in said.err
    assert said.err.count("\n") == 1
    assert not (tmp_path / "out").exists()


def test_without_typer_the_extra_is_named(monkeypatch):
    monkeypatch.delitem(sys.modules, "viewpass.cli.app")
    monkeypatch.setitem(sys.modules, "typer", None)
    with pytest.raises(SystemExit, match=r"viewpass\[cli\]"):
        main()


def test_importing_the_command_imports_nothing_heavy():
    heavy = "{'numpy', 'scipy', 'sklearn', 'typer', 'rich', 'matplotlib'}"
    code = f"import sys, viewpass.cli; print({heavy} & set(sys.modules))"
    said = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert said.stdout.strip() == "set()"


@pytest.mark.system
def test_the_guide_to_cohorts_can_be_followed_on_made_tables(monkeypatch, tmp_path):
    page = Path(__file__).parents[2] / "docs" / "guide-cohorts.md"
    blocks = re.findall(r"```python\n(.*?)```", page.read_text(), re.DOTALL)
    assert blocks
    monkeypatch.chdir(tmp_path)
    argv = ["demo", "--cohort", "--out", "made"]
    assert CliRunner().invoke(app, argv).exit_code == 0
    assert CliRunner().invoke(app, argv).exit_code == 1  # nothing is written over
    monkeypatch.setenv("VIEWPASS_DATA", "made")
    known = {}
    for block in blocks:
        exec(compile(block, str(page), "exec"), known)
    assert adjusted_mutual_info_score(known["clusters"], known["patients"]["COC"]) > 0.9
