"""Controllers and events of runs in total rates: they see velocities. Importing this imports Numba."""

from __future__ import annotations

from dalembert.integrators.run_record import JointRates
from dalembert.native.calls import invoke
from dalembert.native.jit import entry
from dalembert.native.memory import doubles


@entry(JointRates)
def in_joint_rates(x, y, s):
    """y ← the function at v of ν; what follows q and ν among the inputs is passed on."""
    nq, nv, inner, convert, given = s.nq, s.nv, s.inner, s.convert, doubles(x, s.given)
    for i in range(nq + nv):
        convert.x[i] = given[i]
    for i in range(s.given):
        inner.x[i] = given[i]
    invoke(convert)
    for i in range(nv):
        inner.x[nq + i] = convert.y[i]
    invoke(inner)
    out = doubles(y, inner.ny)
    for i in range(inner.ny):
        out[i] = inner.y[i]
