"""The plot of the curve that K is estimated from."""

from __future__ import annotations

import sys

import matplotlib
import numpy as np
import pytest

import viewpass as vp

matplotlib.use("Agg")


def clusters(n_clusters=4, n_rows=600):
    rng = np.random.default_rng(0)
    group = rng.integers(n_clusters, size=n_rows)
    return [5 * np.eye(n_clusters, width)[group] + rng.standard_normal((n_rows, width)) for width in (8, 6)]


@pytest.mark.parametrize("consensus", ["graph", "plain"])
def test_the_curve_and_the_number_taken_are_drawn(consensus):
    from matplotlib import pyplot

    model = vp.ViewPass("auto", consensus=consensus, random_state=0).fit(clusters())
    ax = model.plot("curve")
    line, taken = ax.get_lines()
    np.testing.assert_array_equal(line.get_xdata(), model.cluster_curve_.numbers)
    np.testing.assert_array_equal(line.get_ydata(), model.cluster_curve_.values)
    assert set(taken.get_xdata()) == {4}
    assert ax.texts[0].get_text() == "K = 4"
    ax.figure.canvas.draw()
    pyplot.close(ax.figure)


def test_a_number_that_was_given_is_compared_with_the_curve():
    from matplotlib.figure import Figure

    model = vp.ViewPass(6, consensus="graph", random_state=0).fit(clusters())
    given = Figure().add_subplot()
    assert model.plot("curve", ax=given) is given
    assert given.texts[0].get_text() == "K = 6 (the curve suggests 4)"
    assert len(model.cut("auto").cluster_centers_[0]) == 4


def test_without_a_curve_there_is_nothing_to_draw_or_to_cut_by():
    model = vp.ViewPass(4, consensus="plain", random_state=0).fit(clusters())
    assert model.cluster_curve_ is None
    with pytest.raises(vp.SettingError, match="no cluster curve"):
        model.plot("curve")
    with pytest.raises(vp.SettingError, match="no cluster curve"):
        model.cut("auto")


def test_without_matplotlib_the_extra_is_named(monkeypatch):
    model = vp.ViewPass(2, random_state=0).fit([np.eye(4)])
    monkeypatch.delitem(sys.modules, "viewpass.report.plots", raising=False)
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    with pytest.raises(ImportError, match=r"viewpass\[report\]"):
        model.plot("curve")
