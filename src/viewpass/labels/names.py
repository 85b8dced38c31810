"""Names for clusters, from columns of the user's own table.

Text is taken apart into words and phrases of two or three words, a category is one term, so is each item of
a list. A term names a cluster if it is frequent there and rarer elsewhere, above all in the clusters of the
most similar terms:

    score = p ((log(p / p of the other rows) + log(p / mean p of the nearest clusters)) / 2)^2

with the share p of rows that have it, which must be twice that of the other rows and that of the nearest
clusters (of the other rows alone, where no term is that typical). Words such as "the" and "with", in whatever
language, name nothing: a row that has one may be of almost any cluster. A phrase counts if its first and its
last word are typical themselves, and scores more than a word.
Numbers are ranked by how far the cluster's mean is from that of all rows, in standard deviations. A name
joins the best terms, one of each stem, as many as make it different from the others.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from itertools import takewhile
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import scipy.sparse

from viewpass.errors import SettingError
from viewpass.kernels.grid import Integers
from viewpass.kernels.portable import log
from viewpass.sources.arrow.batches import resized

ROWS = 2**16  # counted at a time, however tables are cut: the names do not depend on it
TERMS, MOST_TERMS_SAID = 3, 6  # in a name; in one that is to differ from another
MOST_RANKED = 200  # terms of a cluster that may be in its name
MOST_TERMS = 200_000  # counted at a time; the rarest are dropped
WORD = re.compile(r"[^\W\d_][\w'-]+")
CATEGORIES = 200  # distinct values of a column of categories, at most, in the first table
SEPARATORS = re.compile(r"\s*[;|]\s*")  # of phrases in a text
LEAST_SHARE = 0.05  # of the rows of a cluster that a term names
LEAST_DIFFERENCE = 0.5  # of a mean, in standard deviations
LONGEST = 60  # characters of a term
LEAST_STEM = 4  # letters
PHRASE = "\t"  # between the words of a phrase
LEAST_SCORE = 0.002
SMOOTH = 0.01  # added to shares, so that rare terms do not decide
TYPICAL = 2.0  # times as frequent as elsewhere: a term, and the first and last word of a phrase
PER_WORD = 1.0  # what a phrase scores more, for each word after the first
NEAREST = 3  # clusters that a name is to tell a cluster from
MOST_COMPARED = 2000  # clusters whose nearest are found
# Part of the entropy of clusters that a word of a text must take away. In titles of the Tate, 30 clusters, it
# is .06 for "the", .09 "with", .16 "from", .19 "view", .20 "over"; .23 "study", .28 "hill", .35 "church".
LEAST_TOLD = 0.25


class Namer:
    """Counts terms of clusters, table by table, in bounded memory."""

    def __init__(self, columns: Sequence[str], n_clusters: int) -> None:
        self._columns = list(columns)
        self._kinds: dict[str, str] = {}
        self._sizes = np.zeros(n_clusters, dtype=np.int64)
        self._counts: list[Counter[str]] = [Counter() for _ in range(n_clusters)]
        self._words: set[str] = set()  # single words of texts
        self._moments = {name: np.zeros((n_clusters, 3)) for name in columns}  # number, sum, sum of squares

    def add(self, table: Any) -> None:
        """Count the terms of some rows, which have their cluster."""
        clusters = np.asarray(table["cluster"])
        seen = clusters >= 0
        self._sizes += np.bincount(clusters[seen], minlength=len(self._sizes))
        for name in self._columns:
            if name not in table.column_names:
                raise SettingError(f"clusters cannot be named by {name!r}: there is no such column.")
            column = table[name].combine_chunks()
            column = column.dictionary_decode() if isinstance(column, pa.DictionaryArray) else column
            kind = self._kinds.setdefault(name, _kind(column, name))
            if kind == "numbers":
                self._measure(name, column, clusters)
            else:
                self._count(kind, column, clusters)

    def _measure(self, name: str, column: Any, clusters: Any) -> None:
        values = np.asarray(pc.cast(column, pa.float64()).to_numpy(zero_copy_only=False))
        usable = (clusters >= 0) & np.isfinite(values)
        terms = np.column_stack((np.ones(len(values)), values, values * values))[usable]
        np.add.at(self._moments[name], clusters[usable], terms)

    def _count(self, kind: str, column: Any, clusters: Any) -> None:
        for value, cluster in zip(column.to_pylist(), clusters.tolist(), strict=True):
            if value is not None and cluster >= 0:
                terms = _terms(value, kind)
                self._counts[cluster].update(terms)
                if _is_text(value, kind):
                    self._words |= terms
        if sum(map(len, self._counts)) > MOST_TERMS:
            for counts in self._counts:
                rare = sorted(counts.items(), key=lambda item: (-item[1], item[0]))
                kept = rare[: MOST_TERMS // (2 * len(self._counts))]
                counts.clear()
                counts.update(dict(kept))
            self._words &= set().union(*self._counts)

    def names(self, features: Sequence[Sequence[str]] = ()) -> list[str]:
        """A name for each cluster, all different, or "" where no term is typical; features come first."""
        shares = [
            {term: n / max(size, 1) for term, n in counts.items()}
            for counts, size in zip(self._counts, self._sizes.tolist(), strict=True)
        ]
        total: Counter[str] = Counter()
        for counts in self._counts:
            total.update(counts)
        near, vague = _nearest(shares), self._vague(total)
        ranked = [self._ranked(k, shares, total, near[k], vague) for k in range(len(self._sizes))]
        if features:
            ranked = [[*first, *rest] for first, rest in zip(features, ranked, strict=True)]
        return _distinct([_new(terms) for terms in ranked])

    def _vague(self, total: Counter[str]) -> set[str]:
        """The words that tell little of the cluster of a row: rows with them are in most clusters."""
        told = dict.fromkeys(self._words, 0.0)
        prior = self._sizes / max(int(self._sizes.sum()), 1)
        for counts, part in zip(self._counts, prior, strict=True):
            some = {term: number for term, number in counts.items() if term in told}
            shares = np.array(list(some.values())) / np.array([total[term] for term in some])
            for term, gain in zip(some, (shares * log(shares / part)).tolist(), strict=True):
                told[term] += gain
        some_rows = prior[prior > 0]
        least = -LEAST_TOLD * float((some_rows * log(some_rows)).sum())
        return {term for term, gain in told.items() if gain < least}

    def _ranked(
        self,
        cluster: int,
        shares: Sequence[dict[str, float]],
        total: Counter[str],
        near: Sequence[int],
        vague: set[str],
    ) -> list[str]:
        size, own = int(self._sizes[cluster]), shares[cluster]
        n_others = max(int(self._sizes.sum()) - size, 1)

        def lifts(term: str) -> tuple[float, float]:
            """How much more frequent it is here than in other rows, and than in the nearest clusters."""
            elsewhere = (total[term] - self._counts[cluster][term]) / n_others
            beside = sum(shares[other].get(term, 0.0) for other in near) / len(near) if near else elsewhere
            here = own.get(term, 0.0) + SMOOTH
            return here / (elsewhere + SMOOTH), here / (beside + SMOOTH)

        frequent = {term for term in own if term not in vague and lifts(term)[0] >= TYPICAL}
        typical = {term for term in frequent if lifts(term)[1] >= TYPICAL}
        least = LEAST_SHARE * size
        if not any(self._counts[cluster][term] >= least for term in typical):
            typical = frequent
        found = []
        for term in typical:
            words = term.split(PHRASE)
            if len(words) > 1 and (_same_stem(words[0], words[-1]) or not {words[0], words[-1]} <= typical):
                continue
            apart = max(float(sum(map(log, lifts(term)))) / 2.0, 0.0)
            score = own[term] * apart * apart * (1.0 + PER_WORD * (len(words) - 1))
            if self._counts[cluster][term] >= least and score >= LEAST_SCORE:
                found.append((-score, -len(term), term.replace(PHRASE, " ").replace(", ", " ")))
        some = sorted(found)[:MOST_RANKED]
        return [*self._differences(cluster), *(item[-1] for item in some)]

    def _differences(self, cluster: int) -> list[str]:
        found = []
        for name, moments in self._moments.items():
            number, total, square = moments.sum(axis=0)
            own = moments[cluster]
            if number == 0 or own[0] == 0:
                continue
            spread = np.sqrt(max(square / number - (total / number) ** 2, 0.0))
            apart = (own[1] / own[0] - total / number) / spread if spread > 0 else 0.0
            if abs(apart) >= LEAST_DIFFERENCE:
                found.append((-abs(apart), f"{'high' if apart > 0 else 'low'} {name}"))
        return [term for _, term in sorted(found)]


def of_rows(tables: Iterable[Any], numbers: Integers) -> Iterator[Any]:
    """The rows of these numbers, of tables one after the other."""
    numbers, start = np.sort(numbers), 0
    for table in tables:
        first, last = np.searchsorted(numbers, (start, start + len(table)))
        yield table.take(pa.array(numbers[first:last] - start))
        start += len(table)


def names_of(
    tables: Iterable[Any], columns: Sequence[str], n_clusters: int, features: Sequence[Sequence[str]] = ()
) -> list[str]:
    """Names for clusters from columns of label tables, after terms of their features."""
    namer = Namer(columns, n_clusters)
    batches = (batch for table in tables for batch in table.to_batches())
    for table in resized(batches, ROWS) if columns else ():
        namer.add(table)
    return namer.names(features)


def _kind(column: Any, name: str) -> str:
    """What a column holds: "numbers", "items" (lists), "categories" or "words"."""
    kind = column.type
    if pa.types.is_boolean(kind) or pa.types.is_null(kind):
        return "categories"
    if pa.types.is_integer(kind) or pa.types.is_floating(kind) or pa.types.is_decimal(kind):
        return "numbers"
    if pa.types.is_list(kind) or pa.types.is_large_list(kind):
        if pa.types.is_string(kind.value_type) or pa.types.is_large_string(kind.value_type):
            return "items"
    elif pa.types.is_string(kind) or pa.types.is_large_string(kind):
        return "categories" if len(pc.unique(column)) <= CATEGORIES else "words"
    raise SettingError(
        f"clusters cannot be named by column {name!r} of type {kind}: give text, categories or numbers."
    )


def _is_text(value: Any, kind: str) -> bool:
    """Whether a value is words that follow each other, not phrases with separators."""
    return kind == "words" and not SEPARATORS.search(value)


def _terms(value: Any, kind: str) -> set[str]:
    if kind == "items":
        return {str(item)[:LONGEST] for item in value if item}
    if kind == "categories":
        return {str(value)[:LONGEST]}
    if not _is_text(value, kind):
        return {part[:LONGEST].lower() for part in SEPARATORS.split(value.strip()) if part}
    words = [word[:LONGEST] for word in WORD.findall(value.lower())]
    phrases = {PHRASE.join(words[i : i + n]) for n in (2, 3) for i in range(len(words) - n + 1)}
    return {word for word in words if len(word) > 2} | phrases


def _nearest(shares: Sequence[dict[str, float]]) -> list[list[int]]:
    """The clusters of the most similar terms, of each; none where clusters are too many to compare."""
    if not 1 < len(shares) <= MOST_COMPARED:
        return [[] for _ in shares]
    places: dict[str, int] = {}
    columns = [[places.setdefault(term, len(places)) for term in own] for own in shares]
    ends = np.cumsum([0, *map(len, columns)])
    values = np.array([share for own in shares for share in own.values()])
    given = values, np.array([j for own in columns for j in own], dtype=np.int64), ends
    rows = scipy.sparse.csr_array(given, shape=(len(shares), max(len(places), 1)))
    lengths = np.sqrt(rows.multiply(rows).sum(axis=1))
    alike = (rows @ rows.T).toarray() / np.maximum(np.outer(lengths, lengths), 1e-12)
    np.fill_diagonal(alike, -1.0)
    order = np.argsort(-np.round(alike, 9), axis=1, kind="stable")[:, :NEAREST]
    return [[k for k in own if alike[cluster, k] > 0] for cluster, own in enumerate(order.tolist())]


def _new(terms: Sequence[str]) -> list[str]:
    """The terms without those that repeat one before, as "boat" or "boats" after "boat, sailing"."""
    found, said = list[str](), list[list[str]]()
    for term in terms:
        words = WORD.findall(term.lower()) or [term]
        if not any(_says(words, before) or _says(before, words) for before in said):
            found.append(term)
            said.append(words)
    return found


def _says(words: Sequence[str], others: Sequence[str]) -> bool:
    """Whether each word has its stem among the others."""
    return all(any(_same_stem(word, other) for other in others) for word in words)


def _same_stem(one: str, other: str) -> bool:
    """Whether words begin alike for half of the longer one, and for four letters, in any language.

    >>> _same_stem("grammatical", "grammars"), _same_stem("translation", "transfer")
    (True, False)
    """
    length = sum(1 for _ in takewhile(lambda pair: pair[0] == pair[1], zip(one, other, strict=False)))
    return one == other or (length >= LEAST_STEM and 2 * length >= max(len(one), len(other)))


def _distinct(ranked: Sequence[Sequence[str]]) -> list[str]:
    """Names of a few terms; more terms, and last a number, where two would be the same."""
    n_terms = [TERMS] * len(ranked)
    while True:
        names = [", ".join(terms[:n]) for terms, n in zip(ranked, n_terms, strict=True)]
        same = Counter(map(_key, names))
        most = [min(MOST_TERMS_SAID, len(terms)) for terms in ranked]
        longer = [k for k, name in enumerate(names) if same[_key(name)] > 1 and n_terms[k] < most[k]]
        if not longer:
            break
        for k in longer:
            n_terms[k] += 1
    keys = list(map(_key, names))
    return [
        f"{name} ({keys[:k].count(keys[k]) + 1})" if name and keys.count(keys[k]) > 1 else name
        for k, name in enumerate(names)
    ]


def _key(name: str) -> tuple[str, ...]:
    """What two names that say the same share: their terms, in any order."""
    return tuple(sorted(name.split(", ")))
