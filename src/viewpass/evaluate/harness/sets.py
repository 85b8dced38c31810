"""Sets by name or path, and masks: which rows a method gets, in which order, without which views."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse

from viewpass.errors import DataError
from viewpass.evaluate.data import load_digit, load_reuters, load_webkb, load_youtube, make_like
from viewpass.evaluate.data.files import folder_of
from viewpass.evaluate.protocols import make_mask
from viewpass.kernels.grid import Array, Integers, Mask
from viewpass.sources.bundle import Bundle, load_bundle
from viewpass.sources.mat import load_mat

LOADERS = {"digit": load_digit, "webkb": load_webkb, "reuters": load_reuters, "youtube": load_youtube}
READERS: dict[str, Callable[[str | Path], Bundle]] = {".npz": load_bundle, ".mat": load_mat}


def load_set(name: str, folder: str | None = None) -> Bundle:
    """A set by name or path; the last ones stay in memory until their files change.

    A path ends in .npz or .mat. A name is one of the loaders, a file of the data folder without its
    ending, `made NAME` or `made NAME ROWS` (`make_like`), or `noise ROWSxVIEWSxCOLUMNS`.
    `[view,view]` after it takes these views only.
    """
    chosen = re.fullmatch(r"(.+)\[(.+)\]", name)
    if chosen:
        whole, names = load_set(chosen[1], folder), [part.strip() for part in chosen[2].split(",")]
        for view in names:
            if view not in whole.views:
                raise DataError(f"{chosen[1]} has no view {view!r}; its views are {', '.join(whole.views)}.")
        places = [list(whole.views).index(view) for view in names]
        observed = None if whole.observed is None else whole.observed[:, places]
        return Bundle({view: whole.views[view] for view in names}, whole.labels, observed)
    bundle = _loaded(name, folder, _stamp(name, folder))
    if bundle.labels is None:
        raise DataError(f"{name} has no classes to compare with. A benchmark needs them: labels, Y, gt ...")
    return bundle


def set_title(name: str) -> str:
    """The name of a set in tables and masks: that of its file, without folder and ending.

    >>> set_title("sets/handwritten.mat"), set_title("made digit 120"), set_title("mfeat.npz[fou,pix]")
    ('handwritten', 'made digit 120', 'mfeat[fou,pix]')
    """
    return re.sub(r"\.(npz|mat)(?=$|\[)", "", Path(name).name, flags=re.IGNORECASE)


def _file(name: str, folder: str | None) -> Path | None:
    """The file of a set that is one."""
    if Path(name).suffix.lower() in READERS:
        return Path(name)
    paths = (folder_of(folder) / f"{name}{ending}" for ending in READERS)
    return None if name in LOADERS else next((path for path in paths if path.exists()), None)


def _stamp(name: str, folder: str | None) -> tuple[Any, ...]:
    path = _file(name, folder)
    if path is None or not path.exists():
        return (folder_of(folder).absolute(),)
    return path.absolute(), path.stat().st_mtime_ns, path.stat().st_size


@lru_cache(maxsize=2)
def _loaded(name: str, folder: str | None, stamp: tuple[Any, ...]) -> Bundle:
    word, _, rest = name.partition(" ")
    if word == "made" and rest:
        like, _, n_rows = rest.partition(" ")
        return make_like(like, int(n_rows) if n_rows else None)
    if word == "noise":
        n_noise, n_views, width = map(int, rest.split("x"))
        rng = np.random.default_rng(0)
        views = {f"v{v}": rng.standard_normal((n_noise, width), dtype=np.float32) for v in range(n_views)}
        return Bundle(views, np.zeros(n_noise, dtype=np.int64))
    if name in LOADERS:
        return LOADERS[name](folder)
    if (path := _file(name, folder)) is not None:
        return READERS[path.suffix.lower()](path)
    raise DataError(
        f"{name}: no such set. Give a path (.npz, .mat), a name in {folder_of(folder)} (set VIEWPASS_DATA "
        f"or --data), or one of {', '.join(LOADERS)}."
    )


def set_digest(name: str, folder: str | None) -> str:
    """A hash of what a set holds; a made set is known by its name."""
    if name.startswith(("made ", "noise ")):
        return name
    return _digest(name, folder, _stamp(name.partition("[")[0], folder))


@lru_cache(maxsize=64)
def _digest(name: str, folder: str | None, stamp: tuple[Any, ...]) -> str:
    bundle, found = load_set(name, folder), hashlib.sha256()
    for view in bundle.views.values():
        parts = (view.data, view.indices, view.indptr) if scipy.sparse.issparse(view) else (view,)
        for part in parts:
            found.update(np.ascontiguousarray(part).tobytes())
    for array in (bundle.labels, bundle.observed):
        found.update(b"" if array is None else np.ascontiguousarray(array).tobytes())
    return found.hexdigest()[:16]


@dataclass(frozen=True)
class Removed:
    """A mask: the numbers of the rows in the order that methods get them, and the views they keep."""

    rows: Integers
    observed: Mask

    @property
    def sha256(self) -> str:
        """Identifies the mask, whatever file holds it."""
        rows, mask = self.rows.astype("<i8").tobytes(), self.observed.astype(np.uint8).tobytes()
        return hashlib.sha256(rows + mask).hexdigest()

    def write(self, path: Path) -> None:
        """Write it as npz."""
        path.parent.mkdir(parents=True, exist_ok=True)
        new = path.with_suffix(".new.npz")
        np.savez_compressed(new, rows=self.rows, observed=self.observed)
        new.replace(path)

    @classmethod
    def read(cls, path: Path) -> Removed:
        """Read it."""
        try:
            with np.load(path, allow_pickle=False) as file:
                return cls(file["rows"], file["observed"])
        except (OSError, KeyError, ValueError) as problem:
            raise DataError(f"{path} is not a mask of a benchmark: {problem}.") from problem


def draw(
    bundle: Bundle, protocol: str, rate: float, seed: int, n_rows: int = 0, *, shuffle: bool = True
) -> Removed:
    """Order the rows and remove views; `n_rows`: only as many. Views a set lacks by itself stay missing."""
    rng = np.random.default_rng([seed, round(100 * rate)])
    rows = rng.permutation(bundle.n_rows) if shuffle else np.arange(bundle.n_rows)
    rows = rows[:n_rows] if n_rows else rows
    before = None if bundle.observed is None else bundle.observed[rows]
    assert bundle.labels is not None
    shape = len(rows), len(bundle.views)
    if rate == 0 and before is not None:
        return Removed(rows, before)
    return Removed(rows, make_mask(protocol, *shape, rate, rng, labels=bundle.labels[rows], observed=before))


def hidden(bundle: Bundle, removed: Removed) -> list[Any]:
    """The views in the order of the mask; what it hides is NaN, or empty in sparse views."""
    n_rows, n_views = bundle.n_rows, len(bundle.views)
    if removed.observed.shape != (len(removed.rows), n_views) or removed.rows.max(initial=0) >= n_rows:
        raise DataError(
            f"the mask has {removed.observed.shape} rows x views, up to row {removed.rows.max(initial=0)}; "
            f"the set has {n_rows} x {n_views}. Give the masks of this set, or another folder."
        )
    return [
        _blanked(view[removed.rows], ~seen)
        for view, seen in zip(bundle.views.values(), removed.observed.T, strict=True)
    ]


def _blanked(view: Any, absent: Array) -> Any:
    if scipy.sparse.issparse(view):
        return scipy.sparse.csr_array(scipy.sparse.diags_array((~absent).astype(view.dtype)) @ view)
    rows = np.array(view, dtype=view.dtype if view.dtype.kind == "f" else np.float64)
    rows[absent] = np.nan
    return rows
