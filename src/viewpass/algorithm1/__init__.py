"""Algorithm 1 of the paper, as published: the streaming driver, and its first centres."""
