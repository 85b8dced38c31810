"""Model files whose digest is right and whose contents are not: refused when they are loaded."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp
from tests.fuzz.mutants import closed, opened, sealed

import viewpass as vp

rng = np.random.default_rng(7)
GROUP = np.arange(48) % 3
IMAGE = 8 * np.eye(3, 4)[GROUP] + rng.integers(0, 3, size=(48, 4))
TEXT = 8 * np.eye(3, 5)[GROUP] + rng.integers(0, 3, size=(48, 5))
VIEWS = [IMAGE, TEXT]


def collecting(views=VIEWS):
    return vp.ViewPass(3, random_state=0).partial_fit([view[:20] for view in views])


PLAIN = {"consensus": "plain", "scale": "unit", "random_state": 0}
MODELS = {
    "ViewPass": lambda: vp.ViewPass(3, **PLAIN).fit(VIEWS),
    "blocks": lambda: vp.ViewPass(3, views=2, **PLAIN).fit(np.hstack(VIEWS)),
    "graph": lambda: vp.ViewPass(3, n_anchors=12, consensus="graph", random_state=0).fit(VIEWS),
    "collecting": collecting,
    "collecting, sparse": lambda: collecting([sp.csr_array(IMAGE), sp.csr_array(TEXT)]),
    "OPIMC": lambda: vp.OPIMC(3, chunk_size=20, random_state=0).fit(VIEWS),
    "IMC": lambda: vp.IMC(3, random_state=0).fit(VIEWS),
}


def put(*where):
    """Set a value of the metadata; the last word is the value."""

    def edit(meta, arrays):
        *keys, value = where
        for key in keys[:-1]:
            meta = meta[key]
        meta[keys[-1]] = value

    return edit


def array(name, change):
    def edit(meta, arrays):
        arrays[name] = change(arrays[name])

    return edit


def wider(meta, arrays):
    """2^31 - 1 columns, none of which the file has to hold."""
    learning = meta["learnt"]["learning"]
    learning["schema"]["widths"][0] = learning["sample"]["chunk"]["widths"][0] = 2**31 - 1
    meta["inputs"]["n_features"] = 2**31 - 1 + 5


LEARNING = "learnt", "learning"
PLAN = *LEARNING, "plan"
SAMPLE = *LEARNING, "sample"
LIES = {
    "OPIMC: 2^62 updates": ("OPIMC", put("settings", "max_iter", 2**62)),
    "OPIMC: negative counts": ("OPIMC", array("counts.0", lambda x: -x)),
    "ViewPass: 2^62 updates": ("ViewPass", put(*PLAN, "max_iter", 2**62)),
    "ViewPass: a ridge beyond any float": ("ViewPass", put("settings", "alpha", 10**400)),
    "ViewPass: negative counts": ("ViewPass", array("counts.0", lambda x: -x)),
    "ViewPass: negative counts by label": ("ViewPass", array("labelled.counts.0", lambda x: -x)),
    "ViewPass: sums beyond their counts": ("ViewPass", array("labelled.sums.0", lambda x: x * 100)),
    "ViewPass: centres without end": ("ViewPass", array("centres.0", lambda x: x * 1e300)),
    "ViewPass: rows of a census that were not read": ("ViewPass", array("census.counts", lambda x: x * 2)),
    "ViewPass: other columns": ("blocks", put("inputs", "n_features", 8)),
    "ViewPass: more blocks than views": ("blocks", put("settings", "views", 2**62)),
    "ViewPass: one-sided links": ("graph", array("links", lambda x: np.triu(x, 1))),
    "ViewPass: more sampled rows than were read": ("ViewPass", put(*LEARNING, "n_rows", 20)),
    "ViewPass: a sample larger than it may be": ("ViewPass", put(*SAMPLE, "rows", 10)),
    "ViewPass: keys of the sample out of order": ("ViewPass", array("sample.keys", lambda x: x[::-1].copy())),
    "ViewPass: sampled values without end": (
        "ViewPass",
        array("sample.0", lambda x: np.full_like(x, np.inf)),
    ),
    "ViewPass: sampled rows that were never read": ("collecting", array("sample.numbers", lambda x: x + 100)),
    "ViewPass: a sampled row twice": ("collecting", array("sample.numbers", lambda x: x * 0)),
    "ViewPass: solved after more rows than were read": ("ViewPass", put(*LEARNING, "solved_at", 49)),
    "ViewPass: weights of more views": ("collecting", put(*PLAN, "view_weights", [1.0, 0.5, 0.5])),
    "ViewPass: a width that no row has shown": (
        "collecting",
        put(*LEARNING, "schema", "widths", [None, 5]),
    ),
    "ViewPass: columns that are not held": ("collecting, sparse", wider),
    "IMC: objectives that are none": ("IMC", array("objectives", lambda x: x * np.nan)),
}


def changed(name, edit, path):
    MODELS[name]().save(path)
    meta, arrays = opened(path.read_bytes())
    edit(meta, arrays)
    path.write_bytes(sealed(closed(meta, arrays)))


@pytest.mark.parametrize("lie", LIES)
def test_a_lie_is_refused(lie, tmp_path):
    name, edit = LIES[lie]
    path = tmp_path / "model"
    changed(name, edit, path)
    with pytest.raises(vp.FileError, match="is damaged: "):
        vp.load(path)


@pytest.mark.parametrize("name", MODELS)
def test_unchanged_contents_are_read(name, tmp_path):
    path = tmp_path / "model"
    changed(name, lambda meta, arrays: None, path)
    vp.load(path)


def test_centres_given_for_a_view_fix_its_width_before_its_first_row():
    model = vp.OPIMC(3, init=[IMAGE[:3], TEXT[:3]], random_state=0).partial_fit([IMAGE[:20], None])
    for use in (model.predict, model.transform, model.partial_fit):
        with pytest.raises(vp.DataError, match="view 'view1': 3 columns where 5"):
            use([IMAGE, TEXT[:, :3]])


@pytest.mark.parametrize(
    ("kind", "setting"),
    [
        ("ViewPass", "n_clusters"), ("ViewPass", "sample_size"), ("ViewPass", "n_anchors"),
        ("IMC", "n_init"), ("IMC", "max_iter"), ("OPIMC", "chunk_size"), ("OPIMC", "n_passes"),
        ("MIC", "max_iter"), ("MultiNMF", "n_rounds"),
    ],
)  # fmt: skip
def test_numbers_that_a_file_cannot_hold_are_refused_at_fit(kind, setting):
    with pytest.raises(ValueError, match=f"'{setting}' parameter"):
        getattr(vp, kind)(**{"n_clusters": 2, setting: 2**70}).fit([IMAGE, TEXT])


def test_a_folder_is_not_a_model_file(tmp_path):
    with pytest.raises(vp.FileError, match="is a folder, not a model file"):
        vp.load(tmp_path)
