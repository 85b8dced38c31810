"""Small fitted estimators of every kind that a file must be able to hold."""

from __future__ import annotations

import numpy as np
import pandas as pd
import scipy.sparse as sp

import viewpass as vp
from inputs import GAPS, IMAGE, PLAIN, TEXT, small, with_gaps
from viewpass.store.container.generators import KINDS

FRAME = pd.DataFrame(np.hstack([IMAGE, TEXT]), columns=[f"col{j}" for j in range(9)])


def started(**settings):
    return small(warmup=0, **settings)


def gathering(**settings):
    model = small(warmup=40, **settings)
    model.partial_fit([IMAGE[:10], None], observed=GAPS[:10])
    return model.partial_fit([IMAGE[10:20], TEXT[10:20].astype(np.float32)], observed=GAPS[10:20])


def gathering_sparse():
    return small(warmup=40).partial_fit({"image": sp.csr_array(IMAGE[:10]), "text": TEXT[:10]})


def unseen_only():
    return small(warmup=0).partial_fit([np.full((4, 4), np.nan), np.zeros((4, 5))])


def centres_of_an_unknown_view():
    init = [IMAGE[:3], TEXT[:3]]
    return started(init=init).partial_fit([IMAGE[:20], None])


def anchored(consensus, **settings):
    return started(n_anchors=12, consensus=consensus, **settings)


def noise():
    rng = np.random.default_rng(0)
    model = started(n_anchors=20, n_clusters="auto").fit([rng.standard_normal((90, w)) for w in (4, 5)])
    assert model.consensus_ == "plain"
    assert model.cluster_curve_.n_clusters == len(model.cluster_centers_[0])
    return model


PICTURE, WORDS = np.abs(IMAGE), np.abs(TEXT)  # nothing to clip


def read_twice(kind, **settings):
    """A factorisation that has read two chunks, the second of them with a view the first had not."""
    model = kind(3, random_state=0, n_init=2, **settings).partial_fit([PICTURE[:20], None])
    return model.partial_fit([PICTURE[20:], WORDS[20:]], observed=GAPS[20:])


