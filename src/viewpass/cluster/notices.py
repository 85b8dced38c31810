"""What a fit has to say about its data: warnings, each with the way out."""

from __future__ import annotations

from viewpass.core.model import Model
from viewpass.errors import warn

MANY = 0.01  # share of rows that are all zero in a view


def warn_of_zero_rows(model: Model, before: Model | None = None) -> None:
    """Warn of views in which many rows count as missing because they are all zero.

    `before`: the model before it learnt more rows; what held for it has been said already.
    """
    earlier = before.zero_rows if before is not None else {}
    for name, scale in zip(model.schema.names, model.scaling.names, strict=True):
        n_zero = model.zero_rows[name]
        if n_zero <= MANY * model.n_rows:
            continue
        if before is not None and earlier.get(name, 0) > MANY * before.n_rows:
            continue
        way = (
            "mark these rows as observed" if scale == "standard" else "mark them so and use scale='standard'"
        )
        warn(
            f"view {name!r}: {n_zero:,} of {model.n_rows:,} rows are all zero and count as missing, since a "
            f"row of zeros has no direction (scale {scale!r}). If they are missing, give NaN, None or "
            f"observed=False there to say so. If zeros are data (marks, counts), {way}: a dense view is then "
            "centred, and zero is a row like any other."
        )
