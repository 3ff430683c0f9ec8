"""Inverse kinematics of parallel robots without a guess, against closed forms."""

import numpy as np
import pytest

import dalembert as da


def linear_delta(legs, along, radius=0.12, platform=0.03, arm=0.25, width=0.04):
    """Three carriages on vertical rails and a platform on arms; `along`: the arms' direction in the neutral position.

    legs: "revolute", one arm on two hinges at each end; "universal", two rods with a universal joint and a ball.
    """
    m = da.Mechanism(f"linear delta, {legs}", gravity=(0, 0, -9.81))
    tool = m.add_body("tool", mass=0.2, inertia=da.cylinder_inertia(0.2, radius=platform, length=0.01, axis="z"))
    u = np.array({"x": (1.0, 0, 0), "-z": (0, 0, -1.0), "z": (0, 0, 1.0)}[along])
    axis = along[-1]
    across = "z" if axis == "x" else "x"
    for k in range(3):
        turn = da.rotation("z", 2 * np.pi * k / 3)
        carriage = m.add_body(f"carriage {k}", mass=0.3, inertia=np.full(3, 1e-4))
        m.add_joint(f"z{k}", da.Prismatic("z"), m.ground.at(*(turn @ [radius, 0, 0]), rotation=turn), carriage)
        sides = [0.0] if legs == "revolute" else [-width / 2, width / 2]
        for j, side in enumerate(sides):
            inertia = da.cylinder_inertia(0.05, radius=0.003, length=arm, axis=axis)
            rod = m.add_body(f"rod {k}{j}", mass=0.05, com=arm / 2 * u, inertia=inertia)
            eye = tool.at(*(turn @ [platform, side, 0]), rotation=turn)
            if legs == "revolute":
                one, two = (m.add_body(f"{n} {k}", mass=0.01, inertia=np.full(3, 1e-6)) for n in ("yoke", "fork"))
                m.add_joint(f"a{k}", da.Revolute("y"), carriage, one)
                m.add_joint(f"b{k}", da.Revolute(across), one, rod)
                m.add_joint(f"c{k}", da.Revolute(across), rod.at(*(arm * u)), two)
                ends, joint = (two, eye), da.Revolute("y")
            else:
                m.add_joint(f"u{k}{j}", da.Universal(across, "y"), carriage.at(0, side, 0), rod)
                ends, joint = (rod.at(*(arm * u)), eye), da.Spherical()
            if k == j == 0:
                m.add_joint("last", joint, *ends)
            else:
                m.close_loop(f"C{k}{j}", joint, *ends)
    return m.compile()


@pytest.mark.parametrize("along", ["-z", "z"])
def test_a_delta_is_brought_to_every_goal_with_its_platform_level(along):
    """z_k = z ± √(L² − d²), d the distance of carriage and platform seen from above."""
    system = linear_delta("revolute", along)
    for goal in ((0, 0, 0.0), (0.03, -0.02, 0.05), (0, 0, 0.3), (0.02, 0.03, -0.2), (-0.05, 0, 0.1), (0, 0.05, 0.2)):
        x = system.assemble(frames={"tool": goal})
        np.testing.assert_allclose(x.position("tool"), goal, atol=1e-9)
        np.testing.assert_allclose(x.rotation("tool"), np.eye(3), atol=1e-8)
        for k in range(3):
            away = da.rotation("z", 2 * np.pi * k / 3) @ [0.12 - 0.03, 0, 0] - [*goal[:2], 0]
            height = np.sqrt(0.25**2 - away @ away)
            assert x[f"z{k}"] - goal[2] == pytest.approx(height if along == "-z" else -height, abs=1e-8)


def test_a_goal_within_reach_is_not_called_out_of_reach():
    """Rods that point outwards in the neutral position: every goal is reached from there."""
    system = linear_delta("universal", "x", radius=0.2, platform=0.04, arm=0.3, width=0.06)
    for goal in ((0, 0, 0.0), (0.03, -0.02, 0.05), (0, 0, 0.3), (0, 0, 0.6), (0.05, 0.05, -0.4), (0, 0, 1.0)):
        x = system.assemble(frames={"tool": goal})
        np.testing.assert_allclose(x.position("tool"), goal, atol=1e-9)
        assert system.report(x).closed


