"""The report in a real browser: no error, no request, and everything on it works."""

from __future__ import annotations

import pytest

from browsers import PHONE, WIDE, Opened
from hostile_text import HOSTILE, with_text
from viewpass.report.page import report_page

pytestmark = [pytest.mark.system, pytest.mark.long]


@pytest.fixture(scope="module")
def tate(data_folder, commands, tmp_path_factory):
    """The report of the Tate table, as a user gets it."""
    out = tmp_path_factory.mktemp("tate") / "run"
    words = ["-k", "30", "--id", "acno", "--keep", "title,artist,medium", "--name-by", "subjects"]
    ended = commands.run("fit", data_folder / "tate.parquet", *words, "--out", out)
    assert ended.code == 0, ended.err
    return out / "report.html"


def alone(opened):
    """No error, and no request but for the page itself (and the pictures inside it)."""
    opened.quiet()
    assert sum(url.startswith("file:") for url in opened.asked) == 1


@pytest.fixture
def wide(browser, tate):
    opened = Opened(browser, tate)
    yield opened
    alone(opened)
    opened.close()


def pixels(page):
    return page.evaluate("document.getElementById('canvas').toDataURL()")


def shown(page):
    return page.eval_on_selector_all(".card:not([hidden])", "cards => cards.map(c => c.dataset.cluster)")


@pytest.mark.data
def test_sort_and_filter(wide):
    page = wide.page
    assert len(shown(page)) == 30
    sizes = "cards => cards.map(c => Number(c.dataset.rows))"
    page.select_option("#sort", "-rows")
    found = page.eval_on_selector_all(".card", sizes)
    assert found == sorted(found)
    page.select_option("#sort", "-sure")
    found = page.eval_on_selector_all(".card", "cards => cards.map(c => Number(c.dataset.sure))")
    assert found == sorted(found)
    page.fill("#filter", " ".join(reversed(page.inner_text(".card h3").split(", "))))
    assert 1 <= len(shown(page)) < 30
    assert "of 30 shown" in page.inner_text("#filter-status")
    page.fill("#filter", "no such words")
    assert shown(page) == []
    page.fill("#filter", "")
    assert len(shown(page)) == 30
    head = page.locator("#views th button").nth(1)
    head.click()
    values = "cells => cells.map(c => Number(c.dataset.value))"
    column = "#views tbody tr td:nth-child(2)"
    found = page.eval_on_selector_all(column, values)
    assert found == sorted(found, reverse=True)
    head.click()
    assert page.eval_on_selector_all(column, values) == sorted(found)
    assert head.locator("xpath=..").get_attribute("aria-sort") == "ascending"


@pytest.mark.data
def test_map_hover_search_zoom_and_pick(wide):
    page = wide.page
    canvas = page.locator("#canvas")
    canvas.scroll_into_view_if_needed()
    before = pixels(page)
    page.fill("#map-search", "sky")
    assert "found" in page.inner_text("#map-status")
    assert pixels(page) != before
    page.fill("#map-search", "")
    assert pixels(page) == before
    page.click("#zoom-in")
    assert pixels(page) != before
    page.click("#zoom-all")
    assert pixels(page) == before
    box = canvas.bounding_box()
    for step in range(40):  # somewhere on a line across the map there is a row
        page.mouse.move(box["x"] + box["width"] * (0.3 + step / 100), box["y"] + box["height"] * 0.5)
        if page.locator("#tip").is_visible():
            break
    assert len(page.inner_text("#tip")) > 5
    page.mouse.down()
    page.mouse.up()
    assert "rows" in page.inner_text("#map-status")
    assert page.locator(".card.picked").count() == 1
    page.select_option("#map-colour", "sure")
    assert pixels(page) != before


@pytest.mark.data
def test_keyboard(wide):
    page = wide.page
    seen = []
    for _ in range(20):  # everything that can be used can be reached
        page.keyboard.press("Tab")
        seen.append(page.evaluate("document.activeElement.id || document.activeElement.className"))
    assert {"skip", "theme", "map-search", "map-colour", "zoom-in", "canvas", "filter", "sort"} <= set(seen)
    page.focus("#canvas")
    before = pixels(page)
    page.keyboard.press("ArrowLeft")
    assert pixels(page) != before
    page.keyboard.press("0")
    page.keyboard.press("n")
    first = page.inner_text("#map-status")
    assert "rows" in first
    page.keyboard.press("n")
    assert page.inner_text("#map-status") != first
    page.keyboard.press("p")
    assert page.inner_text("#map-status") == first
    page.keyboard.press("Escape")
    assert page.inner_text("#map-status") == ""
    page.locator("h1").click()
    page.keyboard.press("/")
    assert page.evaluate("document.activeElement.id") == "filter"


@pytest.mark.data
def test_theme(wide):
    page = wide.page
    paper = "getComputedStyle(document.body).backgroundColor"
    light = page.evaluate(paper)
    page.click("#theme")
    assert page.evaluate(paper) != light
    page.reload()
    assert page.evaluate(paper) != light  # it is remembered
    wide.asked.pop()
    page.click("#theme")
    assert page.evaluate(paper) == light


@pytest.mark.data
@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("size", [WIDE, PHONE], ids=["wide", "phone"])
def test_no_serious_fault_and_nothing_too_wide(browser, tate, size, scheme):
    opened = Opened(browser, tate, size, scheme)
    opened.fits()
    opened.page.eval_on_selector_all("details", "all => all.forEach(each => { each.open = true; })")
    opened.fits()
    alone(opened)
    opened.accessible()
    opened.close()


@pytest.mark.data
def test_print(browser, tate):
    opened = Opened(browser, tate)
    opened.page.emulate_media(media="print")
    assert not opened.page.locator("#filter").is_visible()
    assert opened.page.pdf()[:4] == b"%PDF"
    opened.close()


@pytest.mark.parametrize("size", [WIDE, PHONE], ids=["wide", "phone"])
def test_hostile_text_does_not_run_and_breaks_no_layout(browser, found, places, tmp_path, size):
    path = tmp_path / "report.html"
    report_page(with_text(found, HOSTILE), places).write(path)
    opened = Opened(browser, path, size)
    opened.page.on("dialog", lambda dialog: pytest.fail("a script of the data ran"))
    opened.page.eval_on_selector_all("details", "all => all.forEach(each => { each.open = true; })")
    opened.page.focus("#canvas")
    opened.page.keyboard.press("n")
    opened.fits()
    alone(opened)
    assert opened.page.locator("img").count() == 0
    text = opened.page.inner_text("main")
    assert "<script>alert(1)</script>" in text
    assert "[red]x[/red]" in text
    assert "שלום" in text
    tallest = opened.page.eval_on_selector_all(".card", "all => Math.max(...all.map(c => c.offsetHeight))")
    assert tallest < 2600
    opened.close()
