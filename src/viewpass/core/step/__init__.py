"""One chunk: assign its rows, accumulate them, update the centres."""
