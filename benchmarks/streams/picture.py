"""`python -m benchmarks.streams.picture`: draws docs/images/timeline.png, that of the guide on streams."""

from __future__ import annotations

import argparse
from pathlib import Path

import matplotlib

matplotlib.use("Agg")

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

import viewpass as vp
from viewpass.evaluate.data.files import folder_of

VIEWS = ["title_emb", "medium_emb", "subjects_emb", "size"]
CLUSTERS, WINDOW, NIGHT = 12, 6000, 500


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.streams.picture", description=__doc__)
    parser.add_argument("--image", type=Path, default=Path("docs/images/timeline.png"))
    options = parser.parse_args()
    works = pq.read_table(folder_of(None) / "tate.parquet")
    series = pc.utf8_slice_codeunits(works["acno"], 0, 1)
    works = pa.concat_tables([works.filter(pc.equal(series, one)).sort_by("acno") for one in "NT"])
    model = vp.ViewPass(CLUSTERS, window=WINDOW, random_state=0)
    for start in range(0, len(works), NIGHT):
        model.partial_fit(vp.scan(works.slice(start, NIGHT), views=VIEWS, id="acno"))
    kinds = [event.what for event in model.events_]
    print(f"{len(works):,} works:", ", ".join(f"{kinds.count(kind)} {kind}" for kind in sorted(set(kinds))))
    ax = model.plot("timeline")
    ax.figure.savefig(options.image, dpi=130)


if __name__ == "__main__":
    main()
