"""Fuzz target: damaged Arrow IPC files and streams."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

from fuzz.reading import Spans, damaged, drive, table

SECONDS = 10
_sound: list[tuple[str, bytes, Spans, dict[str, Any]]] = []


def prepare(folder: Path) -> None:
    """Write a sound file for each combination of column types, form and codec."""
    for kind in ("lists", "fixed", "large", "numbers", "sparse"):
        for ending, begin in (("feather", pa.ipc.new_file), ("arrows", pa.ipc.new_stream)):
            for codec in (None, "lz4", "zstd"):
                made, options = table(kind)
                path = folder / "sound"
                with begin(path, made.schema, options=pa.ipc.IpcWriteOptions(compression=codec)) as writer:
                    writer.write_table(made, max_chunksize=11)
                data = path.read_bytes()
                _sound.append((ending, data, _spans(data), options))


def trial(random: np.random.Generator, folder: Path) -> None:
    """Damage one file, and read it."""
    if not _sound:
        prepare(folder)
    ending, data, spans, options = _sound[random.integers(len(_sound))]
    path = folder / f"damaged.{ending}"
    path.write_bytes(damaged(data, spans, random))
    drive(path, options, folder)


def _spans(data: bytes) -> Spans:
    """The messages (each begins with four bytes 255), more often than what lies between them."""
    starts = [place for place in range(0, len(data) - 4, 8) if data[place : place + 4] == b"\xff" * 4]
    return [(0, len(data)), *((start, start + 300) for start in starts), (len(data) - 300, len(data))]
