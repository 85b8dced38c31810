"""What estimators report of the settings that they have chosen."""

from __future__ import annotations

from abc import abstractmethod
from typing import Any

from sklearn.utils.validation import check_is_fitted

from viewpass.errors import SettingError
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

    def plot_cluster_curve(self, ax: Any = None) -> Any:
        """Draw `cluster_curve_`, with its errors and the number of clusters that the model has.

        There is a curve where the number of clusters was estimated, and where clusters consist of anchors.

        Parameters
        ----------
        ax : matplotlib axes, optional
            Where to draw; without, a new figure is made.

        Returns
        -------
        matplotlib axes
        """
        from viewpass.estimators.plots import draw_curve

        check_is_fitted(self)
        curve = self.cluster_curve_
        if curve is None:
            raise SettingError("no cluster curve: it is computed with n_clusters='auto' or anchors.")
        return draw_curve(curve, self._fitted_model().n_clusters, ax)
