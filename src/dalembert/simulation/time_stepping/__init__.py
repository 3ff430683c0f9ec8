"""Runs by time stepping: contacts, stops, ropes and friction at velocity level, with fixed steps (Moreau and Jean)."""
