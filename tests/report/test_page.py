"""The page: whole, small, the same again, and nothing in it runs but our own script."""

from __future__ import annotations

import copy
import json
import re

import numpy as np
import pytest

import viewpass as vp
from hostile_text import HOSTILE, with_text
from html_tags import Tags
from viewpass.errors import MissingExtraError
from viewpass.report.findings import sentences, view_shares
from viewpass.report.page import LARGEST, Places, report_page


def data_of(text):
    return json.loads(re.search(r'id="data">(.*?)</script>', text, re.DOTALL)[1])


def test_the_page_says_what_was_found(found, places):
    text = report_page(found, places).text
    assert "600 rows of 2 views fall into 4 clusters" in text
    assert text.count('class="card"') == 4
    for name in ("Map", "Which view decides", "Missing views", "Rows worth a look", "What to try next"):
        assert name in text
    assert len(data_of(text)["points"]["xy"]) == sum(
        "reasons" in row and row["cluster"] >= 0 for row in found["sample"]
    )


def test_the_page_says_what_grew(found):
    """Shares of the last quarter of the rows, beside those of the rows before."""
    steady = copy.deepcopy(found)
    steady["growth"] = [[10] * 16 for _ in range(4)]
    assert not [each for each in sentences(steady) if "Grown" in each]
    grown = copy.deepcopy(steady)
    grown["growth"][2] = [0] * 12 + [30] * 4
    said = [each for each in sentences(grown) if "Grown" in each]
    assert said == ["Grown most in the last quarter of the rows, by its share: “Cluster 2” (0 % to 50 %)."]


def test_labels_of_the_stream_have_a_map_of_rows(found, places):
    streamed = copy.deepcopy(found)
    streamed["labels"] = "stream"
    for row in streamed["sample"]:
        row["confidence"] = None
        row["cluster"] = (row["cluster"] + 1) % 4 if row["row"] % 3 == 0 else row["cluster"]
    for cluster in streamed["clusters"]:
        cluster["confidence"] = None
    text = report_page(streamed, places).text
    assert len(data_of(text)["points"]["xy"]) == len(data_of(report_page(found, places).text)["points"]["xy"])
    assert "Colours are the labels that rows got while they were read" in text
    assert "by confidence" not in text
    for one, other in zip(view_shares(found), view_shares(streamed), strict=True):
        # Of rows whose label the final centres give, too.
        assert one.changes == pytest.approx(other.changes, abs=0.1)


def test_the_same_bytes_again(model, found, places, views):
    assert report_page(found, places).text == report_page(model.summary(views), places).text


def test_nothing_is_fetched(found, places):
    tags = Tags(report_page(found, places).text)
    assert not {"link", "iframe", "object", "embed", "base", "form"} & set(tags.tags)
    outside = [value for name, value in tags.attributes if name in ("src", "href", "action", "srcset")]
    assert all(value.startswith(("#", "data:image/")) for value in outside)
    assert "default-src 'none'" in dict(tags.attributes)["content"] or any(
        "default-src 'none'" in (value or "") for name, value in tags.attributes if name == "content"
    )


def test_hostile_text_is_shown_and_not_run(found, places):
    plain, text = report_page(found, places).text, report_page(with_text(found, HOSTILE), places).text
    tags = Tags(text)
    assert tags.tags.count("script") == Tags(plain).tags.count("script") == 2
    assert not [name for name, _ in tags.attributes if name.startswith("on")]
    assert "x" not in [value for name, value in tags.attributes if name == "src"]
    assert "&lt;script&gt;alert(1)" in text
    assert "[red]x[/red]" in text
    assert "\x1b" not in text
    assert "\\x1b[31mred" in text
    assert "\u202e" not in text
    assert "{{ 7 * 7 }}" in text
    assert "n" * 500 not in text
    assert "שלום" in text
    assert data_of(text)["clusters"]


