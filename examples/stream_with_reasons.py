"""Learn from a stream chunk by chunk, then read why a row has its cluster and how sure that is.

Run it as it is: python examples/stream_with_reasons.py
"""

import tempfile
from collections.abc import Iterator

import numpy as np

import viewpass as vp

rng = np.random.default_rng(0)
WIDTHS = {"image": 12, "text": 8, "price": 2}
CENTRES = {name: rng.normal(size=(5, width)) for name, width in WIDTHS.items()}


def chunk(n_rows: int) -> dict[str, np.ndarray]:
    """Rows of one day: three views, each missing in a fifth of the rows."""
    topic = rng.integers(5, size=n_rows)
    views = {}
    for name, centre in CENTRES.items():
        views[name] = centre[topic] + 0.8 * rng.normal(size=(n_rows, centre.shape[1]))
        views[name][rng.random(n_rows) < 0.2] = np.nan
    return views


def days() -> Iterator[dict[str, np.ndarray]]:
    """A stream that can be read only once."""
    for _ in range(6):
        yield chunk(500)


model = vp.ViewPass(n_clusters=5, random_state=0)
for rows in days():
    model.partial_fit(rows)
    print(
        f"{model.n_samples_seen_} rows read, {int((model.stream_labels_ < 0).sum())} of today without a view"
    )

with tempfile.TemporaryDirectory() as folder:  # a model file continues where it was, on another machine too
    model.save(f"{folder}/stream.viewpass")
    again = vp.load(f"{folder}/stream.viewpass")

new = chunk(200)
labels, sure, why = again.predict(new), again.confidence(new), again.explain(new)
unusual = again.outlier_score(new)
doubtful = int(np.nanargmin(sure))
print(
    f"mean confidence of new rows: {np.nanmean(sure):.2f}; row {doubtful} has the least, {sure[doubtful]:.2f}"
)
parts = {name: round(float(part), 2) for name, part in zip(why.view_names, why.views[doubtful], strict=True)}
print(
    f"it is in cluster {labels[doubtful]}, next comes {why.runners_up[doubtful]}; the margin by view: {parts}"
)
print(f"the most unusual row is {int(np.nanargmax(unusual))}, with a score of {np.nanmax(unusual):.1f}")
print(f"labels that would change without one of their views: {1 - again.stability(new).stable.mean():.0%}")
