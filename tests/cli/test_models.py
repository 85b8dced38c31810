"""Commands predict, update and inspect: files, output and exit codes."""

from __future__ import annotations

import json

import numpy as np
import pyarrow as pa
import pyarrow.csv
import pyarrow.json
import pyarrow.parquet as pq
import pytest

import viewpass as vp
from commands import refused, write_table
from fixed_lists import needs_nulls
from viewpass.cli.dry_run import tried
from viewpass.errors import DataWarning
from viewpass.sources.arrays import ArraySource

pytestmark = pytest.mark.system

# ---- predict


def test_predict_labels_new_rows(commands, run, table, tmp_path):
    out = tmp_path / "labels.parquet"
    argv = ["predict", run[0] / "model.viewpass", table, "--id", "item", "--out", out]
    ended = commands.run(*argv)
    assert ended.code == 0, ended.err
    labels = pq.read_table(out)
    model = vp.load(run[0] / "model.viewpass")
    source = vp.scan(str(table), id="item")
    np.testing.assert_array_equal(labels["cluster"].to_numpy(), model.predict(source))
    exact = model.transform(source)
    seen = np.flatnonzero(labels["views_seen"].to_numpy() > 0)
    own = labels["cluster"].to_numpy()[seen]
    mine = exact[seen, own]
    exact[seen, own] = np.inf  # rows go where most of their anchors lead: a margin may be negative
    np.testing.assert_allclose(labels["distance"].to_numpy()[seen], mine, atol=1e-5)
    np.testing.assert_allclose(labels["margin"].to_numpy()[seen], exact[seen].min(axis=1) - mine, atol=1e-5)
    assert labels["item"].to_pylist() == pq.read_table(table)["item"].to_pylist()
    first = out.read_bytes()
    refused(commands.run(*argv), str(out), "--force")
    assert commands.run(*argv, "--force", "--threads", "3").code == 0
    assert out.read_bytes() == first


READERS = {
    ".csv": pyarrow.csv.read_csv,
    ".CSV": pyarrow.csv.read_csv,
    ".jsonl": pyarrow.json.read_json,
    ".ndjson": pyarrow.json.read_json,
    ".arrow": lambda path: pa.ipc.open_file(path).read_all(),
    ".feather": lambda path: pa.ipc.open_file(path).read_all(),
    ".ipc": lambda path: pa.ipc.open_file(path).read_all(),
    ".pq": pq.read_table,
    "": pq.read_table,
}


@pytest.fixture(scope="module")
def predicted(commands, run, table, tmp_path_factory):
    """The labels of all rows as a Parquet file."""
    out = tmp_path_factory.mktemp("predicted") / "as.parquet"
    ended = commands.run("predict", run[0] / "model.viewpass", table, "--id", "item", "--out", out)
    assert ended.code == 0, ended.err
    return pq.read_table(out)


@pytest.mark.parametrize("ending", READERS)
def test_the_ending_of_the_label_file_is_its_format(commands, run, table, predicted, tmp_path, ending):
    argv = ["predict", run[0] / "model.viewpass", table, "--id", "item", "--out"]
    for name in (f"as{ending}", f"again{ending}"):
        ended = commands.run(*argv, tmp_path / name)
        assert ended.code == 0, ended.err
    found = READERS[ending](tmp_path / f"as{ending}")
    assert found.column_names == predicted.column_names
    for name in predicted.column_names:
        kind = predicted[name].type
        assert found[name].cast(pa.float64() if kind == pa.float32() else kind).cast(kind) == predicted[name]
    assert (tmp_path / f"again{ending}").read_bytes() == (tmp_path / f"as{ending}").read_bytes()


@pytest.mark.parametrize("name", ["labels.txt", "labels.csv.gz", "labels.xlsx", "labels.viewpass", "a.b"])
def test_other_endings_are_refused_before_anything_is_read(commands, tmp_path, name):
    argv = ["predict", tmp_path / "no model", tmp_path / "no data", "--out", tmp_path / name]
    refused(commands.run(*argv), f"--out {tmp_path / name}", ".parquet", ".csv", ".jsonl", ".arrow")


