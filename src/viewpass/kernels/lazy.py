"""A property that is computed once for an object, without a lock.

Up to Python 3.11 `functools.cached_property` holds one lock for all objects of a class: threads wait for each
other, and a child forked while another thread holds it waits for ever. Two threads may compute a value twice
here, which is the same both times.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from functools import cached_property
else:

    class cached_property:  # noqa: N801 - known by this name
        """The first access computes the value and puts it in the place of the property."""

        def __init__(self, compute):
            self._compute = compute
            self.__doc__ = compute.__doc__

        def __set_name__(self, owner, name):
            self._name = name

        def __get__(self, instance, owner=None):
            if instance is None:
                return self
            return instance.__dict__.setdefault(self._name, self._compute(instance))


__all__ = ["cached_property"]
