"""Errors of the library in the words of the command line: options in place of Python's arguments.

The group of all commands: errors in one line, warnings in the words of the command line, exit codes.
"""

from __future__ import annotations

import ast
import logging
import re
import warnings
from typing import Any

import typer
from typer.core import TyperGroup

from viewpass.cli.stopping import signals
from viewpass.errors import ViewpassError, printable

OPTIONS = {
    "n_clusters": "-k",
    "sample_size": "--sample",
    "view_weights": "--view-weights",
    "missing_entries": "--missing-entries",
    "random_state": "--seed",
    "n_threads": "--threads",
    "n_workers": "--workers",
    "half_life": "--half-life",
    "max_clusters": "--max-clusters",
    **{
        name: f"--{name}" for name in ("scale", "consensus", "views", "id", "out", "window", "time", "robust")
    },
}
NAMES = "|".join(OPTIONS)
FREE = r"(?<![\w/\\.=,'\"-])"  # not part of a path, of a quoted text or of VIEW=VALUE
END = r"(?![\w/='\"-]|\.\w)"
VALUE = r"'[^']*'|\"[^\"]*\"|\{[^{}]*\}|\[[^\[\]]*\]|[\w+-]+(?:\.\d+)?"
PYTHON_ONLY = (
    (r" or observed=", ""),
    (r" \(n_samples = \d+\)", ""),
    (r" or an array(?=\.)", ""),
    (r",? or match (?:the )?rows by id with vp\.frames", ""),
    (r" vp\.load reads its model\.", ""),
    (r"; `forget` removes rows(?=\.)", ""),
    (r"\bgive vp\.scan\(\.\.\.\) or Dask arrays", "give files"),
)


def in_options(message: str) -> str:
    """A message of the library, with the options that its arguments were given by.

    >>> in_options("sample_size=5 cannot form n_clusters=9 clusters: give a smaller n_clusters.")
    '--sample 5 cannot form -k 9 clusters: give a smaller -k.'
    >>> in_options("views={'text': ('words', 300), 'image': ['p0', 'p1']} was expected")
    '--views text=words/300 --views image=p0,p1 was expected'
    """
    for pattern, text in PYTHON_ONLY:
        message = re.sub(pattern, text, message)
    message = re.sub(rf"The '({NAMES})' parameter of \w+(?= must)", lambda found: OPTIONS[found[1]], message)
    message = re.sub(rf"(another setting: )({NAMES})\b", lambda found: found[1] + OPTIONS[found[2]], message)
    message = re.sub(rf"{FREE}({NAMES})=(?:({VALUE}){END}|(?![\w/='\"{{\[]))", _with_value, message)
    message = re.sub(rf"^({NAMES})(?=[:,] | is given | has )", lambda found: OPTIONS[found[1]], message)
    long = "|".join(name for name in OPTIONS if "_" in name)
    return re.sub(rf"{FREE}({long}){END}", lambda found: OPTIONS[found[1]], message)


def _with_value(found: re.Match[str]) -> str:
    option, text = OPTIONS[found[1]], found[2]
    if text is None:
        return option
    try:
        value = ast.literal_eval(text)
    except (ValueError, SyntaxError):
        return f"{option} {text}"
    if found[1] != "views" and isinstance(value, dict):
        return f"{option} {','.join(f'{name}={one}' for name, one in value.items())}"
    if isinstance(value, dict):
        return " ".join(f"{option} {name}={_columns(columns)}" for name, columns in value.items())
    if isinstance(value, list):
        return " ".join(f"{option} {one}" for one in value)
    return f"{option} {'none' if value is None else value}"


def _columns(given: Any) -> str:
    if isinstance(given, tuple):
        return "/".join(map(str, given))
    return ",".join(map(str, given)) if isinstance(given, list) else str(given)


EXAMPLE = "Example:  viewpass fit items.parquet -k 10 --out run"
CODES = (
    "Exit codes: 0 success, 1 error (described in one line), 2 wrong usage, 130 stopped by Ctrl-C, "
    "143 by SIGTERM."
)


# Newer versions of typer contain click, older ones depend on it.
WrongUsage: type[Exception] = next(
    kind for kind in typer.BadParameter.__mro__ if kind.__name__ == "ClickException"
)


class Commands(TyperGroup):
    """Reports errors in one line and exits with 1; wrong usage exits with 2, as usual."""

    def parse_args(self, ctx: Any, args: list[str]) -> Any:
        """Accept --debug anywhere on the line."""
        if "--debug" in args:
            args = ["--debug", *(word for word in args if word != "--debug")]
        return super().parse_args(ctx, args)

    def invoke(self, ctx: Any) -> Any:
        """Run the command."""
        if ctx.params.get("debug"):
            return super().invoke(ctx)
        silent = logging.NullHandler()  # commands print what matters themselves
        logger = logging.getLogger("viewpass")
        logger.addHandler(silent)
        usual, warnings.showwarning = warnings.showwarning, _show_warning
        try:
            return super().invoke(ctx)
        except (BrokenPipeError, WrongUsage, typer.Exit):
            raise
        except (KeyboardInterrupt, typer.Abort):
            typer.echo(f"viewpass: {signals.message}", err=True)
            raise typer.Exit(signals.code) from None
        except Exception as error:
            typer.echo(f"viewpass: {described(error)}", err=True)
            raise typer.Exit(1) from None
        finally:
            logger.removeHandler(silent)
            warnings.showwarning = usual


def _show_warning(message: Warning | str, *_: Any, **__: Any) -> None:
    from viewpass.cli.group import in_options

    text = in_options(" ".join(str(message).split()))
    typer.echo(f"viewpass: warning: {printable(text)}", err=True)


def described(error: Exception) -> str:
    """An error in one line, in the words of the command line."""
    from viewpass.cli.group import in_options

    message = printable(in_options(" ".join(str(error).split())))
    known = isinstance(error, ViewpassError | OSError) or type(error).__name__ == "InvalidParameterError"
    return message if known else f"{type(error).__name__}: {message} (--debug shows where)"


app = typer.Typer(
    cls=Commands,
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    epilog=f"{EXAMPLE}\n\n{CODES}",
)