@pytest.mark.parametrize("ending", [".csv", ".jsonl", ".arrow"])
def test_a_label_file_of_any_format_is_whole_or_absent(commands, model, two_chunks, tmp_path, ending):
    out = tmp_path / f"labels{ending}"
    argv = ["predict", model, two_chunks, "--force", "--out", out]
    for before in (None, b"labels of yesterday"):
        if before is not None:
            out.write_bytes(before)
        refused(commands.run(*argv, largest=3000), str(out), "could not be written")
        fault = {"step": "chunk", "when": "before", "number": 2, "how": "SIGTERM"}
        assert commands.run(*argv, fault=fault).code == 143
        assert (out.read_bytes() if out.exists() else None) == before
        assert len(list(tmp_path.iterdir())) == 1 + out.exists()


def test_predict_refuses_other_data_by_name(commands, run, tmp_path):
    model = run[0] / "model.viewpass"
    wide = write_table(tmp_path / "wide.parquet", 100, widths=(12, 9))
    refused(commands.run("predict", model, wide, "--out", tmp_path / "out"), "view 'text'", "9", "7")
    other = commands.run("predict", model, wide, "--views", "sound=text", "--out", tmp_path / "out")
    refused(other, "view 'sound' is unknown")
    refused(commands.run("predict", wide, wide, "--out", tmp_path / "out"), "not a viewpass file")
    refused(commands.run("predict", tmp_path / "no", wide, "--out", tmp_path / "out"), "no")
    assert [path.name for path in tmp_path.iterdir()] == ["wide.parquet"]


# ---- update


def test_update_continues_learning(commands, model, table, tmp_path):
    more = write_table(tmp_path / "more.parquet", 2500, seed=9)
    out = tmp_path / "updated"
    before = model.read_bytes()
    ended = commands.run("update", model, more, "--out", out)
    assert ended.code == 0, ended.err
    assert "2,500 rows read, 8,500 in all" in ended.out
    assert model.read_bytes() == before
    expected = vp.load(model)
    for start in range(0, 2500, 1000):
        rows = pq.read_table(more).slice(start, 1000)
        expected.partial_fit(vp.scan(rows, id="item"))
    np.testing.assert_equal(vp.load(out).cluster_centers_, expected.cluster_centers_)
    assert commands.run("update", model, more).code == 0  # in place
    assert model.read_bytes() == out.read_bytes()


def test_update_says_how_many_rows_moved(commands, model, table, tmp_path):
    """None while clusters stay as they are; found anew, they keep the numbers of those that they match."""
    new = tmp_path / "updated"
    for n_more, stays in ((50, True), (4000, False)):
        more = write_table(tmp_path / "more.parquet", n_more, seed=1, start=6000)
        ended = commands.run("update", model, more, "--out", new)
        assert ended.code == 0, ended.err
        rows = vp.scan([str(table), str(more)], id="item")
        old, found = (vp.load(path).predict(rows) for path in (model, new))
        n_moved, n_rows = int((old != found).sum()), 6000 + n_more
        assert f"{n_moved:,} of {n_rows:,} sampled rows ({n_moved / n_rows:.1%}) moved" in ended.out
        assert ("Clusters stay as they are until there are 9,000 rows." in ended.out) == stays
        assert n_moved == 0 if stays else 0 < n_moved < 0.1 * n_rows


def test_update_does_not_count_a_file_twice(commands, model, tmp_path):
    """Whatever the file is called; files of the same shape are other files."""
    monday, copy, tuesday, nothing = (tmp_path / f"{name}.parquet" for name in ("mon", "copy", "tue", "none"))
    write_table(monday, 500, seed=1)
    write_table(tuesday, 500, seed=2)
    copy.write_bytes(monday.read_bytes())
    pq.write_table(pq.read_table(monday).slice(0, 0), nothing)
    assert commands.run("update", model, monday, nothing).code == 0
    before = model.read_bytes()
    for files in ([monday], [copy], [tuesday, copy]):
        refused(commands.run("update", model, *files), str(files[-1]), "count twice", "--again")
    assert model.read_bytes() == before
    assert monday.name.encode() not in before
    assert commands.run("update", model, tuesday, nothing).code == 0  # a file without rows is no repetition
    refused(commands.run("update", model, monday), str(monday))
    ended = commands.run("update", model, monday, "--again")
    assert "500 rows read, 7,500 in all" in ended.out
    refused(commands.run("update", model, tuesday), str(tuesday))


