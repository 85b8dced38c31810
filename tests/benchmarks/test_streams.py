"""The benchmark on streams: its sets, its reading, its tables."""

from __future__ import annotations

import numpy as np
from benchmarks.streams.methods import METHODS, label
from benchmarks.streams.page import tables
from benchmarks.streams.sets import StreamSet, with_outliers

from viewpass.evaluate import make_stream


def small(whole=False):
    """A stream of three clusters."""
    rows = make_stream(1500, n_clusters=3, events=[], movement=0.0).rows(0, 1500)
    return StreamSet("own", 0, tuple(rows.views.values()), rows.labels, whole)


def test_scores_are_of_the_rows_that_were_read():
    stream = small()
    assert stream.n_classes == 3
    assert stream.score(stream.classes) == 1.0
    assert stream.score(stream.classes[:700]) == 1.0
    assert small(whole=True).score(np.where(stream.classes < 0, 7, stream.classes)) == 1.0
    assert [len(view) for view in stream.first(100).views] == [100, 100, 100]


def test_outliers_are_a_tenth_more_rows_and_the_others_keep_their_order():
    stream = small()
    rows = np.nan_to_num(stream.views[0])
    more, classes = with_outliers(rows, np.maximum(stream.classes, 0), 0)
    assert (len(more), (classes < 0).sum()) == (1650, 150)
    np.testing.assert_array_equal(more[classes >= 0], rows)


def test_methods_label_every_row_or_stop_at_their_limit():
    stream = small()
    for name in (METHODS[0].name, "MiniBatchKMeans"):
        method = next(method for method in METHODS if method.name == name)
        found = label(method, stream, 0, {}, 60.0)
        assert len(found.labels) == 1500
        assert stream.score(found.labels) > 0.2
    assert len(label(METHODS[-1], stream, 0, {}, 0.0).labels) == 500


def test_tables_have_a_row_per_method_and_mark_what_was_cut():
    place = {"stream": 0, "method": "BIRCH", "seed": 0, "rows": 100, "seconds": 1.0, "n_clusters": 3}
    events = {"n_right": 1, "n_found": 2, "n_true": 1, "delay": 50.0}
    text = tables(
        [
            place | {"set": "own", "settings": "default", "score": 0.5, "share": 1.0, "events": events},
            place | {"set": "own", "settings": "tuned", "score": 0.75, "share": 0.5},
            place | {"set": "rbf2", "settings": "default", "failed": "ValueError"},
        ],
        ["viewpass", "BIRCH"],
    )
    assert "| BIRCH | default | 0.500 (1) | fails |" in text
    assert "| BIRCH | tuned | 0.750 (1)* | – |" in text
    assert "| own | BIRCH | 1 | 2 | 0.50 | 1.00 | 50 |" in text
