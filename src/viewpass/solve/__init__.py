"""From a sample to a model: everything that is chosen is chosen here."""