def test_update_does_not_count_an_id_twice(commands, model, table, tmp_path):
    """Rows that the model was fitted to, in a file of their own."""
    some, before = tmp_path / "some.parquet", model.read_bytes()
    pq.write_table(pa.concat_tables([pq.read_table(table).slice(7, 3), fresh_rows(tmp_path)]), some)
    refused(commands.run("update", model, some, "--id", "item"), "3 of 53 rows", "--again")
    assert model.read_bytes() == before
    assert commands.run("update", model, some, "--id", "item", "--again").code == 0


def fresh_rows(folder):
    write_table(folder / "fresh.parquet", 50, seed=1, start=6000)
    return pq.read_table(folder / "fresh.parquet")


def test_update_of_npy_files_does_not_count_them_twice(commands, tmp_path):
    rng, model = np.random.default_rng(0), tmp_path / "model.viewpass"
    views = {name: rng.standard_normal((40, 3)) for name in ("image", "text")}
    vp.ViewPass(2, random_state=0).fit(views).save(model)
    for name, rows in views.items():
        np.save(tmp_path / f"{name}.npy", rows)
    data = [f"{name}={tmp_path / name}.npy" for name in views]
    assert commands.run("update", model, *data).code == 0
    refused(commands.run("update", model, *data), "image=", "--again")


def test_update_refuses_an_offline_model(commands, table, tmp_path):
    rng = np.random.default_rng(0)
    vp.IMC(3, n_init=1).fit({"image": rng.random((50, 12))}).save(tmp_path / "imc")
    refused(commands.run("update", tmp_path / "imc", table), "IMC", "cannot learn from more rows")


@pytest.mark.parametrize("command", ["predict", "update"])
def test_a_stop_changes_nothing(commands, model, two_chunks, tmp_path, command):
    before = model.read_bytes()
    more = ["--out", tmp_path / "labels.parquet"] if command == "predict" else []
    fault = {"step": "chunk", "when": "before", "number": 2 if more else 1, "how": "SIGINT"}
    ended = commands.run(command, model, two_chunks, *more, fault=fault)
    assert ended.code == 130
    assert all(" rows/s" in line for line in ended.out.splitlines())  # progress, on a machine that is busy
    assert ended.err == "viewpass: stopped; no existing file was changed.\n"
    assert model.read_bytes() == before
    assert [path.name for path in tmp_path.iterdir()] == ["model.viewpass"]


# ---- inspect


def test_inspect_of_data(commands, table):
    ended = commands.run("inspect", table)
    assert ended.code == 0, ended.err
    assert "data: 6,000 rows" in ended.out
    assert "image + text" in ended.out
    found = json.loads(commands.run("inspect", table, "--json").out)
    data = pq.read_table(table)
    missing = data["image"].null_count
    assert found["views"]["image"] == {"columns": 12, "missing": missing, "all_zero": 0}
    assert sum(pattern["rows"] for pattern in found["patterns"]) == 6000
    both = data["image"].is_valid().to_numpy() & data["text"].is_valid().to_numpy()
    assert found["patterns"][0] == {"views": ["image", "text"], "rows": both.sum()}


@pytest.mark.parametrize("n_rows", [1, 10, 5999, 6000, 7000])
def test_inspect_of_the_first_rows(commands, table, n_rows):
    found = json.loads(commands.run("inspect", table, "--rows", n_rows, "--json").out)
    data = pq.read_table(table).slice(0, n_rows)
    assert found["rows"] == sum(pattern["rows"] for pattern in found["patterns"]) == len(data)
    assert found["views"]["text"]["missing"] == data["text"].null_count


def test_inspect_shows_the_size_of_every_cluster(commands, table, tmp_path):
    out = tmp_path / "run"
    argv = ["fit", table, "-k", "30", "--consensus", "plain", "--no-report", "--out", out]
    assert commands.run(*argv).code == 0
    sizes = json.loads((out / "run.json").read_text())["clusters"]
    assert f"rows of each: {' '.join(f'{size:,}' for size in sizes)}\n" in commands.run("inspect", out).out
    counts = vp.load(out / "model.viewpass").counts_[0].tolist()
    assert " ".join(f"{size:,}" for size in counts) in commands.run("inspect", out / "model.viewpass").out


