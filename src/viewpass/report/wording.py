"""Numbers and text from data, as a page shows them: short, and with nothing that acts on its own."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from viewpass.errors import printable

NAME, VALUE, VIEW = 80, 140, 40  # characters of a cluster's name, of a value, of a view's name


def short(text: object, most: int = VALUE) -> str:
    r"""Text with control characters escaped, cut at a number of characters.

    >>> print(short("a\x1b[2Jb"), short("abcdef", 4))
    a\x1b[2Jb abc…
    """
    whole = printable(str(text)[: most + 1])
    return whole if len(whole) <= most else whole[: most - 1].rstrip() + "…"


def percent(share: float | None) -> str:
    """A share in per cent, with a digit where it is small.

    >>> percent(0.123), percent(0.0123), percent(0.00001), percent(None)
    ('12 %', '1.2 %', '< 0.1 %', '–')
    """
    if share is None:
        return "–"
    value = 100.0 * share
    if 0 < value < 0.1:
        return "< 0.1 %"
    return f"{value:.0f} %" if value >= 9.95 or value == 0 else f"{value:.1f} %"


def number(value: float | None) -> str:
    """A whole number with separators, or a decimal one with three digits.

    >>> number(12345), number(0.12345), number(None)
    ('12,345', '0.123', '–')
    """
    if value is None:
        return "–"
    return f"{value:,}" if isinstance(value, int) else f"{value:.3g}"


def cluster_name(cluster: Mapping[str, Any], most: int = NAME) -> str:
    """The name of a cluster, or its number."""
    return short(cluster["name"], most) if cluster["name"] else f"Cluster {cluster['cluster']}"


def listed(words: Sequence[str]) -> str:
    """Words in a sentence.

    >>> listed(["a"]), listed(["a", "b", "c"])
    ('a', 'a, b and c')
    """
    return words[0] if len(words) == 1 else f"{', '.join(words[:-1])} and {words[-1]}"


def row_line(shown: Mapping[str, Any], most: int = VALUE, values: int = 4) -> str:
    """The first values of a row in one line; images are left out."""
    parts = [
        short(value, most)
        for value in shown.values()
        if value is not None and not str(value).startswith("data:")
    ]
    return " · ".join(parts[:values])


def title_of(row: Mapping[str, Any]) -> object:
    """What a row is recognised by: the first column after its id; its number if there is none."""
    values = list(row["shown"].values())
    return values[1] if len(values) > 1 and values[1] is not None else ("row", row["row"])
