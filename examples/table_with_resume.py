"""Cluster a Parquet table chunk by chunk, stop in the middle, and resume to the same bytes.

Run it as it is: python examples/table_with_resume.py (needs the extras arrow and cli)
The command line does all of it; nothing here holds more than a chunk of the table in memory.
"""

import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

ROWS, CHUNK = 20_000, 1_000
COMMAND = Path(sys.executable).with_name("viewpass")  # installed beside this Python


def write_table(path: Path) -> None:
    """Two columns of lists, null in a quarter of the rows, written part by part."""
    rng = np.random.default_rng(0)
    centres = {"image": rng.normal(size=(8, 24)), "text": rng.normal(size=(8, 16))}
    lists = pa.list_(pa.float32())
    schema = pa.schema({"item": pa.int64(), **dict.fromkeys(centres, lists)})
    with pq.ParquetWriter(path, schema) as writer:
        for first in range(0, ROWS, CHUNK):
            topic = rng.integers(8, size=CHUNK)
            columns = {"item": np.arange(first, first + CHUNK)}
            for name, centre in centres.items():
                values = centre[topic] + rng.normal(size=(CHUNK, centre.shape[1]))
                columns[name] = [row if rng.random() < 0.75 else None for row in values.tolist()]
            writer.write_table(pa.table(columns, schema))


def fit(out: Path, *more: str) -> subprocess.Popen[str]:
    """Start `viewpass fit`."""
    settings = ["-k", "8", "--id", "item", "--seed", "0", "--scale", "unit", "--consensus", "plain"]
    chunks = ["--sample", "2000", "--checkpoint-every", "1", "--json", "--no-report"]
    words = ["fit", "items.parquet", *settings, *chunks, "--out", out.name, *more]
    return subprocess.Popen([COMMAND, *words], cwd=out.parent, stdout=subprocess.PIPE, text=True)


with tempfile.TemporaryDirectory() as name:
    folder = Path(name)
    write_table(folder / "items.parquet")

    straight = fit(folder / "straight")
    straight.communicate()

    stopped = fit(folder / "stopped")
    while stopped.poll() is None and not (folder / "stopped" / "staging" / "checkpoint.viewpass").exists():
        time.sleep(0.005)  # until there is a checkpoint; --resume would start anew before that
    stopped.send_signal(signal.SIGTERM)
    stopped.communicate()
    print("stopped with exit code", stopped.returncode)
    resumed = fit(folder / "stopped", "--resume")
    resumed.communicate()
    print("resumed with exit code", resumed.returncode)

    for file in ("model.viewpass", "labels.parquet"):
        same = (folder / "straight" / file).read_bytes() == (folder / "stopped" / file).read_bytes()
        print(f"{file}: {'the same bytes' if same else 'other bytes'} as without the stop")
    labels = pq.read_table(folder / "stopped" / "labels.parquet")
    print(labels.num_rows, "rows;", sum(labels["cluster"].to_numpy() < 0), "without any view have no cluster")