def test_inspect_of_a_model(commands, run):
    found = json.loads(commands.run("inspect", run[0] / "model.viewpass", "--json").out)
    assert (found["kind"], found["estimator"], found["rows"]) == ("model", "ViewPass", 6000)
    assert sum(found["cluster_rows_by_view"]["text"]) == 6000 - found["views"]["text"]["missing"]
    said = commands.run("inspect", run[0] / "model.viewpass").out
    assert "ViewPass model of 6,000 rows" in said
    assert "n_clusters=5" in said


def test_inspect_of_runs(commands, run, table, tmp_path):
    found = json.loads(commands.run("inspect", run[0], "--json").out)
    assert found["finished"]
    assert sum(cluster["rows"] for cluster in found["clusters"]) + found["rows_without_any_view"] == 6000
    assert "a finished run over 6,000 rows" in commands.run("inspect", run[0]).out
    argv = ["fit", table, "-k", "5", "--out", tmp_path / "run"]
    fault = {"step": "rename", "when": "after", "number": 3, "how": "SIGKILL"}
    commands.run(*argv, "--checkpoint-every", "2", fault=fault, block=1000)
    found = json.loads(commands.run("inspect", tmp_path / "run", "--json").out)
    assert (found["finished"], found["what"], found["row"]) == (False, "sampling", 4000)
    assert "sampling, after row 4,000" in commands.run("inspect", tmp_path / "run").out


def test_rows_of_zeros_are_counted_and_warned_of(commands, tmp_path):
    counts = np.random.default_rng(0).poisson(1.0, size=(300, 4)).astype(float)
    counts[:60] = 0
    pq.write_table(pa.table({"marks": counts.tolist()}), tmp_path / "marks.parquet")
    n_zero = int((~counts.any(axis=1)).sum())
    told = json.loads(commands.run("inspect", tmp_path / "marks.parquet", "--json").out)
    assert told["views"]["marks"]["all_zero"] == n_zero
    run = ["fit", tmp_path / "marks.parquet", "-k", "3", "--scale", "unit", "--out", tmp_path / "run"]
    ended = commands.run(*run)
    assert f"warning: view 'marks': {n_zero} of 300 rows are all zero" in ended.err
    assert "with --scale standard" in ended.err
    assert f"({n_zero / 300:.1%} all zero)" in commands.run("inspect", tmp_path / "run").out
    assert (
        f"({n_zero / 300:.1%} all zero)" in commands.run("inspect", tmp_path / "run" / "model.viewpass").out
    )


def test_inspecting_a_parquet_file_with_damaged_names(commands, tmp_path):
    pq.write_table(pa.table({"imagery": [[1.0, 2.0]]}), tmp_path / "rows.parquet")
    content = (tmp_path / "rows.parquet").read_bytes().replace(b"imagery", b"\x80magery")
    (tmp_path / "rows.parquet").write_bytes(content)
    refused(commands.run("inspect", tmp_path / "rows.parquet"), "cannot be read as Parquet")


def test_predict_writes_reasons_and_kept_columns(run, table, commands, tmp_path):
    out = tmp_path / "labels.parquet"
    words = ("--id", "item", "--proba", "--explain", "--out", out)
    ended = commands.run("predict", run[0] / "model.viewpass", table, *words)
    assert ended.code == 0, ended.err
    found = pq.read_table(out)
    model = vp.load(run[0] / "model.viewpass")
    rows = vp.scan(str(table), id="item")
    why, chances = model.explain(rows), model.predict_proba(rows)
    names = [f"probability_{k}" for k in range(chances.shape[1])]
    written = np.column_stack([found[name].to_numpy(zero_copy_only=False) for name in names])
    np.testing.assert_allclose(written, chances, atol=1e-6)
    np.testing.assert_allclose(
        found["part_text"].to_numpy(zero_copy_only=False)[why.views[:, 1] != 0],
        why.views[why.views[:, 1] != 0, 1],
        rtol=1e-5,
        atol=1e-6,
    )
    np.testing.assert_array_equal(
        found["stable"].to_numpy(zero_copy_only=False), model.stability(rows).stable
    )
    score = found["outlier_score"].to_numpy(zero_copy_only=False)
    np.testing.assert_allclose(score, model.outlier_score(rows), rtol=1e-5, atol=1e-5)
    np.testing.assert_array_equal(found["outlier"].to_numpy(zero_copy_only=False), model.is_outlier(rows))


