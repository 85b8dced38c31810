"""README and docs: examples, commands and inline code run or name what exists, and links resolve.

The blocks of a page are run in order, in a folder of their own: Python blocks share one namespace, and a
`text` block right after one is what it prints; of `sh` blocks the `viewpass` commands are run. Inline code
is then evaluated in that namespace, or checked against the API, the command line and the repository.
"""

from __future__ import annotations

import ast
import contextlib
import inspect
import io
import os
import re
import shlex
import sys
import tomllib
from copy import deepcopy
from importlib.util import find_spec
from itertools import pairwise
from pathlib import Path

import dask
import numpy as np
import pandas as pd
import pytest
from typer.main import get_command
from typer.testing import CliRunner

import fixed_lists
import viewpass as vp
from commands import write_table
from everywhere import MARKS as MARKS_OF_ENGINES
from viewpass.cli.app import app
from viewpass.cli.arguments import parsed_scale, parsed_views

pytestmark = pytest.mark.system

ROOT = Path(__file__).parents[1]
DOCS = ROOT / "docs"
WRITTEN = [ROOT / "README.md", *sorted(DOCS.glob("*.md")), *sorted((DOCS / "measured").glob("*.md"))]
LINKED = [*WRITTEN, ROOT / "CONTRIBUTING.md", ROOT / "CHANGELOG.md"]
OF_ENGINES = [DOCS / "distributed.md", DOCS / "engines.md"]  # their examples start Ray and Spark
PAGES = [
    pytest.param(page, id=str(page.relative_to(ROOT)), marks=MARKS_OF_ENGINES if page in OF_ENGINES else [])
    for page in WRITTEN
]
CHECKED = [*WRITTEN, ROOT / "CONTRIBUTING.md"]

FENCE = re.compile(r"^```(\w+)\n(.*?)^```$\n?", re.MULTILINE | re.DOTALL)
INLINE = re.compile(r"(?<!`)`([^`]+)`(?!`)")
LINK = re.compile(r"\]\(([^)#\s]*)(?:#([^)\s]*))?\)")

ESTIMATORS = [vp.ViewPass, vp.OPIMC, vp.IMC, vp.OMVC, vp.ONMF, vp.MultiNMF, vp.MIC, vp.DAIMC]
PLACEHOLDERS = {"MODEL": "run/model.viewpass", "DATA": "items.parquet", "RUN": "run"}
# Objects of other libraries, and names that stand for something of the reader's.
FOREIGN = re.compile(
    r"\badata\b|\bmdata\b|^to_df|TableVectorizer|^dataset\.|^ParquetFile|^scoring=|^year=|^model\.viewpass$"
)
PATH = re.compile(r"(?:[\w.-]+/)*[\w-]+\.(?:py|pyi|cpp|hpp|supp|md|toml|txt)|(?:[\w.-]+/)+[\w-]*")
HEAVY = {  # libraries of examples that `make test-system` does not install
    "vp.ray": "ray",
    "--engine ray": "ray",
    "vp.spark": "pyspark",
    "--engine spark": "pyspark",
}
OUTPUTS = ("out/", "run/", "viewpass-demo/", "staging/", "labels/", "build/", "items/", "../shared/")


