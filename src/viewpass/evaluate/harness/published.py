"""Figures that papers have published, for reading beside measured ones; never ranked with them."""

from __future__ import annotations

import csv
from collections.abc import Sequence
from importlib.resources import files

from viewpass.evaluate.harness.page import Section
from viewpass.evaluate.protocols import PROTOCOLS

COLUMNS = ("method", "venue", "set", "protocol", "rate", "acc", "nmi", "tuned", "kind")
SAME = {"paper": "share of each view"}  # what papers call our protocols


def published() -> list[dict[str, str]]:
    """All published figures; ACC and NMI in percent, `tuned` by classes or not."""
    text = files("viewpass.evaluate.harness").joinpath("published.csv").read_text(encoding="utf-8")
    return list(csv.DictReader(text.splitlines()))


def published_rows(sets: Sequence[str], protocol: str) -> Section:
    """The published figures of these sets, each with whether its protocol is the one used here."""
    wanted = {name.lower() for name in sets}
    rows = []
    for row in published():
        if wanted & set(row["names"].split()):
            theirs = row["protocol"]
            same = SAME.get(protocol, protocol) == theirs
            difference = "the same" if same else f"differs: {PROTOCOLS.get(theirs, theirs)}"
            rows.append([*(row[name] for name in COLUMNS), difference])
    text = (
        "As the papers or their supplements print them. Preprocessing, views and rows may differ even where "
        "the protocol is the same, and many methods choose settings or the last epoch with classes: do not "
        "rank them together with measured figures."
    )
    if not rows:
        text = "There are none of these sets in the table."
    header = [*COLUMNS[:5], "ACC", "NMI", "tuned with classes", "kind", "protocol used here"]
    return Section("published", "Published figures", text, header, rows)
