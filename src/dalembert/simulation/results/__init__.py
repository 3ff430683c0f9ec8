"""What is left of a run: its states, histories by name, evidence, and sentences about it."""