def six_rus():
    """A platform on six legs of crank and rod; the cranks have limits of ±1.4 rad."""
    m = da.Mechanism("6-RUS", gravity=(0, 0, -9.81))
    radius, top, crank, rod_length = 0.30, 0.15, 0.12, 0.40
    platform = m.add_body("platform", mass=2.0, inertia=da.cylinder_inertia(2.0, radius=top, length=0.02, axis="z"))
    feet, eyes = np.radians([-12, 12, 108, 132, 228, 252]), np.radians([-50, 50, 70, 170, 190, 290])
    frames = []
    for k in range(6):
        turn = da.rotation("z", feet[k] + (1 if k % 2 else -1) * np.pi / 2)
        foot = np.array([radius * np.cos(feet[k]), radius * np.sin(feet[k]), 0.0])
        arm = m.add_body(f"arm {k}", mass=0.2, com=(crank / 2, 0, 0), inertia=da.rod_inertia(0.2, crank))
        rod = m.add_body(
            f"rod {k}", mass=0.1, com=(0, 0, rod_length / 2), inertia=da.rod_inertia(0.1, rod_length, axis="z")
        )
        m.add_joint(
            f"M{k}", da.Revolute("y"), m.ground.at(*foot, rotation=turn), arm, armature=1e-3, limits=(-1.4, 1.4)
        )
        m.add_joint(f"U{k}", da.Universal("x", "y"), arm.at(crank), rod)
        eye = np.array([top * np.cos(eyes[k]), top * np.sin(eyes[k]), 0.0])
        add = m.add_joint if k == 0 else m.close_loop
        add(f"S{k}", da.Spherical(), rod.at(0, 0, rod_length), platform.at(*eye))
        frames.append((foot, turn, eye))
    return m.compile(), frames, crank, rod_length


def test_inverse_kinematics_keep_the_limits_of_joints():
    """Of the 64 positions of a 6-RUS with its platform at a pose, the one with all cranks within their limits."""
    system, frames, a, L = six_rus()
    rng = np.random.default_rng(11)
    for k in range(6):
        T = np.eye(4)
        T[:3, 3] = (0, 0, 0.38) if k == 0 else (*rng.uniform(-0.06, 0.06, 2), rng.uniform(0.35, 0.41))
        T[:3, :3] = da.rotation("z", 0.0 if k == 0 else rng.uniform(-0.2, 0.2))
        x = system.assemble(frames={"platform": T})
        assert system.report(x).closed
        for i, (foot, turn, eye) in enumerate(frames):
            p = turn.T @ (T[:3, :3] @ eye + T[:3, 3] - foot)  # |p − a (cos M, 0, −sin M)| = L
            middle = np.arctan2(-p[2], p[0])
            spread = np.arccos((p @ p + a * a - L * L) / (2 * a * np.hypot(p[0], p[2])))
            both = (np.array([middle - spread, middle + spread]) + np.pi) % (2 * np.pi) - np.pi
            inside = both[np.abs(both) <= 1.4]
            assert np.abs(inside - x[f"M{i}"]).min() < 1e-8


def test_a_closed_guess_leads_to_a_position_on_its_branch():
    """An elbow that is up stays up, however far the goal is: A > 0 on the way from one pose to the other."""
    m = da.Mechanism("five-bar")
    bodies = [m.add_body(n, mass=1.0, com=(0.4, 0, 0), inertia=da.rod_inertia(1.0, 0.8)) for n in "abcd"]
    m.add_joint("A", da.Revolute("z"), m.ground, bodies[0])
    m.add_joint("B", da.Revolute("z"), bodies[0].at(0.8), bodies[1])
    m.add_joint("E", da.Revolute("z"), m.ground.at(0.5), bodies[2])
    m.add_joint("D", da.Revolute("z"), bodies[2].at(0.8), bodies[3])
    m.close_loop("C", da.Revolute("z"), bodies[1].at(0.8), bodies[3].at(0.8))
    m.add_frame("tool", bodies[1].at(0.8))
    system = m.compile()
    rng = np.random.default_rng(2)
    for signs in ((-1, 1), (1, 1), (-1, -1), (1, -1)):
        guess = system.assemble(
            frames={"tool": (0.25, 0.9, 0)}, guess={"A": 1.5, "E": 1.5, "B": signs[0], "D": signs[1]}
        )
        before = np.sign([np.sin(guess["B"]), np.sin(guess["D"])])
        for _ in range(6):
            x = system.assemble(frames={"tool": (*rng.uniform(-0.4, 0.9, 1), rng.uniform(0.4, 1.2), 0)}, guess=guess)
            assert np.array_equal(np.sign([np.sin(x["B"]), np.sin(x["D"])]), before)
