"""Model files: readers and writers."""
