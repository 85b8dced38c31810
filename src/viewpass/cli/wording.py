"""Errors of the library in the words of the command line: options in place of Python's arguments."""

from __future__ import annotations

import ast
import re
from typing import Any

OPTIONS = {
    "n_clusters": "-k",
    "sample_size": "--sample",
    "view_weights": "--view-weights",
    "missing_entries": "--missing-entries",
    "random_state": "--seed",
    "n_threads": "--threads",
    "n_workers": "--workers",
    **{name: f"--{name}" for name in ("scale", "consensus", "views", "id", "out")},
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
