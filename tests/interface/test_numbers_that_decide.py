"""Distances at which passages are decided are marks of the ruler; tolerances of branches are those of the policy."""

import ast
from pathlib import Path

import dalembert as da

SOURCE = Path(da.__file__).parent
PASSAGES = (
    "integrators/guards/*.py",
    "integrators/exits.py",
    "integrators/loop.py",
    "integrators/manifold.py",
    "integrators/lane*.py",
    "simulation/singular/*.py",
    "simulation/run/*.py",
    "analysis/tangent_cone.py",
)
BRANCHES = ("branch/*.py", "analysis/special_points.py", "kinematics/mapping.py")
# what is no distance to a position or a manifold: (file, constant)
OTHERS = {
    ("singularities.py", "GOLDEN"),  # the golden section
    ("collocation.py", "AROUND"),  # nodes
    ("collocation.py", "BEHIND"),
    ("discontinuities.py", "COARSE"),  # where forces bend
    ("discontinuities.py", "BEYOND"),
    ("missed_roots.py", "SHORTEST"),  # events
    ("missed_roots.py", "FINE"),
    ("missed_roots.py", "UNLIKE"),
    ("dense.py", "BESIDE"),  # where sound states are looked for, one after the other
    ("step_budget.py", "GROWTH"),  # of the number of steps
    ("step_budget.py", "BEYOND"),
    ("stepping.py", "LOOK"),  # s of the clock on the wall
}


def owned(patterns):
    """(file, constant) of modules that have numbers of their own which are not whole."""
    found = set()
    for path in (path for pattern in patterns for path in SOURCE.glob(pattern) if path.name != "policy.py"):
        for node in ast.parse(path.read_text(encoding="utf-8")).body:
            if not isinstance(node, ast.Assign):
                continue
            target = node.targets[0]
            several = isinstance(target, ast.Tuple) and isinstance(node.value, ast.Tuple)
            for name, value in zip(target.elts, node.value.elts) if several else [(target, node.value)]:
                numbers = [part.value for part in ast.walk(value) if isinstance(part, ast.Constant)]
                if any(isinstance(x, float) and x not in (0.0, 1.0) for x in numbers):
                    found.add((path.name, name.id))
    return found


def test_no_module_beside_the_ruler_owns_a_distance_to_a_singular_position():
    assert owned(PASSAGES) == OTHERS


def test_no_module_beside_the_policy_owns_a_tolerance_of_branches():
    assert owned(BRANCHES) == set()
