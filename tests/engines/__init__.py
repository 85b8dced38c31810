"""A package, so that its clusters end before the tests of other folders start theirs."""
