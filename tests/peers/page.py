"""Writes docs/measured/peers.md: `python -m peers.page`, in the folder tests.

What is expected is read from the first lines of the tests' docstrings; what does not apply is listed here.
"""

from __future__ import annotations

import ast
from pathlib import Path

FOLDER = Path(__file__).parent
PAGE = FOLDER.parents[1] / "docs" / "measured" / "peers.md"

PROJECTS = {
    "test_sklearn.py": "scikit-learn, KMeans and MiniBatchKMeans",
    "test_mvlearn.py": "mvlearn, MultiviewKMeans",
    "test_imml.py": "iMML, its estimators for incomplete modalities",
    "test_river.py": "river, its checks of estimators",
}

DOES_NOT_APPLY = {
    "scikit-learn": [
        (
            "clusters that differ in the length of their rows, rows at the origin, and which row an empty "
            "cluster moves to",
            "rows are compared at unit length, where a row of zeros has no direction; an empty cluster stays "
            "where it was, as in the paper, and is reported",
        ),
        (
            "`transform(cluster_centers_)` is zero on its diagonal",
            "centres are shorter than 1, and rows are brought to unit length",
        ),
        ("float32 rows give float32 centres", "centres are float64, whatever the rows are"),
        (
            "a common factor of weights changes nothing to 7 digits",
            "weights that are not whole numbers are rounded to multiples of 1/1024",
        ),
        (
            "`init` as a function, `algorithm`, `copy_x`, `init_size`, `reassignment_ratio`",
            "there are no such settings",
        ),
        (
            "the text of messages, what `verbose` prints, names with a leading underscore",
            "they belong to scikit-learn's implementation",
        ),
        ("more updates score strictly better", "the first update may already be the last"),
        ("a warning for `n_init` beside centres as `init`", "`IMC` documents that centres are one start"),
    ],
    "mvlearn": [
        ("fewer rows than clusters give a warning", "they are refused"),
        ("rows of zeros are a cluster", "at unit length they are missing views"),
        ("`patience`", "there is no such setting"),
        ("centres for two views are refused where there are two views", "they are right"),
    ],
    "iMML": [("an embedding of the rows, a choice of engine", "there are distances, and one engine")],
    "river": [
        (
            "features that appear or disappear",
            "a view has its columns from its first row on; whole views may appear and disappear",
        ),
        ("the size of the state is constant", "`loss_curve_` has one number per chunk"),
    ],
}


def expectations() -> dict[str, list[str]]:
    """The first line of each test's docstring, by project."""
    found = {}
    for file, project in PROJECTS.items():
        tree = ast.parse((FOLDER / file).read_text())
        tests = [node for node in tree.body if isinstance(node, ast.FunctionDef) and node.name[:5] == "test_"]
        found[project] = [(ast.get_docstring(test) or "").split("\n")[0] for test in tests]
    return found


def page() -> str:
    """The page as the tests have it."""
    held = expectations()
    total = sum(map(len, held.values()))
    lines = [
        "# What other projects expect",
        "",
        f"{total} expectations that scikit-learn, mvlearn, iMML and river have of their own estimators,",
        "restated for viewpass and tested in `tests/peers`; which of the others do not apply, and why.",
        "Made by `make measured`.",
    ]
    for project, sentences in held.items():
        file = next(name for name, own in PROJECTS.items() if own == project)
        lines += ["", f"## {project}", "", f"{len(sentences)} expectations, in `tests/peers/{file}`.", ""]
        lines += ["| does not apply | because |", "|---|---|"]
        lines += [f"| {what} | {why} |" for what, why in DOES_NOT_APPLY[project.split(",")[0]]]
    return "\n".join(lines) + "\n"


if __name__ == "__main__":
    PAGE.write_text(page())
