"""A segment under way: the native loop, and what its outcomes ask for."""
