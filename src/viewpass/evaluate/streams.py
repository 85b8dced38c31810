"""Generates streams of rows with several views, many of them missing, whose clusters change; with a history.

After the events of MOA's RandomRBFGeneratorEvents: clusters are normal, and move at a steady pace. They are
born, die, return, split and merge in all views at once. Rows are drawn in blocks of their own seeds, so that
any part of a stream can be generated without the rows before it.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace

import numpy as np

from viewpass.errors import SettingError
from viewpass.kernels.grid import Floats, Integers, Mask
from viewpass.sources.bundle import Bundle
from viewpass.streams.events import NO_CLUSTER, Event, Kind
from viewpass.views.seeds import Seed, as_generator

BLOCK = 1024  # rows that are drawn together
TRANSITION = 0.2  # of the rows between two events: how long a split or a merger takes
NOISE = -1  # the class of noise rows

DEFAULT_EVENTS = ("born", "split", "silent", "died", "merged", "returned")


@dataclass(frozen=True)
class Blend:
    """A class that comes from the place of another, or goes there, within some rows."""

    other: int
    start: int
    stop: int
    away: bool  # from the other, or to it


@dataclass(frozen=True)
class Path:
    """Where a class is: in each view its place at row 0, and how far it moves until the last row."""

    home: tuple[Floats, ...]
    moves: tuple[Floats, ...]
    blend: Blend | None = None


@dataclass(frozen=True)
class Span:
    """Rows between two events: which classes they are drawn from, and which view is silent."""

    start: int
    stop: int
    classes: Integers
    weights: Floats
    silent: int  # number of the view; -1: none


@dataclass(frozen=True)
class Stream:
    """A generated stream.

    Attributes
    ----------
    n_rows : int
    widths : dict
        Columns of each view.
    history : tuple of Event
        What happens, and the row at which it begins; a split or a merger takes some rows. Clusters are the
        classes of the rows.
    """

    n_rows: int
    widths: dict[str, int]
    history: tuple[Event, ...]
    _spans: tuple[Span, ...] = field(repr=False)
    _paths: tuple[Path, ...] = field(repr=False)
    _noise: float = field(repr=False)
    _missing: Floats = field(repr=False)  # per view: mean rate, change, phase
    _seed: int = field(repr=False)

    def chunks(self, size: int) -> Iterator[Bundle]:
        """Generate all rows, in chunks."""
        for start in range(0, self.n_rows, size):
            yield self.rows(start, min(start + size, self.n_rows))

    def rows(self, start: int, stop: int) -> Bundle:
        """Generate some rows: views (NaN where missing), classes (-1: noise) and the observed mask."""
        first, last = start // BLOCK, -(-stop // BLOCK)
        parts = [self._block(number) for number in range(first, last)]
        kept = slice(start - first * BLOCK, stop - first * BLOCK)
        views = {name: np.concatenate([part.views[name] for part in parts])[kept] for name in self.widths}
        classes, masks = [part.labels for part in parts], [part.observed for part in parts]
        return Bundle(views, np.concatenate(classes)[kept], np.concatenate(masks)[kept])  # type: ignore[arg-type]

    def _block(self, number: int) -> Bundle:
        rng = np.random.default_rng((self._seed, number))
        rows = np.arange(number * BLOCK, (number + 1) * BLOCK)  # past the end, where the last is cut
        classes, silent = self._drawn(rows, rng)
        noise = rng.random(BLOCK) < self._noise
        observed = self._observed(rows, silent, rng)
        views = {}
        for place, (name, width) in enumerate(self.widths.items()):
            view = rng.standard_normal((BLOCK, width))
            for each in np.unique(classes).tolist():
                own = classes == each
                view[own] += self._centre(each, place, rows[own])
            spread = np.sqrt(1.0 + np.var([path.home[place] for path in self._paths]))
            view[noise] = 2.0 * spread * rng.standard_normal((int(noise.sum()), width))
            view[~observed[:, place]] = np.nan
            views[name] = view.astype(np.float32)
        return Bundle(views, np.where(noise, NOISE, classes).astype(np.int32), observed)

    def _drawn(self, rows: Integers, rng: np.random.Generator) -> tuple[Integers, Integers]:
        """The class of each row, and the view that is silent."""
        chance, classes = rng.random(len(rows)), np.empty(len(rows), dtype=np.int64)
        silent = np.full(len(rows), NOISE)
        for span in self._spans:
            last = span.stop == self.n_rows
            here = (rows >= span.start) & ((rows < span.stop) | last)
            if here.any():
                sums = np.cumsum(span.weights) / span.weights.sum()
                places = np.minimum(np.searchsorted(sums, chance[here], side="right"), len(sums) - 1)
                classes[here] = span.classes[places]
                silent[here] = span.silent
        return classes, silent

    def _observed(self, rows: Integers, silent: Integers, rng: np.random.Generator) -> Mask:
        """Which views rows have; every row has one at least."""
        mean, change, phase = self._missing
        wave = np.sin(2 * np.pi * (rows[:, None] / self.n_rows + phase))
        chance = rng.random((len(rows), len(self.widths)))
        possible = np.arange(len(self.widths)) != silent[:, None]
        observed = (chance >= mean + change * wave) & possible
        bare = ~observed.any(axis=1)
        observed[bare, np.where(possible, chance, -1.0)[bare].argmax(axis=1)] = True
        return np.asarray(observed)

    def _centre(self, each: int, view: int, rows: Integers) -> Floats:
        path = self._paths[each]
        place = path.home[view] + rows[:, None] / self.n_rows * path.moves[view]
        blend = path.blend
        if blend is None:
            return place
        share = np.clip((rows - blend.start) / (blend.stop - blend.start), 0.0, 1.0)[:, None]
        share = share if blend.away else 1.0 - share
        mixed = np.flatnonzero(share[:, 0] < 1.0)  # of no other rows, so that two classes may do so in turn
        other = self._centre(blend.other, view, rows[mixed]) if len(mixed) else place[:0]
        place[mixed] = share[mixed] * place[mixed] + (1.0 - share[mixed]) * other
        return place


def make_stream(
    n_rows: int = 60_000,
    *,
    n_clusters: int = 5,
    views: Mapping[str, int] | Sequence[int] = (16, 12, 8),
    events: Sequence[str] = DEFAULT_EVENTS,
    separation: float = 1.5,
    movement: float = 0.5,
    missing: float = 0.3,
    noise: float = 0.02,
    random_state: Seed = 0,
) -> Stream:
    """Generate a stream of rows whose clusters and views change, and the history of what happens.

    Parameters
    ----------
    n_rows : int, default=60_000
    n_clusters : int, default=5
        Clusters at the first row.
    views : dict or list of int
        Columns of each view, by name.
    events : sequence of {"born", "split", "merged", "died", "returned", "silent"}
        What happens, in this order and at equal distances. "silent": no row has a random view until the next
        event, when it sounds again.
    separation : float, default=1.5
        Standard deviation of the places of clusters, in every column, in that of their rows.
    movement : float, default=0.5
        How far clusters move from the first to the last row, in the same measure.
    missing : float, default=0.3
        Mean share of rows that lack a view. It differs by view, and rises and falls along the stream.
    noise : float, default=0.02
        Share of rows that belong to no cluster: class -1.
    random_state : None, int, RandomState or Generator, default=0

    Returns
    -------
    Stream

    Examples
    --------
    >>> from viewpass.evaluate import make_stream
    >>> stream = make_stream(9000, events=["split", "died"])
    >>> print(*stream.history, sep="; ")
    row 3,000: cluster 2 split; new: 5 (0 -> 0 rows); row 6,000: cluster 5 died (0 -> 0 rows)
    >>> [len(chunk.labels) for chunk in stream.chunks(4000)]
    [4000, 4000, 1000]
    """
    widths = dict(views) if isinstance(views, Mapping) else {f"view{v}": d for v, d in enumerate(views)}
    _check(n_rows, n_clusters, widths, missing, noise)
    rng = as_generator(random_state)
    gap = n_rows // (len(events) + 1)
    if gap < 5:
        raise SettingError(
            f"{len(events)} events are too many for {n_rows} rows. Give at least 5 rows per event."
        )
    story = _Story(gap, widths, (separation, movement), rng)
    for _ in range(n_clusters):
        story.begin(1.0)
    for number, what in enumerate(events):
        story.happen(what, (number + 1) * gap)
    story.close(n_rows)
    rates = np.clip(missing * (0.5 + rng.random(len(widths))), 0.0, 0.95)
    change = np.minimum(rates, 1.0 - rates) * 0.8
    rates_by_view = np.stack([rates, change, rng.random(len(widths))])
    seed = int(rng.integers(2**62))
    history = tuple(sorted(story.history, key=lambda event: event.row))
    return Stream(n_rows, widths, history, tuple(story.spans), tuple(story.paths), noise, rates_by_view, seed)


def _check(n_rows: int, n_clusters: int, widths: Mapping[str, int], missing: float, noise: float) -> None:
    for name, value in {"n_rows": n_rows, "n_clusters": n_clusters, **widths}.items():
        if value < 1:
            raise SettingError(f"{name} is {value}. Give at least 1.")
    if not widths:
        raise SettingError("views is empty. Give the number of columns of at least one view.")
    for name, share in {"missing": missing, "noise": noise}.items():
        if not 0.0 <= share < 1.0:
            raise SettingError(f"{name} is {share}. Give a share from 0 to below 1.")


class _Story:
    """Events one after the other: which classes there are, and where they go."""

    def __init__(
        self,
        gap: int,
        widths: Mapping[str, int],
        scale: tuple[float, float],
        rng: np.random.Generator,
    ) -> None:
        self._transition = max(int(TRANSITION * gap), 1)
        self._views, self._widths, self._scale, self._rng = [*widths], [*widths.values()], scale, rng
        self.paths, self.spans, self.history = list[Path](), list[Span](), list[Event]()
        self._weights, self._ended = dict[int, float](), dict[int, float]()  # by class
        self._start, self._silent = 0, NOISE

    def begin(self, weight: float, blend: Blend | None = None) -> int:
        """A new class at a random place."""
        place, distance = (
            tuple(scale * self._rng.standard_normal(width) for width in self._widths) for scale in self._scale
        )
        self.paths.append(Path(place, distance, blend))
        self._weights[len(self.paths) - 1] = weight
        return len(self.paths) - 1

    def close(self, row: int) -> None:
        """Rows until this one are drawn from the present classes."""
        classes = np.array(sorted(self._weights), dtype=np.int64)
        weights = np.array([self._weights[each] for each in classes.tolist()])
        self.spans.append(Span(self._start, row, classes, weights, self._silent))
        self._start = row

    def happen(self, what: str, row: int) -> None:
        """One event, which begins at this row."""
        self.close(row)
        if self._silent != NOISE:
            self._note("sounding", row, NO_CLUSTER, views=(self._views[self._silent],))
            self._silent = NOISE
        match what:
            case "born":
                self._note("born", row, self.begin(1.0))
            case "died":
                each = self._one(self._ending(), what)
                self._ended[each] = self._weights.pop(each)
                self._note("died", row, each)
            case "returned":
                each = self._one(sorted(self._ended), what)
                self._weights[each] = self._ended.pop(each)
                self._note("returned", row, each)
            case "split":
                each = self._one(sorted(self._weights), what)
                self._weights[each] /= 2
                blend = Blend(each, row, row + self._transition, away=True)
                self._note("split", row, each, (self.begin(self._weights[each], blend),))
            case "merged":
                self._merge(row)
            case "silent":
                if len(self._views) < 2:
                    raise SettingError(
                        "a view can be silent only where there are others. Give two views or more."
                    )
                self._silent = int(self._rng.integers(len(self._views)))
                self._note("silent", row, NO_CLUSTER, views=(self._views[self._silent],))
            case _:
                known = "born, split, merged, died, returned, silent"
                raise SettingError(f"events has {what!r}. Choose among {known}.")

    def _merge(self, row: int) -> None:
        """One class goes to the place of another, and its rows are of that one from then on."""
        ends = self._one([each for each in self._ending() if self.paths[each].blend is None], "merged")
        stays = self._one([each for each in sorted(self._weights) if each != ends], "merged")
        stop = row + self._transition
        self.paths[ends] = replace(self.paths[ends], blend=Blend(stays, row, stop, away=False))
        self.close(stop)
        self._weights[stays] += self._weights.pop(ends)
        self._note("merged", row, stays, (ends,))

    def _ending(self) -> list[int]:
        """The classes that may end: all where there are others."""
        return sorted(self._weights) if len(self._weights) > 1 else []

    def _one(self, classes: list[int], what: str) -> int:
        if not classes:
            raise SettingError(f"events: no cluster can have {what!r} at this place. Change their order.")
        return classes[int(self._rng.integers(len(classes)))]

    def _note(
        self, what: Kind, row: int, cluster: int, others: tuple[int, ...] = (), views: tuple[str, ...] = ()
    ) -> None:
        self.history.append(Event(what, row, cluster, others, views=views))
