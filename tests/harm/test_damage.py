"""Damaged files are refused with one kind of error, whatever the damage, and nothing in them is executed."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tracemalloc

import numpy as np
import pytest
from tests.fuzz import model_files, run_folders
from tests.fuzz.child import remove
from tests.fuzz.mutants import closed, opened, sealed

import viewpass as vp
from commands import write_table
from inputs import small
from store.models import MODELS
from viewpass.runs.folder import RunFolder, read_checkpoint
from viewpass.runs.run import Run
from viewpass.store.container import frame

N_MUTATIONS = [2_000, pytest.param(20_000, marks=pytest.mark.long)]
N_LIES = 15  # the fuzzer tries more of them (make fuzz-short)
SETS = (
    *("fitted", "more rows than sampled", "not solved yet", "not solved yet, sparse", "frames", "standard"),
    *("a scale a view", "graph", "graph, cut again", "plain, its own number", "projection", "gaps"),
    *("not solved yet, sample weights", "OPIMC", "IMC", "MT19937"),
)


@pytest.fixture(scope="module")
def files(tmp_path_factory):
    folder = tmp_path_factory.mktemp("models")
    contents = []
    for number, name in enumerate(SETS):
        MODELS[name]().save(folder / str(number))
        contents.append((folder / str(number)).read_bytes())
    return contents


def put(path, content):
    """Write a file anew: file systems wait for the disk when a file is truncated and written again."""
    path.unlink(missing_ok=True)
    path.write_bytes(content)


def mutated(files, rng):
    """One of the files with one kind of damage; never equal to an undamaged one."""
    mine, other = (files[i] for i in rng.choice(len(files), 2, replace=False))
    while True:
        content = bytearray(mine)
        at = int(rng.integers(len(content)))
        kind = rng.integers(8)
        if kind == 0:
            content[at] ^= 1 << int(rng.integers(8))
        elif kind == 1:
            for place in rng.integers(len(content), size=rng.integers(2, 9)):
                content[place] = int(rng.integers(256))
        elif kind == 2:
            del content[at:]
        elif kind == 3:
            content[at:at] = rng.bytes(int(rng.integers(1, 65)))
        elif kind == 4:
            del content[at : at + int(rng.integers(1, 65))]
        elif kind == 5:  # the head of one file, the tail of another
            content[at:] = other[at:]
        elif kind == 6:  # a piece of another file
            stop = at + int(rng.integers(1, 200))
            content[at:stop] = other[at:stop]
        else:  # two pieces of the file change places
            size = int(rng.integers(1, 65))
            to = int(rng.integers(len(content)))
            a, b = content[at : at + size], content[to : to + size]
            if len(a) == len(b) and abs(at - to) >= size:
                content[at : at + size], content[to : to + size] = b, a
        if bytes(content) not in files:
            return bytes(content)


@pytest.mark.parametrize("n_mutations", N_MUTATIONS)
def test_every_mutation_is_refused(files, tmp_path, n_mutations):
    rng = np.random.default_rng(20)
    path = tmp_path / "model"
    for _ in range(n_mutations):
        put(path, mutated(files, rng))
        with pytest.raises(vp.FileError):
            vp.load(path)


@pytest.fixture(scope="module", params=["final", "stream"])
def checkpoints(request, commands, tmp_path_factory):
    """A table, an unfinished run of it, and its checkpoints at two moments."""
    folder = tmp_path_factory.mktemp("run")
    table = write_table(folder / "items.parquet", 6000)
    contents = []
    for number in (2, 9 if request.param == "stream" else 15):  # amid the sample, and amid a tally
        out = folder / str(number)
        fault = {"step": "rename", "when": "after", "number": number, "how": "SIGKILL"}
        argv = ["fit", table, "-k", "3", "--sample", "400", "--checkpoint-every", "1", "--out", out]
        argv += ["--id", "item", *(["--stream-labels"] if request.param == "stream" else [])]
        commands.run(*argv, fault=fault, block=600)
        contents.append((out / "staging" / "checkpoint.viewpass").read_bytes())
    return table, out, contents, request.param


def resumed(table, out, which):
    model = vp.ViewPass(3, sample_size=400, random_state=0)
    run = Run(model, vp.scan(str(table), id="item"), RunFolder(out), stream_labels=which == "stream")
    try:
        run.resume()
    finally:
        run._work.close()


@pytest.mark.parametrize("n_mutations", N_MUTATIONS)
def test_every_mutation_of_a_checkpoint_is_refused(checkpoints, n_mutations):
    _, out, contents, _ = checkpoints
    rng = np.random.default_rng(22)
    folder = RunFolder(out)
    for _ in range(n_mutations // 5):
        put(folder.checkpoint, mutated(contents, rng))
        with pytest.raises(vp.FileError):
            read_checkpoint(folder)
    folder.checkpoint.write_bytes(contents[1])


@pytest.mark.parametrize("value", [None, -1, 2**70, "x", [], {}, 0.5])
def test_every_field_of_a_checkpoint_is_checked(checkpoints, value):
    table, out, contents, which = checkpoints
    path = RunFolder(out).checkpoint
    path.write_bytes(contents[1])
    resumed(table, out, which)
    meta = metadata(contents[1])
    fields = [(key,) for key in meta] + [("work", key) for key in meta["work"]]
    part = ("work", "fitting" if which == "final" else "learning")
    fields += [(*part, key) for key in meta["work"][part[1]]]
    fields += [(*part, "sample", key) for key in ("widths", "n_clusters", "rows")]
    if which == "stream":
        fields += [("work", file, key) for file in ("labels", "ids") for key in ("size", "sha256")]
    for where in fields:
        valid = (("seconds", 0.5), ("seconds", 2**70), ("work", None))  # None: it has only begun
        valid += (("buckets", []), ("receipts", []), ("time", None), ("time", -1))  # there are none; any time
        if (where[-1], value) in valid:
            continue

        def edit(meta, where=where):
            for key in where[:-1]:
                meta = meta[key]
            meta[where[-1]] = value

        put(path, edited(contents[1], edit, b"ckpt"))
        with pytest.raises(vp.FileError):
            resumed(table, out, which)
    path.write_bytes(contents[1])


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("target", [model_files, run_folders], ids=lambda target: target.__name__)
def test_files_that_lie_under_a_right_digest_give_no_other_error(target, tmp_path_factory, monkeypatch):
    folder = tmp_path_factory.mktemp("lies")
    monkeypatch.setattr(os, "fsync", lambda file: None)
    target.prepare(folder)
    stays = set(folder.iterdir())
    for seed in range(N_LIES):
        target.trial(np.random.default_rng(seed), folder)
        for path in {*folder.iterdir()} - stays:
            remove(path)


def edited(content, edit, kind=b"modl"):
    """The file with its metadata changed, well framed."""
    meta, arrays = opened(content)
    edit(meta)
    return sealed(closed(meta, arrays), kind)


def leaves(value, path=()):
    if isinstance(value, dict):
        for key in value:
            yield from leaves(value[key], (*path, key))
    elif isinstance(value, list):
        for place in range(len(value)):
            yield from leaves(value[place], (*path, place))
    yield path


def metadata(content):
    return opened(content)[0]


WRONG_VALUES = [None, -1, 2**70, "x", [], {}, [[]], {"array": "no"}, 0.5, True]


def fields_to_change(meta):
    """The place of every value; of the 624 numbers of a Mersenne Twister only the first and the last."""
    for where in leaves(meta):
        number_of_key = where[-1] if where and where[-2:-1] == ("key",) else 0
        if where and number_of_key in (0, 623):
            yield where


@pytest.mark.parametrize("number", range(0, len(SETS), 8), ids=SETS[::8])
def test_every_field_of_the_metadata_is_checked(files, tmp_path, number):
    """Of wrong values for any field at least one is refused, and none gives another error than that."""
    path = tmp_path / "model"
    meta, arrays = opened(files[number])
    unchecked = []
    for where in list(fields_to_change(meta)):
        holder = meta
        for key in where[:-1]:
            holder = holder[key]
        right, refusals = holder[where[-1]], []
        for holder[where[-1]] in WRONG_VALUES:
            put(path, sealed(closed(meta, arrays), b"modl"))
            try:
                vp.load(path)
            except vp.FileError as refusal:
                refusals.append(str(refusal))
        holder[where[-1]] = right
        assert all(str(path) in refusal for refusal in refusals)
        if not refusals:
            unchecked.append((SETS[number], where))
    assert unchecked == []


SCALES = {
    "weights of another width": ("weights.0", lambda x: x[:-1]),
    "weights below zero": ("weights.1", lambda x: -x),
    "a weight of zero": ("weights.0", lambda x: x * 0),
    "weights without end": ("weights.0", lambda x: x * np.inf),
    "weights in float32": ("weights.0", lambda x: x.astype(np.float32)),
    "no weights": ("weights.1", lambda x: None),
    "a mean of another width": ("mean.0", lambda x: x[:, None]),
    "a mean that is none": ("mean.0", lambda x: x * np.nan),
    "a mean of counts": ("mean.1", lambda x: np.zeros(5)),
}


@pytest.mark.parametrize("what", SCALES)
def test_scales_that_make_no_sense_are_refused(tmp_path, what):
    path = tmp_path / "model"
    MODELS["a scale a view"]().save(path)
    meta, arrays = frame.decode(frame.read(path, "model"), "it")
    name, change = SCALES[what]
    changed = change(arrays.get(name))
    arrays = {key: part for key, part in arrays.items() if key != name}
    frame.write(path, "model", frame.encode(meta, arrays | ({} if changed is None else {name: changed})))
    with pytest.raises(vp.FileError, match="is invalid"):
        vp.load(path)


NAMES = [["unit", "idf"], ["idf", "idf"], ["auto", "idf"], ["standard"], [1, 2], None]


@pytest.mark.parametrize("names", NAMES, ids=str)
def test_names_of_scales_must_fit_what_was_learnt(tmp_path, names):
    path = tmp_path / "model"
    MODELS["a scale a view"]().save(path)

    def edit(meta):
        meta["learnt"]["learning"]["model"]["scales"] = names

    path.write_bytes(edited(path.read_bytes(), edit))
    with pytest.raises(vp.FileError, match="is invalid"):
        vp.load(path)


LINKS = {
    "links of fewer anchors": lambda x: x[:-1, :-1].copy(),
    "links below zero": lambda x: -x,
    "one-sided links": lambda x: np.triu(x),
    "links of more rows than were read": lambda x: x * 1000,
    "links in float64": lambda x: x.astype(np.float64),
    "no links": lambda x: None,
}


@pytest.mark.parametrize("what", LINKS)
def test_links_that_make_no_sense_are_refused(tmp_path, what):
    path = tmp_path / "model"
    MODELS["graph"]().save(path)
    meta, arrays = frame.decode(frame.read(path, "model"), "it")
    changed = LINKS[what](arrays["links"])
    arrays = {key: part for key, part in arrays.items() if key != "links"}
    frame.write(path, "model", frame.encode(meta, arrays | ({} if changed is None else {"links": changed})))
    with pytest.raises(vp.FileError, match="links"):
        vp.load(path)


CONSENSUS = [
    ("model", "consensus", "plain"),
    ("model", "consensus", "auto"),
    ("model", "asked", 13),
    ("model", "asked", 0),
    ("model", "asked", 2),
    ("model", "alpha", -1.0),
    ("plan", "consensus", "merge"),
    ("plan", "consensus", "none"),
    ("plan", "n_anchors", 0),
    ("plan", "n_clusters", 4),
]


@pytest.mark.parametrize(("part", "name", "value"), CONSENSUS, ids=str)
def test_a_consensus_must_fit_what_was_learnt(tmp_path, part, name, value):
    path = tmp_path / "model"
    MODELS["graph"]().save(path)

    def edit(meta):
        meta["learnt"]["learning"][part][name] = value

    path.write_bytes(edited(path.read_bytes(), edit))
    with pytest.raises(vp.FileError):
        vp.load(path)


WEIGHTS = [
    ("fractions as sample weights", lambda learning: learning["plan"].pop("weight_unit")),
    ("fractions as sample weights", lambda learning: learning["model"].pop("weight_unit")),
    ("fractions as sample weights", lambda learning: learning["model"].update(weight_unit=512)),
    ("fractions as sample weights", lambda learning: learning["model"].update(n_copies=3)),
    ("fractions as sample weights", lambda learning: learning["model"].pop("n_copies")),
    ("fractions as sample weights", lambda learning: learning["sample"]["chunk"].pop("weighted")),
    ("not solved yet, sample weights", lambda learning: learning["sample"]["chunk"].pop("weighted")),
]


@pytest.mark.parametrize(("name", "damage"), WEIGHTS)
def test_sample_weights_must_fit_what_was_learnt(tmp_path, name, damage):
    path = tmp_path / "model"
    MODELS[name]().save(path)
    path.write_bytes(edited(path.read_bytes(), lambda meta: damage(meta["learnt"]["learning"])))
    with pytest.raises(vp.FileError):
        vp.load(path)


def test_deep_nesting_is_refused(files, tmp_path):
    path = tmp_path / "model"
    deep = "[" * 100_000 + "]" * 100_000
    text = json.dumps({"__metadata__": {"viewpass": deep}}).encode()
    text += b" " * (-len(text) % 8)
    path.write_bytes(sealed(len(text).to_bytes(8, "little") + text))
    with pytest.raises(vp.FileError):
        vp.load(path)


def test_a_newer_format_names_both_versions(files, tmp_path):
    path = tmp_path / "model"
    content = bytearray(files[0])
    content[8:12] = (7).to_bytes(4, "little")
    path.write_bytes(content)
    with pytest.raises(vp.FileError, match=r"format version 7.* up to version 1"):
        vp.load(path)


def test_the_version_that_wrote_the_file_is_named_if_it_differs(files, tmp_path):
    path = tmp_path / "model"

    def edit(meta):
        meta["library"] = "9.0.0"
        meta["settings"]["novelty"] = 1

    path.write_bytes(edited(files[0], edit))
    with pytest.raises(vp.FileError, match=r"viewpass 9\.0\.0, this is"):
        vp.load(path)


@pytest.mark.parametrize("content", [b"", b"viewpass", b"PK\x03\x04", b"\x80\x04N."], ids=repr)
def test_other_files_are_refused(tmp_path, content):
    path = tmp_path / "model"
    path.write_bytes(content)
    with pytest.raises(vp.FileError):
        vp.load(path)


AUDIT = """
import sys
import viewpass as vp

