"""Two runs compared: clusters that correspond, rows that moved."""

from __future__ import annotations

import json

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from sklearn.metrics import adjusted_rand_score, normalized_mutual_info_score

from commands import refused
from viewpass.cli.diff import diff_lines
from viewpass.errors import DataError
from viewpass.labels.formats import IDS, WHICH
from viewpass.report.page import comparison_page
from viewpass.runs.diff import compare
from viewpass.runs.labels import RunLabels


def labels(path, clusters, ids=None, names=None):
    """A label file."""
    columns = {"id" if ids is None else "item": range(len(clusters)) if ids is None else ids}
    columns["cluster"] = pa.array(clusters, pa.int32())
    if names is not None:
        columns["cluster_name"] = [None if k < 0 else names[k] for k in clusters]
    meta = {WHICH: b"final"} | ({} if ids is None else {IDS: b"item"})
    pq.write_table(pa.table(columns).replace_schema_metadata(meta), path)
    return RunLabels(path)


def test_the_same_labels_under_other_numbers(tmp_path):
    one = labels(tmp_path / "a.parquet", [0, 0, 1, 1, 2, -1])
    found = compare(one, labels(tmp_path / "b.parquet", [2, 2, 0, 0, 1, -1]))
    assert {(pair["first"], pair["second"]) for pair in found["pairs"]} == {(0, 2), (1, 0), (2, 1)}
    assert all(pair["share"] == 1.0 for pair in found["pairs"])
    assert (found["moved"], found["rows"], found["nmi"], found["ari"]) == (0, 5, pytest.approx(1), 1.0)
    assert found["moves"] == []


@pytest.mark.parametrize("greedy", [False, True])
def test_scores_are_those_of_scikit_learn_and_rows_add_up(tmp_path, monkeypatch, greedy):
    if greedy:
        monkeypatch.setattr("viewpass.streams.matching.MOST", 1)
    rng = np.random.default_rng(0)
    a = rng.integers(0, 6, 500)
    b = np.where(rng.random(500) < 0.2, rng.integers(0, 4, 500), a % 4)
    found = compare(labels(tmp_path / "a.parquet", a), labels(tmp_path / "b.parquet", b))
    assert found["nmi"] == pytest.approx(normalized_mutual_info_score(a, b))
    assert found["ari"] == pytest.approx(adjusted_rand_score(a, b))
    kept = sum(pair["rows"] for pair in found["pairs"])
    assert kept + found["moved"] == 500 == found["rows"]
    assert sum(pair["second"] is None for pair in found["pairs"]) == 2
    assert json.loads(json.dumps(found)) == found


def test_rows_are_matched_by_id_where_they_differ(tmp_path):
    one = labels(tmp_path / "a.parquet", [0, 0, 1, 1], ["a", "b", "c", "d"])
    two = labels(tmp_path / "b.parquet", [1, 0, 0], ["c", "b", "e"])
    found = compare(one, two)
    assert (found["rows"], found["only_first"], found["only_second"]) == (2, 2, 1)
    with pytest.raises(DataError, match="not both have ids"):
        compare(one, labels(tmp_path / "c.parquet", [0, 0]))
    backwards = labels(tmp_path / "d.parquet", [1, 1, 0, 0], ["d", "c", "b", "a"])
    assert compare(one, backwards)["moved"] == 0


def test_runs_that_cannot_be_compared_are_refused(tmp_path):
    one = labels(tmp_path / "a.parquet", [0, 0, 1, 1], ["a", "b", "c", "d"])
    with pytest.raises(DataError, match=r"no row in common .* 'a' in the first and 'e' in the second"):
        compare(one, labels(tmp_path / "b.parquet", [0, 1], ["e", "f"]))
    with pytest.raises(DataError, match="no row in common"):
        compare(labels(tmp_path / "c.parquet", [-1, 0]), labels(tmp_path / "d.parquet", [0, -1]))
    twice = labels(tmp_path / "e.parquet", [0, 1, 1], ["a", "b", "a"])
    with pytest.raises(DataError, match="'a' is the id of several rows"):
        compare(one, twice)
    with pytest.raises(DataError, match=r"e\.parquet has some ids more than once"):
        compare(twice, one)
    assert compare(twice, twice)["moved"] == 0  # in the same order there is no doubt


def test_clusters_merge_split_go_and_come(tmp_path):
    first = [0] * 4 + [1] * 4 + [2] * 8 + [3] * 3 + [4] * 6
    second = [0] * 8 + [1] * 4 + [2] * 4 + [0, 5, 4] + [4] * 4 + [5, 1]
    found = compare(labels(tmp_path / "a.parquet", first), labels(tmp_path / "b.parquet", second))
    changes = [(each["what"], each["first"], each["second"], each["rows"]) for each in found["changes"]]
    expected = [
        ("merged", [0, 1], [0], 8),
        ("split", [2], [1, 2], 8),
        ("died", [3], [], 3),
        ("born", [], [5], 2),
    ]
    assert changes == expected
    text = "\n".join(diff_lines(found))
    assert "merged: 0 and 1 into 0, 8 rows" in text
    assert "split: 2 into 1 and 2, 8 rows" in text
    assert "died: 3, whose 3 rows are scattered" in text
    assert "born: 5, whose 2 rows are from several" in text
    assert "Merged, split, died and born" in comparison_page(found).text
    assert (
        compare(labels(tmp_path / "a.parquet", first), labels(tmp_path / "c.parquet", first))["changes"] == []
    )


def test_the_command_and_its_page(commands, tmp_path):
    names = ["<script>alert(1)</script>", "\x1b[31mred", "n" * 10_000]
    labels(tmp_path / "a.parquet", [0, 0, 0, 1, 1, 2], names=names)
    labels(tmp_path / "b.parquet", [0, 0, 1, 1, 1, 2], names=names[::-1])
    argv = ["diff", tmp_path / "a.parquet", tmp_path / "b.parquet"]
    said = commands.run(*argv, "--out", tmp_path / "diff.html")
    assert said.code == 0, said.err
    assert "6 rows in both runs; 1 (16.7%)" in said.out
    assert "\x1b" not in said.out
    page = (tmp_path / "diff.html").read_text()
    assert page.count("<script") == 1
    assert "&lt;script&gt;" in page
    assert "\x1b" not in page
    refused(commands.run(*argv, "--out", tmp_path / "diff.html"), "--force")
    found = json.loads(commands.run(*argv, "--json").out)
    assert found["moved"] == 1
    assert page == comparison_page(found).text
    assert len(diff_lines(found)) > 3
    refused(commands.run("diff", tmp_path, tmp_path), "finished run")
    refused(commands.run("diff", tmp_path / "none", tmp_path), "no such file")
