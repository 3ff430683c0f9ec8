"""Files that are whole, and locks that end with their process."""
