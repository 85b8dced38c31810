"""A property that is computed once, and that no fork can leave locked."""

from __future__ import annotations

import os
import threading
from dataclasses import dataclass

import pytest

from viewpass.kernels.threads import cached_property


@dataclass(frozen=True)
class Box:
    value: int
    times: list

    @cached_property
    def twice(self):
        """Two times the value."""
        self.times.append(1)
        return 2 * self.value


class Slow:
    def __init__(self):
        self.begun, self.go_on = threading.Event(), threading.Event()

    @cached_property
    def value(self):
        self.begun.set()
        self.go_on.wait(60)
        return 1


def test_it_is_computed_once_for_each_object():
    boxes = [Box(value, []) for value in (3, 4)]
    assert [box.twice for box in (*boxes, *boxes)] == [6, 8, 6, 8]
    assert [len(box.times) for box in boxes] == [1, 1]
    assert Box.twice.__doc__ == "Two times the value."


@pytest.fixture
def quick():
    """An object whose value can be computed while another thread computes that of a slow one."""
    slow, quick = Slow(), Slow()
    quick.go_on.set()
    beside = threading.Thread(target=lambda: slow.value)
    beside.start()
    assert slow.begun.wait(60)
    yield quick
    slow.go_on.set()
    beside.join()


def test_threads_do_not_wait_for_each_other(quick):
    assert quick.value == 1


@pytest.mark.system
@pytest.mark.skipif(not hasattr(os, "fork"), reason="there are no forks here")
@pytest.mark.filterwarnings("ignore:.*multi-threaded.*fork:DeprecationWarning")
def test_a_child_forked_while_it_is_computed_can_compute(quick):
    pid = os.fork()
    if pid == 0:
        threading.Timer(30, os._exit, [1]).start()  # it hangs
        os._exit(quick.value - 1)
    assert os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) == 0
