"""Model files that are sound outside and lie inside: refused, or a model that works or says why not."""

from __future__ import annotations

import time

import numpy as np
from tests.fuzz.mutants import mutant

import viewpass as vp
from inputs import GAPS, IMAGE, TEXT
from store.models import MODELS

LONGEST = 2.0  # seconds of processor time for one use
SECONDS = 12.0  # for all of them
MOST_COLUMNS = 100  # of the rows made for a mutant; with more, rows that do not fit it are enough
PROPERTIES = (
    *(
        "labels_",
        "stream_labels_",
        "stream_ids_",
        "anchor_labels_",
        "cluster_centers_",
        "counts_",
        "objective_",
        "inertia_",
    ),
    *("loss_curve_", "n_iter_", "n_samples_seen_", "n_rows_without_views_", "consensus_", "anchors_"),
    *("anchor_centers_", "cluster_curve_", "scales_", "view_weights_", "components_", "objective_curve_"),
)
SLOW = {"PCG64", "PCG64DXSM", "Philox", "SFC64"}  # generators: their states differ, what is done does not
contents: list[bytes] = []
sound: list[object] = []


def prepare(folder):
    for name, make in MODELS.items():
        if name in SLOW:
            continue
        make().save(folder / "sound")
        contents.append((folder / "sound").read_bytes())
    sound.append(MODELS["fitted"]())


def trial(random, folder):
    path = folder / "mutant"
    mine, other = (contents[number] for number in random.choice(len(contents), 2))
    path.write_bytes(mutant(mine, other, random))
    try:
        model = vp.load(path)
    except vp.FileError:
        return
    for use in USES:
        begun = time.process_time()
        try:
            with np.errstate(all="ignore"):
                use(model, random, folder)
        except vp.ViewpassError:
            pass
        except Exception as problem:
            problem.args = (f"{type(model).__name__}, {use.__name__}: {problem}",)
            raise
        seconds = time.process_time() - begun
        assert seconds < LONGEST, f"{type(model).__name__}, {use.__name__}: {seconds:.1f} s"


def rows(model):
    widths = [width or 3 for width in model._fitted_schema().widths]
    if sum(widths) > MOST_COLUMNS or len(widths) != 2:
        return [IMAGE[:12], TEXT[:12]]
    made = np.random.default_rng(0)
    return [made.standard_normal((12, width)) for width in widths]


def predict(model, random, folder):
    labels = model.predict(rows(model), observed=GAPS[:12])
    assert labels.shape == (12,), "labels of another number of rows"
    assert labels.min() >= -1, "a label below -1"


def transform(model, random, folder):
    model.transform(rows(model))
    model.score(rows(model), observed=GAPS[:12])


def predict_one_array(model, random, folder):
    if 0 < model.n_features_in_ <= MOST_COLUMNS:
        model.predict(np.ones((3, model.n_features_in_), dtype=random.choice([np.float32, np.float64])))


def attributes(model, random, folder):
    repr(model)
    for name in PROPERTIES:
        try:
            getattr(model, name)
        except AttributeError as problem:
            if "object has no attribute" not in str(problem) and "from a file" not in str(problem):
                raise


def cut(model, random, folder):
    if hasattr(model, "cut"):
        model.cut(int(random.integers(1, 5))).predict(rows(model))


def merge(model, random, folder):
    if isinstance(model, vp.ViewPass):
        vp.merge([model, sound[0]]).predict(rows(model))


def save(model, random, folder):
    model.save(folder / "again")
    vp.load(folder / "again").predict(rows(model))


def partial_fit(model, random, folder):
    if hasattr(model, "partial_fit"):
        model.n_threads = 1
        model.partial_fit(rows(model))


def partial_fit_without_a_view(model, random, folder):
    if hasattr(model, "partial_fit"):
        model.partial_fit([None, rows(model)[1]])


LEARN = (partial_fit, predict, partial_fit_without_a_view, save)
USES = (predict, transform, predict_one_array, attributes, cut, merge, save, *LEARN)
