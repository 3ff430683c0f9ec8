"""The equations of a mode: rows selected from one program that has all rows, with the friction of what slides.

The program is a kernel q̇, powers, M, f, A, γ, Φ, A v + b, −b of every row that a mechanism can have. A mode is data:
which rows hold (`rows`), which joints and contacts slide and how, which contacts bear beside those rows (`shared`), and
which of its quantities are guards. `mode_forces` is the native part, four functions of one `ModeRows`:

    mode_equations   the kernel "equations" of the mode
    mode_field       its right-hand side, by the null-space formulation in the mass metric; outputs as `field`
    mode_rows        the kernel "whitened_rows" of the mode
    mode_guards      its guards, and then the events of the user

A contact i that slides presses with λ_i and is held back by μ_i λ_i along T_i, the generalized force of a unit force
against the slip. Multipliers are affine in applied forces, so all λ_i follow from one small system:

    λ = λ⁰ + Σ_j λ_j ℓ_j,   ℓ_j = ∂λ/∂f T_j μ_j                                                               (1)

Where its matrix is singular no forces balance (Painlevé). Rows of contacts that depend on others, A_d = C A_a + …, are
none of the selected ones, but they bear. Of all forces that make the same motion those with Σ c λ² least are taken, c
the compliance of a row, as equal springs would have in the limit of great stiffness; with λ⁰ of the rows A_a alone:

    c_d λ_d = C c_a λ_a,   λ_a + Cᵀ λ_d = λ⁰                                                                  (2)

A contact that touches without bearing has a row A_i = C_i A_a + … too. Its spring is pressed as far as those of the
others press it, C_i c_a λ_a: where that becomes positive, it bears.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from dalembert.formulations.problem import Problem, make_problem
from dalembert.formulations.right_hand_side import EVIDENCE
from dalembert.native.bound import NOTHING, Bound
from dalembert.native.library import address
from dalembert.native.struct import Doubles, Float, Int, Ints, Struct, StructPart, zeros

#: kinds of guards, as `simulation.hybrid.guards` names them
CLOSES, TURNS, OPENS, LOADS, SLIPS, SLIPS_JOINT, STOPS, STOPS_TURNING, JAMS, NEVER = range(10)


class ModeRows(Struct):
    """A mode of a program with all rows; see the head of this file."""

    program = StructPart(lambda: Bound)
    problem = StructPart(lambda: Problem)  # of the selected rows, each over its usual length
    users = StructPart(lambda: Bound)  # events of the user; no address: none
    nq = Int()
    n = Int()  # velocities
    nu = Int()
    powers = Int()  # outputs of the program
    own_powers = Int()  # those of the mode: with that of friction
    lost = Int()  # the place of the power of forces without potential among them; −1: there is none
    driven = Int()  # 1 if the drivers' power is asked for
    all = Int()  # rows of the program
    m = Int()  # rows that hold
    alpha = Float()  # Baumgarte's constants
    beta = Float()
    rows = Ints("m")
    # joints that slide: their rows, and sign, coulomb, breakaway, stribeck, exponent of their friction
    joints = Int()
    joint_rows = Ints("joints")
    joint_laws = Doubles("joints", "5")
    # contacts that slide: the place of the normal force among `forces`, rows of slips (−1: none)
    sliders = Int()
    slider_rows = Ints("sliders", "3")
    slider_laws = Doubles("sliders", "4")  # μ, aim (2), and how much of it a slip has at its beginning
    # redundant contacts
    soft = Int()
    soft_at = Ints("soft")  # places of the rows a in `rows`
    soft_compliance = Doubles("soft")
    shared = Int()
    shared_rows = Ints("shared")  # the rows d
    shared_compliance = Doubles("shared")
    waiting = Int()
    waiting_rows = Ints("waiting")
    # guards: kind, two or three places; numbers
    guards = Int()
    guard = Ints("guards", "4")
    guard_numbers = Doubles("guards", "4")
    events = Int()  # of the user
    given = Int()  # inputs of these
    places = Ints("given")  # of each among the inputs of the program
    # workspace
    determinant = Float()  # of (1)
    f = Doubles("n")  # without the friction of contacts
    friction = Doubles("n")
    gamma = Doubles("m")
    along = Doubles("sliders", "n")  # μ T
    forces = Doubles("m + shared")  # λ of the selected rows, and of those that share
    pressed = Doubles("sliders + 1", "m + shared")  # without friction of contacts, and by that of each
    share = Doubles("shared + waiting", "soft")  # C
    spring = Doubles("shared", "shared")  # c_d + C c_a Cᵀ, factored
    spring_order = Ints("shared")
    spring_side = Doubles("shared")
    press = Doubles("sliders", "sliders")  # the matrix of (1), factored
    press_order = Ints("sliders")
    press_side = Doubles("sliders")

    inputs: np.ndarray  # of the program, and the time after them where it knows none


def make_mode_rows(program: Bound, options: dict[str, Any], users: Bound = NOTHING, **fields: Any) -> ModeRows:
    """A mode with memory of its own; options: fields of its `Problem`, fields: its own by name."""
    n, m = fields["n"], fields["m"]
    at = fields["nq"] + fields["powers"]
    x, count = program.x, program.nx
    if program.time_index < 0:  # room for t, which events may depend on
        x = zeros(count + 1)
        x[:count], program.x = program.x, x[:count]
    problem = make_problem(n, m, M=program.y[at : at + n * n].reshape(n, n), **options)
    mode = ModeRows.sized(program=program, problem=problem, users=users, **fields)
    mode.inputs = x
    return mode


def hold(mode: ModeRows, sizes: np.ndarray, usual_rank: int, fields: dict[str, Any]) -> None:
    """Have memory that is large enough hold another mode: its fields by name, and the usual lengths of its rows.

    Arrays are used from their beginning: native code sees as much of them as the numbers tell.
    """
    for name, value in fields.items():
        if isinstance(value, np.ndarray):
            getattr(mode, name).reshape(-1)[: value.size] = value.ravel()
        else:
            setattr(mode, name, value)
    problem = mode.problem
    problem.m = problem.factor.m = fields["m"]
    problem.usual_rank = usual_rank
    problem.sizes[: len(sizes)] = sizes


def mode_function(name: str, mode: ModeRows, outputs: int) -> Bound:
    """One of the functions of a mode, whose inputs are those of the program."""
    program, x = mode.program, mode.inputs
    time = program.time_index if program.time_index >= 0 else program.nx
    bound = Bound.around(address(name), x, np.zeros(outputs), mode, time, owner=mode)
    bound.slices = {**program.slices, "t": slice(time, time + 1)}
    return bound


def mode_equations(mode: ModeRows) -> Bound:
    """The kernel "equations" of a mode."""
    n, m = mode.n, mode.m
    return mode_function("mode_equations", mode, mode.nq + mode.own_powers + n * n + n + m * n + 4 * m)


def mode_field(mode: ModeRows) -> Bound:
    """The right-hand side of a mode."""
    return mode_function("mode_field", mode, mode.nq + mode.n + mode.own_powers + mode.driven + 2 + EVIDENCE)


def mode_whitened(mode: ModeRows) -> Bound:
    """The rows of a mode in the mass metric over their usual lengths, and the places of their entries."""
    count = mode.m * mode.n
    bound = mode_function("mode_whitened", mode, 2 * count)
    bound.y[count:] = np.arange(count)
    return bound


def mode_guards(mode: ModeRows) -> Bound:
    """The guards of a mode, and then the events of the user."""
    return mode_function("mode_guards", mode, max(1, mode.guards + mode.events))
