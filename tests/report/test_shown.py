"""What notebooks show: three lines, a card, plots."""

from __future__ import annotations

import pickle

import matplotlib
import numpy as np
import pytest
from sklearn.base import clone

import viewpass as vp
from html_tags import Tags

matplotlib.use("Agg")


def test_a_fitted_model_is_three_lines_and_an_unfitted_one_its_settings(model):
    lines = repr(model).split("\n")
    assert len(lines) == 3
    assert lines[0].startswith("ViewPass(")
    assert "fitted to 600 rows" in lines[0]
    assert lines[1].startswith("4 clusters of ")
    assert lines[2].startswith("separated by image ")
    assert repr(clone(model)) == repr(vp.ViewPass(**model.get_params()))
    assert "fitted" not in repr(clone(model))


def test_the_card_is_small_and_escapes_names():
    rows = {"<script>x</script>": np.eye(4), "[red]\x1b[2J" + "n" * 10_000: np.eye(4)}
    model = vp.ViewPass(2, random_state=0).fit(rows)
    card = model._repr_html_()
    assert len(card) < 4000
    assert "script" not in Tags(card).tags
    assert "\x1b" not in card + repr(model)
    assert len(repr(model)) < 600
    assert model._repr_mimebundle_()["text/html"] == card
    assert "text/plain" in clone(model)._repr_mimebundle_()


def test_a_loaded_model_shows_what_its_sums_tell(model):
    again = pickle.loads(pickle.dumps(model))
    assert repr(again) == repr(model)
    del again.__dict__["labels_"]
    assert len(repr(again).split("\n")) == 3


@pytest.mark.parametrize("kind", ["map", "sizes", "missing", "views", "loss"])
def test_plots_take_and_give_axes(model, kind):
    from matplotlib import pyplot

    _, ax = pyplot.subplots()
    assert model.plot(kind, ax=ax) is ax
    assert ax.has_data()
    own = model.plot(kind)
    own.figure.canvas.draw()
    pyplot.close("all")


def test_a_map_of_rows(model, views):
    from matplotlib import pyplot

    ax = model.plot("map", views)
    assert len(ax.collections[0].get_offsets()) > 400
    pyplot.close("all")


def test_sizes_are_those_of_the_rows_that_are_given(model, views):
    from matplotlib import pyplot

    some = {name: view[:100] for name, view in views.items()}
    labels = model.predict(some)
    widths = [bar.get_width() for bar in model.plot("sizes", some).patches]
    assert widths == sorted(np.unique(labels[labels >= 0], return_counts=True)[1], reverse=True)
    pyplot.close("all")
    with pytest.raises(vp.SettingError, match="leave X out"):
        model.plot("views", some)
    with pytest.raises(vp.SettingError, match="choose one of map, sizes"):
        model.plot("pie")
