"""Many runs at once: side by side in the lanes of a processor, on its cores, and beyond."""
