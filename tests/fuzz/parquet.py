"""Fuzz target: Parquet files with damaged footers, page headers and pages."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pyarrow.parquet as pq

from fuzz.reading import Spans, damaged, drive, table

SECONDS = 10
SETTINGS = [
    {"use_dictionary": False, "compression": "none"},
    {"use_dictionary": True, "compression": "none", "data_page_version": "2.0"},
    {"use_dictionary": True, "compression": "snappy", "dictionary_pagesize_limit": 64},
    {"use_dictionary": False, "compression": "snappy", "data_page_version": "2.0"},
    {"use_dictionary": False, "compression": "zstd", "write_page_checksum": True},
    {"use_dictionary": True, "compression": "gzip", "write_page_index": True},
    {"use_dictionary": False, "compression": "brotli"},
]
SMALL = {"data_page_size": 100, "write_batch_size": 5, "row_group_size": 17}
KINDS = ("lists", "fixed", "large", "required", "numbers", "sparse")
_sound: list[tuple[bytes, Spans, dict[str, Any]]] = []


def prepare(folder: Path) -> None:
    """Write a sound file for each combination of column types and settings of the writer."""
    for kind in KINDS:
        for settings in SETTINGS:
            made, options = table(kind)
            path = folder / "sound.parquet"
            pq.write_table(made, path, **SMALL, **settings)
            data = path.read_bytes()
            _sound.append((data, _spans(data), options))


def trial(random: np.random.Generator, folder: Path) -> None:
    """Damage one file, and read it."""
    if not _sound:
        prepare(folder)
    data, spans, options = _sound[random.integers(len(_sound))]
    path = folder / "damaged.parquet"
    path.write_bytes(damaged(data, spans, random))
    drive(path, options, folder)


def _spans(data: bytes) -> Spans:
    """The footer (more often than the rest: everything is found by it), its length, and the pages."""
    end = len(data) - 8 - int.from_bytes(data[-8:-4], "little")
    about = data.find(b"ARROW:schema", end)  # the rest of the footer is text
    return [(end, about), (end, about), (end, len(data)), (len(data) - 8, len(data)), (4, end), (4, end)]