@pytest.mark.parametrize("number", [100, 10_000])
def test_many_clusters_and_rows_stay_below_two_megabytes(found, number):
    """As of 10 million rows: everything that grows with clusters, at its longest."""
    rng = np.random.default_rng(0)
    large = copy.deepcopy(found)
    rows = found["sample"]
    text = {f"column{i}": "wide words " * 20 for i in range(6)}
    large["sample"] = [
        {**rows[i % len(rows)], "row": i, "shown": text, "cluster": i % number} for i in range(2000)
    ]
    template = found["clusters"][0]
    six = [{**row, "shown": text} for row in (*template["typical"], *template["doubtful"])]
    large["clusters"] = [
        {
            **template,
            "cluster": k,
            "name": f"{'long name ' * 12}{k}",
            "typical": six[:3],
            "doubtful": six[3:],
            "rows": 10_000_000 // number,
            "share": 1 / number,
        }
        for k in range(number)
    ]
    large["rows"], large["n_clusters"] = 10_000_000, number
    places = Places(rng.random((number, 2)), np.arange(number), np.arange(number))
    for row in large["sample"]:
        row["reasons"] = {**row["reasons"], "near": [row["cluster"]], "weights": [1.0], "without": [0, 0]}
    page = report_page(large, places).text
    assert len(page.encode()) <= LARGEST
    assert page.count('class="card"') == 100
    assert len(data_of(page)["clusters"]) == number


def test_growth_is_drawn_where_the_summary_has_it(found, places):
    grown = {**found, "growth": [[1, 5, 3, 8]] * 4}
    assert report_page(grown, places).text.count('aria-label="rows along the stream"') == 4
    del grown["growth"]
    assert "rows along the stream" not in report_page(grown, places).text


def test_a_model_alone_has_a_page_of_its_centres(model):
    page = model.report()
    assert data_of(page.text)["of_rows"] is False
    assert page._repr_html_().startswith("<iframe")
    assert "<script>" not in page._repr_html_()
    assert repr(page).startswith("<viewpass report")


def test_a_file_is_written_and_rows_may_be_left_out(model, views, tmp_path):
    assert model.report(tmp_path / "page.html", views) is None
    assert (tmp_path / "page.html").read_text() == model.report(X=views).text
    bare = model.report(X=views, rows=False).text
    assert "Typical rows" not in bare
    assert data_of(bare)["points"]["text"] == []


def test_columns_and_pictures_of_a_table(tmp_path, monkeypatch):
    import base64
    import io

    import pyarrow as pa
    from PIL import Image

    out = io.BytesIO()
    Image.new("RGB", (300, 200), (200, 30, 30)).save(out, "PNG")
    (tmp_path / "own.png").write_bytes(out.getvalue())
    uri = "data:image/png;base64," + base64.b64encode(out.getvalue()).decode()
    rng = np.random.default_rng(0)
    image = (np.repeat(np.eye(3), 20, axis=0) + 0.1 * rng.normal(size=(60, 3))).tolist()
    table = pa.table(
        {
            "item": range(60),
            "picture": [uri if i % 2 else str(tmp_path / "own.png") for i in range(60)],
            "word": [f"word{i // 20} and more" for i in range(60)],
            "image": image,
            "text": image,
        }
    )
    source = vp.scan(table, id="item")
    model = vp.ViewPass(3, scale="unit", consensus="plain", random_state=0).fit(source)
    text = model.report(X=source, keep=["picture"], names=["word"]).text
    assert text.count("data:image/jpeg;base64,") >= 9
    assert "word0" in text
    assert str(tmp_path / "own.png") not in text.split('id="data"')[0]


def test_what_is_no_picture_stays_text(tmp_path):
    from viewpass.report.images import Pictures

    (tmp_path / "fake.png").write_text("no picture")
    pictures = Pictures()
    hostile = [
        "http://x/y.png",
        "data:image/png;base64,AAAA",
        "data:image/svg+xml;base64,AAAA",
        str(tmp_path / "fake.png"),
        str(tmp_path),
        "/dev/zero.png",
        "a\0b.png",
        7,
        None,
    ]
    assert [pictures.of(value) for value in hostile] == [None] * len(hostile)
    assert Pictures(budget=10).of(str(tmp_path / "fake.png")) is None


def test_the_script_is_small(found, places):
    from viewpass.report.page import SCRIPTS, _part

    assert sum(len(_part(name).encode()) for name in SCRIPTS) <= 60_000


def test_without_jinja2_the_extra_is_named(found, places, monkeypatch):
    import sys

    from viewpass.report import page

    monkeypatch.setitem(sys.modules, "jinja2", None)
    page._environment.cache_clear()
    with pytest.raises(MissingExtraError, match=r"viewpass\[report\]"):
        report_page(found, places)
    page._environment.cache_clear()
