"""Write down what is computed now: `python -m bits.record [--only REGEX]`, in the folder tests.

Cells that the expression does not find stay as they were recorded; without one, all is recorded anew.
"""

from __future__ import annotations

import argparse
import re
import sys

from bits.cells import CELLS, THREADS, different, input_digests, parts
from bits.recorded import read, write


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--only", default="", help="of cells such as published/odd/csr/plain/1")
    only = re.compile(parser.parse_args().only)
    before = read()
    cells = [cell for cell in CELLS if only.search(str(cell))]
    chosen = set(cells)
    kept = [cell for cell in CELLS if cell not in chosen and cell.name in before.get(cell.section, {})]
    recorded = {"rows": input_digests([*cells, *kept])}
    for cell in kept:
        recorded.setdefault(cell.section, {})[cell.name] = before[cell.section][cell.name]
    n_changed = 0
    for cell in cells:
        found = [parts(cell.fitted(n_threads)) for n_threads in THREADS]
        for n_threads, other in zip(THREADS, found, strict=True):
            if wrong := different(other, found[0]):
                sys.exit(f"{cell}: {', '.join(wrong)} differ with {n_threads} threads; nothing was written.")
        kept_parts = {name: part for name, part in found[0].items() if name not in cell.left_out}
        n_changed += before.get(cell.section, {}).get(cell.name) not in (None, kept_parts)
        recorded.setdefault(cell.section, {})[cell.name] = kept_parts
    write(recorded)
    print(f"{len(cells)} cells recorded, {n_changed} of them otherwise than before")  # noqa: T201


if __name__ == "__main__":
    main()
