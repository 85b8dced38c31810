"""Recipes of the guide in libraries that are large to install: they run where these are there.

Those for Ray and Spark are in tests/engines/test_frames.py.
"""

from __future__ import annotations

import json
import re
import warnings
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import viewpass as vp
from clusters import made_rows

N = 300


@pytest.fixture(scope="module")
def items(tmp_path_factory):
    """A table, the path of a model of it, and its labels."""
    views = {
        f"v{v}": [None if np.isnan(row[0]) else row.tolist() for row in x]
        for v, x in enumerate(made_rows(N, widths=(6, 4)))
    }
    table = pa.table({"item": np.arange(N), **views})
    model = vp.ViewPass(3, random_state=0).fit(vp.scan(table, id="item"))
    path = tmp_path_factory.mktemp("model") / "model.viewpass"
    model.save(path)
    return table, path, model.labels_.tolist()


@pytest.mark.long
def test_datasets_map(items, tmp_path):
    datasets = pytest.importorskip("datasets", reason="Hugging Face datasets is not installed")
    table, path, labels = items
    pq.write_table(table, tmp_path / "items.parquet")
    dataset = datasets.Dataset.from_parquet(str(tmp_path / "items.parquet"), cache_dir=tmp_path / "cache")
    made = dataset.with_format("arrow").map(
        vp.BatchPredictor(path, keep=["item"]), batched=True, batch_size=64
    )
    assert made.with_format(None)["cluster"][:] == labels


@pytest.mark.long
def test_lance_add_columns(items, tmp_path):
    lance = pytest.importorskip("lance", reason="Lance is not installed")
    table, path, labels = items
    dataset = lance.write_dataset(table, tmp_path / "items.lance")
    label = vp.BatchPredictor(path, keep=[])
    schema = label(table.slice(0, 0)).schema
    dataset.add_columns(pa.RecordBatchReader.from_batches(schema, map(label, dataset.to_batches())))
    assert lance.dataset(tmp_path / "items.lance").to_table()["cluster"].to_pylist() == labels


WORDS = ("river trees water", "portrait woman chair", "colour square line", "boat sail harbour")


class Embedder:
    """Counts of words."""

    def encode(self, texts, show_progress_bar=None, **how):
        words = " ".join(WORDS).split()
        return np.array([[text.count(word) for word in words] for text in texts]) + 1e-3


@pytest.mark.long
def test_toponymy_names_anchors_and_cuts(monkeypatch):
    """The recipe of the guide, with a language model that answers by the words of the prompt."""
    monkeypatch.setenv("LITELLM_LOCAL_MODEL_COST_MAP", "True")  # nothing is downloaded
    rng = np.random.default_rng(0)
    topic = rng.integers(4, size=400)
    texts = [" ".join(rng.permutation([*WORDS[t].split(), f"no{i % 9}"])) for i, t in enumerate(topic)]
    embedded = Embedder().encode(texts) + 0.05 * rng.normal(size=(400, 12))
    image = np.eye(4)[topic] + 0.1 * rng.normal(size=(400, 4))
    settings = {"n_anchors": 16, "consensus": "graph", "scale": "unit", "random_state": 0}
    model = vp.ViewPass(4, **settings).fit({"text": embedded, "image": image})
    with warnings.catch_warnings(action="ignore"):
        pytest.importorskip("toponymy", reason="Toponymy is not installed")
        from toponymy.llm_wrappers import LLMWrapper

        class Stub(LLMWrapper):
            n_asked = 0

            def _call_llm(self, prompt, temperature, max_tokens):
                text = str(prompt)
                best = max(WORDS, key=lambda words: sum(text.count(word) for word in words.split()))
                self.n_asked += 1
                return json.dumps({"topic_name": f"{best} {self.n_asked}", "topic_specificity": 0.5})

            _call_llm_with_system_prompt = _call_llm

        given = {"language_model": Stub(), "embedder": Embedder(), "texts": texts, "embedded": embedded}
        names = {"model": model, **given}
        exec(recipe("toponymy"), names)
    found = names["names"]
    assert len(found) == 4
    right = [found[label].startswith(WORDS[t]) for label, t in zip(model.labels_, topic, strict=True)]
    assert np.mean(right) > 0.9


def recipe(word):
    """The block of the guide that imports a library."""
    guide = (Path(__file__).parents[3] / "docs" / "guide-tables.md").read_text()
    (block,) = re.findall(rf"```py\n([^`]*from {word} import[^`]*)```", guide)
    return block
