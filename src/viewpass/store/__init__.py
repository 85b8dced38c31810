"""Files that viewpass writes: models, checkpoints, labels, and the folder of a run."""
