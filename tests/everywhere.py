"""The engines that laws are tested on, and how each is started on this machine, with two workers."""

from __future__ import annotations

import os
import re
import shutil
import signal
import sys
from contextlib import ExitStack, contextmanager
from pathlib import Path

import pytest

ENGINES = ["pool", "dask", "ray", "spark"]
MARKS = [
    pytest.mark.system,
    # Those of Ray, Spark and what they use, about themselves.
    *(
        pytest.mark.filterwarnings(f"ignore::{kind}:{module}.*")
        for kind in ("DeprecationWarning", "FutureWarning", "UserWarning", "ResourceWarning")
        for module in ("ray", "pyspark", "py4j", "subprocess", "socket")
    ),
    pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning"),
]
PAGE = Path(__file__).parents[1] / "docs" / "engines.md"


class Clusters:
    """One small cluster of each kind, started when it is first asked for."""

    def __init__(self, client):
        self._client, self._open, self._found = client, ExitStack(), {}

    def __getitem__(self, name):
        if name not in self._found:
            self._found[name] = self._open.enter_context(started(name, self._client))
        return self._found[name]

    def close(self):
        self._open.close()


@contextmanager
def started(name, client=lambda: None):
    """What makes an engine of a source."""
    if name == "pool":
        yield pool_of_the_page()
        return
    if name == "dask":
        from viewpass.engines.dask.engine import DaskEngine
        from viewpass.engines.dask.workers import Workers

        workers = Workers(client())
        yield lambda source: DaskEngine(workers, source)
        return
    check_installed(name)
    os.environ["PYTHONPATH"] = os.pathsep.join(path for path in sys.path if path)
    from viewpass.engines.clusters import connected

    with connected(name, None, 2) as cluster:
        yield cluster.engine


def check_installed(name):
    """Skip where the library is not installed: `make test` and `make test-system` do not install it."""
    pytest.importorskip(
        {"ray": "ray.data", "spark": "pyspark"}[name], reason=f"{name} is not installed: make test-engines"
    )
    if name == "spark" and shutil.which("java") is None:
        pytest.skip("Spark needs Java, which is not installed")


def pool_of_the_page():
    """The engine that docs/engines.md shows."""
    code = re.search(r"^```python\n(.*?)^```$", PAGE.read_text(), re.MULTILINE | re.DOTALL)[1]
    namespace = {"__name__": "page"}
    exec(code, namespace)
    return namespace["Pool"]


class Deadly:
    """A task whose worker is killed (SIGKILL) once, after some of its rows were read."""

    def __init__(self, name, sign, row=4000):
        self.__name__, self.sign, self.row = name, sign, row

    def __call__(self, chunks, **given):
        from viewpass.engines import partitions

        return getattr(partitions, self.__name__)(self.read(chunks), **given)

    def read(self, chunks):
        for chunk in chunks:
            if chunk.start >= self.row and not self.sign.exists():
                self.sign.touch()
                os.kill(os.getpid(), signal.SIGKILL)
            yield chunk
