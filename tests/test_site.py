"""The site: navigation, links and API pages as they are prepared; built, and in a browser (long)."""

from __future__ import annotations

import subprocess
import sys

import pytest
from docs.site import api, check, live, pages

import viewpass
from browsers import PHONE, WIDE, Opened
from viewpass import evaluate

pytestmark = pytest.mark.system

ROOT = pages.ROOT
NOT_ESTIMATORS = ("BatchPredictor", "Statistics", "distributed.Engine", "distributed.Part")
INDEX = (ROOT / "docs" / "index.md").read_text()


def test_the_navigation_has_few_sections_and_every_page_once():
    found = pages.sections(INDEX)
    assert 3 <= len(found) <= 6
    listed = [page for section in found for _, page in section.pages]
    assert len(listed) == len(set(listed))
    written = {pages.place(path.relative_to(ROOT).as_posix()) for path in ROOT.glob("docs/**/*.md")}
    of_paper = {page for page in written if page.startswith("paper/")} - {"paper/index.md"}  # listed there
    assert written - {"index.md"} - of_paper <= set(listed)


@pytest.mark.parametrize(
    ("path", "text", "expected"),
    [
        ("docs/index.md", "[a](../CHANGELOG.md) [b](method.md#x)", "[a](changes.md) [b](method.md#x)"),
        ("docs/measured/speed.md", "[a](../../CONTRIBUTING.md)", "[a](../contributing.md)"),
        ("docs/measured/speed.md", "[a](../paper/README.md)", "[a](../paper/index.md)"),
        (
            "CONTRIBUTING.md",
            "[a](docs/index.md), [b](#x), [c](https://a.b/c.md)",
            "[a](index.md), [b](#x), [c](https://a.b/c.md)",
        ),
        ("docs/a.md", "```sh\n[a](../CHANGELOG.md)\n```\n", "```sh\n[a](../CHANGELOG.md)\n```\n"),
    ],
)
def test_links_lead_to_the_pages_of_the_site(path, text, expected):
    assert pages.relinked(text, path) == expected


def test_staged_pages_link_to_staged_files(tmp_path):
    pages.stage(tmp_path)
    api.write(tmp_path)
    for page in tmp_path.rglob("*.md"):
        text = pages.FENCE.sub("", page.read_text())
        for target, _ in pages.LINK.findall(text):
            assert not target or (page.parent / target).is_file(), f"{page.name}: {target}"


def test_the_guide_leads_to_the_live_report_or_says_that_it_was_left_out(tmp_path):
    pages.stage(tmp_path / "without")
    assert live.write(tmp_path / "without", tmp_path, None) is None
    assert "is not in this copy" in (tmp_path / "without" / live.GUIDE).read_text()
    pages.stage(tmp_path / "with")
    (tmp_path / "tate").mkdir()
    (tmp_path / "tate" / "report.html").touch()  # as a run before has left it
    assert live.write(tmp_path / "with", tmp_path, tmp_path / "tate.parquet").exists()
    assert live.PAGE in (tmp_path / "with" / live.GUIDE).read_text()


def test_the_overview_of_the_api_has_every_public_name():
    listed = api.NAMED.findall((ROOT / "docs" / "api.md").read_text())
    assert sorted(listed) == sorted(api.public())
    assert set(viewpass.__all__) <= set(listed)
    assert {f"evaluate.{name}" for name in evaluate.__all__} <= set(listed)


def test_every_public_name_and_method_has_a_docstring():
    for name, thing in api.public().items():
        assert thing.__doc__, name
        if isinstance(thing, type) and not issubclass(thing, BaseException):
            bare = [member for member in api.members(thing) if not getattr(thing, member).__doc__]
            assert not bare, (name, bare)
            assert "fit" in api.members(thing) or name in NOT_ESTIMATORS


def test_built_pages_are_checked(tmp_path):
    (tmp_path / "a.html").write_text('<h1 id="x">A</h1><a href="b.html#y">b</a><a href="https://c.d">c</a>')
    (tmp_path / "b.html").write_text('<h2 id="y">B</h2><a href="a.html#x">a</a>')
    assert check.problems(tmp_path) == []
    (tmp_path / "b.html").write_text(
        '<a href="c.html">c</a><a href="a.html#z">a</a><script src="//e.f/g.js"></script>'
    )
    assert check.problems(tmp_path) == [
        "a.html: b.html#y names no place on that page",
        "b.html: //e.f/g.js is loaded from the network",
        "b.html: a.html#z names no place on that page",
        "b.html: c.html leads nowhere",
    ]


@pytest.fixture(scope="session")
def site(tmp_path_factory):
    """The whole site, built."""
    pytest.importorskip("sphinx", reason="the site is built with the extra docs")
    folder = tmp_path_factory.mktemp("site")
    words = ["-m", "docs.site", "--out", folder / "html", "--work", folder / "work", "--no-report"]
    ended = subprocess.run([sys.executable, *words], cwd=ROOT, capture_output=True, text=True, timeout=600)
    assert ended.returncode == 0, ended.stdout + ended.stderr
    return folder / "html"


@pytest.mark.long
def test_the_site_builds_without_a_warning_and_without_a_broken_link(site):
    assert check.problems(site) == []
    assert all((site / "api" / f"{name}.html").exists() for name in api.public())


LOOKED_AT = ("index", "guide-tate", "method", "api/ViewPass", "default")


@pytest.mark.long
@pytest.mark.parametrize(("theme", "size"), [("light", WIDE), ("dark", PHONE)], ids=["light", "dark"])
@pytest.mark.parametrize("name", LOOKED_AT)
def test_a_page_in_a_browser(site, browser, name, theme, size):
    """From a folder: nothing is asked of the network; no error, no serious fault by axe-core."""
    opened = Opened(browser, site / f"{name}.html", size, theme)
    opened.fits()
    opened.quiet()
    opened.accessible()  # last: axe-core asks for files that a folder does not give
    opened.close()


@pytest.mark.long
def test_the_search_works_from_a_folder(site, browser):
    opened = Opened(browser, site / "search.html", query="?q=sample")
    opened.page.wait_for_selector("#search-results ul.search li", timeout=20_000)
    opened.close()
