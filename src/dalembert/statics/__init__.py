"""Forces at rest: load cases, stiffness, bounds."""
