"""Cluster data frames of different rows: they are matched by id, and an absent id is a missing view.

Run it as it is: python examples/frames_by_id.py (needs pandas)
The data is scikit-learn's wine: thirteen measurements of 178 wines, as if made by three laboratories.
"""

import pandas as pd
from sklearn.datasets import load_wine

import viewpass as vp
from viewpass.evaluate import accuracy

wine = load_wine(as_frame=True)
wines = wine.data.rename(index="wine{}".format)
laboratories = {
    "basic": ["alcohol", "malic_acid", "ash", "alcalinity_of_ash", "magnesium", "proline"],
    "phenols": ["total_phenols", "flavanoids", "nonflavanoid_phenols", "proanthocyanins"],
    "colour": ["color_intensity", "hue", "od280/od315_of_diluted_wines"],
}
# Each laboratory measured another part of the wines, and lists them in an order of its own.
tables = {
    name: wines[columns].sample(frac=0.7, random_state=seed)
    for seed, (name, columns) in enumerate(laboratories.items())
}

cohort = vp.frames(tables)  # by the index; id="column" for a column
model = vp.ViewPass(n_clusters=3, scale="standard", random_state=0).fit(cohort)
found = pd.DataFrame(
    {"cluster": model.labels_, "sure": model.confidence(cohort).round(2)}, index=model.row_ids_
)
found["laboratories"] = sum(found.index.isin(table.index).astype(int) for table in tables.values())

truth = wine.target.set_axis(wines.index)[found.index]
print(len(found), "wines of", len(wines), "were measured by one laboratory or more")
print(f"in the right one of three cultivars: {accuracy(truth, found['cluster']):.0%}")
print(found.groupby("laboratories").agg(wines=("sure", "size"), sure=("sure", "mean")).round(2))
