"""Times beside those of other tools, measured in one run."""
