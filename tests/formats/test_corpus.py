"""The whole collection of model files: its table in the docs, our format and back bit by bit, one format to another."""

import corpus_table
import numpy as np
import pytest

import dalembert as da
from corpus import MISSING, corpus, corpus_files, expected, folder
from dalembert.formats.model import read_text, text_of
from random_mechanisms import random_state

pytestmark = pytest.mark.skipif(not folder().is_dir(), reason=MISSING)
SLOW = ("kangaroo", "softfoot", "four_bar_branch_6_10", "StrandbeestConstraints", "right_hand")
NAMES = [name for name in corpus_table.files() if not any(part in name for part in SLOW)]


def test_the_table_in_the_docs_is_what_the_readers_say():
    """Every file has its row: velocities, joints, loops, other constraints and notes, or the sentence that refuses."""
    rows = corpus_table.rows(corpus_table.PAGE.read_text(encoding="utf-8"))
    assert list(rows) == corpus_table.files()
    wrong = {}
    for name in NAMES:
        found = [cell.strip() for cell in corpus_table.cells(corpus_table.read(name))]
        if found != [cell.strip() for cell in rows[name][:-1]]:
            wrong[name] = found, rows[name]
    assert not wrong


@pytest.mark.parametrize("closes", ["as drawn", "assembled"])
def test_small_files_close_as_the_table_says(closes):
    rows = corpus_table.rows(corpus_table.PAGE.read_text(encoding="utf-8"))
    small = [
        n for n in NAMES if rows[n][-1].strip() == closes and int(rows[n][0]) <= (30 if closes != "as drawn" else 9)
    ]
    for name in small[:6]:
        assert corpus_table.closes(corpus_table.read(name)) == closes, name
    assert small


def numbers(system, x):
    """M, h, Φ and A in a state."""
    y = system.state(x.q, x.v)
    return system.mass_matrix(y), system.bias(y), system.residuals(y), system.constraint_matrix(y)


@pytest.mark.parametrize("part", range(4))
def test_every_file_survives_our_format_bit_by_bit(part):
    """M, h, Φ and A of what is saved and read back, at a random state, for up to 40 velocities."""
    count = 0
    for name in NAMES[part::4]:
        m = corpus_table.read(name)
        if isinstance(m, str) or ".nomesh" in name or not 0 < sum(a.joint.nv for a in m.joints.values()) <= 40:
            continue
        as_json = count % 4 > 0  # YAML takes five times as long to read
        other = read_text(text_of(m, json=as_json), json=as_json)
        one, two = m.compile("casadi"), other.compile("casadi")
        x = random_state(one, 19)
        for a, b in zip(numbers(one, x), numbers(two, x), strict=True):
            assert np.array_equal(a, b), name
        count += 1
    assert count > 8


WAYS = [
    ("grbda_urdf_plus/four_bar.urdf", ".xml"),
    ("grbda_urdf_plus/six_bar.urdf", ".sdf"),
    ("gepetto_parallel/5bar_linkage/robot.urdf", ".xml"),
    ("gepetto_parallel/robot_delta/robot.urdf", ".xml"),
    ("pinocchio/models/simple_humanoid.urdf", ".xml"),
    ("drake_models/pr2_description/urdf/pr2_simplified.urdf", ".sdf"),
    ("gazebo_classic/worlds/cart_demo.world", ".yaml"),
    ("gazebo_models/pr2_gripper/model.sdf", ".json"),
    ("gazebo_classic/test/worlds/set_joint_position.world", ".urdf"),
    ("drake/examples/multibody/four_bar/four_bar.sdf", ".xml"),
    ("menagerie/franka_emika_panda/hand.nomesh.xml", ".urdf"),
    ("robosuite/robotiq_gripper_140.nomesh.xml", ".sdf"),
]


@pytest.mark.parametrize(("name", "suffix"), WAYS)
def test_another_format_keeps_the_mass_matrix(name, suffix, tmp_path):
    """M at random positions, by the names of the coordinates."""
    m = da.read(corpus(name))
    m.save(tmp_path / f"other{suffix}")
    other = da.read(tmp_path / f"other{suffix}")
    one, two = m.compile("casadi"), other.compile("casadi")
    assert set(one.v_names) == set(two.v_names)
    at = [two.v_names.index(n) for n in one.v_names]
    for seed in range(3):
        x = random_state(one, seed)
        y = np.array(two.state().q)
        for joint in m.joints:
            y[two.layout.q_slice(joint)] = x.q[one.layout.q_slice(joint)]
        M, N = one.mass_matrix(x), two.mass_matrix(two.state(y))[np.ix_(at, at)]
        np.testing.assert_allclose(N, M, rtol=0, atol=1e-12 * np.abs(M).max())


GEPETTO = [n for n in corpus_files(".urdf") if n.startswith("gepetto_parallel")]
OPEN = [n for n in GEPETTO if "kangaroo" not in n]  # which nobody closes


@pytest.mark.parametrize("name", OPEN)
def test_robots_that_are_open_as_drawn_assemble_without_a_guess(name):
    """Gepetto's, up to 3 rad from closed; the rank is what Pinocchio has in its closed position."""
    system = da.read(corpus(name)).compile("casadi")
    found = system.assemble()
    assert np.abs(system.residuals(found)).max() < 1e-9
    assert found.evidence.rank == expected("pinocchio")[name]["closed"]["rank"]
