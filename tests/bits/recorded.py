"""The recordings in their file: read, and written with a line for each cell."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

FILE = Path(__file__).with_name("recorded.json")
Recorded = dict[str, dict[str, Any]]  # by section and name


def read() -> Recorded:
    return json.loads(FILE.read_text()) if FILE.exists() else {}


def write(recorded: Recorded) -> None:
    sections = []
    for section, cells in sorted(recorded.items()):
        lines = [f"  {json.dumps(name)}: {json.dumps(cells[name])}" for name in sorted(cells)]
        sections.append(f" {json.dumps(section)}: {{\n" + ",\n".join(lines) + "\n }")
    FILE.write_text("{\n" + ",\n".join(sections) + "\n}\n")
