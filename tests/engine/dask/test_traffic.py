"""Network traffic of an inner iteration: centres out, sums in, whatever the number of rows."""

from __future__ import annotations

import pickle
import sys

import distributed.comm.tcp as tcp
import numpy as np
import pytest

import viewpass as vp
from clusters import made_rows, write_files
from viewpass.engine.dask.round import FEW_BLOCKS, Round
from viewpass.engine.dask.tasks import open_block

WIDTH, N_CLUSTERS, COLUMNS = 2, 10, (600, 450)


class Meter:
    """Bytes that this process (driver and scheduler) writes and reads, by inner iteration.

    Messages between driver and scheduler are counted twice, so the total is an upper bound.
    """

    def __init__(self, monkeypatch):
        self.total, self.iterations = 0, []
        write, read, follow = tcp.TCP.write, tcp.read_bytes_rw, Round.follow

        async def writing(comm, *given, **more):
            n_bytes = await write(comm, *given, **more)
            self.total += n_bytes
            return n_bytes

        async def reading(stream, n_bytes):
            self.total += n_bytes
            return await read(stream, n_bytes)

        def following(shards, before, after):
            start = self.total
            tally = follow(shards, before, after)
            self.iterations.append(self.total - start)
            return tally

        monkeypatch.setattr(tcp.TCP, "write", writing)
        monkeypatch.setattr(tcp, "read_bytes_rw", reading)
        monkeypatch.setattr(Round, "follow", following)


def forget_transfers(dask_worker):
    dask_worker.transfer_incoming_log.clear()


def transfers(dask_worker):
    """What a worker received from other workers: bytes by key."""
    return [dict(one["keys"]) for one in dask_worker.transfer_incoming_log]


@pytest.mark.every_value
@pytest.mark.parametrize(("width", "n_passes"), [(WIDTH, 1), (FEW_BLOCKS + 1, 1), (FEW_BLOCKS + 1, 2)])
def test_workers_pass_centres_on_and_no_rows(client, tmp_path, width, n_passes):
    files = write_files(tmp_path / "rows", made_rows(1200, COLUMNS), ())
    settings = {"n_anchors": None, "scale": "unit", "max_iter": 4, "warmup": 0, "tol": 0.0}
    model = vp.OPIMC(
        N_CLUSTERS, chunk_size=400 // width * width, random_state=0, n_passes=n_passes, **settings
    )
    client.run(forget_transfers)
    vp.dask.fit(model, files, client=client, n_workers=width, out=tmp_path / "run")
    stages, one = {}, 8 * N_CLUSTERS * sum(COLUMNS)
    for worker, found in client.run(transfers).items():
        for key, n_bytes in (pair for one in found for pair in one.items()):
            if "_block-" in key:  # without its rows, see below
                continue
            if width > FEW_BLOCKS and any(
                f"viewpass_{task}-" in key for task in ("assign", "measured", "follow")
            ):
                assert n_bytes <= one + 4000  # sums, where workers add them up
                continue
            assert "viewpass_store" in key  # centres, and where the files are: neither rows nor labels
            if n_bytes > 10_000:
                stages.setdefault(key, []).append((worker, n_bytes))
    assert bool(stages) == (width > FEW_BLOCKS)  # few shards get theirs from the driver
    repeated = sum(len(had) - len({worker for worker, _ in had}) for had in stages.values())
    assert repeated <= len(stages) // 4  # once per worker; a busy cluster may ask again now and then
    for had in stages.values():
        assert all(one <= n_bytes <= one + 2000 for _, n_bytes in had)


def test_a_block_that_is_sent_leaves_its_rows_behind(tmp_path):
    block = open_block(write_files(tmp_path / "rows", made_rows(1200, COLUMNS), ()), 400, 200)
    assert sys.getsizeof(block) > 4 * 200 * sum(COLUMNS)
    assert len(pickle.dumps(block)) < 20_000
    again = pickle.loads(pickle.dumps(block))
    assert sys.getsizeof(again) < 20_000
    for mine, theirs in zip(again.chunk().views, block.chunk().views, strict=True):
        np.testing.assert_array_equal(mine, theirs)
    part = block.cut(450, 50)
    assert (part.chunk().start, part.chunk().n_rows) == (450, 50)
    assert len(pickle.dumps(part)) < 20_000


@pytest.mark.one_in(2)
@pytest.mark.parametrize("n_passes", [2, 1])
def test_traffic_is_bounded_whatever_the_rows(client, tmp_path, monkeypatch, n_passes):
    most = {}
    bound = 3 * WIDTH * (2 * 8 * N_CLUSTERS * sum(COLUMNS)) + 64 * 1024
    for size in (100, 600):
        files = write_files(tmp_path / str(size), made_rows(3 * WIDTH * size, COLUMNS), ())
        settings = {"n_anchors": None, "scale": "unit", "max_iter": 4, "warmup": 0, "tol": 0.0}
        model = vp.OPIMC(N_CLUSTERS, chunk_size=WIDTH * size, random_state=0, n_passes=n_passes, **settings)
        with monkeypatch.context() as patches:
            meter = Meter(patches)
            vp.dask.fit(model, files, client=client, n_workers=WIDTH, out=tmp_path / f"run{size}")
        assert len(meter.iterations) >= 2
        most[size] = max(meter.iterations)
        assert most[size] <= bound
    # Only sums of clusters that rows touched travel, so it varies; the rows' own bytes would show.
    assert most[600] - most[100] < 0.1 * 4 * 500 * WIDTH * sum(COLUMNS)
