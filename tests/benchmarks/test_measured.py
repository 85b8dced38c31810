"""`make measured`: every measured page has its commands; what they print becomes its tables; it continues."""

from __future__ import annotations

import subprocess
import sys

import pytest

from benchmarks import measured


def test_every_measured_page_has_its_commands():
    pages = {path.stem for path in measured.PAGES.glob("*.md")}
    assert pages | {"paper"} == set(measured.PAGE_STEPS) | set(measured.WRITERS)
    for page in measured.PAGE_STEPS:
        text = (measured.PAGES / f"{page}.md").read_text()
        assert text.count("<!-- tables -->\n") == text.count("<!-- end of tables -->") == 1


def test_tables_stay_and_other_lines_are_shown_as_text():
    printed = "one\ntwo\n| a |\n|---|\n| 1 |\n\n## More\nthree\n"
    expected = "```text\none\ntwo\n```\n\n| a |\n|---|\n| 1 |\n\n### More\n\n```text\nthree\n```\n"
    assert measured.as_markdown(printed) == expected


def test_finished_commands_are_not_run_again(tmp_path, monkeypatch):
    (tmp_path / "page.md").write_text("# Page\n\n<!-- tables -->\n<!-- end of tables -->\n")
    steps = measured.Step("One", "python -m one", "--full", ""), measured.Step("Two", "python -m two", "-x")
    monkeypatch.setattr(measured, "PAGES", tmp_path)
    monkeypatch.setattr(measured, "PAGE_STEPS", {"page": steps})
    ran = []

    def output(command):
        if command[-1] == "-x" and len(ran) < 2:
            ran.append(command)
            raise subprocess.CalledProcessError(1, command)
        ran.append(command)
        return "| figure |\n"

    monkeypatch.setattr(measured, "output", output)
    for again in (False, False):
        if len(ran) < 2:
            with pytest.raises(subprocess.CalledProcessError):
                measured.write_page("page", tmp_path / "kept", quick=False, again=again)
        else:
            measured.write_page("page", tmp_path / "kept", quick=False, again=again)
    assert [command[1:] for command in ran] == [
        ["-m", "one", "--full"],
        ["-m", "two", "-x"],
        ["-m", "two", "-x"],
    ]
    assert ran[0][0] == sys.executable
    text = (tmp_path / "page.md").read_text()
    assert "## One\n\n`python -m one --full`\n\n| figure |" in text
    assert text.count("| figure |") == 2
    assert "A quick run" not in text
    measured.write_page("page", tmp_path / "kept", quick=True, again=False)
    text = (tmp_path / "page.md").read_text()
    assert "A quick run" in text
    assert "## Two\n\n`python -m two -x`\n\nNot measured on this version." in text
