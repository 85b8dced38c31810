"""What survives: the model file, the checkpoint, the label sink."""
