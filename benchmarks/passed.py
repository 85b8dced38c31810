"""What a default fit passes through: files and functions of viewpass, as a debugger would step through them.

python -m benchmarks.passed            # the figures
python -m benchmarks.passed --list     # and every file with its functions
"""

from __future__ import annotations

import argparse
import sys
import threading
from collections import defaultdict
from collections.abc import Callable
from pathlib import Path
from types import FrameType
from typing import Any

import numpy as np

import viewpass as vp
from viewpass.sums.rules import Workspace
from viewpass.tally.tally import tally_by_centre
from viewpass.views.chunk import Chunk

PACKAGE = Path(vp.__file__).parent


def passed(call: Callable[[], Any]) -> dict[str, set[str]]:
    """The functions of each file that a call enters; what importing a module runs is left out."""
    found: defaultdict[str, set[str]] = defaultdict(set)

    def entered(frame: FrameType, event: str, _: Any) -> None:
        code = frame.f_code  # of modules, comprehensions and lambdas: <module>, <listcomp>, <lambda>
        ours = code.co_filename.startswith(str(PACKAGE)) and not code.co_name.startswith("<")
        if event == "call" and ours:
            found[str(Path(code.co_filename).relative_to(PACKAGE))].add(code.co_qualname)

    threading.setprofile(entered)
    sys.setprofile(entered)
    try:
        call()
    finally:
        sys.setprofile(None)
        threading.setprofile(None)
    return dict(found)


def figures() -> dict[str, dict[str, set[str]]]:
    """Of a default fit, and of one chunk that is tallied under its model."""
    rng = np.random.default_rng(0)
    group = rng.integers(10, size=3000)
    views = [rng.standard_normal((10, d))[group] + 0.5 * rng.standard_normal((3000, d)) for d in (40, 30)]
    views[1][rng.random(3000) < 0.3] = np.nan
    model = vp.ViewPass(n_clusters=10, random_state=0)
    model.fit(views)  # imports, and what is kept from the first call on
    learnt, chunk, workspace = model._fitted_model(), Chunk.of(views), Workspace(1)
    return {
        "a default fit": passed(lambda: model.fit(views)),
        "one tallied chunk": passed(lambda: tally_by_centre(chunk, learnt, workspace)),
    }


def main() -> None:
    """Print them."""
    reader = argparse.ArgumentParser(description=__doc__)
    reader.add_argument("--list", action="store_true")
    listed = reader.parse_args().list
    for what, files in figures().items():
        print(f"{what}: {len(files)} files, {sum(map(len, files.values()))} functions")
        for file, functions in sorted(files.items()) if listed else ():
            print(f"    {file}: {', '.join(sorted(functions))}")


if __name__ == "__main__":
    main()
