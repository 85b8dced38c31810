"""The site: navigation, links and API pages as they are prepared; built, and in a browser (long)."""

from __future__ import annotations

import shutil
import subprocess
import sys

import pytest
from docs.site import api, check, live, pages

import viewpass
from viewpass import evaluate

ROOT = pages.ROOT
INDEX = (ROOT / "docs" / "index.md").read_text()


def test_the_navigation_has_few_sections_and_every_page_once():
    found = pages.sections(INDEX)
    assert 3 <= len(found) <= 6
    listed = [page for section in found for _, page in section.pages]
    assert len(listed) == len(set(listed))
    written = {pages.place(path.relative_to(ROOT).as_posix()) for path in ROOT.glob("docs/**/*.md")}
    assert written - {"index.md"} <= set(listed)


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
            assert "fit" in api.members(thing) or name in ("BatchPredictor", "Statistics")


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
    ended = subprocess.run([sys.executable, *words], cwd=ROOT, capture_output=True, text=True)
    assert ended.returncode == 0, ended.stdout + ended.stderr
    return folder / "html"


@pytest.mark.long
def test_the_site_builds_without_a_warning_and_without_a_broken_link(site):
    assert check.problems(site) == []
    assert all((site / "api" / f"{name}.html").exists() for name in api.public())


# What Chromium needs where there is no screen and no network, and where the user may be root.
FLAGS = [
    *("--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-sync"),
    *("--disable-background-networking", "--disable-component-update"),
]
SERIOUS = ("serious", "critical")
LOOKED_AT = ("index", "guide-tate", "method", "api/OPIMC", "measured/defaults")


@pytest.fixture(scope="session")
def browser():
    """Headless Chromium, of the system."""
    sync = pytest.importorskip("playwright.sync_api", reason="needs the extra browser")
    chromium = shutil.which("chromium") or shutil.which("google-chrome")
    if chromium is None:
        pytest.skip("Chromium is not installed (Debian: apt install chromium)")
    with sync.sync_playwright() as player:
        started = player.chromium.launch(executable_path=chromium, args=FLAGS)
        yield started
        started.close()


@pytest.mark.long
@pytest.mark.parametrize(("theme", "width"), [("light", 1280), ("dark", 390)])
@pytest.mark.parametrize("name", LOOKED_AT)
def test_a_page_in_a_browser(site, browser, name, theme, width):
    """From a folder: nothing is asked of the network; no error, no serious fault by axe-core."""
    axe = pytest.importorskip("axe_playwright_python.sync_playwright", reason="needs the extra browser")
    page = browser.new_page(viewport={"width": width, "height": 900}, color_scheme=theme)
    asked, errors = [], []
    page.on("request", lambda request: asked.append(request.url))
    page.on("console", lambda line: errors.append(line.text) if line.type == "error" else None)
    page.on("pageerror", lambda error: errors.append(str(error)))
    page.goto((site / f"{name}.html").as_uri())
    found = axe.Axe().run(page).response["violations"]
    wide = page.evaluate("document.documentElement.scrollWidth - window.innerWidth")
    page.close()
    assert not [url for url in asked if not url.startswith(("file:", "data:"))]
    assert not errors
    assert not [(fault["id"], fault["nodes"][0]["html"]) for fault in found if fault["impact"] in SERIOUS]
    assert wide <= 0


@pytest.mark.long
def test_the_search_works_from_a_folder(site, browser):
    page = browser.new_page()
    page.goto((site / "search.html").as_uri() + "?q=warmup")
    page.wait_for_selector("#search-results ul.search li", timeout=20_000)
    page.close()
