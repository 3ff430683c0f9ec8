"""Memory of least squares in levels under inequalities; see `levels`."""

from __future__ import annotations

from dalembert.formulations.problem import Factor
from dalembert.native.struct import Doubles, Float, Int, Ints, Struct, StructPart


class Levels(Struct):
    """The problem (1), its solution and its memory."""

    n = Int()  # unknowns
    most = Int()  # rows of G there is room for
    wide = Int()  # rows of A there is room for, in one level
    count = Int()  # rows of G in use
    G = Doubles("most", "n")  # of length 1
    h = Doubles("most")
    x = Doubles("n")
    rows = Int()  # of the level at hand; 0: the level ‖x‖
    A = Doubles("wide", "n")
    b = Doubles("wide")
    whole = Float()  # length of what the level's map is left of: ranks are measured by it
    tolerance = Float()
    residual = Float()  # ‖A x − b‖ of the last level
    pressing = Int()  # rows of G with μ > 0 in the last level
    pressed = Ints("most")  # 1 for rows of G that had μ > 0 in some level
    kept = Int()  # rows of Q that are kept
    held = Int()  # rows of Q after them: of active inequalities
    Q = Doubles("n", "n")
    R = Doubles("n", "n")  # an active row is Σ_k R_ik Q_k, k among the active ones, and something kept
    active = Ints("n")  # rows of G, in the order of R
    on = Ints("most")  # 1 where active
    factor = StructPart(lambda: Factor)  # (wide, n)
    projected = Doubles("wide * n")
    right = Doubles("wide")
    step = Doubles("n")
    pull = Doubles("n")
    mu = Doubles("n")
    miss = Doubles("most")  # of `feasibility`: h − G x
    mend = Doubles("most")  # G · step
    when = Doubles("most")  # the part of the step at which a row is met


def make_levels(n: int, most: int, wide: int) -> Levels:
    """Memory for n unknowns, `most` inequalities and levels of up to `wide` rows."""
    wide = max(wide, 1)
    return Levels.sized(n=n, most=max(most, 1), wide=wide, factor=Factor.sized(m=wide, n=n))
