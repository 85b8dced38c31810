"""Loaders of the paper's data sets from their public files, and generated data of the same shapes."""

from __future__ import annotations

from viewpass.evaluate.data.digit import load_digit
from viewpass.evaluate.data.reuters import load_reuters
from viewpass.evaluate.data.synthetic import SHAPES, Shape, make_like
from viewpass.evaluate.data.webkb import load_webkb
from viewpass.evaluate.data.youtube import load_youtube

__all__ = ["SHAPES", "Shape", "load_digit", "load_reuters", "load_webkb", "load_youtube", "make_like"]
