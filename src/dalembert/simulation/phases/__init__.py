"""Runs whose structure changes: constraints that open and close, contacts, stops, dry friction.

Between two changes a run is a phase: a simulation of a system with some of the constraints, native and to the end or to
an event. What happens in between is decided here: switches, impacts, and which contacts bear and stick.
"""
