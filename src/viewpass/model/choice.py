"""The record of something that was chosen from the first rows."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field


@dataclass(frozen=True)
class Choice:
    """Something that was chosen from the first rows.

    Attributes
    ----------
    what : str
        "scale", "consensus", "projection", "view_weights" or "n_clusters".
    chosen : str
        The candidate that was taken.
    scores : dict of str to float
        The score of each candidate that was tried, in nats; empty if nothing had to be asked.
    error : float
        The standard error of the difference that decided; 0 if nothing had to be asked.
    reason : str
        Why it was taken, in a few words.
    """

    what: str
    chosen: str
    scores: Mapping[str, float] = field(default_factory=dict)
    error: float = 0.0
    reason: str = ""

    def __str__(self) -> str:
        scores = ", ".join(f"{name} {score:.3f}" for name, score in self.scores.items())
        return f"{self.what}: {self.chosen} ({self.reason}{'; ' if scores else ''}{scores})"
