"""Model files with points, joints between bodies in any order, units: what a person would write."""

import numpy as np
import pytest

import dalembert as da

TEXT = """
dalembert: 1
name: corner
points:
  li: [120mm, 350mm, 200mm]
  lr: [-120mm, 36cm, 0.21]
  lo: [0, 0.70, 0.18]
  ui: [0.10, 0.42, 0.44]
  ur: [-0.10, 0.42, 0.45]
  uo: [-0.02, 0.66, 0.46]
  ti: [0.12, 0.34, 0.25]
  to: [0.13, 0.68, 0.245]
bodies:
  lower: {mass: 4, com: [0, 0.52, 0.19], inertia: [0.05, 0.02, 0.05]}
  upper: {mass: 2, com: [0, 0.55, 0.45], inertia: [0.02, 0.01, 0.02]}
  knuckle: {mass: 30, com: [0, 0.75, 0.3], inertia: [0.6, 0.9, 0.6]}
joints:
  upper ball: {type: spherical, between: [upper, knuckle], at: uo}
  lower arm: {type: revolute, between: [ground, lower], axis: [li, lr]}
  lower ball: {type: spherical, between: [lower, knuckle], at: lo}
  upper arm: {type: revolute, between: [ground, upper], axis: [ui, ur]}
constraints:
  tie: {type: rod, between: [{body: ground, at: ti}, {body: knuckle, at: to}]}
forces:
  strut: {type: spring, between: [ground, lower], at: [[0, 0.5, 62cm], lo], stiffness: 2e4, rest_length: drawn}
  jack: {type: actuator, between: [ground, knuckle], at: [ti, to], limits: [-100, null], stroke: [10cm, null]}
  load: {type: wrench, frame: knuckle, at: to, force: [0, 0, -1]}
  mount: {type: bushing, between: [upper, ground], at: ui, stiffness: [1, 1, 1, 10, 10, 10]}
contacts:
  strap: {type: rope, through: [ground, lower], at: [uo, lo]}
  wheel: {type: contact, frame: knuckle, at: [0, 0.75, 0.3], radius: 29cm}
states:
  bump: {q: {lower arm: 5deg}, v: {lower arm: 30rpm}}
"""


def test_a_suspension_is_written_as_it_is_drawn(tmp_path):
    path = tmp_path / "corner.yaml"
    path.write_text(TEXT)
    m = da.read(path)
    system = m.compile("casadi")
    assert system.report(system.state()).mobility == 1
    assert system.report(system.state()).residual < 1e-15
    assert system.named_state("bump")["lower arm"] == pytest.approx(np.pi / 36, rel=1e-15)
    assert system.named_state("bump").rate("lower arm") == pytest.approx(np.pi, rel=1e-15)
    assert tuple(m.points["lr"]) == (-0.12, 0.36, 0.21)
    x = system.state()
    assert x.length("strut") == pytest.approx(np.hypot(0.2, 0.44), rel=1e-15)
    assert x.length("jack") == pytest.approx(np.linalg.norm(np.subtract((0.13, 0.68, 0.245), (0.12, 0.34, 0.25))))
    assert system.potential_energy(x) - 9.81 * (4 * 0.19 + 2 * 0.45 + 30 * 0.3) == pytest.approx(0.0, abs=1e-12)
    assert m.contacts["strap"].length == pytest.approx(np.linalg.norm(np.subtract((-0.02, 0.66, 0.46), (0, 0.7, 0.18))))
    assert m.contacts["jack shortest"].length == 0.1
    assert m.contacts["wheel"].frame.T.p.tolist() == [0, 0.75, 0.3]
    again = tmp_path / "again.yaml"
    m.save(again)
    n = da.read(again)
    assert {name: tuple(p) for name, p in n.points.items()} == {name: tuple(p) for name, p in m.points.items()}
    other = n.compile("casadi")
    np.testing.assert_array_equal(system.acceleration({}).vdot, other.acceleration({}).vdot)


def test_bodies_may_be_made_of_solids(tmp_path):
    text = """
dalembert: 1
parameters: {L: 0.5}
bodies:
  arm:
    solids:
      - {type: box, size: [L, 20mm, 20mm], density: 2700, at: [L/2, 0, 0]}
      - {type: prism, size: 1cm, outline: [[0, 0], [L, 0], [0, L]], density: 7850}
      - {type: sphere, size: 0.1, density: 1000, at: [0, 0, L]}
joints:
  pivot: {type: revolute, between: [ground, arm]}
"""
    (tmp_path / "arm.yaml").write_text(text)
    m = da.read(tmp_path / "arm.yaml")
    L = 0.5
    wanted = (
        da.solid("box", (L, 0.02, 0.02), density=2700, at=(L / 2, 0, 0))
        + da.solid("prism", ([(0, 0), (L, 0), (0, L)], 0.01), density=7850)
        + da.solid("sphere", 0.1, density=1000, at=(0, 0, L))
    )
    arm = m.bodies["arm"]
    np.testing.assert_allclose(m.parameters.number(np.array([arm.mass]), "m"), wanted.mass, rtol=1e-13)
    np.testing.assert_allclose(m.parameters.number(arm.inertia, "J"), wanted.inertia, atol=1e-13)
    m.save(tmp_path / "again.yaml")
    again = da.read(tmp_path / "again.yaml").compile("casadi").with_parameters(L=0.7)
    np.testing.assert_allclose(again.mass_matrix({}), m.compile("casadi").with_parameters(L=0.7).mass_matrix({}))
    (tmp_path / "arm.yaml").write_text(text.replace("outline: [[0, 0], [L, 0], [0, L]], ", ""))
    with pytest.raises(da.ModelFileError, match=r"arm\.yaml:8: .*has no 'outline'"):
        da.read(tmp_path / "arm.yaml")


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("at: uo}", "at: u0}", "is 'u0', which is no point; points are: li, lr"),
        ("between: [upper, knuckle]", "parent: upper", "has no 'child', which a joint needs"),
        ("between: [upper, knuckle]", "parent: upper, between: [upper, knuckle]", "is there beside 'parent'"),
        ("axis: [li, lr]", "axis: [li, li]", "two points that coincide"),
        ("at: [uo, lo]}", "at: li}", "contacts.strap"),
        ("at: [ti, to],", "at: [ti, tu],", "is 'tu', which is no point"),
        ("lo: [0, 0.70, 0.18]", "lo: [0, 0.70, 18 furlongs]", "points.lo[2]"),
    ],
)
def test_faults_name_their_lines(tmp_path, old, new, message):
    path = tmp_path / "corner.yaml"
    text = TEXT.replace(old, new, 1)
    path.write_text(text)
    with pytest.raises(da.DalembertError) as caught:
        da.read(path)
    line = 1 + next(k for k, row in enumerate(text.splitlines()) if new in row)
    assert message in str(caught.value)
    assert f":{line}" in str(caught.value)


def test_all_faults_are_told_at_once(tmp_path):
    path = tmp_path / "corner.yaml"
    path.write_text(TEXT.replace("at: uo}", "at: u0}").replace("axis: [ui, ur]", "axis: [ui, u]"))
    with pytest.raises(da.DalembertError) as caught:
        da.read(path)
    assert "'u0'" in str(caught.value)
    assert "'u'" in str(caught.value)
