"""Camber and toe of a double wishbone over its travel, from fifteen hard points in a file."""

from pathlib import Path

import numpy as np

import dalembert as da

m = da.Mechanism("double wishbone", gravity=(0, 0, -9.81))
p = m.add_points(Path(__file__).with_name("hard_points.csv"), unit="mm", parameters=["tie rod ball", "uca ball"])
lower = m.add_body("lower arm", mass=4.0, com=p["lca centre"], inertia=(0.05, 0.02, 0.05))
upper = m.add_body("upper arm", mass=2.0, com=p["uca centre"], inertia=(0.02, 0.01, 0.02))
knuckle = m.add_body("knuckle", mass=30.0, com=p["knuckle centre"], inertia=(0.6, 0.9, 0.6))
m.add_joint("lower", "revolute", m.ground, lower, axis=("lca rear", "lca front"))
m.add_joint("upper", "revolute", m.ground, upper, axis=("uca rear", "uca front"))
m.add_joint("lower ball", "spherical", lower, knuckle, at="lca ball")
m.add_joint("upper ball", "spherical", upper, knuckle, at="uca ball")
m.add_rod("tie rod", m.ground, knuckle, at=("rack end", "tie rod ball"))
m.add_spring("damper", m.ground.at("damper top"), lower.at("damper foot"), stiffness=3.5e4, rest_length=0.5)
m.add_frame("wheel", knuckle, at="wheel centre")
system = m.compile()
travel = system.sweep({"lower": np.radians(np.linspace(-12, 12, 25))}, system.state())
height, axle = travel.position("wheel")[:, 2] - 0.3, travel.rotation("wheel")[:, :, 1]
camber, toe = np.degrees(np.arcsin(axle[:, 2])), np.degrees(np.arctan2(-axle[:, 0], axle[:, 1]))
print("\n".join(f"{1e3 * z:8.1f} mm   camber {c:6.2f}°   toe {t:6.2f}°" for z, c, t in zip(height, camber, toe)))
