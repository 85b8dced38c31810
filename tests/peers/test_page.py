"""The page of other projects' expectations is what these tests hold."""

from __future__ import annotations

from pathlib import Path

from peers import page


def test_the_page_is_as_the_tests_have_it():
    assert page.PAGE.read_text() == page.page(), "run `python -m peers.page` in the folder tests"


def test_every_test_says_what_is_expected():
    files = {path.name for path in Path(__file__).parent.glob("test_*.py")} - {Path(__file__).name}
    assert files == set(page.PROJECTS)
    for project, sentences in page.expectations().items():
        assert all(sentences), project
        assert len(set(sentences)) == len(sentences)
