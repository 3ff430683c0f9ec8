"""A whole controller in machine code, called like a kernel: q, v and t in, all inputs out."""

from __future__ import annotations

from dalembert.control.native.workspace import FORCES, Controller
from dalembert.native.calls import invoke, jump
from dalembert.native.jit import entry
from dalembert.native.memory import doubles
from dalembert.outcome import OK


@entry(Controller)
def follow(x, y, controller):
    """y (nu,) ← the inputs for q, v and t in x; NaN where no forces were found, zero where nothing acts."""
    a, inputs = controller.allocation, controller.inputs
    plant, u = a.plant, a.u
    n = controller.nq + a.n
    state, out, given = doubles(x, n + 1), doubles(y, controller.nu), plant.x
    for i in range(n):
        given[i] = state[i]
    if plant.time_index >= 0:
        given[plant.time_index] = state[n]
    if controller.moves != 0:
        controller.trajectory.x[0] = state[n]
        invoke(controller.trajectory)
    if controller.presses != 0:
        controller.forces.x[0] = state[n]
        invoke(controller.forces)
    jump(controller.allocate, 0, 0, a)
    if controller.pulls != 0 and a.status == OK:  # K of the state is known: now the forces for Kᵀ B u = Kᵀ τ
        pull, required, mode = controller.pull, a.required_force, a.mode
        for i in range(n):
            pull.x[i] = state[i]
        if pull.time_index >= 0:
            pull.x[pull.time_index] = state[n]
        invoke(pull)
        for i in range(a.n):
            required[i] = pull.y[i]
        a.mode = FORCES
        jump(controller.allocate, 0, 0, a)
        a.mode = mode
    for i in range(controller.nu):
        out[i] = 0.0
    for k in range(controller.na):
        out[inputs[k]] = u[k] if a.status == OK else float("nan")
