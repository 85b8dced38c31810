"""Four views of small grey images, such as scikit-learn's handwritten digits."""

from __future__ import annotations

from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt

from viewpass.errors import DataError

Floats: TypeAlias = npt.NDArray[np.float64]

DIRECTIONS = 8  # of a gradient
CELL = 2  # side of the squares whose gradients are summed


def digit_views(images: npt.ArrayLike) -> dict[str, Floats]:
    """Compute four views of each image: pixels, frequencies, projections and gradients.

    Parameters
    ----------
    images : array-like of shape (n_images, side, side)
        Grey values, 0 where there is no ink. The side must be even.

    Returns
    -------
    dict of str to numpy.ndarray of shape (n_images, n_columns)
        "pixels": the image itself. "fourier": the amplitude of each frequency, which does not
        change under circular shifts.

        "projections": sums along rows, columns and both diagonals. "gradients": gradient magnitude
        in each of eight directions, for every square of 2 x 2 pixels.

    Raises
    ------
    DataError
        If the images are not square with an even side, or not finite numbers.

    Examples
    --------
    >>> from sklearn.datasets import load_digits
    >>> from viewpass.evaluate.digits import digit_views
    >>> {name: view.shape[1] for name, view in digit_views(load_digits().images).items()}
    {'pixels': 64, 'fourier': 39, 'projections': 42, 'gradients': 128}
    """
    ink = _checked(images)
    return {
        "pixels": ink.reshape(len(ink), -1),
        "fourier": _fourier(ink),
        "projections": _projections(ink),
        "gradients": _gradients(ink),
    }


def _checked(images: npt.ArrayLike) -> Floats:
    ink: npt.NDArray[Any] = np.asarray(images, dtype=np.float64)
    if ink.ndim != 3 or ink.shape[1] != ink.shape[2] or ink.shape[1] < 4 or ink.shape[1] % CELL:
        raise DataError(
            f"images has shape {ink.shape}. Pass square images with an even side of 4 or more: "
            "(n_images, side, side)."
        )
    if not np.isfinite(ink).all():
        image = int(np.flatnonzero(~np.isfinite(ink).all(axis=(1, 2)))[0])
        raise DataError(f"images, image {image}: not all values are finite. Drop or correct it.")
    return ink


def _fourier(ink: Floats) -> Floats:
    amplitudes = np.abs(np.fft.rfft2(ink)).reshape(len(ink), -1)
    return amplitudes[:, 1:]  # the first is the sum of all values, which would dominate the others


def _projections(ink: Floats) -> Floats:
    side = ink.shape[1]
    diagonals = range(2 - side, side - 1)  # without the corners, which are single pixels
    mirrored = ink[:, :, ::-1]
    sums = [ink.sum(axis=1), ink.sum(axis=2)]
    for image in (ink, mirrored):
        lines = [image.trace(offset, axis1=1, axis2=2) for offset in diagonals]
        sums.append(np.stack(lines, axis=1))
    return np.concatenate(sums, axis=1)


def _gradients(ink: Floats) -> Floats:
    n_images, side, _ = ink.shape
    down, right = np.gradient(ink, axis=(1, 2))
    turns = np.arctan2(down, right) / (2 * np.pi)
    direction = np.floor(turns * DIRECTIONS).astype(np.int64) % DIRECTIONS
    steepness = np.hypot(down, right)[..., np.newaxis]
    spread = np.where(direction[..., np.newaxis] == np.arange(DIRECTIONS), steepness, 0.0)
    cells = side // CELL
    squares = spread.reshape(n_images, cells, CELL, cells, CELL, DIRECTIONS)
    return np.asarray(squares.sum(axis=(2, 4)).reshape(n_images, -1))
