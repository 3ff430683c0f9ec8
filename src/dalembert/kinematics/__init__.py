"""Maps of what a mechanism reaches."""
