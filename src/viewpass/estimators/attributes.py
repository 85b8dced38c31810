"""What estimators report of the settings that they have chosen."""

from __future__ import annotations

from abc import abstractmethod

from viewpass.model.choice import Choice
from viewpass.model.curve import Curve
from viewpass.model.model import Model


class ChosenSettings:
    """The settings that a model has chosen, and why."""

    @abstractmethod
    def _fitted_model(self) -> Model: ...

    @property
    def choices_(self) -> list[Choice]:
        """What was chosen, with the scores of the candidates and the reason."""
        return list(self._fitted_model().choices)

    @property
    def cluster_curve_(self) -> Curve | None:
        """The score of each number of clusters (how well labels predict hidden views), or None."""
        return self._fitted_model().curve
