"""Four-bars that can lie in line, a + d = b + c, in closed form along each of their two branches.

Crank a, coupler b, follower c, base d. With θ the crank's angle from where all bars lie in line, and γ that between
coupler and follower, both triangles on the diagonal give (a + d)² − 4 a d sin² θ/2 = (b + c)² − 4 b c sin² γ/2, so that

    sin γ/2 = ± √(a d / b c) sin θ/2

is smooth through the position. Equations of motion in y = θ, or y = (θ, x) on a cart, follow from T and V of these.
"""

import casadi as ca
import numpy as np
from scipy.integrate import solve_ivp

import dalembert as da

KINDS = ("change", "parallel", "rhombus", "kite")


def lengths(kind, rng):
    """a, b, c, d as multiples of 2⁻¹⁰ m, so that their sums are exact."""
    d, a, b = (np.round(1024 * rng.uniform(low, high)) / 1024 for low, high in ((1.0, 1.5), (0.4, 0.8), (0.7, 1.3)))
    if kind == "parallel":
        return a, d, a, d
    if kind == "rhombus":
        return a, a, a, a
    return (a, a, d, d) if kind == "kite" else (a, b, a + d - b, d)


class Bars:
    """A four-bar of seeded lengths, masses and gravity, on the ground or on a cart, on one of its branches (±1).

    joints: options of joints "A" (crank), "B" (coupler on crank), "D" (follower) and "x" (cart), as friction or limits.
    more: called with the mechanism and its bodies, to add to them.
    """

    def __init__(self, kind, seed, branch, joints=None, cart=False, more=None):
        rng = np.random.default_rng([KINDS.index(kind), seed])
        a, b, c, d = self.lengths = lengths(kind, rng)
        mass, inertia = rng.uniform(0.5, 1.5, 4), rng.uniform(0.02, 0.1, 3)
        com = rng.uniform(0.2, 0.6, 3) * [a, b, c], rng.uniform(-0.1, 0.1, 3)
        self.gravity = rng.uniform(-5, 5, 2)
        options = joints or {}
        m = da.Mechanism(f"{kind} {seed}", gravity=(*self.gravity, 0))
        bar = [
            m.add_body(n, mass=mass[k], com=(com[0][k], com[1][k], 0), inertia=(inertia[k],) * 3)
            for k, n in enumerate(("crank", "coupler", "follower"))
        ]
        base = m.ground
        if cart:
            base = m.add_body("cart", mass=mass[3])
            m.add_joint("x", da.Prismatic("x"), m.ground, base, **options.get("x", {}))
        m.add_joint("A", da.Revolute("z"), base, bar[0], **options.get("A", {}))
        m.add_joint("B", da.Revolute("z"), bar[0].at(a), bar[1], **options.get("B", {}))
        m.add_joint("D", da.Revolute("z"), base.at(d), bar[2], **options.get("D", {}))
        m.close_loop("C", da.Revolute("z"), bar[1].at(b), bar[2].at(c))
        if more is not None:
            more(m, bar)
        self.system, self.cart = m.compile(), cart

        y, v = ca.SX.sym("y", 1 + cart), ca.SX.sym("v", 1 + cart)
        theta, x = y[0], y[1] if cart else ca.SX(0)
        gamma = 2 * ca.asin(branch * np.sqrt(a * d / (b * c)) * ca.sin(theta / 2))
        crank = np.pi + theta
        follower = np.pi + ca.atan2(a * ca.sin(theta), d + a * ca.cos(theta))
        follower -= ca.atan2(b * ca.sin(gamma), c + b * ca.cos(gamma))
        coupler = follower + gamma - np.pi
        angles, starts = (crank, coupler, follower), (ca.vertcat(x, 0), _turned(a, 0, crank), ca.vertcat(x + d, 0))
        T, V = 0.5 * mass[3] * v[1] ** 2 if cart else ca.SX(0), -mass[3] * self.gravity[0] * x
        for k, angle in enumerate(angles):
            at = starts[k] + (ca.vertcat(x, 0) if k == 1 else 0) + _turned(com[0][k], com[1][k], angle)
            T += 0.5 * mass[k] * ca.sumsqr(ca.jtimes(at, y, v)) + 0.5 * inertia[k] * ca.jtimes(angle, y, v) ** 2
            V -= mass[k] * ca.dot(ca.DM(self.gravity), at)
        q = ca.vertcat(*([x] if cart else []), crank, coupler - crank, follower)
        self.names = ["x", "A", "B", "D"][1 - cart :]
        p = ca.gradient(T, v)
        h = ca.jtimes(p, y, v) - ca.gradient(T, y) + ca.gradient(V, y)
        self._f = ca.Function("f", [y, v], [ca.hessian(T, v)[0], h, q, ca.jacobian(q, y)])

    def at(self, y, v):
        """M, h, the joint positions q and ∂q/∂y: M v̇ + h = (∂q/∂y)ᵀ τ."""
        M, h, q, J = (np.array(x) for x in self._f(y, v))
        return M, h.ravel(), q.ravel(), J

    def state(self, y, v):
        """The same as a state of the mechanism."""
        _, _, q, J = self.at(y, v)
        rates = J @ np.atleast_1d(v)
        return self.system.state(dict(zip(self.names, q)), dict(zip(self.names, rates)))

    def error(self, run, y, v):
        """The largest difference of joint positions and rates at the end of a run from those of y and v."""
        there = self.state(y, v)
        return max(np.abs(run.q[-1] - there.q).max(), np.abs(run.v[-1] - there.v).max())

    def moved(self, z, time, force, stop=None):
        """(y, v) a time after z, for generalized forces force(t, y, v, J) (n,); stop: an event that ends it, (t, z)."""
        n = 1 + self.cart

        def rates(t, z):
            M, h, _, J = self.at(z[:n], z[n:])
            return np.concatenate([z[n:], np.linalg.solve(M, force(t, z[:n], z[n:], J) - h)])

        events = None
        if stop is not None:
            events = lambda t, z: stop(t, z)  # noqa: E731
            events.terminal = True
        found = solve_ivp(rates, (0.0, time), z, "DOP853", rtol=1e-13, atol=1e-15, events=events)
        return (found.y[:, -1], found.t[-1]) if stop is not None else found.y[:, -1]


def _turned(x, y, angle):
    return ca.vertcat(ca.cos(angle) * x - ca.sin(angle) * y, ca.sin(angle) * x + ca.cos(angle) * y)
