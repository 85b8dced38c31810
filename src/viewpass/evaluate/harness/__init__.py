"""The benchmark harness: methods on sets with views removed, cell by cell, and tables of the results."""
