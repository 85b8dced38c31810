"""Small fitted estimators of every kind that a file must be able to hold."""

from __future__ import annotations

import numpy as np
import pandas as pd
import scipy.sparse as sp

import viewpass as vp
from inputs import CHOSEN, GAPS, IMAGE, PLAIN, TEXT, small, with_gaps
from viewpass.store.container.values import BIT_GENERATORS

FRAME = pd.DataFrame(np.hstack([IMAGE, TEXT]), columns=[f"col{j}" for j in range(9)])


def gathering(**settings):
    model = small(**settings)
    model.partial_fit([IMAGE[:10], None], observed=GAPS[:10])
    return model.partial_fit([IMAGE[10:20], TEXT[10:20].astype(np.float32)], observed=GAPS[10:20])


def gathering_sparse():
    return small().partial_fit({"image": sp.csr_array(IMAGE[:10]), "text": TEXT[:10]})


def unseen_only():
    return small(vp.OPIMC).partial_fit([np.full((4, 4), np.nan), np.zeros((4, 5))])


def noise():
    rng = np.random.default_rng(0)
    model = small(**CHOSEN, n_clusters="auto").fit([rng.standard_normal((90, w)) for w in (4, 5)])
    assert model.consensus_ == "plain"
    assert model.cluster_curve_.n_clusters == len(model.cluster_centers_[0])
    return model


def opimc(**settings):
    return small(vp.OPIMC, chunk_size=20, **settings)


