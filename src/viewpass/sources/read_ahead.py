"""Reading ahead: the next items are made in a thread of their own while the last ones are used."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from typing import Any, TypeVar

T = TypeVar("T")

DEPTH = 2
_END: Any = object()


def ahead(items: Iterator[T], depth: int = DEPTH) -> Iterator[T]:
    """The same items, of which up to `depth` are made before they are asked for.

    An error comes where the item would have. The thread ends with the items, with the generator
    (closed or forgotten), and with the interpreter, which waits for the item being made.
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