FACTORS = {
    "OMVC": lambda: vp.OMVC(3, chunk_size=20, n_passes=2, n_init=2, random_state=0).fit(
        [PICTURE, WORDS], observed=GAPS
    ),
    "OMVC, chunks": lambda: read_twice(vp.OMVC),
    "ONMF": lambda: vp.ONMF(3, n_components=4, fill="mean", n_init=2, random_state=0).fit(
        [sp.csr_array(PICTURE), WORDS], observed=GAPS
    ),
    "ONMF, chunks": lambda: read_twice(vp.ONMF, hessian="diagonal"),
    "ONMF, generator": lambda: vp.ONMF(3, n_init=2, random_state=np.random.default_rng(3)).fit(
        [PICTURE, WORDS]
    ),
    "MultiNMF": lambda: vp.MultiNMF(3, n_rounds=2, max_iter=20, n_tries=2, n_init=2, random_state=0).fit(
        [PICTURE, WORDS], observed=GAPS
    ),
    "MIC": lambda: vp.MIC(3, max_iter=20, n_tries=2, n_init=2, random_state=0).fit(
        {"image": PICTURE, "text": WORDS}, observed=GAPS
    ),
    "DAIMC": lambda: vp.DAIMC(3, n_init=2, random_state=0).fit(vp.frames({"a": FRAME.iloc[:, :4]})),
}
MODELS = {
    "fitted": lambda: started(chunk_size=7, alpha=0.1, **PLAIN).fit([IMAGE, TEXT], observed=GAPS),
    "two passes": lambda: started(chunk_size=7, n_passes=2).fit(with_gaps()),
    "default warm-up": lambda: small().fit({"image": IMAGE, "text": TEXT}, observed=GAPS),
    "sparse": lambda: started().fit([sp.csr_array(IMAGE), sp.csr_array(TEXT)]),
    "frames": lambda: started().fit(vp.frames({"a": FRAME.iloc[:, :4], "b": FRAME.iloc[:, 4:]})),
    "one array": lambda: started(views=[4, -1]).fit(FRAME),
    "partial_fit": lambda: started().partial_fit([IMAGE[:20], TEXT[:20]], observed=GAPS[:20]),
    "a view not seen yet": lambda: started().partial_fit([IMAGE[:20], None]),
    "gathering": lambda: gathering(alpha=0.1, chunk_size=2000, **PLAIN),
    "gathering, its own ridge": lambda: gathering(**PLAIN),
    "its own ridge": lambda: started(chunk_size=7, **PLAIN).fit([IMAGE, TEXT], observed=GAPS),
    "gathering, sparse": gathering_sparse,
    "only rows without a view": unseen_only,
    "given centres": centres_of_an_unknown_view,
    "gathering, given labels": lambda: small(init=np.arange(48) % 3, chunk_size=48).fit([IMAGE, TEXT]),
    "memberships": lambda: started(init=np.eye(3)[np.arange(48) % 3], chunk_size=48).fit([IMAGE, TEXT]),
    "no fill": lambda: started(fill=None, alpha=0.25).fit([IMAGE, TEXT]),
    "standard": lambda: started(scale="standard", chunk_size=16).fit([IMAGE, TEXT], observed=GAPS),
    "gathering, standard": lambda: gathering(scale=["standard", "auto"]),
    "a scale a view": lambda: started(scale={"a": "standard", "b": "idf"}).fit(
        {"a": IMAGE, "b": sp.csr_array(np.abs(TEXT))}
    ),
    "graph": lambda: anchored("graph", chunk_size=24).fit([IMAGE, TEXT], observed=GAPS),
    "merge": lambda: anchored("merge", chunk_size=24, n_passes=2).fit(with_gaps()),
    "growing": lambda: anchored("graph", chunk_size=12, adaptive_anchors=True).fit(
        [IMAGE, TEXT], observed=GAPS
    ),
    "growing, merge": lambda: anchored("merge", chunk_size=12, adaptive_anchors=True).fit(
        [sp.csr_array(IMAGE), TEXT]
    ),
    "gathering, growing": lambda: gathering(n_anchors=12, consensus="graph", adaptive_anchors=True),
    "graph, cut again": lambda: anchored("graph").fit([IMAGE, TEXT]).cut(5),
    "plain, cut": lambda: started(n_clusters=6).fit([IMAGE, TEXT]).cut(3),
    "graph, its own number": lambda: anchored("graph", n_clusters="auto").fit([IMAGE, TEXT]),
    "merge, its own number": lambda: anchored("merge", n_clusters="auto").fit([IMAGE, TEXT]),
    "plain, its own number": noise,
    "gathering, graph": lambda: gathering(n_anchors=12, consensus="graph"),
    "IMC, standard": lambda: small(vp.IMC, n_init=2, scale="auto").fit([IMAGE, TEXT], observed=GAPS),
    "IMC": lambda: small(vp.IMC, n_init=2, alpha=0.1, scale="unit").fit([IMAGE, TEXT], observed=GAPS),
    "IMC, its own ridge": lambda: small(vp.IMC, n_init=2).fit([IMAGE, TEXT], observed=GAPS),
    "weights": lambda: started(view_weights=[1, 0.25], chunk_size=16).fit([IMAGE, TEXT], observed=GAPS),
    "weights by name": lambda: started(view_weights={"image": 0, "text": 2}).fit(
        {"image": IMAGE, "text": TEXT}
    ),
    "gathering, weights": lambda: gathering(view_weights=[1, 0.25]),
    "gathering, a view left out": lambda: gathering(view_weights=[0, 1]),
    "gathering, learnt weights": lambda: gathering(view_weights="auto", reservoir=5),
    "learnt weights": lambda: small(view_weights="auto").fit([IMAGE, TEXT], observed=GAPS),
    "IMC, weights": lambda: small(vp.IMC, n_init=2, view_weights=[3, 1]).fit([IMAGE, TEXT], observed=GAPS),
    "reservoir": lambda: started(reservoir=9, chunk_size=16).fit([IMAGE, TEXT], observed=GAPS),
    "reservoir, sparse": lambda: started(reservoir=9, view_weights=[1, 0.5], chunk_size=16).fit(
        [sp.csr_array(IMAGE), sp.csr_array(TEXT)], observed=GAPS
    ),
    "sample weights": lambda: started(chunk_size=16).fit(
        [IMAGE, TEXT], observed=GAPS, sample_weight=np.arange(48) % 5
    ),
    "fractions as sample weights": lambda: anchored("graph", chunk_size=24, n_passes=2).fit(
        [IMAGE, TEXT], observed=GAPS, sample_weight=np.arange(48) / 7
    ),
    "gathering, sample weights": lambda: small(warmup=60).partial_fit(
        [IMAGE, TEXT], sample_weight=np.arange(48) / 4
    ),
    "IMC, sample weights": lambda: small(vp.IMC, n_init=2).fit(
        [IMAGE, TEXT], sample_weight=np.arange(48) / 4
    ),
    "MT19937": lambda: started(random_state=np.random.RandomState(3)).partial_fit([IMAGE, TEXT]),
    **{
        name: lambda kind=kind: small(warmup=40, random_state=np.random.Generator(kind(5))).partial_fit(
            [IMAGE[:10], TEXT[:10]]
        )
        for name, kind in KINDS.items()
    },
}
