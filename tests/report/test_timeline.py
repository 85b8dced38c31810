"""The timeline: sizes along a stream, and what happened."""

from __future__ import annotations

import json
from itertools import pairwise

import matplotlib
import numpy as np
import pytest

import viewpass as vp
from html_tags import Tags
from viewpass.report.charts import SHOWN, bands, event_of, timeline_chart, timeline_summary
from viewpass.streams.events import Event

matplotlib.use("Agg")

POINTS = [(1000, {0: 600, 1: 400}), (2000, {0: 600, 1: 400, 2: 1000}), (3000, {0: 300, 2: 700})]
EVENTS = [
    Event("born", 2000, 2, n_after=1000, certainty=0.9),
    Event("silent", 2500, -1, views=("<b>text</b>",)),
    Event("merged", 3000, 2, (1,), 1000, 700),
]


def test_it_is_plain_and_gives_its_events_back():
    found = json.loads(json.dumps(timeline_summary(POINTS, EVENTS)))
    assert found["sizes"] == {"0": [600, 600, 300], "1": [400, 400, 0], "2": [0, 1000, 700]}
    assert [event_of(each) for each in found["events"]] == EVENTS


def test_bands_fill_the_whole_and_do_not_overlap():
    rng = np.random.default_rng(0)
    points = [(row, {id: int(rng.integers(1, 9)) for id in range(SHOWN + 5)}) for row in range(1, 6)]
    made = bands(timeline_summary(points, []))
    assert [band.id for band in made][-1] is None
    assert len(made) == SHOWN + 1
    np.testing.assert_allclose(made[0].low, 0)
    np.testing.assert_allclose(made[-1].high, 1)
    for one, two in pairwise(made):
        np.testing.assert_array_equal(one.high, two.low)


def test_nothing_is_drawn_where_nothing_happened(model):
    assert timeline_chart(None) is None
    assert timeline_chart(timeline_summary(POINTS, [])) is None
    page = model.report()
    assert 'id="timeline"' not in page.text
    with pytest.raises(vp.SettingError, match="nothing happened"):
        model.plot("timeline")


def test_the_page_and_the_plot_show_it(model, monkeypatch):
    from matplotlib import pyplot

    monkeypatch.setattr(vp.ViewPass, "events_", tuple(EVENTS), raising=False)
    monkeypatch.setattr(vp.ViewPass, "timeline_", tuple(POINTS), raising=False)
    text = model.report().text
    assert 'href="#timeline"' in text
    assert "row 2,000: cluster 2 born (0 -&gt; 1,000 rows), 90% sure" in text
    assert "view &lt;b&gt;text&lt;/b&gt; silent" in text
    assert Tags(text).tags.count("polygon") >= 3
    ax = model.plot("timeline")
    assert ax.has_data()
    assert model.plot("timeline", ax=ax) is ax
    pyplot.close("all")


def test_events_without_sizes_are_listed():
    chart = timeline_chart(timeline_summary([], EVENTS[:1]))
    assert chart is not None
    assert (chart.shapes, len(chart.marks)) == ([], 1)
