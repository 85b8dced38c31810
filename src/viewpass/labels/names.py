"""Names for clusters, from columns of the user's own table.

Text is taken apart into words, a category is one term, so is each item of a list. The terms of a cluster are
ranked by class-based TF-IDF,

    score = share of the cluster's rows with the term x log(1 + mean rows of a cluster / rows with the term)

and of a column of numbers by how far the cluster's mean is from that of all rows, in standard deviations. A
name joins the best terms, as many as make it different from the others.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from viewpass.errors import SettingError
from viewpass.kernels.portable import log
from viewpass.sources.arrow.batches import resized

ROWS = 2**16  # counted at a time, however tables are cut: the names do not depend on it
TERMS = 3  # in a name
MOST_RANKED = 200  # terms of a cluster that may be in its name
MOST_TERMS = 200_000  # counted at a time; the rarest are dropped
WORD = re.compile(r"[^\W\d_][\w'-]+")
CATEGORIES = 200  # distinct values of a column of categories, at most, in the first table
SEPARATORS = re.compile(r"\s*[;|]\s*")  # of phrases in a text
LEAST_SHARE = 0.05  # of the rows of a cluster that a term names
LEAST_DIFFERENCE = 0.5  # of a mean, in standard deviations
LONGEST = 60  # characters of a term
STOP = {
    *[
        "and",
        "are",
        "for",
        "from",
        "her",
        "his",
        "into",
        "its",
        "not",
        "off",
        "other",
        "that",
        "the",
        "their",
        "this",
        "was",
        "with",
    ]
}


class Namer:
    """Counts terms of clusters, table by table, in bounded memory."""

    def __init__(self, columns: Sequence[str], n_clusters: int) -> None:
        self._columns = list(columns)
        self._kinds: dict[str, str] = {}
        self._sizes = np.zeros(n_clusters, dtype=np.int64)
        self._counts: list[Counter[str]] = [Counter() for _ in range(n_clusters)]
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
                self._counts[cluster].update(_terms(value, kind))
        if sum(map(len, self._counts)) > MOST_TERMS:
            for counts in self._counts:
                rare = sorted(counts.items(), key=lambda item: (-item[1], item[0]))
                kept = rare[: MOST_TERMS // (2 * len(self._counts))]
                counts.clear()
                counts.update(dict(kept))

    def names(self, features: Sequence[Sequence[str]] = ()) -> list[str]:
        """A name for each cluster, all different; terms of features come first."""
        total: Counter[str] = Counter()
        for counts in self._counts:
            total.update(counts)
        mean = max(1.0, float(self._sizes.sum()) / max(len(self._sizes), 1))
        ranked = [self._ranked(k, total, mean) for k in range(len(self._sizes))]
        if features:
            ranked = [[*first, *rest] for first, rest in zip(features, ranked, strict=True)]
        return _distinct(ranked)

    def _ranked(self, cluster: int, total: Counter[str], mean: float) -> list[str]:
        size = max(int(self._sizes[cluster]), 1)
        found = [
            (-count / size * float(log(1.0 + mean / total[term])), -len(term), term)
            for term, count in self._counts[cluster].items()
            if count / size >= LEAST_SHARE or count == size
        ]
        terms = [term for _, _, term in sorted(found)]
        return [*self._differences(cluster), *_new(terms)]

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


def _terms(value: Any, kind: str) -> set[str]:
    if kind == "items":
        return {str(item)[:LONGEST] for item in value if item}
    if kind == "categories":
        return {str(value)[:LONGEST]}
    if SEPARATORS.search(value):
        return {part[:LONGEST].lower() for part in SEPARATORS.split(value.strip()) if part}
    return {word[:LONGEST] for word in WORD.findall(value.lower()) if len(word) > 2 and word not in STOP}


def _new(terms: Sequence[str]) -> list[str]:
    """The terms without those that repeat one before, as "boat" after "boat, sailing"."""
    found, said = list[str](), list[set[str]]()
    for term in terms[:MOST_RANKED]:
        words = set(WORD.findall(term)) or {term}
        if not any(words <= before or before <= words for before in said):
            found.append(term)
            said.append(words)
    return found


def _distinct(ranked: Sequence[Sequence[str]]) -> list[str]:
    """Names of a few terms; more terms, and last a number, where two would be the same."""
    n_terms = [TERMS] * len(ranked)
    while True:
        names = [", ".join(terms[:n]) or "no name" for terms, n in zip(ranked, n_terms, strict=True)]
        longer = [k for k, name in enumerate(names) if names.count(name) > 1 and n_terms[k] < len(ranked[k])]
        if not longer:
            break
        for k in longer:
            n_terms[k] += 1
    return [
        f"{name} ({names[:k].count(name) + 1})" if names.count(name) > 1 else name
        for k, name in enumerate(names)
    ]
