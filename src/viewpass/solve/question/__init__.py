"""The question that decides what the settings leave open: how well hidden views are predicted."""
