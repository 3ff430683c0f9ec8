"""Guards: what an attempt must satisfy before it is accepted, one to a file.

A guard is a function of (run, trial), the record of the run and the state to which the attempt leads. It

    reads     the record, in which `attempt` describes the attempt that has just been made
    writes    the part of the record that is its own, and through `step_control` the length of the next attempt
    returns   OK          nothing speaks against the attempt
              SHORTER     it is to be made again with the length `step.h`
              an outcome  the loop ends with it before this step

`judge` lists them in the order in which they are asked; the first that does not return OK decides. A new guard is a
file here and a line there.
"""
