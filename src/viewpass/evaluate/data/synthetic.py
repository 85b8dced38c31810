"""Generates data of exactly the shapes of the paper's sets, to measure speed; its classes are easy."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import scipy.sparse

from viewpass.errors import SettingError
from viewpass.kernels.grid import Array
from viewpass.sources.bundle import Bundle
from viewpass.views.seeds import Seed, as_generator

BLOCK = 4096


@dataclass(frozen=True)
class Shape:
    """Rows, classes and views; words per row where the views are texts."""

    n_rows: int
    n_classes: int
    widths: dict[str, int]
    words: dict[str, int] | None = None


SHAPES = {
    "webkb": Shape(1051, 2, {"page": 3000, "anchor": 1840}, {"page": 67, "anchor": 5}),
    "digit": Shape(2000, 10, {"fou": 76, "fac": 216, "kar": 64, "pix": 240, "zer": 47}),
    "reuters": Shape(
        111_740,
        6,
        {"EN": 21531, "FR": 24893, "GR": 34279, "IT": 15506, "SP": 11547},
        {"EN": 81, "FR": 89, "GR": 82, "IT": 90, "SP": 84},
    ),
    "youtube": Shape(92_457, 31, {"vision": 512, "audio": 2000, "text": 1000}),
}


def make_like(name: str, n_rows: int | None = None, random_state: Seed = 0) -> Bundle:
    """Generate data of the shape of one of the paper's sets.

    Parameters
    ----------
    name : {"webkb", "digit", "reuters", "youtube"}
    n_rows : int, optional
        By default as many as in the original set.
    random_state : None, int, RandomState or Generator, default=0

    Returns
    -------
    Bundle
        Digit and YouTube: dense, non-negative float32, clouds around the centre of each class. WebKB
        and Reuters: CSR float32, as many words per row as the real sets on average, some of them from
        the class's own vocabulary.

    Examples
    --------
    >>> from viewpass.evaluate import make_like
    >>> made = make_like("youtube", 100)
    >>> {name: view.shape for name, view in made.views.items()}
    {'vision': (100, 512), 'audio': (100, 2000), 'text': (100, 1000)}
    """
    if name not in SHAPES:
        raise SettingError(f"name={name!r}: choose one of {', '.join(map(repr, SHAPES))}.")
    shape = SHAPES[name]
    n_rows = shape.n_rows if n_rows is None else n_rows
    rng = as_generator(random_state)
    classes = rng.integers(shape.n_classes, size=n_rows)
    if shape.words is None:
        views = {view: _cloud(classes, width, shape.n_classes, rng) for view, width in shape.widths.items()}
    else:
        views = {
            view: _texts(classes, width, shape.n_classes, shape.words[view], rng)
            for view, width in shape.widths.items()
        }
    return Bundle(views, classes)


def _cloud(classes: Array, width: int, n_classes: int, rng: np.random.Generator) -> Array:
    centres = np.abs(rng.standard_normal((n_classes, width), dtype=np.float32))
    view = np.empty((len(classes), width), dtype=np.float32)
    for start in range(0, len(classes), BLOCK):
        rows = view[start : start + BLOCK]
        rng.standard_normal(dtype=np.float32, out=rows)
        np.abs(rows, out=rows)
        rows += centres[classes[start : start + BLOCK]]
    return view


def _texts(
    classes: Array, width: int, n_classes: int, words: int, rng: np.random.Generator
) -> scipy.sparse.csr_array:
    """Words by Zipf's law; every third one from the class's own ranking of the vocabulary."""
    frequency = 1.0 / (np.arange(width) + 10.0)
    cumulated = np.cumsum(frequency / frequency.sum())
    orders = np.stack([rng.permutation(width) for _ in range(1 + n_classes)])
    lengths = 1 + rng.poisson(1.05 * words, size=len(classes))  # some words are drawn twice
    rows = np.repeat(np.arange(len(classes)), lengths)
    ranks = np.minimum(np.searchsorted(cumulated, rng.random(len(rows))), width - 1)
    own = np.where(rng.random(len(rows)) < 1 / 3, 1 + classes[rows], 0)
    counts = np.ones(len(rows), dtype=np.float32)
    found = scipy.sparse.coo_array((counts, (rows, orders[own, ranks])), shape=(len(classes), width))
    view = scipy.sparse.csr_array(found.tocsr())
    view.sum_duplicates()
    view.data = (1 + np.log(view.data)).astype(np.float32)
    return view
