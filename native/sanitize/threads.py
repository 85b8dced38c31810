"""Fits, labels and distances with five threads: what ThreadSanitizer watches."""

import numpy as np
import scipy.sparse

import viewpass as vp


def made(n_rows: int = 2500) -> list:
    """Rows of twelve groups in views of three kinds, a third of each missing."""
    rng = np.random.default_rng(0)
    groups = rng.integers(12, size=n_rows)
    views = []
    for width, dtype in ((40, np.float32), (300, np.float64), (60, np.float32)):
        x = rng.standard_normal((12, width))[groups] + rng.standard_normal((n_rows, width))
        x[rng.random(n_rows) < 0.3] = np.nan
        views.append(x.astype(dtype))
    words = np.nan_to_num(views[2])
    words[np.abs(words) < 1.5] = 0.0
    return [*views[:2], scipy.sparse.csr_array(words)]


def main() -> None:
    views = made()
    published = vp.OPIMC(12, random_state=0, chunk_size=500, n_passes=2, n_threads=5)
    shapes = [vp.ViewPass(12, random_state=0, consensus=shape, n_threads=5) for shape in ("plain", "graph")]
    for model in (published, *shapes):
        model.fit(views)
        assert len(model.predict(views)) == len(model.transform(views)) == len(model.labels_)
    vp.OMVC(5, random_state=0, n_threads=5).fit([np.abs(np.nan_to_num(view)) for view in views[:2]])
    print("five threads: done")


if __name__ == "__main__":
    main()
