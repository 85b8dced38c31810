# ruff: noqa: T201
"""A server that has imported everything and forks a child for each command.

A command then starts in milliseconds, and is still a real process that can be killed. Run as a
script, it reads JSON requests from standard input and prints the child's process id, then its
exit code. `fault` names the step of writing that fails, and how; `block` the rows that are read at a time.
"""

from __future__ import annotations

import errno
import gc
import json
import os
import resource
import signal
import sys
import time
import traceback
from contextlib import contextmanager

STOPS = (signal.SIGINT, signal.SIGTERM)


def warm_up():
    """Import what commands import, and load the kernels, without starting a thread: forks would lose it."""
    import importlib
    import io
    import pkgutil
    from contextlib import redirect_stderr, redirect_stdout, suppress
    from functools import cache

    import jinja2  # noqa: F401
    import numpy as np
    import pyarrow.csv
    import pyarrow.dataset
    import pyarrow.ipc
    import pyarrow.parquet  # noqa: F401
    import sklearn.manifold  # noqa: F401
    import typer.main

    import viewpass.cli
    import viewpass.sources.arrow
    from viewpass import ViewPass
    from viewpass.report.summary import row_sample as row_reasons
    from viewpass.runs import summary

    # The same for every command, and as long to find as to cluster a thousand rows.
    typer.main.get_command = cache(typer.main.get_command)
    summary.version = cache(summary.version)
    for name in summary.LIBRARIES:
        summary.version(name)
    # Fewer sampled rows: what becomes of each is a matter of Python, and most of the time of a small run.
    row_reasons.ROWS = 300

    for package in (viewpass.cli, viewpass.sources.arrow):
        for module in pkgutil.iter_modules(package.__path__, package.__name__ + "."):
            importlib.import_module(module.name)
    with suppress(SystemExit), redirect_stdout(io.StringIO()), redirect_stderr(io.StringIO()):
        sys.argv = ["viewpass", "fit", "no such table", "-k", "3", "--out", "nowhere"]  # what typer imports
        viewpass.cli.main()

    rng = np.random.default_rng(0)
    views = [rng.standard_normal((200, 5)).astype(np.float32), rng.standard_normal((200, 4))]
    for consensus in ("plain", "graph"):
        ViewPass(3, sample_size=100, consensus=consensus, n_threads=1, random_state=0).fit(views)
    # A killed process does not lose what the system was given to write: waiting for the disk shows nothing.
    os.fsync = lambda file: None
    gc.collect()
    gc.freeze()  # else a child's garbage collector would copy every page


def inject(fault):
    """Let the n-th writing step of a kind go wrong: {"step", "number", "when", "how"}."""
    from viewpass.labels import staging
    from viewpass.report import page
    from viewpass.sources.arrow.chunks import ArrowSource
    from viewpass.store.container import files, frame

    seen = 0

    def strike(when):
        if when == fault["when"] and seen == fault["number"]:
            if fault["how"].startswith("SIG"):
                for _ in range(fault.get("times", 1)):
                    os.kill(os.getpid(), getattr(signal, fault["how"]))
                    time.sleep(0.01)  # or the next would count as the same
                return
            raise OSError(getattr(errno, fault["how"]), os.strerror(getattr(errno, fault["how"])))

    def wrapped(function):
        def call(*given):
            nonlocal seen
            seen += 1
            strike("before")
            result = function(*given)
            strike("after")
            return result

        return call

    step = fault["step"]
    if step in ("sync", "rename", "sync_folder"):
        setattr(files, step, wrapped(getattr(files, step)))
    elif step == "append":
        staging.write = wrapped(staging.write)
    elif step == "chunk":  # not a write: when so many chunks have been read
        chunks = ArrowSource.chunks

        def striking(self, *given):
            nonlocal seen
            for chunk in chunks(self, *given):
                seen += 1
                strike("before")
                yield chunk

        ArrowSource.chunks = striking
    else:  # the temporary file

        class Torn:
            def __init__(self, file):
                self.file = file

            def write(self, content):
                nonlocal seen
                seen += 1
                strike("before")
                self.file.write(content[: len(content) // 2])
                self.file.flush()
                strike("amid")
                self.file.write(content[len(content) // 2 :])
                self.file.flush()
                strike("after")

        writer = page if step == "page" else frame  # of the report, or of models and checkpoints
        replacing = writer.replacing

        @contextmanager
        def torn(*given):
            with replacing(*given) as file:
                yield Torn(file)

        writer.replacing = torn


def read_in_blocks(n_rows):
    """Read and label so few rows at a time: a small table then takes as many steps as a large one."""
    from viewpass.labels import writing as label_file
    from viewpass.runs import work
    from viewpass.sources import source

    source.READ_ROWS = work.BLOCK = label_file.CHUNK = n_rows


def child(request):
    """Become the command."""
    for number, name in ((1, "stdout"), (2, "stderr")):
        os.dup2(os.open(request[name], os.O_WRONLY | os.O_CREAT | os.O_TRUNC), number)
    if request.get("largest"):
        resource.setrlimit(resource.RLIMIT_FSIZE, (request["largest"],) * 2)
    if request.get("nobody") and os.getuid() == 0:
        from viewpass.sources.scan import scan

        next(scan(request["nobody"]).chunks(100))  # whatever else must be imported, while it can be
        os.setuid(65534)
    if request.get("block"):
        read_in_blocks(request["block"])
    if request.get("fault"):
        inject(request["fault"])
    sys.argv = ["viewpass", *request["argv"]]
    from viewpass.cli import main
    from viewpass.cli.stopping import signals

    signals.take_over()
    signal.pthread_sigmask(signal.SIG_UNBLOCK, STOPS)
    code = 1
    try:
        main()
    except SystemExit as end:
        code = end.code if isinstance(end.code, int) else int(bool(end.code))
    except Exception:
        traceback.print_exc()
    finally:
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(code)


def serve():
    warm_up()
    signal.pthread_sigmask(signal.SIG_BLOCK, STOPS)  # until a child has become the command
    print("ready", flush=True)
    for line in sys.stdin:
        pid = os.fork()
        if pid == 0:
            try:
                child(json.loads(line))
            finally:
                os._exit(99)
        print(pid, flush=True)
        print(os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]), flush=True)


if __name__ == "__main__":
    serve()