def test_kept_columns_stand_beside_the_labels(commands, table, tmp_path):
    data = pq.read_table(table)
    data = data.append_column("name", pa.array([f"n{i}" if i % 3 else None for i in range(len(data))]))
    pq.write_table(data, tmp_path / "items.parquet")
    words = ("--id", "item", "--keep", "name", "-k", "3", "--no-report", "--out", tmp_path / "run")
    assert commands.run("fit", tmp_path / "items.parquet", *words).code == 0
    found = pq.read_table(tmp_path / "run" / "labels.parquet")
    assert found.column_names[:3] == ["item", "name", "cluster"]
    assert found["name"].to_pylist() == data["name"].to_pylist()
    for keep, said in (("gone", "no column 'gone' to keep"), ("item", "would have the name of another")):
        words = ("--id", "item", "--keep", keep, "-k", "3", "--out", tmp_path / "other")
        ended = commands.run("fit", tmp_path / "items.parquet", *words)
        assert ended.code == 1
        assert said in ended.err
    assert not (tmp_path / "other").exists()


@pytest.fixture
def kinds(table, tmp_path_factory):
    """The table with a column of categories: the groups that its rows were made of."""
    data = pq.read_table(table)
    names = pa.array([f"kind{i}" for i in np.random.default_rng(0).integers(5, size=len(data))])
    path = tmp_path_factory.mktemp("kinds") / "items.parquet"
    pq.write_table(data.append_column("kind", names), path)
    return path


def test_clusters_are_named_and_shown(commands, kinds, tmp_path):
    words = ("--id", "item", "--name-by", "kind", "-k", "3", "--out", tmp_path / "run")
    ended = commands.run("fit", kinds, *words)
    assert ended.code == 0, ended.err
    names = set(pq.read_table(tmp_path / "run" / "labels.parquet")["cluster_name"].to_pylist()) - {None}
    assert len(names) == 3
    shown = commands.run("inspect", tmp_path / "run", "--all").out
    assert all(name in shown for name in names)
    assert "a typical row" in ended.out
    found = json.loads(commands.run("inspect", tmp_path / "run", "--no-rows", "--json").out)
    assert {cluster["name"] for cluster in found["clusters"]} == names
    assert found["sample"] == []
    assert found.items() >= vp.summary(tmp_path / "run", rows=False).items()
    assert found["finished"] is True


@needs_nulls
def test_names_of_clusters_are_those_of_the_model(commands, kinds, tmp_path):
    """Changed without a fit, they are in all that is made of the run from then on, and stay in an update."""
    run, model = tmp_path / "run", tmp_path / "run" / "model.viewpass"
    words = ("--id", "item", "--name-by", "kind", "-k", "3", "--no-report", "--out", run)
    assert commands.run("fit", kinds, *words).code == 0
    found = vp.load(model).cluster_names_
    labels = pq.read_table(run / "labels.parquet").to_pylist()
    assert {row["cluster"]: row["cluster_name"] for row in labels if row["cluster"] >= 0} == found
    ended = commands.run("names", run, "1= machine translation ", "2=")
    assert ended.code == 0, ended.err
    assert ended.out.splitlines()[:3] == [f"0  {found[0]}", "1  machine translation", "2"]
    named = {0: found[0], 1: "machine translation"}
    assert json.loads(commands.run("names", model, "--json").out) == {str(k): v for k, v in named.items()}
    for argv in (
        ("predict", model, kinds, "--id", "item"),
        ("join", run, kinds),
        ("sample", run, "--per-cluster", "5"),
    ):
        out = tmp_path / f"{argv[0]}.parquet"
        assert commands.run(*argv, "--out", out).code == 0
        rows = pq.read_table(out).select(["cluster", "cluster_name"]).to_pylist()
        assert all(row["cluster_name"] == named.get(row["cluster"]) for row in rows), argv
    shown = json.loads(commands.run("inspect", run, "--json").out)["clusters"]
    assert [cluster["name"] for cluster in shown] == [found[0], "machine translation", None]
    more = write_table(tmp_path / "more.parquet", 500, seed=9, start=6000)
    page = tmp_path / "page.html"
    ended = commands.run("update", model, more, "--id", "item", "--report", page)
    assert ended.code == 0, ended.err
    assert vp.load(model).cluster_names_ == named
    assert "machine translation" in page.read_text()
    refused(commands.run("update", model, more, "--again", "--report", page), "exists")
    before = model.read_bytes()
    for column in ("nothing", "cluster"):
        argv = ("update", model, more, "--again", "--report", tmp_path / "other.html", "--keep", column)
        refused(commands.run(*argv), repr(column))
    assert model.read_bytes() == before
    for wrong in ("3=x", "one=x", "x"):
        refused(commands.run("names", run, wrong), "expected NUMBER=NAME")
    assert vp.load(model).cluster_names_ == named


