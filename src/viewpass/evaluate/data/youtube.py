"""Loads YouTube Multiview Video Games: about 120,000 videos of 31 classes by vision, audio and text."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import scipy.sparse

from viewpass.errors import DataError
from viewpass.evaluate.data.files import Folder, absent, first_folder, folder_of, read_svmlight
from viewpass.sources.bundle import Bundle

FEATURES = {"vision": "vision_cuboids_histogram", "audio": "audio_mfcc", "text": "text_game_lda_1000"}
WIDTHS = {"vision": 512, "audio": 2000, "text": 1000}
PARTS = ("train", "validation", "test")


def load_youtube(folder: Folder = None) -> Bundle:
    """Read the feature files `train/vision_cuboids_histogram.txt` ... of the distribution.

    A line `#I 312` before a row has the video's id, by which rows are matched. A video that is absent
    from a file lacks that view.

    Parameters
    ----------
    folder : path, optional
        As in `load_digit`; train, validation and test may also be in `dir_data` there.

    Returns
    -------
    Bundle
        CSR views vision (512 columns), audio (2,000) and text (1,000); `observed` tells which views a
        video has; labels 0 to 30 for classes 1 to 31.
    """
    root = folder_of(folder)
    place = first_folder(root, ("dir_data", "youtube", "youtube/dir_data"), PARTS[0])
    if place is None:
        raise absent(
            "YouTube",
            root,
            [f"the folders {', '.join(PARTS)} with {', '.join(f'{name}.txt' for name in FEATURES.values())}"],
            "the UCI Machine Learning Repository as YouTube Multiview Video Games Dataset",
        )
    ids: dict[int, int] = {}
    labels: list[int] = []
    read: dict[str, list[tuple[list[int], scipy.sparse.csr_array]]] = {view: [] for view in FEATURES}
    for part in PARTS:
        for view, name in FEATURES.items():
            path = place / part / f"{name}.txt"
            classes, rows, comments = read_svmlight(path, WIDTHS[view])
            places = []
            for number, (label, comment) in enumerate(zip(classes, comments, strict=True)):
                video = _id(path, comment, number)
                if video not in ids:
                    ids[video] = len(labels)
                    labels.append(_class(path, label, video))
                elif labels[ids[video]] != _class(path, label, video):
                    raise DataError(
                        f"{path}: video {video} has class {int(label)} here and another elsewhere."
                    )
                places.append(ids[video])
            read[view].append((places, rows))
    views, observed = {}, np.zeros((len(labels), len(FEATURES)), dtype=bool)
    for v, (view, pieces) in enumerate(read.items()):
        where = np.concatenate([np.array(places, dtype=np.int64) for places, _ in pieces])
        stacked = scipy.sparse.vstack([rows for _, rows in pieces], format="csr")
        gather = scipy.sparse.csr_array(
            (np.ones(len(where)), (where, np.arange(len(where)))), shape=(len(labels), len(where))
        )
        views[view] = scipy.sparse.csr_array(gather @ stacked)
        observed[where, v] = True
    return Bundle(dict(views), np.array(labels), observed)


def _id(path: Path, comment: bytes, number: int) -> int:
    words = comment.split()
    if len(words) >= 2 and words[0] == b"#I" and words[1].isdigit():
        return int(words[1])
    raise DataError(f"{path}, row {number}: no line `#I id` before it.")


def _class(path: Path, label: bytes, video: int) -> int:
    if label.isdigit() and 1 <= int(label) <= 31:
        return int(label) - 1
    raise DataError(f"{path}, video {video}: class {label.decode(errors='replace')!r} is not 1 to 31.")
