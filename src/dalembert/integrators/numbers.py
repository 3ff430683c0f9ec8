"""What a run remembers between calls of its native loop: a vector of numbers and one of counts, by place.

All of it is written into recordings, so that a run can be taken up again bit for bit.
"""

#: counts
STEPS, REJECTED, EVALUATIONS, CORRECTIONS, SAMPLES, CAREFUL, JACOBIANS, RECORDS = range(8)  # RECORDS: of the last call
COUNTS = 8

#: numbers that change on the way: step, last error, usual step, largest residuals, least health, sampled until, least
#: health in this step
H, ERROR, USUAL, POSITION, SPEED, WORST, SAMPLED, HEALTH = range(8)
#: and those that do not (but for the last)
RTOL, ATOL, LEAST, LARGEST, CARRY = range(8, 13)  # tolerances; step limits; what rounding took from the time
CHART, START, HOLD, ENERGY, TOLERANCE = range(13, 18)  # soundness of a chart; clock of a controller; E₀; of projection
#: sizes and switches, as numbers: nq, nv, dof of the chart, works; corrections, every, frozen, filter, energy, u; size
NQ, NV, DOF, WORKS, MOST, EVERY, FROZEN, FILTER, RESTORE, U_AT, U, LENGTH = range(18, 30)
NUMBERS = 30

#: what careful steps leave behind: end, least rank, least singular value over the largest and when, number of steps
UNTIL, RANK, NARROW, WHEN, TAKEN = range(5)
PASSAGE = 5
