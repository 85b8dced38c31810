"""Stores what a stream that changes has besides: horizon, buckets, ids, events, remembered rows."""

from __future__ import annotations

import re
from typing import Any, cast

import numpy as np

from viewpass.kernels.grid import MOST_ROWS, Array
from viewpass.sample.sample import Sample
from viewpass.store.container.fields import Fields, Rule
from viewpass.store.state.rows import pack_chunk, unpack_chunk
from viewpass.streams.events import KINDS, NO_CLUSTER, Event, Kind, Receipt
from viewpass.streams.horizon import BUCKETS, LONGEST, SECOND, Horizon
from viewpass.streams.identities import MOST_EVENTS, MOST_SIZES, Identities, Memory, Sizes
from viewpass.views.chunk import Schema

IDS = Rule(np.int64, "n", 0, MOST_ROWS)
MOST_TEXT = 1000


def pack_horizon(horizon: Horizon) -> dict[str, Any]:
    """Convert which rows count."""
    return {
        "window": horizon.window,
        "duration": horizon.duration,
        "half_life": horizon.half_life,
        "grows": horizon.grows,
        "most_clusters": horizon.most_clusters,
    }


def unpack_horizon(stored: Fields) -> Horizon:
    """Restore it."""
    bounds = {
        "window": (BUCKETS, MOST_ROWS),
        "duration": (SECOND, LONGEST),
        "half_life": (1, MOST_ROWS),
        "most_clusters": (1, MOST_ROWS),
    }
    numbers = {
        name: None if stored.get(name) is None else stored.number(name, least=least, most=most)
        for name, (least, most) in bounds.items()
    }
    ways = numbers["window"], numbers["duration"], numbers["half_life"]
    stored.need(ways.count(None) >= 2, "window")
    return Horizon(grows=stored.truth("grows"), **numbers)


def pack_identities(identities: Identities, arrays: dict[str, Array], *, rows: bool) -> dict[str, Any]:
    """Convert ids and events; `rows`: with the rows that are remembered."""
    arrays["cluster_ids"] = identities.ids
    memory = identities.memory
    chunk = None
    if rows and memory.chunk is not None:
        arrays["memory.ids"] = memory.ids
        chunk = pack_chunk(memory.chunk, "memory", arrays)
    events = [event.as_dict() for event in identities.events]
    timeline = [[sizes.row, *map(list, sizes.rows.items())] for sizes in identities.timeline]
    return {"next_id": identities.next_id, "events": events, "memory": chunk, "timeline": timeline}


def unpack_identities(stored: Fields, n_clusters: int, schema: Schema | None) -> Identities:
    """Restore them after checking every part."""
    ids = stored.array_of("cluster_ids", {"cluster_ids": IDS}, n=n_clusters)
    next_id = stored.number("next_id", most=MOST_ROWS)
    stored.need(bool((ids < next_id).all()), "cluster_ids")
    given = stored.list("events", dict)
    stored.need(len(given) <= MOST_EVENTS, "events")
    events = tuple(_event(Fields(each, {}), next_id) for each in given)
    memory = Memory()
    if stored.get("memory") is not None:
        chunk = unpack_chunk(stored.part("memory"), "memory", schema)
        owners = stored.array("memory.ids", IDS, n=chunk.n_rows)
        stored.need(bool((owners < next_id).all()), "memory")
        memory = Memory(chunk, owners)
    timeline = tuple(_sizes(stored, each, next_id) for each in stored.list("timeline", list))
    stored.need(len(timeline) <= MOST_SIZES, "timeline")
    return Identities(ids, next_id, events, memory, timeline)


def _sizes(stored: Fields, given: list[Any], next_id: int) -> Sizes:
    """Restore the sizes of clusters at one point."""
    row, *pairs = given or [None]
    stored.need(type(row) is int and 0 <= row <= MOST_ROWS, "timeline")
    for pair in pairs:
        sound = type(pair) is list and [type(number) for number in pair] == [int, int]
        stored.need(sound and 0 <= pair[0] < next_id and 0 <= pair[1] <= MOST_ROWS, "timeline")
    return Sizes(row, dict(pairs))


def _event(stored: Fields, next_id: int) -> Event:
    what, cluster = cast(Kind, stored.text("what")), stored.get("cluster")
    stored.need(what in KINDS, "events")
    stored.need(type(cluster) is int and NO_CLUSTER <= cluster < next_id, "events")
    others, views = tuple(stored.list("others", int)), tuple(stored.list("views", str))
    stored.need(all(0 <= other < next_id for other in others), "events")
    time = None if stored.get("time") is None else stored.text("time")
    stored.need(max(map(len, [*views, time or ""])) <= MOST_TEXT, "events")
    certainty, moved = stored.decimal("certainty"), stored.decimal("moved")
    stored.need(0.0 <= certainty <= 1.0 and moved >= 0.0, "events")
    n_before, n_after = stored.number("n_before"), stored.number("n_after")
    row = stored.number("row", most=MOST_ROWS)
    return Event(what, row, cluster, others, n_before, n_after, views, certainty, time, moved)


def check_bucket(stored: Fields, start: int, stop: int, sample: Sample) -> None:
    """Refuse rows that are not of the bucket."""
    numbers = sample.numbers
    inside = not len(numbers) or (int(numbers.min()) >= start and int(numbers.max()) < stop)
    stored.need(start < stop and inside, "buckets")


def unpack_receipt(stored: Fields, given: list[Any]) -> Receipt:
    """Restore what shows that rows were forgotten."""
    sound = [type(each) for each in given] == [int, int, str]
    stored.need(sound and min(given[:2]) >= 0 and max(given[:2]) <= MOST_ROWS, "receipts")
    stored.need(re.fullmatch("[0-9a-f]{64}", given[2]) is not None, "receipts")
    return Receipt(*given)
