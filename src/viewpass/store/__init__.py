"""What survives: model files, checkpoints, label files, the folder of a run."""
