"""Singular configurations on the way of a motion, in the order of the page docs/theory/singular_passages.md."""
