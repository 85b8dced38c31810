"""Cases of a test with several arguments: every value of each, without all their combinations."""

from __future__ import annotations


def zipped(*lists):
    """As many cases as the longest list has values; shorter ones begin again. A tuple is several arguments.

    >>> zipped("abc", [1, 2])
    [('a', 1), ('b', 2), ('c', 1)]
    """
    lists = [list(values) for values in lists]
    cases = []
    for place in range(max(map(len, lists))):
        chosen = (values[place % len(values)] for values in lists)
        cases.append(tuple(value for one in chosen for value in (one if isinstance(one, tuple) else (one,))))
    return cases
