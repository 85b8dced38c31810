"""Options that several commands have, and their values: data, views, scales and weights for the library."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Annotated, Any

import typer
from typer import BadParameter

from viewpass.errors import SettingError
from viewpass.sources.files import find_files
from viewpass.sources.scan import scan
from viewpass.sources.source import Source
from viewpass.views.scaling import SCALE_NAMES

DATA, CLUSTERS, OUTPUT, RUN = "Data", "Clusters", "Output", "Run"  # groups of options of fit


def option(metavar: str, help: str, *names: str, panel: str | None = None, **more: Any) -> Any:
    """An option with a value, as it appears in the help."""
    more = {"show_default": False, **more} if panel else more
    return typer.Option(*names, metavar=metavar, help=help, rich_help_panel=panel, **more)


def flag(name: str, help: str, panel: str | None = None) -> Any:
    """An option without a value."""
    return typer.Option(name, metavar=" ", help=help, rich_help_panel=panel)


Data = Annotated[
    list[str],
    typer.Argument(
        metavar="DATA",
        show_default=False,
        help="Files (Parquet, Feather, CSV, npz, mat), patterns, folders, URLs; or NAME=FILE.npy per view.",
    ),
]
Views = Annotated[
    list[str] | None,
    option(
        "NAME=COLUMNS",
        "Columns of a view: COLUMN, PREFIX*, FIRST:LAST, A,B,C, or COLUMN/WIDTH if sparse; once per view. "
        "By default every list column is one.",
        "--views",
        panel=DATA,
    ),
]
Id = Annotated[str | None, option("COLUMN", "Column of row ids; by default rows are numbered.", panel=DATA)]
Keep = Annotated[
    str | None,
    option(
        "COLUMNS",
        "Columns of the data to write beside the labels, as in title,year.",
        "--keep",
        show_default=False,
    ),
]
Threads = Annotated[
    int | None,
    option("N", "Number of threads; by default one per processor. Does not affect the result.", min=1),
]
AsJson = Annotated[bool, flag("--json", "Print JSON, one object per line.")]
ModelFile = Annotated[Path, typer.Argument(metavar="MODEL", show_default=False, help="A model file.")]
RunPath = Annotated[
    Path, typer.Argument(metavar="RUN", show_default=False, help="A run folder, or a label file.")
]
NoRows = Annotated[bool, flag("--no-rows", "Of a run: leave out ids and rows, for data that must not leave.")]
Force = Annotated[bool, flag("--force", "Overwrite FILE if it exists.")]


MOST_CLUSTERS = 10_000_000  # sizes and centres of more would not fit in memory


def open_data(data: Sequence[str], views: Sequence[str], id: str | None) -> Source:
    """The source a command reads."""
    return scan(_paths(data), views=parsed_views(views), id=id)


def file_digests(data: Sequence[str]) -> dict[str, str]:
    """The SHA-256 of every file of the data, by what names the file alone on a command line."""
    paths = _paths(data)
    given = {f"{name}=": path for name, path in paths.items()} if isinstance(paths, dict) else {"": paths}
    found = {}
    for prefix, path in given.items():
        for file in find_files(path):
            with file.open() as opened:
                found[prefix + file.name] = hashlib.file_digest(opened, "sha256").hexdigest()
    return found


def _paths(data: Sequence[str]) -> Any:
    """One path, several, or NAME=FILE.npy for each view."""
    if all("=" in path and path.endswith(".npy") for path in data):
        return dict(path.split("=", 1) for path in data)
    return data[0] if len(data) == 1 else list(data)


def parsed_views(given: Sequence[str]) -> Any:
    """Each NAME=COLUMNS is a view; COLUMNS is COLUMN, PREFIX*, FIRST:LAST, A,B,C or COLUMN/WIDTH.

    >>> parsed_views(["image=pix_*", "text=t0,t1", "tokens=words/30000"])
    {'image': 'pix_*', 'text': ['t0', 't1'], 'tokens': ('words', 30000)}
    """
    if not given:
        return None
    views: dict[str, Any] = {}
    for text in given:
        name, equals, columns = text.partition("=")
        if not equals:
            columns = name
        if not name or not columns:
            raise SettingError(f"--views {text}: expected NAME=COLUMNS, as in --views image=image_emb.")
        if name in views:
            raise SettingError(f"--views: two views are named {name!r}. Give each view its own name.")
        views[name] = _columns(columns)
    return views


def parsed_names(given: str | None) -> tuple[str, ...]:
    """Names of columns, separated by commas.

    >>> parsed_names("title, year"), parsed_names(None)
    (('title', 'year'), ())
    """
    return tuple(name.strip() for name in (given or "").split(",") if name.strip())


def parsed_name(word: str, n_clusters: int) -> tuple[int, str]:
    """A cluster and its name, of NUMBER=NAME.

    >>> parsed_name("3=machine translation", 10), parsed_name("3=", 10)
    ((3, 'machine translation'), (3, ''))
    """
    number, equals, name = word.partition("=")
    if not (equals and number.isdecimal() and int(number) < n_clusters):
        raise SettingError(
            f"{word}: expected NUMBER=NAME with a cluster from 0 to {n_clusters - 1}, as in 3='machine "
            "translation'; NUMBER= takes the name away."
        )
    return int(number), name.strip()


def check_out(out: Path, *, force: bool) -> None:
    """Refuse a label file that cannot or must not be written, before anything is read."""
    from viewpass.labels.formats import label_format

    try:
        label_format(out)
    except SettingError as problem:
        raise SettingError(f"--out {problem}") from None
    check_absent(out, force=force)


def check_absent(out: Path, *, force: bool) -> None:
    """Refuse to write over a file."""
    if out.exists() and not force:
        raise SettingError(f"--out {out} exists. Name another file, or write over it with --force.")


def check_choice(typed: str, given: str, *choices: str) -> None:
    """Refuse what is not one of the choices; `typed` is the option with it."""
    if given not in choices:
        raise SettingError(f"{typed}: choose {', '.join(choices[:-1])} or {choices[-1]}.")


def parsed_number(given: str, option: str, *words: str) -> int | str:
    """A number, or one of the words.

    >>> parsed_number("12", "-k", "auto"), parsed_number("auto", "-k", "auto")
    (12, 'auto')
    """
    if given.isdecimal() and 0 < int(given) <= MOST_CLUSTERS:
        return int(given)
    if given in words:
        return given
    expected = f"a number from 1 to {MOST_CLUSTERS:,}, {' or '.join(words)}"
    raise BadParameter(f"{given!r}: expected {expected}.", param_hint=option)


def parsed_window(given: str | None) -> int | str | None:
    """A number of rows, or a duration, which is checked with the other settings."""
    return int(given) if given is not None and given.isdecimal() else given


def parsed_scale(given: str) -> Any:
    """A name, or VIEW=NAME for each view.

    >>> parsed_scale("auto"), parsed_scale("image=standard,words=idf")
    ('auto', {'image': 'standard', 'words': 'idf'})
    """
    if "=" not in given:
        check_choice(f"--scale {given}", given, *SCALE_NAMES)
        return given
    scales = _by_view(given, str, f"--scale {given}: expected NAME, or VIEW=NAME once for each view.")
    for view, name in scales.items():
        check_choice(f"--scale {view}={name}", name, *SCALE_NAMES)
    return scales


def parsed_weights(given: str | None) -> Any:
    """VIEW=WEIGHT for some views; None if none is given.

    >>> parsed_weights(None), parsed_weights("image=2,words=0.5")
    (None, {'image': 2.0, 'words': 0.5})
    """
    if given is None:
        return None
    expected = "VIEW=WEIGHT once for each view, each at least 0."
    weights = _by_view(given, float, f"--view-weights {given}: expected {expected}")
    if not all(weight >= 0 for weight in weights.values()):
        raise SettingError(f"--view-weights {given}: expected {expected}")
    return weights


def _by_view(given: str, kind: Callable[[str], Any], problem: str) -> dict[str, Any]:
    """Values of VIEW=VALUE,VIEW=VALUE; a SettingError with `problem` where it is something else."""
    values: dict[str, Any] = {}
    for text in given.split(","):
        view, _, value = text.rpartition("=")
        if not view or not value or view in values:
            raise SettingError(problem)
        try:
            values[view] = kind(value)
        except ValueError:
            raise SettingError(problem) from None
    return values


def _columns(text: str) -> Any:
    column, slash, width = text.rpartition("/")
    if slash and column and width.isdecimal():
        return column, int(width)
    return text.split(",") if "," in text else text
