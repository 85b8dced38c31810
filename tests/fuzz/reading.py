"""What the fuzz targets of table files share: sound tables, damage, and driving the product with a file."""

from __future__ import annotations

import io
import json
import shutil
import warnings
from contextlib import redirect_stderr, redirect_stdout
from hashlib import sha256
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
from scipy.sparse import issparse
from typer.main import get_command

import viewpass as vp
from viewpass.cli.app import app

viewpass = get_command(app)
Spans = list[tuple[int, int]]
N_ROWS = 30


def table(kind: str) -> tuple[pa.Table, dict[str, Any]]:
    """A table of ids and two views with gaps, in columns of this kind, and how `vp.scan` reads it."""
    random = np.random.default_rng(0)
    columns = {"item": pa.array([f"item {n}" for n in range(N_ROWS)])}
    for name, width in (("image", 9), ("text", 3)):
        values = random.standard_normal((N_ROWS, width)).round(1)
        gone = random.random(N_ROWS) < (0 if kind == "required" else 0.3)
        if kind == "numbers":
            for number, column in enumerate(values.T):
                columns[f"{name[0]}{number}"] = pa.array(column, mask=gone)
            continue
        rows: list[object] = [
            None if absent else row.tolist() for row, absent in zip(values, gone, strict=True)
        ]
        if kind == "sparse":
            rows = [row and {"indices": [0, 1, 8], "values": row[:3]} for row in rows]
        columns[name] = pa.array(rows, _type(kind, width))
    fields = [
        pa.field(name, column.type, kind != "required", {"width": "9"} if kind == "sparse" else None)
        for name, column in columns.items()
    ]
    options: dict[str, Any] = {"views": {"image": "i*", "text": "t*"}} if kind == "numbers" else {}
    made = pa.Table.from_arrays(list(columns.values()), schema=pa.schema(fields))
    return made, {**options, "id": "item"}


def _type(kind: str, width: int) -> pa.DataType:
    element = pa.field("element", pa.float32(), nullable=kind != "required")
    return {
        "fixed": pa.list_(element, width),
        "large": pa.large_list(element),
        "sparse": pa.struct({"indices": pa.list_(pa.int32()), "values": pa.list_(pa.float64())}),
    }.get(kind, pa.list_(element))


def damaged(sound: bytes, spans: Spans, random: np.random.Generator) -> bytes:
    """Change, move or cut a few bytes; `spans` are the places where structure lies, one chosen at a time."""
    data = bytearray(sound)
    if random.random() < 0.02:
        return bytes(data[: random.integers(len(data))])
    for _ in range(1 + random.poisson(0.5)):
        first, end = spans[random.integers(len(spans))]
        end = min(end, len(data))
        if first >= end:
            continue
        at = int(random.integers(first, end))
        match random.integers(7):
            case 0 | 1 | 2:
                data[at] ^= 1 << random.integers(8)
            case 3:
                data[at] = random.choice([0, 1, 0x7F, 0x80, 0xFF, random.integers(256)])
            case 4:
                data[at] = (data[at] + random.choice([-2, -1, 1, 2])) % 256
            case 5:  # bytes of another place
                other = int(random.integers(len(data)))
                part = data[other : other + random.integers(1, 12)]
                data[at : at + len(part)] = part
            case 6:  # some bytes more, or fewer
                length = int(random.integers(1, 4))
                data[at : at + length] = b"" if random.random() < 0.5 else bytes(2 * length)
    return bytes(data)


def drive(path: Path, options: dict[str, Any], folder: Path) -> None:
    """Inspect, scan, fit and predict: each gives a viewpass error, or answers that agree with each other."""
    words = [f"--views={name}={columns}" for name, columns in options.get("views", {}).items()]
    words += [f"--id={options['id']}"] if "id" in options else []
    run = folder / "run"
    shutil.rmtree(run, ignore_errors=True)
    inspected = command("inspect", str(path), *words, "--json")
    fitted = command("fit", str(path), *words, "-k", "3", "--out", str(run), "--threads", "1", "--json")
    rows, labels = _rows(path, options), _labels(path, options)
    if rows is None:
        if not inspected == fitted == labels is None:
            raise AssertionError("rows that scan refuses are accepted by inspect or fit")
        return
    if inspected is not None and json.loads(inspected)["rows"] != rows[0]:
        raise AssertionError(f"inspect counts other rows than the {rows[0]} of scan: {inspected}")
    if (labels is None) != (fitted is None):
        raise AssertionError("fit accepts the file on the command line or in Python, not in both")
    if labels is not None and len(labels) != rows[0]:
        raise AssertionError(f"{len(labels)} labels of {rows[0]} rows")
    if _rows(path, options, size=7) != rows:
        raise AssertionError("the rows differ when they are read again, in smaller chunks")


def command(*words: str) -> str | None:
    """Run a command; returns its output, or None where it refused with one line of error."""
    out, err = io.StringIO(), io.StringIO()
    code = None
    with redirect_stdout(out), redirect_stderr(err), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            viewpass(list(words), prog_name="viewpass")
        except SystemExit as ended:
            code = ended.code
    said = err.getvalue()
    if code == 0:
        return out.getvalue()
    lines = said.splitlines()
    if code != 1 or len(lines) != 1 or not lines[0].startswith("viewpass: ") or "--debug shows" in said:
        raise AssertionError(f"viewpass {' '.join(words)} ended with {code}: {said!r}")
    if not lines[0].isprintable():
        raise AssertionError(f"viewpass {' '.join(words)} printed control characters: {said!r}")
    return None


def _rows(path: Path, options: dict[str, Any], size: int = 1000) -> tuple[int, list[bytes]] | None:
    """The number of rows, and a digest of each view: which rows have it, and their values."""
    n_rows = 0
    digests: dict[tuple[int, int], Any] = {}
    try:
        for chunk in vp.scan(path, **options).chunks(size):
            n_rows += chunk.n_rows
            for v, view in enumerate(chunk.views):
                present = np.zeros(chunk.n_rows, dtype=bool) if view is None else chunk.wanted(v)
                parts = [present]
                if view is not None:
                    values = view[present]
                    parts += (
                        [np.diff(values.indptr), values.indices, values.data] if issparse(view) else [values]
                    )
                for number, part in enumerate(parts):
                    digests.setdefault((v, number), sha256()).update(np.ascontiguousarray(part).tobytes())
    except vp.ViewpassError:
        return None
    except Exception as problem:
        raise AssertionError(f"scan raised {type(problem).__name__}: {problem}") from problem
    return n_rows, [digests[key].digest() for key in sorted(digests)]


def _labels(path: Path, options: dict[str, Any]) -> np.ndarray | None:
    """The labels of a fit in Python, which `predict` confirms; None if it is refused."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            model = vp.ViewPass(3, random_state=0, n_threads=1).fit(vp.scan(path, **options))
            predicted = model.predict(vp.scan(path, **options))
        except vp.ViewpassError:
            return None
        except Exception as problem:
            raise AssertionError(f"fit raised {type(problem).__name__}: {problem}") from problem
    if not np.array_equal(predicted, model.labels_):
        raise AssertionError("predict gives other labels than fit")
    return predicted