@needs_nulls
@pytest.mark.parametrize("command", ["predict", "update"])
def test_rows_without_a_view_of_the_fit_are_warned_of(commands, tmp_path, command):
    rng = np.random.default_rng(0)
    centres, kinds = rng.standard_normal((4, 6)), rng.integers(4, size=500)
    columns = {name: centres[kinds] + 1.2 * rng.standard_normal((500, 6)) for name in ("image", "text")}
    table = pa.table({name: pa.array(list(rows), pa.list_(pa.float64())) for name, rows in columns.items()})
    model = vp.ViewPass(4, random_state=0).fit(vp.scan(table))
    model.save(tmp_path / "model")
    empty = pa.nulls(500, pa.list_(pa.float64()))
    pq.write_table(table.set_column(0, "image", empty), tmp_path / "text.parquet")
    argv = command, tmp_path / "model", tmp_path / "text.parquet", "--out", tmp_path / "out"
    ended = commands.run(*argv)
    assert ended.code == 0, ended.err
    assert "no row has the view 'image'" in ended.err
    for rows in ({"text": columns["text"], "image": None}, {**columns, "image": np.full((500, 6), np.nan)}):
        for learn in (model.predict, model.partial_fit):
            with pytest.warns(DataWarning, match="no row has the view 'image'"):
                learn(rows)


def test_a_dry_run_writes_nothing(commands, table, tmp_path):
    words = ("fit", table, "-k", "4", "--id", "item", "--dry-run")
    said = commands.run(*words)
    assert said.code == 0, said.err
    assert "6,000 rows" in said.out
    found = json.loads(commands.run(*words, "--json").out)
    assert found["n_clusters"] == 4
    assert found["seconds"] > 0
    assert found["readings"] == 2  # the sample holds all rows
    assert not list(tmp_path.iterdir())


def test_a_dry_run_promises_what_a_fit_does():
    """Not what the first rows would give: these are of another kind."""
    rng = np.random.default_rng(0)
    group = rng.integers(4, size=900)
    rows = [rng.standard_normal((4, 9))[group] + 0.7 * rng.standard_normal((900, 9)) for _ in range(2)]
    for view in rows:
        view[300:] += 10 * np.arange(9)
    estimator = vp.ViewPass(4, sample_size=300, random_state=0)
    found, model = tried(estimator, ArraySource(rows)), estimator.fit(rows)
    assert (found["rows"], found["sampled"]) == (900, 300)
    assert {view["scale"] for view in found["views"].values()} == set(model.scales_.values()) != {"unit"}
    assert found["choices"] == [str(choice) for choice in model.choices_]
    assert found["consensus"] == model.consensus_


@needs_nulls
def test_join_sample_and_dedup_are_commands(commands, run, table, tmp_path):
    for words in (
        ("join", run[0], table, "--out", tmp_path / "joined.parquet"),
        ("sample", run[0], "--per-cluster", "4", "--out", tmp_path / "some.csv"),
        ("dedup", run[0], table, "--threshold", "0.95", "--out", tmp_path / "pairs.jsonl"),
    ):
        ended = commands.run(*words)
        assert ended.code == 0, ended.err
        assert commands.run(*words).code == 1  # the file exists
        assert commands.run(*words, "--force", "--json").code == 0
    assert len(pq.read_table(tmp_path / "joined.parquet")) == 6000
    assert len((tmp_path / "some.csv").read_text().splitlines()) == 21
