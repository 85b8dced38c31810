"""Cluster arrays whose rows lack some views, and label rows by whichever views they have.

Run it as it is: python examples/arrays_with_gaps.py
The data is scikit-learn's handwritten digits in four views, of which 30 % are removed.
"""

import numpy as np
from sklearn.datasets import load_digits

import viewpass as vp
from viewpass.evaluate import make_mask, nmi
from viewpass.evaluate.digits import digit_views

digits = load_digits()
order = np.random.default_rng(0).permutation(len(digits.target))
views, classes = digit_views(digits.images[order]), digits.target[order]

observed = make_mask("paper", len(classes), len(views), 0.3, random_state=0)
for view, seen in zip(views.values(), observed.T, strict=True):
    view[~seen] = np.nan  # a row of NaN is a missing view

model = vp.ViewPass(n_clusters=10, random_state=0).fit(views)
print(f"{(~observed).any(axis=1).mean():.0%} of {len(classes)} rows lack a view")
print(f"agreement with the digits written (NMI): {nmi(classes, model.labels_):.2f}")
for choice in model.choices_:
    print("chosen,", choice)

whole = digit_views(digits.images[order])
pixels = model.predict({"pixels": whole["pixels"]})  # only one of the four views
print(f"agreement from the pixels alone: {nmi(classes, pixels):.2f}")
