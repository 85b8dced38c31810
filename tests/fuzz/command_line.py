"""Odd command lines on small real files: each ends with a result, or with one line that names options."""

from __future__ import annotations

import json
import re
import shutil
from pathlib import Path

import numpy as np
import pyarrow.csv
import pyarrow.feather
import pyarrow.parquet as pq
from typer.testing import CliRunner

from commands import write_table
from viewpass.cli.app import app

SECONDS = 2
ARGUMENTS = re.compile(
    r"\b(n_clusters|n_anchors|sample_size|missing_entries|view_weights|random_state|n_threads|n_workers"
    r"|storage_options|compute_labels|n_samples)\b|\bvp\.\w+|\b(scale|alpha|consensus|projection|views|id|"
    r"observed|out)=(?!\w+\.npy)"
)
NUMBERS = [
    "0",
    "1",
    "2",
    "3",
    "7",
    "60",
    "-1",
    "-5",
    "1e3",
    "2.5",
    "nan",
    "inf",
    "-inf",
    "",
    " ",
    "auto",
    "none",
]
NUMBERS += [
    "99999999999999999999",
    "9223372036854775807",
    "2147483648",
    "٣",
    "½",
    "²",
    "0x10",
    "1_0",
    "ten",
    "+2",
]
TEXTS = ["", " ", "auto", "none", "unit", "idf", "image", "text", "image=", "=", "=x", "image=unit,text=idf"]
TEXTS += [
    "image=2,text=1",
    "image=-1,text=1",
    "image=nan,text=inf",
    "image=unit,image=unit",
    "a=b=c",
    "bäume",
]
TEXTS += [
    "\x1b[31mred",
    "a\nb",
    "../..",
    "image/7",
    "words/99999999999",
    "words/²",
    "x*",
    "*",
    "[",
    "item:text",
    "n_clusters",
]
TEXTS += ["graph", "merge", "random", "k-means++", "local", "-", "--", "image,text", "😀", "x" * 300]


def prepare(folder: Path) -> None:
    """Write the files that command lines name."""
    folder.mkdir(parents=True, exist_ok=True)
    write_table(folder / "items.parquet", 60)
    write_table(folder / "wide.parquet", 40, seed=1, widths=(12, 9))
    items = pq.read_table(folder / "items.parquet")
    pyarrow.feather.write_feather(items, folder / "items.feather")
    pq.write_table(items.slice(0, 0), folder / "empty.parquet")
    columns = {f"{name}{j}": np.arange(20.0) % (j + 2) for name in "pq" for j in range(3)}
    pyarrow.csv.write_csv(pyarrow.table(columns), folder / "numbers.csv")
    rng = np.random.default_rng(0)
    for name, n_rows in (("image", 30), ("text", 30), ("short", 5)):
        np.save(folder / f"{name}.npy", rng.standard_normal((n_rows, 3)))
    (folder / "nothing.parquet").write_bytes(b"")
    (folder / "noise.parquet").write_bytes(rng.bytes(500))
    (folder / "noise.viewpass").write_bytes(b"viewpass" + rng.bytes(500))
    (folder / "a folder").mkdir(exist_ok=True)
    ended = _run(["fit", folder / "items.parquet", "-k", "3", "--out", folder / "run"])
    assert ended.exit_code == 0, ended.output
    shutil.copy(folder / "run" / "model.viewpass", folder / "model.viewpass")


def trial(random: np.random.Generator, folder: Path) -> None:
    """Run one odd command line."""
    argv = [str(word) for word in _words(random, folder)]
    ended = _run(argv)
    said = ended.output
    for word in sorted(argv, key=len, reverse=True):  # what was typed may be repeated
        if len(word) > 1:
            said = said.replace(word, "").replace(repr(word), "")
    problem = None
    if ended.exception is not None and not isinstance(ended.exception, SystemExit):
        problem = f"{type(ended.exception).__name__}: {ended.exception}"
    elif ended.exit_code not in (0, 1, 2):
        problem = f"exit code {ended.exit_code}"
    elif "Traceback" in said or "(--debug shows where)" in said:
        problem = said
    elif ended.exit_code == 1 and not re.fullmatch(r"viewpass: [^\n]*\n", ended.stderr):
        problem = f"not one line: {ended.stderr!r}"
    elif ended.exit_code == 1 and (named := ARGUMENTS.search(said)):
        problem = f"names {named[0]!r}: {said}"
    if problem is not None:
        raise AssertionError(" ".join(f"viewpass {json.dumps(argv, ensure_ascii=False)}: {problem}".split()))


def _run(argv):
    return CliRunner().invoke(app, [str(word) for word in argv])


def _words(random, folder):
    def some(values):
        return values[random.integers(len(values))]

    places = [path for path in sorted(folder.iterdir()) if path.name != "out"]
    places += [folder / "absent.parquet", folder / "*.parquet", "", folder / "run" / "run.json"]
    numbers = ["--threads", "--seed"]
    options = {
        "fit": dict.fromkeys(["--sample", "--workers"], NUMBERS)
        | dict.fromkeys(["--scale", "--consensus", "--missing-entries", "--view-weights"], TEXTS)
        | {"--scheduler": TEXTS, "--checkpoint-every": NUMBERS},
        "predict": {},
        "update": {},
        "inspect": {"--rows": NUMBERS},
    }
    command = some([*options, "fit", "fit"])
    known = options[command] | dict.fromkeys(numbers, NUMBERS) | dict.fromkeys(["--views", "--id"], TEXTS)
    words = [command]
    if command in ("predict", "update"):
        words.append(some([folder / "model.viewpass", folder / "model.viewpass", *places]))
    data = [folder / "items.parquet", folder / "wide.parquet", *places]
    words += [some(data) for _ in range(random.integers(1, 3))]
    if random.random() < 0.15:
        words[-1:] = [
            f"{view}={folder / view}.npy" for view in random.permutation(["image", "text", "short"])[:2]
        ]
    if command == "fit":
        words += ["-k", some(NUMBERS) if random.random() < 0.5 else "3"]
    if command != "inspect":
        shutil.rmtree(folder / "out", ignore_errors=True)
        (folder / "out").mkdir()
        endings = [".csv", ".parquet", ".jsonl", ".arrow", ".txt", "", ".viewpass", "/below/x"]
        new = folder / "out" / f"new{some(endings)}"
        taken = [folder / "run", folder / "items.parquet", folder / "items.parquet" / "below"]
        words += ["--out", some([new] * 8 + taken) if command == "fit" else new]
    for option in random.permutation([*known])[: random.integers(4)]:
        words += [option, some(known[option])]
    for flag in ("--json", "--resume", "--again", "--force"):
        if random.random() < 0.1:
            words.append(flag)
    return words
