"""Generated data of a known shape: clouds around centres, and texts with topics. Seeded."""

from __future__ import annotations

import numpy as np
import scipy.sparse

from benchmarks.data import Data
from viewpass.evaluate import make_mask

BLOCK = 4096  # rows generated at a time

# Texts.
OWN_SHARE = 0.2  # of the words of a text, from its topic's own vocabulary
ZIPF_SHIFT = 2.7
LENGTH_SHAPE = 4.0  # of the gamma distribution of the lengths: most near the mean, some much longer


def dense(
    n_rows: int, *, widths: tuple[int, ...], n_classes: int, noise: float, missing: float, seed: int
) -> Data:
    """Standard normal centres, rows around them with `noise` standard deviations, float32."""
    rng = np.random.default_rng(seed)
    classes = rng.integers(n_classes, size=n_rows).astype(np.int32)
    there = make_mask("paper", n_rows, len(widths), missing, rng)
    views = []
    for number, width in enumerate(widths):
        centres = rng.standard_normal((n_classes, width), dtype=np.float32)
        view = np.empty((n_rows, width), dtype=np.float32)
        for start in range(0, n_rows, BLOCK):
            rows = view[start : start + BLOCK]
            rng.standard_normal(dtype=np.float32, out=rows)
            rows *= np.float32(noise)
            rows += centres[classes[start : start + BLOCK]]
        view[~there[:, number]] = np.nan
        views.append(view)
    return Data(views, classes)


def repeated(
    n_rows: int,
    *,
    share: float,
    widths: tuple[int, ...],
    n_classes: int,
    noise: float,
    missing: float,
    seed: int,
) -> Data:
    """The same, with one complete row in place of a share of the rows, as a class of its own."""
    data = dense(n_rows, widths=widths, n_classes=n_classes, noise=noise, missing=missing, seed=seed)
    rng = np.random.default_rng(seed)
    equal = rng.permutation(n_rows)[: round(share * n_rows)]
    for view in data.views:
        view[equal] = rng.standard_normal(view.shape[1], dtype=np.float32)
    data.classes[equal] = n_classes
    return data


def blobs(n_rows: int, *, n_columns: int, n_classes: int, seed: int) -> Data:
    """scikit-learn's blobs: round clusters of one view, told apart by position, not by direction."""
    from sklearn.datasets import make_blobs

    view, classes = make_blobs(n_rows, n_columns, centers=n_classes, random_state=seed)
    return Data([view], classes.astype(np.int32))


def sparse(
    n_rows: int, *, widths: tuple[int, ...], n_classes: int, nonzeros: int, missing: float, seed: int
) -> Data:
    """Texts: Zipf words, a part of them from the topic's vocabulary; TF-IDF, CSR float32 and int32."""
    rng = np.random.default_rng(seed)
    classes = rng.integers(n_classes, size=n_rows).astype(np.int32)
    there = make_mask("paper", n_rows, len(widths), missing, rng)
    views = [
        _texts(classes, there[:, number], width, n_classes, nonzeros, rng)
        for number, width in enumerate(widths)
    ]
    return Data(views, classes)


def _texts(
    classes: np.ndarray,
    there: np.ndarray,
    width: int,
    n_classes: int,
    nonzeros: int,
    rng: np.random.Generator,
) -> scipy.sparse.csr_array:
    frequency = 1.0 / (np.arange(width) + ZIPF_SHIFT)
    cumulated = np.cumsum(frequency / frequency.sum())
    # The rank of a word decides how common it is; its column is random.
    vocabularies = [rng.permutation(width).astype(np.int32) for _ in range(1 + n_classes)]
    n_words = _words_for(nonzeros, cumulated, vocabularies)
    blocks = []
    for start in range(0, len(classes), BLOCK):
        topics = classes[start : start + BLOCK]
        lengths = rng.gamma(LENGTH_SHAPE, n_words / LENGTH_SHAPE, size=len(topics)).astype(np.int64) + 4
        lengths[~there[start : start + BLOCK]] = 0
        rows = np.repeat(np.arange(len(topics), dtype=np.int32), lengths)
        columns = _draw(topics[rows], cumulated, vocabularies, rng)
        counts = np.ones(len(rows), dtype=np.float32)
        block = scipy.sparse.coo_array((counts, (rows, columns)), shape=(len(topics), width)).tocsr()
        block.sum_duplicates()
        blocks.append(block)
    return _weighted(scipy.sparse.csr_array(scipy.sparse.vstack(blocks, format="csr")))


def _draw(
    topics: np.ndarray, cumulated: np.ndarray, vocabularies: list[np.ndarray], rng: np.random.Generator
) -> np.ndarray:
    ranks = np.minimum(np.searchsorted(cumulated, rng.random(len(topics))), len(cumulated) - 1)
    own = rng.random(len(topics)) < OWN_SHARE
    columns = vocabularies[0][ranks]
    for topic, vocabulary in enumerate(vocabularies[1:]):
        these = own & (topics == topic)
        columns[these] = vocabulary[ranks[these]]
    return columns


def _words_for(nonzeros: int, cumulated: np.ndarray, vocabularies: list[np.ndarray]) -> float:
    """The mean length at which texts have about `nonzeros` different words, estimated on one topic."""
    rng = np.random.default_rng(0)
    n_tries, n_words = 200, float(nonzeros)
    for _ in range(6):
        lengths = rng.gamma(LENGTH_SHAPE, n_words / LENGTH_SHAPE, size=n_tries).astype(np.int64) + 4
        texts = np.repeat(np.arange(n_tries, dtype=np.int64), lengths)
        columns = _draw(np.zeros(len(texts), dtype=np.int32), cumulated, vocabularies, rng)
        n_different = len(np.unique(texts * len(cumulated) + columns)) / n_tries
        n_words *= nonzeros / n_different
    return n_words


def _weighted(counts: scipy.sparse.csr_array) -> scipy.sparse.csr_array:
    n_rows, width = counts.shape
    found_in = np.bincount(counts.indices, minlength=width)
    rarity = np.log((1 + n_rows) / (1 + found_in)) + 1
    data = ((1 + np.log(counts.data)) * rarity[counts.indices]).astype(np.float32)
    indices, indptr = counts.indices.astype(np.int32), counts.indptr.astype(np.int32)
    return scipy.sparse.csr_array((data, indices, indptr), shape=counts.shape)
