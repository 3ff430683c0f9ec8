"""The description of a mechanism: bodies, joints, constraints, forces, inputs and parameters, by name."""
