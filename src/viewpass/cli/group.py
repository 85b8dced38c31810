"""The group of all commands: errors in one line, warnings in the words of the command line, exit codes."""

from __future__ import annotations

import logging
import warnings
from typing import Any

import typer
from typer.core import TyperGroup

from viewpass.cli.stopping import signals
from viewpass.errors import ViewpassError, printable

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
    from viewpass.cli.wording import in_options

    text = in_options(" ".join(str(message).split()))
    typer.echo(f"viewpass: warning: {printable(text)}", err=True)


def described(error: Exception) -> str:
    """An error in one line, in the words of the command line."""
    from viewpass.cli.wording import in_options

    message = printable(in_options(" ".join(str(error).split())))
    known = isinstance(error, ViewpassError | OSError) or type(error).__name__ == "InvalidParameterError"
    return message if known else f"{type(error).__name__}: {message} (--debug shows where)"


app = typer.Typer(
    cls=Commands,
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    epilog=f"{EXAMPLE}\n\n{CODES}",
)
