import numpy as np
import pytest
from sklearn.datasets import load_digits

from viewpass.errors import DataError
from viewpass.evaluate.digits import digit_views


@pytest.fixture(scope="module")
def images():
    return load_digits().images


@pytest.fixture(scope="module")
def views(images):
    return digit_views(images)


def test_every_image_has_every_view(images, views):
    widths = {name: view.shape[1] for name, view in views.items()}
    assert widths == {"pixels": 64, "fourier": 39, "projections": 42, "gradients": 128}
    for view in views.values():
        assert len(view) == len(images)
        assert np.isfinite(view).all()
        assert (np.abs(view).sum(axis=1) > 0).all(), "an all-zero row would count as missing"


def test_an_image_is_viewed_by_itself(images, views):
    for name, view in digit_views(images[10:20]).items():
        np.testing.assert_array_equal(view, views[name][10:20])


def test_twice_the_ink_is_twice_every_view(images, views):
    for name, view in digit_views(2 * images).items():
        np.testing.assert_allclose(view, 2 * views[name], atol=1e-9)


def test_fourier_does_not_see_a_shift(images, views):
    shifted = np.roll(images, (3, -2), axis=(1, 2))
    np.testing.assert_allclose(digit_views(shifted)["fourier"], views["fourier"], atol=1e-9)


def test_projections_hold_all_the_ink_of_rows_and_columns(images, views):
    ink = images.sum(axis=(1, 2))
    np.testing.assert_allclose(views["projections"][:, :8].sum(axis=1), ink)
    np.testing.assert_allclose(views["projections"][:, 8:16].sum(axis=1), ink)


def test_a_transposed_image_swaps_rows_and_columns(images, views):
    swapped = digit_views(images.transpose(0, 2, 1))["projections"]
    np.testing.assert_allclose(swapped[:, :8], views["projections"][:, 8:16])
    np.testing.assert_allclose(swapped[:, 8:16], views["projections"][:, :8])


def test_gradients_do_not_see_an_even_grey(images, views):
    np.testing.assert_allclose(digit_views(images + 5)["gradients"], views["gradients"])


def test_gradients_know_their_direction():
    ramp = np.tile(np.arange(8.0), (8, 1))  # rises to the right, everywhere alike
    cells = digit_views([ramp])["gradients"].reshape(16, 8)
    np.testing.assert_allclose(cells, np.outer(np.full(16, 4.0), np.eye(8)[0]))


@pytest.mark.parametrize("shape", [(8, 8), (2, 8, 6), (2, 7, 7), (2, 2, 2)])
def test_other_shapes_are_refused(shape):
    with pytest.raises(DataError, match="even side"):
        digit_views(np.ones(shape))


def test_images_that_are_not_finite_are_named(images):
    broken = images[:5].copy()
    broken[3, 0, 0] = np.nan
    with pytest.raises(DataError, match="image 3"):
        digit_views(broken)
