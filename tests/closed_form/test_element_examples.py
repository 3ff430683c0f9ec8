"""Every example of `examples/elements.py` gives the number of its formula, and its picture shows the element."""

import runpy
from pathlib import Path

import numpy as np
import pytest

import dalembert as da
from dalembert import view
from dalembert.view.faces import faces

ELEMENTS = runpy.run_path(str(Path(__file__).parents[2] / "examples" / "elements.py"))["ELEMENTS"]


@pytest.mark.parametrize("name", ELEMENTS)
def test_an_element_gives_what_its_formula_says(name):
    system, state, found, exact = ELEMENTS[name]()
    assert found == pytest.approx(exact, rel=1e-6 if name == "one way clutch" else 1e-9)
    scene = view.scene(system, state.q)
    bare = system.layout.mechanism.copy()
    for part in (bare.forces, bare.constraints, bare.contacts, bare.inputs):
        part.clear()
    without = view.scene(bare.compile("casadi"), state.q)
    parts = [sum(len(b.solids) for b in s.bodies) + len(s.links) for s in (scene, without)]
    assert all(np.isfinite(f).all() for b in scene.bodies for solid in b.solids for f in faces(solid))
    kinds = [sorted(solid.kind for b in s.bodies for solid in b.solids) for s in (scene, without)]
    if name not in ("differential", "cam and follower"):  # their discs are all there is to see
        assert parts[0] > parts[1] or kinds[0] != kinds[1]


@pytest.mark.parametrize("ratio", [0.5, -1.0, 3.0])
@pytest.mark.parametrize("tilt", [90.0, 60.0, 105.0])
def test_wheels_of_bevel_gears_touch_and_are_as_large_as_their_ratio_says(ratio, tilt):
    m = da.Mechanism("bevel", gravity=(0, 0, 0))
    for name, axis, far in (("a", da.rotation("x", 0.0), 0.1), ("b", da.rotation("y", np.radians(tilt)), 0.3)):
        body = m.add_body(name, mass=1.0, inertia=(1, 1, 1))
        m.add_joint(name, da.Revolute("z"), m.ground.at(axis[:, 2] * far, rotation=axis), body)
    m.add_gear("mesh", "a", "b", ratio=ratio)
    scene = view.scene(m.compile("casadi"))
    poses = view.motion(m.compile("casadi"), np.zeros(2))[0]
    wheels = {}
    for k, body in enumerate(scene.bodies):
        for solid in body.solids:
            if solid.kind == "wheel":
                R = da.rotation("x", 0.0) if body.name == "a" else da.rotation("y", np.radians(tilt))
                turn = np.linspace(0, 2 * np.pi, 1441)
                rim = solid.size[0] * np.array([np.cos(turn), np.sin(turn), 0 * turn])
                wheels[body.name] = solid.size[0], (R @ (solid.T.R @ rim + solid.T.p[:, None])).T + poses[k, :3]
    (ra, one), (rb, other) = wheels["a"], wheels["b"]
    assert rb / ra == pytest.approx(abs(ratio), rel=1e-12)
    gap = np.linalg.norm(one[:, None] - other[None], axis=2).min()
    assert gap < 1e-3 * max(ra, rb)


def test_shafts_behind_each_other_are_seen_from_the_side():
    """Along their axis only the first would be seen; a wheel alone, or parallel ones, are seen in their plane."""
    for places, planar in (([(0, 0, 0), (0, 0, 1)], False), ([(0, 0, 0), (1, 0, 1)], True), ([(0, 0, 0)], True)):
        m = da.Mechanism("shafts", gravity=(0, 0, 0))
        for k, place in enumerate(places):
            m.add_joint(f"{k}", da.Revolute("z"), m.ground.at(place), m.add_body(f"{k}", mass=1.0, inertia=(1, 1, 2)))
        assert view.scene(m.compile("casadi")).planar is planar


def test_a_strut_is_a_bar_and_ends_of_a_stroke_are_not_drawn():
    m = da.Mechanism("arm", gravity=(0, -9.81, 0))
    bar = m.add_body("bar", mass=1.0, com=(0.5, 0, 0), inertia=da.rod_inertia(1.0, 1.0))
    m.add_joint("A", da.Revolute("z"), m.ground, bar)
    m.add_actuator("ram", m.ground.at(0.2, -0.5), bar.at(0.7), stroke=(0.3, 0.9))
    m.add_strut("prop", m.ground.at(0, -0.5), bar.at(0.5))
    m.add_muscle("flexor", [m.ground.at(0, 0.5), bar.at(0.3)], strength=10.0, optimal_length=0.5)
    scene = view.scene(m.compile("casadi"))
    assert {link.name: link.kind for link in scene.links} == {"ram": "actuator", "prop": "rod", "flexor": "muscle"}
