"""`vp.dask`: the same fit and the same labels on a Dask cluster."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from viewpass.cluster.base import check_whole, narrated
from viewpass.cluster.opimc import OPIMC
from viewpass.engine.local import check_passes, too_few
from viewpass.engine.resumable import Position
from viewpass.errors import DataError, missing_extra

try:
    import distributed  # noqa: F401
except ImportError:
    raise missing_extra("distributed", "dask", "vp.dask") from None

from viewpass.engine.dask.cluster import local_client
from viewpass.engine.dask.collected import Collected
from viewpass.engine.dask.crew import Crew
from viewpass.engine.dask.drive import Drive
from viewpass.engine.dask.rows import rows_of


@contextmanager
def crew_of(client: Any, n_workers: int | None) -> Iterator[Crew]:
    """The workers of a client, or of a cluster on this machine for the time being."""
    if client is not None:
        yield Crew(client)
        return
    with local_client(n_workers) as own:
        yield Crew(own)


def fit(model: OPIMC, data: Any, *, client: Any = None, n_workers: int | None = None, observed: Any = None) -> OPIMC:
    """Fit a model on the workers of a Dask cluster."""
    model._validate_params()
    check_whole(model.n_clusters, "n_clusters")
    fresh = model._blank()
    source = fresh._read(data, observed, reset=True)
    check_passes(source, model.n_passes)
    if source.n_rows is not None and source.n_rows < model.n_clusters:
        raise DataError(too_few(source.n_rows, model.n_clusters))
    rows = rows_of(source)
    stream = fresh._learnt = fresh._new_stream(source)
    with narrated(model.verbose), crew_of(client, n_workers) as crew:
        crew.place = rows.place
        width = n_workers or max(1, len(crew.workers()))
        sink = Collected(rows.n_rows)
        drive = Drive(crew, rows, source.schema, stream, sink, model.chunk_size, width, model.n_passes)
        for _ in drive.steps(Position()):
            pass
    fresh.stream_labels_ = sink.labels
    if not fresh._cut_by_views:
        fresh.n_features_in_ = sum(w or 0 for w in stream.schema.widths)
    model._become(fresh)
    return model
