"""Typical rows of a cluster."""

from __future__ import annotations

from viewpass.report.summary.gatherer import typical_rows


def test_an_outlier_is_not_typical_however_sure_its_label():
    """Row 0 is far out on the side of its centre: nearest of all to it, compared with other centres."""
    sample = [
        {
            "row": row,
            "cluster": 0,
            "confidence": 0.9,
            "shown": {},
            "reasons": {"near": [0], "weights": [1.0 - 0.01 * row], "parts": [0.5], "outlier": 9.0 - row},
        }
        for row in range(9)
    ]
    assert [row["row"] for row in typical_rows(sample, [], 3)] == [4, 5, 6]
