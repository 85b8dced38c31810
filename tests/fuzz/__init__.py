"""Fuzzing: random damage to what the product reads, for as long as one likes (`make fuzz MINUTES=10`).

A target is a module of this package with `trial(random, folder)`, which makes one mutant from the generator
`random` in `folder`, drives the product with it, and raises AssertionError with a line that says what was
wrong. Any other exception that leaves `trial` is a finding too; so are a process that dies, a trial that uses
more than `SECONDS` of processor time, and one that takes more than `MEMORY` bytes. `prepare(folder)`, where
there is one, is called once per process: what it leaves in `folder` stays, what a trial leaves is removed.

Each trial has a seed of its own: `--only target --seed N --count 1` repeats a finding.
"""
