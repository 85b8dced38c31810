"""Scores of events found along a stream, against its history."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from viewpass.errors import SettingError
from viewpass.streams.events import KINDS, Event

COUNTED = tuple(kind for kind in KINDS if kind != "drifted")


@dataclass(frozen=True)
class EventScores:
    """How many events were found.

    Attributes
    ----------
    precision, recall : float
        Share of the found events that are in the history, and of the history that was found; 1 of none.
    delay : float
        Mean number of rows from the beginning of an event until it was found; NaN if none was.
    n_found, n_true, n_right : int
    """

    precision: float
    recall: float
    delay: float
    n_found: int
    n_true: int
    n_right: int


def event_scores(
    history: Sequence[Event],
    found: Sequence[Event],
    *,
    tolerance: int,
    kinds: Sequence[str] = COUNTED,
) -> EventScores:
    """Compare found events with the history of a stream.

    An event is right if the history has one of its kind that began at its row or up to `tolerance` rows
    before; of a silent view, also of its views. Each event of the history counts once, for the first found.

    Parameters
    ----------
    history, found : sequence of Event
    tolerance : int
        Rows within which an event must be found.
    kinds : sequence of str
        Kinds of events that count; by default all but "drifted".

    Returns
    -------
    EventScores

    Examples
    --------
    >>> from viewpass.evaluate import event_scores
    >>> from viewpass.streams.events import Event
    >>> history = [Event("born", 1000, 5), Event("died", 4000, 2)]
    >>> event_scores(history, [Event("born", 1200, 7)], tolerance=500)
    EventScores(precision=1.0, recall=0.5, delay=200.0, n_found=1, n_true=2, n_right=1)
    """
    if tolerance < 0:
        raise SettingError(f"tolerance is {tolerance}. Give a number of rows, 0 or more.")
    true = sorted((event for event in history if event.what in kinds), key=lambda event: event.row)
    given = sorted((event for event in found if event.what in kinds), key=lambda event: event.row)
    delays, left = list[int](), list(true)
    for event in given:
        for place, one in enumerate(left):
            if one.what == event.what and one.views == event.views and 0 <= event.row - one.row <= tolerance:
                delays.append(event.row - one.row)
                del left[place]
                break
    return EventScores(
        precision=len(delays) / len(given) if given else 1.0,
        recall=len(delays) / len(true) if true else 1.0,
        delay=sum(delays) / len(delays) if delays else float("nan"),
        n_found=len(given),
        n_true=len(true),
        n_right=len(delays),
    )