GRAPH = {"n_anchors": 12, "consensus": "graph"}
MODELS = {
    "fitted": lambda: small(alpha=0.1, **PLAIN).fit([IMAGE, TEXT], observed=GAPS),
    "default": lambda: small(**CHOSEN).fit({"image": IMAGE, "text": TEXT}, observed=GAPS),
    "more rows than sampled": lambda: small(sample_size=20, **PLAIN).fit(with_gaps()),
    "read once": lambda: small(**CHOSEN, sample_size=20, compute_labels=False).fit(with_gaps()),
    "window": lambda: small(**PLAIN, window=24, sample_size=20).fit(with_gaps()),
    "half-life": lambda: small(**PLAIN, half_life=10, sample_size=20).fit([IMAGE, TEXT], observed=GAPS),
    "robust": lambda: small(**PLAIN, robust=True, sample_size=20).fit(with_gaps()),
    "forgot": lambda: small(**PLAIN).fit([IMAGE, TEXT], observed=GAPS).forget([3, 8]),
    "sparse": lambda: small().fit([sp.csr_array(IMAGE), sp.csr_array(TEXT)]),
    "frames": lambda: small().fit(vp.frames({"a": FRAME.iloc[:, :4], "b": FRAME.iloc[:, 4:]})),
    "one array": lambda: small(views=[4, -1]).fit(FRAME),
    "partial_fit": lambda: small(sample_size=15).partial_fit([IMAGE[:20], TEXT[:20]], observed=GAPS[:20]),
    "a view not seen yet": lambda: small(sample_size=15).partial_fit([IMAGE[:20], None]),
    "a view seen after the solve": lambda: (
        small(sample_size=15).partial_fit([IMAGE[:20], None]).partial_fit([IMAGE[20:22], TEXT[20:22]])
    ),
    "not solved yet": lambda: gathering(alpha=0.1, **PLAIN),
    "not solved yet, its own ridge": lambda: gathering(**PLAIN),
    "not solved yet, sparse": gathering_sparse,
    "not solved yet, standard": lambda: gathering(scale=["standard", "auto"]),
    "not solved yet, graph": lambda: gathering(**GRAPH),
    "OPIMC, only rows without a view": unseen_only,
    "its own ridge": lambda: small(**PLAIN).fit([IMAGE, TEXT], observed=GAPS),
    "standard": lambda: small(scale="standard").fit([IMAGE, TEXT], observed=GAPS),
    "a scale a view": lambda: small(scale={"a": "standard", "b": "idf"}).fit(
        {"a": IMAGE, "b": sp.csr_array(np.abs(TEXT))}
    ),
    "neighbours": lambda: small(consensus="neighbours").fit([IMAGE, TEXT], observed=GAPS),
    "graph": lambda: small(**GRAPH).fit([IMAGE, TEXT], observed=GAPS),
    "graph, more rows than sampled": lambda: small(**GRAPH, sample_size=24).fit([IMAGE, TEXT], observed=GAPS),
    "graph, cut again": lambda: small(**GRAPH).fit([IMAGE, TEXT]).cut(5),
    "plain, cut": lambda: small(n_clusters=6, consensus="plain").fit([IMAGE, TEXT]).cut(3),
    "graph, its own number": lambda: small(**GRAPH, n_clusters="auto").fit([IMAGE, TEXT]),
    "plain, its own number": noise,
    "projection": lambda: small(**GRAPH, projection=3).fit([IMAGE, TEXT], observed=GAPS),
    "gaps": lambda: small(missing_entries="local").fit(
        [np.where(np.arange(4) == np.arange(48)[:, None] % 9, np.nan, IMAGE), TEXT]
    ),
    "weights": lambda: small(view_weights=[1, 0.25]).fit([IMAGE, TEXT], observed=GAPS),
    "weights by name": lambda: small(view_weights={"image": 0, "text": 2}).fit(
        {"image": IMAGE, "text": TEXT}
    ),
    "not solved yet, weights": lambda: gathering(view_weights=[1, 0.25]),
    "not solved yet, a view left out": lambda: gathering(view_weights=[0, 1]),
    "sample weights": lambda: small(**CHOSEN).fit(
        [IMAGE, TEXT], observed=GAPS, sample_weight=np.arange(48) % 5
    ),
    "fractions as sample weights": lambda: small(**GRAPH).fit(
        [IMAGE, TEXT], observed=GAPS, sample_weight=np.arange(48) / 7
    ),
    "not solved yet, sample weights": lambda: small().partial_fit(
        [IMAGE, TEXT], sample_weight=np.arange(48) / 4
    ),
    "OPIMC": lambda: opimc().fit([IMAGE, TEXT], observed=GAPS),
    "OPIMC, two passes": lambda: opimc(n_passes=2).fit(with_gaps()),
    "OPIMC, chunks": lambda: opimc().partial_fit([IMAGE[:20], None]),
    "OPIMC, given centres": lambda: opimc(init=[IMAGE[:3], TEXT[:3]]).partial_fit([IMAGE[:20], None]),
    "OPIMC, given labels": lambda: opimc(init=np.arange(20) % 3).fit([IMAGE, TEXT]),
    "OPIMC, memberships": lambda: opimc(init=np.eye(3)[np.arange(20) % 3]).fit([IMAGE, TEXT]),
    "OPIMC, no fill": lambda: opimc(fill=None, alpha=0.25).fit([IMAGE, TEXT]),
    "OPIMC, sample weights": lambda: opimc().fit([IMAGE, TEXT], sample_weight=np.arange(48) / 4),
    "IMC": lambda: small(vp.IMC, n_init=2).fit([IMAGE, TEXT], observed=GAPS),
    "IMC, standard": lambda: small(vp.IMC, n_init=2, scale="standard").fit([IMAGE, TEXT], observed=GAPS),
    "IMC, sample weights": lambda: small(vp.IMC, n_init=2).fit(
        [IMAGE, TEXT], sample_weight=np.arange(48) / 4
    ),
    "MT19937": lambda: opimc(random_state=np.random.RandomState(3)).partial_fit([IMAGE, TEXT]),
    **{
        name: lambda kind=kind: opimc(random_state=np.random.Generator(kind(5))).partial_fit(
            [IMAGE[:10], TEXT[:10]]
        )
        for name, kind in BIT_GENERATORS.items()
    },
}
