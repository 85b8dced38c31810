"""Compare models to the bit, make rows and Parquet files, kill Dask workers."""

from __future__ import annotations

import os
import signal
import tempfile
import threading
import time
from contextlib import contextmanager
from importlib.metadata import version
from pathlib import Path

import numpy as np
import pyarrow as pa

import viewpass as vp
from fixed_lists import write_lists


def assert_same(mine, theirs):
    """All that was learnt: sums, centres, sample, and the labels of all rows."""
    assert mine.statistics_ == theirs.statistics_
    np.testing.assert_array_equal(mine.labels_, theirs.labels_)
    np.testing.assert_equal(mine.cluster_centers_, theirs.cluster_centers_)
    np.testing.assert_equal(mine.anchor_centers_, theirs.anchor_centers_)
    assert (mine.consensus_, mine.scales_, mine.inertia_) == (
        theirs.consensus_,
        theirs.scales_,
        theirs.inertia_,
    )
    for name in ("n_samples_seen_", "n_rows_without_views_", "n_all_zero_", "n_gaps_", "view_names_in_"):
        assert getattr(mine, name) == getattr(theirs, name), name
    one, other = mine._learnt.sample, theirs._learnt.sample
    np.testing.assert_array_equal(one.keys, other.keys)
    np.testing.assert_array_equal(one.numbers, other.numbers)
    assert content(mine) == content(theirs)


def content(model):
    """The bytes of the model's file."""
    with tempfile.TemporaryDirectory() as folder:
        model.save(Path(folder) / "model.viewpass")
        return (Path(folder) / "model.viewpass").read_bytes()


def made_rows(n_rows, widths=(12, 7), seed=0, missing=0.25):
    """Rows around four centres; NaN where a view is missing, a few rows lack all, some are all zero."""
    rng = np.random.default_rng(seed)
    group = rng.integers(4, size=n_rows)
    views = []
    for width in widths:
        x = (rng.standard_normal((4, width))[group] + rng.standard_normal((n_rows, width))).astype(np.float32)
        x[rng.random(n_rows) < missing] = np.nan
        x[97::101] = 0.0
        views.append(x)
    return views


def write_files(folder, views, cuts, group_rows=137, id="item", **more):
    """Parquet files that end where no chunk does, with an id column and `more` columns."""
    folder.mkdir(parents=True, exist_ok=True)
    n_rows = len(views[0])
    columns = {"item": np.arange(n_rows) * 2 + 5}
    for v, x in enumerate(views):
        lists = pa.FixedSizeListArray.from_arrays(
            pa.array(np.nan_to_num(x).ravel()), x.shape[1], mask=pa.array(np.isnan(x[:, 0]))
        )
        columns[f"v{v}"] = lists
    table = pa.table(columns | more)
    for number, (first, stop) in enumerate(zip([0, *cuts], [*cuts, n_rows], strict=True)):
        write_lists(table.slice(first, stop - first), folder / f"{number}.parquet", group_rows)
    return vp.scan(str(folder), id=id)


@contextmanager
def two_workers():
    """A client of two worker processes on this machine."""
    from viewpass.engines.dask.workers import local_client

    with local_client(2) as client:
        yield client


# Before 2026.8, Dask waits forever for a cluster to close if a worker was killed while it started.
KILLED_AT_START = tuple(map(int, version("distributed").split(".")[:2])) >= (2026, 8)


def has_started(process):
    return process is not None and process.status.name == "running"


class Killer(threading.Thread):
    """Kills workers (SIGKILL) at random moments, until `n_kills` were killed or the block ends."""

    def __init__(self, cluster, n_kills, seconds, seed=0, spared=None):
        super().__init__(daemon=True)
        self.cluster, self.left, self.seconds, self.spared = cluster, n_kills, seconds, spared
        self.rng = np.random.default_rng(seed)
        self.n_killed = 0
        self.over = threading.Event()

    def run(self):
        while self.left and not self.over.is_set():
            time.sleep(self.rng.uniform(0, self.seconds))
            alive = [
                nanny.pid
                for name, nanny in list(self.cluster.workers.items())
                if nanny.pid is not None and nanny.status.name == "running" and name != self.spared
                if KILLED_AT_START or has_started(nanny.process)
            ]
            if not alive or self.over.is_set():
                continue
            try:
                os.kill(int(self.rng.choice(alive)), signal.SIGKILL)
            except ProcessLookupError:
                continue
            self.n_killed += 1
            self.left -= 1

    def __enter__(self):
        self.start()
        return self

    def __exit__(self, *_):
        self.over.set()
        self.join()
