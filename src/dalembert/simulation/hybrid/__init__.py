"""Runs whose structure changes: constraints that open and close, contacts, stops, dry friction.

Between two changes a run is a segment: a simulation of a system with some of the constraints, native and to the end or
to a guard. A transition leads from one to the next: switches, impacts, and which contacts bear, stick and slide.
"""
