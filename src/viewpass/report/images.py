"""Small pictures of rows, from columns that hold data URIs or the paths of image files."""

from __future__ import annotations

import base64
import binascii
import io
import re
import warnings
from pathlib import Path
from typing import Any

SIDE = 72  # pixels
LARGEST = 2**25  # bytes of an image file
PIXELS = 50_000_000
FORMATS = ("PNG", "JPEG", "GIF", "WEBP", "BMP")
ENDINGS = (".png", ".jpg", ".jpeg", ".gif", ".webp", ".bmp")
DATA = re.compile(r"data:image/(?:png|jpeg|gif|webp|bmp);base64,", re.IGNORECASE)
BUDGET = 600_000  # characters of all pictures of a page


class Pictures:
    """Makes pictures as long as there is room; nothing is fetched, and nothing but pictures is decoded."""

    def __init__(self, budget: int = BUDGET) -> None:
        self._left = budget
        try:
            from PIL import Image
        except ImportError:
            self._image: Any = None
        else:
            self._image = Image

    def of(self, value: object) -> str | None:
        """The picture that a value stands for, as a data URI; None if it is something else."""
        if self._image is None or not isinstance(value, str) or self._left <= 0:
            return None
        given = _content(value)
        made = None if given is None else self._small(given)
        if made is None or len(made) > self._left:
            return None
        self._left -= len(made)
        return made

    def _small(self, given: bytes) -> str | None:
        try:
            with warnings.catch_warnings(), self._image.open(io.BytesIO(given), formats=FORMATS) as image:
                warnings.simplefilter("ignore")
                if image.size[0] * image.size[1] > PIXELS:
                    return None
                image.draft("RGB", (2 * SIDE, 2 * SIDE))
                image.thumbnail((SIDE, SIDE))
                out = io.BytesIO()
                image.convert("RGB").save(out, "JPEG", quality=70, optimize=True)
        except Exception:  # whatever a decoder makes of damaged bytes: then it is no picture
            return None
        return "data:image/jpeg;base64," + base64.b64encode(out.getvalue()).decode()


def _content(value: str) -> bytes | None:
    """The bytes of an image: decoded, or read from a local file."""
    start = DATA.match(value)
    if start is not None:
        try:
            return base64.b64decode(value[start.end() :], validate=True)
        except (binascii.Error, ValueError):
            return None
    if not value.lower().endswith(ENDINGS) or "://" in value or len(value) > 1000:
        return None
    try:
        path = Path(value)
        if path.is_file() and path.stat().st_size <= LARGEST:
            return path.read_bytes()
    except (OSError, ValueError):
        pass
    return None
