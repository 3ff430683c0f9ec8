"""Every limit and tolerance of closing loops and following branches.

Residuals and motions are measured in radians and lengths of the mechanism (see `rows`), so that most numbers are
relative to a right turn or to the machine's size, whatever its units. "Of a step" and the like mean a ratio.
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class BranchPolicy:
    """The numbers; `POLICY` is the one that is used."""

    # --- damped Newton's method, from anywhere (`closing.close`) ---------------------------------------------------
    tolerance: float = 1e-11  # of residuals, and of the estimated distance to the solution: five digits above rounding
    iterations: int = 60  # 40 halve 1 rad to rounding where the contraction is 1/2, as in a singular position
    turn: float = 1.0  # rad: farthest an angle moves in one step: beyond, sines are not what their slopes promise
    shortest: float = 1e-3  # of a step: halved no further; where less is needed the direction does not descend
    falls: float = 1e-13  # of residuals: rounding decides whether smaller ones fall, and steps are taken as they are
    stalls: int = 5  # steps as short as that which end a search
    patience: int = 8  # steps that must bring the residual …
    fall: float = 0.9  # … below this part of what it was
    rounding: float = 1e-15  # of coordinates: shorter steps have no effect
    no_turn: float = 1e-12  # of residuals per turn: what a whole turn of an angle may change (else a screw or a gear)
    inverted: float = 1e-6  # a matrix times its inverse less 1: far above rounding where rows are regular, far below 1
    missed: float = 1e-8  # of a velocity: by how much rows may miss it; eight of the digits that a well-posed solve has

    # --- the nearest position (`nearest`), by Levenberg and Marquardt's method ------------------------------------
    rounds: int = 60
    damping: float = 1e-3  # of the largest singular value, at first; times 1/5 after a success, 10 after a failure
    least_damping: float = 1e-8  # of the largest singular value: with less, directions that rounding decides count
    most_damping: float = 1e4  # of the largest singular value: steps have become shorter than rounding
    least_fall: float = 1e-7  # of the residual: a search that gains less has ended
    no_row: float = 1e-100  # largest singular value, rows and velocities in units of size 1: squares of less are lost
    closable: float = 1e-3  # a gap from which Newton's method is tried again: quadratic convergence begins about there

    # --- several starts (`analysis.assembly`) -----------------------------------------------------------------------
    starts: int = 12  # before an assembly gives up
    all_starts: int = 4096  # for all modes: one that 0.2 % of them lead to is missed in 1 of 1000 cases
    same_gaps: int = 4  # searches from other starts that end in the same gap: it does not close
    same_gap: float = 1e-3  # of a gap: by how much those differ
    more_starts: int = 90  # for several positions, and twice as many as the last new one took
    same: float = 1e-5  # closer positions are the same: in a singular one √tolerance is all that is known
    beside: float = 0.5  # a position this close to the start is on its branch, and no other way to it is tried

    # --- the corrector (`corrector`), beside a predicted point ------------------------------------------------------
    corrections: int = 10  # a corrector that needs more is not beside its point: quadratic convergence takes 5
    closed: float = 1e-12  # of residuals: done. A few roundings of Φ, so that singular values are known to 1e-6
    nearly: float = 1e-10  # of residuals: done, if they fall no more, as with lengths of 1e3 mechanisms in Φ
    growth: float = 10.0  # of residuals: from one iteration to the next they may grow by this, while they settle
    slowest: float = 0.6  # of a residual is left by a step after the second; less falls only where nothing closes

    # --- the step of a predictor (`continuation`) ------------------------------------------------------------------
    corrected: float = 0.1  # what a step may have to correct: a tenth of the distance that keeps branches apart (1 rad)
    longest: float = 0.6  # the longest step
    singular: float = 1e-5  # smallest singular value at which points are put: below, half of the digits are lost
    smallest: float = 2.0**-30  # of a leg: a branch that goes no farther is lost
    aside: float = 0.07  # of a step: how far points are put beside a singular position

    # --- singular positions on the way (`between_points`, `analysis.special_points`) -------------------------------
    two_sided: float = 1e-4  # smallest singular value below which positions come from both sides: known to 1e-8 there
    sides: float = 0.02  # how far from it these are: of Hermite's polynomial of degree five sides⁶ / 720 is 1e-13
    meet: float = 1e-11  # of residuals: where branches meet
    meet_roughly: float = 1e3  # times that: where the polynomial has no bends, and a third of the digits
    steeper: float = 2.0  # times as fast as between the points that are known may a singular value fall
    dependent: float = 3e-5  # of singular values: rows are dependent in a position that was found to 1e-9

    # --- maps (`following`) ------------------------------------------------------------------------------------------
    beside_guess: float = 0.15  # how far a position may be from its guess
    part: float = 0.3  # of a step that is not cut in parts
    shorter_parts: int = 8  # times shorter steps, where those have failed
    search_rounds: int = 30  # iterations of a search from far away, damped by …
    search_damping: float = 1e-2  # … this part of the residual
    stride: float = 0.5  # the farthest it goes in one of them
    search_end: float = 1e-5  # of the residual: a search leaves the rest to the corrector
    search_patience: int = 4  # a search ends when as many steps do not bring the residual …
    search_fall: float = 0.8  # … below this part of what it was
    immovable: float = 1e-12  # of a row in lengths of the mechanism: the mechanism cannot move along it
    had: float = 1e-9  # a value along such a row that can be had, and by how much limits of joints may be missed

    # --- states -----------------------------------------------------------------------------------------------------
    open: float = 1e-6  # a residual that means open loops: larger than what a run or a file with 7 digits leaves


POLICY = BranchPolicy()
