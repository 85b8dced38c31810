"""Reading ahead: a thread produces the next items of an iterator while the current ones are processed."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from typing import Any, TypeVar

T = TypeVar("T")

DEPTH = 2
_END: Any = object()


def ahead(items: Iterator[T], depth: int = DEPTH) -> Iterator[T]:
    """Yield the same items, up to `depth` of which are produced in advance.

    An error is raised in place of the item that caused it. The thread ends with the items, with the
    generator (closed or collected), and with the interpreter, which waits for the item in progress.
    """
    thread = ThreadPoolExecutor(1, thread_name_prefix="viewpass-reader")
    coming: deque[Future[T]] = deque()
    try:
        for _ in range(depth):
            coming.append(thread.submit(next, items, _END))
        while (item := coming.popleft().result()) is not _END:
            coming.append(thread.submit(next, items, _END))
            yield item
    finally:
        thread.shutdown(wait=True, cancel_futures=True)
        if hasattr(items, "close"):
            items.close()