@pytest.fixture(autouse=True)
def _in_a_folder_of_its_own(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("MPLBACKEND", "Agg")


# ---- blocks


def examples(text):
    """Blocks to run: kind, line, code, and what a Python block prints (or None)."""
    fences = list(FENCE.finditer(text))
    for fence, after in pairwise([*fences, None]):
        shown = after is not None and after[1] == "text" and not text[fence.end() : after.start()].strip()
        if fence[1] in ("python", "sh"):
            yield fence[1], text.count("\n", 0, fence.start(2)), fence[2], after[2] if shown else None


def run_python(page, line, code, expected, namespace):
    printed = io.StringIO()
    # Blank lines in front, so that a traceback names the line of the page.
    compiled = compile("\n" * line + code, page.name, "exec")
    with contextlib.redirect_stdout(printed):
        exec(compiled, namespace)
    assert printed.getvalue() == (expected or ""), f"{page.name}, line {line}"


def run_commands(lines, namespace):
    for words in (shlex.split(line, comments=True) for line in lines):
        if words and words[0] == "viewpass":
            run_command(words[1:], namespace)
        elif words:
            check_command(words)


def run_command(words, namespace):
    """Run one command of viewpass here; with Dask on the page's own cluster, whatever scheduler it names."""
    provide_files()
    if "dask" in words:
        words = [word for word in words if not word.startswith(("--scheduler", "tcp:"))]
        words += ["--scheduler", namespace["client"].scheduler.address]
    ended = CliRunner().invoke(app, words)
    if words[0] == "join" and not fixed_lists.NULLS and ended.exit_code:  # the library cannot write the data
        assert "Write it as .arrow" in ended.output.replace("\n", " ")
        return
    assert ended.exit_code == 0, f"viewpass {shlex.join(words)}: {ended.output}"


def provide_files():
    """The files that commands of several pages name, unless the page has made them itself."""
    for name, start in (("items/part.parquet", 0), ("tomorrow.parquet", 400), ("items.parquet", 0)):
        path = Path(name)
        if not path.exists() and not (path.parent.name and path.parent.exists()):
            path.parent.mkdir(exist_ok=True)
            renamed = write_table(path, 400, start=start)
            rename_column(renamed, "item", "item_id")
    for name in ("image", "text"):
        if not Path(f"{name}.npy").exists():
            np.save(f"{name}.npy", np.random.default_rng(0).normal(size=(100, 4)))


def provide_works(folder):
    """A part of the Tate table, under the name that a page gives it."""
    import pyarrow.parquet as pq

    works = pq.read_table(folder / "tate.parquet")
    pq.write_table(works.take(np.arange(0, len(works), 60)), "tate.parquet")


def rename_column(path, old, new):
    import pyarrow.parquet as pq

    table = pq.read_table(path)
    pq.write_table(table.rename_columns([new if name == old else name for name in table.column_names]), path)


@pytest.mark.parametrize("page", PAGES)
def test_examples_and_inline_code_run(page, request, monkeypatch):
    namespace = {"__name__": "__main__"}
    text = page.read_text()
    monkeypatch.setenv("PYSPARK_PYTHON", sys.executable)  # as in an environment that is activated
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join(path for path in sys.path if path))
    if 'os.environ["VIEWPASS_DATA"]' in text:
        monkeypatch.setenv("VIEWPASS_DATA", str(request.getfixturevalue("data_folder").resolve()))
    if "tate.parquet" in text:
        provide_works(request.getfixturevalue("data_folder"))
    try:
        for kind, line, code, expected in examples(text):
            if lacks_library(code):
                continue
            if kind == "python":
                run_python(page, line, code, expected, namespace)
            else:
                run_commands(code.splitlines(), namespace)
        wrong = [f"`{span}`: {why}" for span in spans(text) if (why := fault(span, namespace))]
    finally:
        for name in ("client", "cluster"):  # of Dask
            if name in namespace:
                namespace[name].close()
    assert not wrong, "\n".join(wrong)


def test_there_are_pages_with_examples():
    found = [kind for page in WRITTEN for kind, *_ in examples(page.read_text())]
    assert found.count("python") >= 30
    assert found.count("sh") >= 4


def lacks_library(code):
    """Whether code needs what only `make test-engines` installs."""
    return any(sign in code and find_spec(library) is None for sign, library in HEAVY.items())


# ---- inline code


def spans(text):
    """Inline code outside of blocks, each once."""
    found = (" ".join(span.split()) for span in INLINE.findall(FENCE.sub("", text)))
    return dict.fromkeys(found)


def fault(span, namespace):
    """Why inline code is wrong, or None."""
    if lacks_library(span):
        return None
    try:
        words = shlex.split(span)
    except ValueError:
        words = span.split()
    try:
        if words[0] in ("viewpass", "make", "pip", "python") and len(words) > 1:
            check_command(words, namespace)
        elif span.startswith("--") or re.match(r"-k\b", span):
            check_options(words)
        elif re.fullmatch(r"[a-z]\w*=(.*)", span) and not FOREIGN.search(span):
            check_setting(span)
        elif is_expression(span, namespace) and not FOREIGN.search(span):
            evaluate(span, namespace)
    except (Exception, SystemExit) as problem:
        return f"{type(problem).__name__}: {problem}"
    return None


