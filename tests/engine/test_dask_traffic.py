"""What travels for an inner iteration: centres out, sums in, whatever the number of rows."""

from __future__ import annotations

import distributed.comm.tcp as tcp
import pytest

import viewpass as vp
from clusters import made_rows, write_files
from viewpass.engine.dask.round import Round

WIDTH, N_CLUSTERS, COLUMNS = 2, 10, (1200, 900)


class Meter:
    """Bytes that this process (driver and scheduler) writes and reads, by inner iteration.

    What driver and scheduler say to one another is counted twice, so it is no less than what travels.
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

        def following(shares, before, after):
            start = self.total
            tally = follow(shares, before, after)
            self.iterations.append(self.total - start)
            return tally

        monkeypatch.setattr(tcp.TCP, "write", writing)
        monkeypatch.setattr(tcp, "read_bytes_rw", reading)
        monkeypatch.setattr(Round, "follow", following)


@pytest.mark.parametrize("n_passes", [1, 2])
def test_traffic_is_bounded_whatever_the_rows(client, tmp_path, monkeypatch, n_passes):
    most = {}
    bound = 3 * WIDTH * (2 * 8 * N_CLUSTERS * sum(COLUMNS)) + 64 * 1024
    for size in (100, 600):
        files = write_files(tmp_path / str(size), made_rows(3 * WIDTH * size, COLUMNS), ())
        settings = {"n_anchors": None, "scale": "unit", "max_iter": 4, "warmup": 0, "tol": 0.0}
        model = vp.OPIMC(N_CLUSTERS, chunk_size=size, random_state=0, n_passes=n_passes, **settings)
        with monkeypatch.context() as patches:
            meter = Meter(patches)
            vp.dask.fit(model, files, client=client, n_workers=WIDTH, out=tmp_path / f"run{size}")
        assert len(meter.iterations) >= 2
        most[size] = max(meter.iterations)
        assert most[size] <= bound
    # Only sums of clusters that rows touched travel, so it varies; the rows' own bytes would show.
    assert most[600] - most[100] < 0.1 * 4 * 500 * WIDTH * sum(COLUMNS)