def load_all():
    for file in sys.argv[1:]:
        try:
            vp.load(file)
        except vp.FileError:
            pass

load_all()
seen = []
sys.addaudithook(lambda event, given: seen.append((event, given[:1])))
load_all()
harmless = {"builtins.id", "object.__getattr__", "object.__setattr__"}
print(sum(e[0] == "open" for e in seen), [
    e for e in seen if e[0] not in harmless and not (e[0] == "open" and e[1][0] in sys.argv)
])
"""


@pytest.mark.system
def test_loading_imports_and_executes_nothing(files, tmp_path):
    paths = []
    for number, content in enumerate(files):
        paths += [tmp_path / f"{number}", tmp_path / f"{number}.damaged"]
        paths[-2].write_bytes(content)
        paths[-1].write_bytes(edited(content, lambda meta: meta.update(estimator="os.system")))
    command = [sys.executable, "-c", AUDIT, *map(str, paths)]
    loaded = subprocess.run(command, capture_output=True, text=True, check=True)
    assert loaded.stdout.strip() == f"{len(paths)} []"


@pytest.fixture(scope="module")
def wide():
    rng = np.random.default_rng(0)
    views = [rng.standard_normal((600, 800)), rng.standard_normal((600, 300)).astype(np.float32)]
    return small(n_clusters=300).fit(views)


@pytest.mark.parametrize("rows", [True, False], ids=["with its sample", "without"])
def test_loading_takes_less_than_twice_the_file(wide, tmp_path, rows):
    path = tmp_path / "model"
    wide.save(path, rows=rows)
    vp.load(path)
    size = path.stat().st_size
    assert size > 2e6
    tracemalloc.start()
    try:
        again = vp.load(path)
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert peak < 2 * size
    assert again.n_clusters == 300


def test_the_source_has_no_pickle_eval_or_exec():
    from pathlib import Path

    words = ("import pickle", "pickle.load", "eval(", "exec(", "marshal", "import joblib")
    for path in Path(vp.__file__).parent.rglob("*.py"):
        if path.parts[-2:] in (("engines", "tables.py"), ("ray", "engine.py")):
            continue  # messages between workers of a cluster, whose framework pickles functions, too
        text = path.read_text().replace("literal_eval(", "")
        assert not [word for word in words if word in text], path