def is_expression(span, namespace):
    """A call, an item, a fitted attribute, or an attribute of something that the page or viewpass has."""
    root, dot, _ = span.partition(".")
    known = dot and root.isidentifier() and (root in namespace or root in ("vp", "model", "statistics_"))
    return known or re.match(r"[A-Za-z_][\w.]*[(\[]|[A-Za-z]\w*_$", span)


def check_command(words, namespace=None):
    """A command of make, pip, python or viewpass names what exists; one with files for arguments runs."""
    if words[0] == "make":
        targets = re.findall(r"^([a-z-]+):", (ROOT / "Makefile").read_text(), re.MULTILINE)
        assert {word for word in words[1:] if "=" not in word} <= set(targets)
    elif words[:2] == ["pip", "install"]:
        extras = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["optional-dependencies"]
        named = re.fullmatch(r"(?:viewpass|\.)\[(.*)\]", words[2])
        assert set(named[1].split(",")) <= set(extras)
    elif words[:2] == ["python", "-m"]:
        check_benchmark(words[2], words[3:])
    elif words[0] == "viewpass":
        placed = [PLACEHOLDERS.get(word, word) for word in words[1:]]
        if placed != words[1:] or "=" in placed[-1]:
            Path("inline").mkdir(exist_ok=True)
            with contextlib.chdir("inline"):
                run_command(placed, namespace)
        else:
            check_options(words)


def check_benchmark(module, options):
    path = ROOT.joinpath(*module.split("."))
    source = path.with_suffix(".py") if path.with_suffix(".py").exists() else path / "__main__.py"
    assert source.exists(), f"no module {module}"
    assert all(f'"{word}"' in source.read_text() for word in options if word.startswith("--"))


def check_options(words):
    """Every option is one of the command's, or of any command where none is named."""
    commands = get_command(app).commands
    if words[0] == "viewpass" and not words[1].startswith("-"):
        assert words[1] in commands, f"no command {words[1]}"
    some = [commands[words[1]]] if words[0] == "viewpass" and words[1] in commands else commands.values()
    known = {option for command in some for one in command.params for option in (*one.opts, "--help")}
    known |= {"--debug", "--install-completion"}
    benchmark = (ROOT / "benchmarks" / "quality" / "__main__.py").read_text()
    known |= set(re.findall(r'"(--[a-z]+)"', benchmark))
    for option, value in pairwise(words):
        {"--views": lambda given: parsed_views([given]), "--scale": parsed_scale}.get(option, str)(value)
    unknown = [word for word in words if re.match(r"--?[a-z]", word) and word not in known]
    assert not unknown, unknown


def check_setting(span):
    """`name=value` is accepted by an estimator or a function; `name=` is a parameter of one."""
    name, value = span.split("=", 1)
    functions = (
        vp.scan,
        vp.frames,
        vp.dask.fit,
        vp.dask.predict,
        vp.distributed.fit,
        vp.ViewPass.fit,
        vp.ViewPass.save,
    )
    functions += (vp.ViewPass.explain, vp.ViewPass.labels_frame, vp.ViewPass.summary, vp.BatchPredictor)
    takers = [each for each in ESTIMATORS if name in inspect.signature(each).parameters]
    known = takers or any(name in inspect.signature(each).parameters for each in functions)
    assert known, "no such parameter"
    if not value or not takers:
        return
    settings = eval(f"dict({span})", dict(EXAMPLE))
    problems = []
    for estimator in takers:
        try:
            estimator(**{"n_clusters": 2, **settings}).fit(EXAMPLE["views"])
        except (vp.ViewpassError, ValueError) as problem:
            problems.append(problem)
        else:
            return
    raise problems[0]


MODELS = ("model", "published", "compared")


class Names(dict):
    """Names in inline code: the page's, those of an example, the public API, attributes of a model."""

    def __missing__(self, name):
        if name in EXAMPLE:
            found = EXAMPLE[name]
            return deepcopy(found) if name in MODELS else found  # what a page does to one is not another's
        for owner in (vp, *(EXAMPLE[model] for model in MODELS)):
            if hasattr(owner, name):
                return getattr(owner if owner is vp else deepcopy(owner), name)
        raise KeyError(name)


