"""A cluster that is started for a fit listens on loopback only, and leaves no process and no file behind."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

import psutil
import pytest

from clusters import made_rows, write_files
from everywhere import MARKS, check_installed

pytestmark = MARKS

SCRIPT = """
import json, sys
from ipaddress import ip_address
import psutil
import viewpass as vp
from viewpass.engines.clusters import connected

def tree():
    me = psutil.Process()
    return [me, *me.children(recursive=True)]

def listening(process):
    try:
        found = process.net_connections(kind="inet")
    except psutil.NoSuchProcess:
        return []
    return [one.laddr for one in found if one.status == psutil.CONN_LISTEN]

def abroad(address):
    given = ip_address(address)
    return not (getattr(given, "ipv4_mapped", None) or given).is_loopback

if __name__ == "__main__":
    engine, folder = sys.argv[1:]
    with connected(engine, None, 2) as cluster:
        model = vp.ViewPass(4, random_state=0)
        vp.distributed.fit(model, vp.scan(folder, id="item"), cluster.engine)
        processes = tree()
        ports = [(one.name(), *port) for one in processes for port in listening(one)]
    found = {"processes": [one.pid for one in processes[1:]], "ports": ports}
    found["abroad"] = [port for port in ports if abroad(port[1])]
    found["own"] = [port for port in listening(processes[0])]
    print(json.dumps(found))
"""


@pytest.fixture
def temporary(monkeypatch):
    """A folder for temporary files, with a short name: those of sockets may have 107 bytes."""
    folder = tempfile.mkdtemp(prefix="vp-")
    for name in ("TMPDIR", "TEMP", "TMP"):
        monkeypatch.setenv(name, folder)
    monkeypatch.setenv("JAVA_TOOL_OPTIONS", f"-Djava.io.tmpdir={folder}")
    yield Path(folder)
    shutil.rmtree(folder)


@pytest.mark.parametrize("engine", ["dask", "ray", "spark"])
def test_nothing_is_left_behind(engine, temporary, tmp_path):
    if engine != "dask":
        check_installed(engine)
    write_files(tmp_path / "files", made_rows(3000), (700, 1700))
    (tmp_path / "script.py").write_text(SCRIPT)
    ended = subprocess.run(
        [sys.executable, str(tmp_path / "script.py"), engine, str(tmp_path / "files")],
        stdout=subprocess.PIPE,
        check=True,
        timeout=300,
        env={**os.environ, "PYTHONPATH": os.pathsep.join(path for path in sys.path if path)},
    )
    found = json.loads(ended.stdout.splitlines()[-1])
    assert len(found["processes"]) >= 2
    assert found["ports"]
    assert not found["abroad"]
    assert not found["own"]  # closed with the cluster
    left = [psutil.Process(pid) for pid in found["processes"] if psutil.pid_exists(pid)]
    _, alive = psutil.wait_procs(left, timeout=20)
    assert not [one for one in alive if one.status() != psutil.STATUS_ZOMBIE]
    assert not sorted(temporary.iterdir())
