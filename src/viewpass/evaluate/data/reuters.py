"""Loads Reuters RCV1/RCV2 Multilingual: 111,740 documents in five languages, one of them the original."""

from __future__ import annotations

import logging
from pathlib import Path

import numpy as np
import scipy.sparse

from viewpass.errors import DataError
from viewpass.evaluate.data.files import Folder, absent, first_folder, folder_of, read_svmlight
from viewpass.sources.bundle import Bundle, load_bundle

logger = logging.getLogger("viewpass")

# From the distribution's own table; Table 1 of the paper has the last two swapped.
WIDTHS = {"EN": 21531, "FR": 24893, "GR": 34279, "IT": 15506, "SP": 11547}
CLASSES = ("C15", "CCAT", "E21", "ECAT", "GCAT", "M11")
PLACES = ("rcv1rcv2aminigoutte", "MultiLingualReutersCollection")
SAMPLES = ("reuters1200.npz", "reuters600.npz")


def load_reuters(folder: Folder = None) -> Bundle:
    """Read Reuters: the files `EN/Index_EN-EN`, `EN/Index_FR-EN` ..., or a sample as a bundle.

    `Index_FR-EN` has the documents written in French, indexed by their English words; line i of it and
    line i of `FR/Index_FR-FR` are the same document. Rows are ordered by the
    language they were written in: EN, FR, GR, IT, SP.

    Parameters
    ----------
    folder : path, optional
        As in `load_digit`; the five folders may also be in `rcv1rcv2aminigoutte` there. Without them
        the samples `reuters1200.npz` and `reuters600.npz` are used, with a warning.

    Returns
    -------
    Bundle
        Views EN, FR, GR, IT and SP (CSR); labels 0 to 5 for C15, CCAT, E21, ECAT, GCAT, M11.
    """
    root = folder_of(folder)
    place = first_folder(root, PLACES, "EN")
    if place is not None:
        return _from_text(place)
    for name in SAMPLES:
        if (root / name).exists():
            bundle = load_bundle(root / name)
            logger.warning("%s is a sample of %d of the 111,740 documents.", name, bundle.n_rows)
            return bundle
    raise absent(
        "Reuters",
        root,
        ["the folders EN, FR, GR, IT and SP with Index_EN-EN, Index_FR-EN ...", *SAMPLES],
        "the UCI Machine Learning Repository as Reuters RCV1 RCV2 Multilingual, Multiview Text "
        "Categorization Test collection",
    )


def _from_text(place: Path) -> Bundle:
    views = {}
    labels: list[bytes] | None = None
    for language, width in WIDTHS.items():
        parts, these = [], []
        for written in WIDTHS:
            path = place / language / f"Index_{written}-{language}"
            own, rows, _ = read_svmlight(path, width)
            parts.append(rows)
            these += own
        if labels is not None and these != labels:
            where = next(
                (i for i, pair in enumerate(zip(these, labels, strict=False)) if pair[0] != pair[1]), -1
            )
            raise DataError(
                f"{place / language}: its documents are not those of EN ({len(these)} and {len(labels)} of "
                f"them; document {where} differs). The files of all languages must have the same lines."
            )
        labels = these
        views[language] = scipy.sparse.csr_array(scipy.sparse.vstack(parts, format="csr"))
    assert labels is not None
    numbers = {name.encode(): number for number, name in enumerate(CLASSES)}
    unknown = sorted(set(labels) - set(numbers))
    if unknown:
        raise DataError(
            f"{place}: {unknown[0].decode(errors='replace')!r} is not one of {', '.join(CLASSES)}."
        )
    return Bundle(dict(views), np.array([numbers[name] for name in labels]))