def evaluate(span, namespace):
    with contextlib.suppress(SyntaxError):  # a piece of syntax, such as `if __name__ == "__main__":`
        tree = ast.parse(span, mode="eval")
        provide_files()
        eval(compile(tree, span, "eval"), {}, Names(namespace))


def example():
    """Fitted models and the names that stand for things in inline code."""
    rng = np.random.default_rng(0)
    rows = np.abs(5 * np.eye(2, 4)[rng.integers(2, size=60)] + rng.normal(size=(60, 4)))
    views = {"image": rows, "text": rows[:, :3]}
    frames = vp.frames({name: pd.DataFrame(view) for name, view in views.items()})
    model = vp.ViewPass(2, n_anchors=6, consensus="graph", random_state=0).fit(frames)
    compared = vp.OMVC(2, chunk_size=30, random_state=0).fit(views)
    published = vp.OPIMC(2, random_state=0).fit(views)
    apart = [vp.ViewPass(2, random_state=0).fit(views) for _ in range(2)]
    libraries = {"vp": vp, "np": np, "dask": dask}
    models = {"model": model, "published": published, "compared": compared, "models": apart}
    numbers = {"n_clusters": 2, "alpha": 0.1, "v": 0, "m": 20, "W": 2, "s": 10}
    return {**libraries, **models, **numbers, "views": views, "observed": np.ones((60, 2), bool)}


EXAMPLE = example()


# ---- names of files, links, size


@pytest.mark.parametrize("page", CHECKED, ids=lambda page: page.name)
def test_files_that_are_named_exist(page):
    named = [span for span in spans(page.read_text()) if PATH.fullmatch(span) and "NAME" not in span]
    places = (ROOT, ROOT / "src" / "viewpass", ROOT / "native", page.parent)
    absent = [
        path
        for path in named
        if not path.startswith(OUTPUTS) and not any((place / path).exists() for place in places)
    ]
    assert not absent


def test_files_named_in_pictures_exist():
    words = re.findall(r">([^<>]+)</text>", (DOCS / "images" / "chunk.svg").read_text())
    named = [path for word in words for path in re.findall(r"\w+/[\w/]+\.\w+", word)]
    assert len(named) >= 8
    places = (ROOT, ROOT / "src" / "viewpass")
    assert not [path for path in named if not any((place / path).exists() for place in places)]


def headings(text):
    """The anchors GitHub gives to the headings of a page."""
    found = re.findall(r"^#+ (.*)$", FENCE.sub("", text), re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in found}


def links(page):
    """Where a page leads within the repository: files and headings."""
    for target, heading in LINK.findall(FENCE.sub("", page.read_text())):
        if not target.startswith(("http:", "https:")):
            yield (page.parent / target).resolve() if target else page, heading


@pytest.mark.parametrize("page", LINKED, ids=lambda page: page.name)
def test_links_and_images_resolve(page):
    for target, heading in links(page):
        assert target.exists(), target
        if heading:
            assert heading in headings(target.read_text()), f"{target.name}#{heading}"


def test_the_index_leads_to_every_page():
    overviews = DOCS / "index.md", DOCS / "paper" / "README.md"
    reached = {target for page in overviews for target, _ in links(page)}
    assert {page for page in DOCS.rglob("*.md") if page.name != "index.md"} <= reached


def test_every_picture_is_shown():
    shown = {target for page in WRITTEN for target, _ in links(page)}
    pictures = [*DOCS.glob("images/*"), *DOCS.glob("measured/images/*")]
    assert not [path.name for path in pictures if path not in shown]


def test_every_page_says_in_its_first_sentence_what_it_is():
    for page in WRITTEN:
        lines = page.read_text().split("\n")
        assert lines[0].startswith("# "), page.name
        assert re.match(r"\w|[`\[]", lines[2]), f"{page.name}: {lines[2]}"


def test_the_readme_is_short():
    text = (ROOT / "README.md").read_text()
    assert len(text.split()) <= 900
    assert text.count("\n") <= 95
    assert len(text[: text.index("```python")].split()) <= 40
