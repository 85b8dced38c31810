"""Many machines: the chunks of W workers together are one chunk, to the bit."""
