"""The structs of the variational midpoint rule: what its iterations learn, and a motion in many steps."""

from __future__ import annotations

from dalembert.native.bound import Bound
from dalembert.native.struct import Doubles, Float, Int, Struct, StructPart

ITERATIONS = 100  # of a step; a hand with stiff tendons takes twenty, others three to eight
MEMORY = 20  # changes that are remembered


class Learned(Struct):
    """The changes of δ in one step, by which Broyden's method corrects the next one."""

    size = Int()
    memory = Int()
    changes = Doubles("memory", "size")

    @staticmethod
    def of(n: int) -> Learned:
        """Room for δ of up to n numbers."""
        return Learned.sized(size=n, memory=MEMORY)


class VariationalMotion(Struct):
    """N steps with inputs u_k + K_k (x ⊖ x_k) between limits."""

    # --- sizes
    nq = Int()
    nv = Int()
    nu = Int()
    steps = Int()

    h = Float()  # s
    length = Float()  # of the mechanism
    apart = Int()  # whether each step starts from a state of its own, not from where the last one ended
    done = Int()  # steps that have been taken
    outcome = Int()  # of the last one that was tried

    # --- what is wanted
    times = Doubles("steps")  # at which steps begin, s
    u = Doubles("steps", "nu")
    gains = Doubles("steps", "nu", "2 * nv")
    wanted = Doubles("steps", "nq + nv")  # x_k
    lower = Doubles("nu")
    upper = Doubles("nu")

    # --- what was found
    before = Doubles("steps", "nq + nv")  # states; the first is given, all of them where steps are apart
    after = Doubles("steps", "nq + nv")
    inputs = Doubles("steps", "nu")
    moves = Doubles("steps", "nv")  # δ of each step
    away = Doubles("2 * nv")  # x ⊖ x_k

    # --- functions
    kernel = StructPart(lambda: Bound)  # "variational"
    minus = StructPart(lambda: Bound)  # (q₁, q) → q₁ ⊖ q
    learned = StructPart(lambda: Learned)
