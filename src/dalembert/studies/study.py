"""`study`: Monte Carlo, designs of experiments, grids, tolerances and Sobol indices of what a mechanism does."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from dalembert import checks
from dalembert.ensembles.ensemble import ensemble
from dalembert.ensembles.many import sweep_many
from dalembert.ensembles.variation import MOST
from dalembert.errors import ArgumentError
from dalembert.protocols import check_system
from dalembert.studies.sampling import METHODS, drawn, gridded, named, one_at_a_time, saltelli
from dalembert.studies.studied import Study
from dalembert.system.system import System


def study(
    system: System,
    parameters: Mapping[str, Any],
    results: Mapping[str, Callable[[Any], Any]],
    *,
    along: Mapping[str, Any] | None = None,
    states: Any = None,
    t: Any = None,
    method: str = "latin",
    n: int = 256,
    seed: int = 0,
    guess: Any = None,
    speed: Any = None,
    options: Mapping[str, Any] | None = None,
) -> Study:
    """Vary parameters of a mechanism, and tell what that does to some results of its motion.

    system: a compiled `System`. results: {name: f(runs)}, functions that return one number for each variant, (n,), from
    the `Sweeps` of all of them, led along {coordinate: K values}, or from the `Ensemble` that starts at `states` and
    takes the time t. guess: from which variants are assembled; speed: of what is led, as in `sweep_many`. options:
    further ones of `sweep_many` or of `ensemble`.

    method: what is varied how.
    "random", "latin" (hypercube), "sobol", "halton": n samples; parameters: {name: a distribution of scipy.stats, or
    (least, greatest), evenly}; seed: of the drawing.
    "grid": all combinations; parameters: {name: values}.
    "tolerance": {name: ± tolerance} around the values of the system, each parameter alone up and down: the stack-up of
    each result (worst case and root sum of squares) and what each tolerance contributes to it.
    "sensitivity": Sobol's indices, the share of the variance of a result that is due to each parameter alone, and with
    its interactions; n (m + 2) variants for m parameters given as for "sobol".

    >>> import numpy as np, dalembert as da
    >>> m = da.Mechanism("slider", gravity=(0, -9.81, 0))
    >>> r, l = m.add_parameter("r", 0.1), m.add_parameter("l", 0.3)
    >>> crank, rod, slide = (m.add_body(n, mass=1.0, inertia=(1, 1, 1)) for n in ("crank", "rod", "slide"))
    >>> m.add_joint("A", da.Revolute("z"), m.ground, crank)
    >>> m.add_joint("B", da.Revolute("z"), crank.at(r, 0, 0), rod)
    >>> m.add_joint("guide", da.Prismatic("x"), m.ground, slide)
    >>> m.close_loop("C", da.Revolute("z"), rod.at(l, 0, 0), slide)
    >>> found = da.study(
    ...     m.compile(), {"r": 0.001, "l": 0.002}, {"end": lambda turn: turn["guide"][:, 0]},
    ...     along={"A": [0.0, 0.1]}, method="tolerance", guess={"guide": 0.4},
    ... )
    >>> round(found.worst_case("end"), 6), round(found.root_sum_square("end") * 1e3, 3)     # at A = 0: r + l
    (0.003, 2.236)
    >>> {name: round(x, 2) for name, x in found.contributions("end").items()}
    {'r': 0.2, 'l': 0.8}
    """
    check_system(system)
    given, wanted = named(system, parameters), dict(checks.mapping(results, "results"))
    for name, f in wanted.items():
        checks.function(f, f"results['{name}']")
    if not wanted:
        raise ArgumentError("results is empty; needed: {name: f(runs)}, functions of the sweeps or runs.")
    if (along is None) == (t is None):
        raise ArgumentError(
            "needed: along={coordinate: values} for kinematics, or states= and t= for motions; one of the two."
        )
    checks.choice(method, METHODS, "method")
    n, seed = checks.whole(n, "n", least=1, most=MOST), checks.whole(seed, "seed", least=0)
    nominal = np.array([dict(zip(system.p_names, system.arguments.parameter_vector(None)))[name] for name in given])
    deviations = None
    if method == "grid":
        samples = gridded(given)
    elif method == "tolerance":
        samples, deviations = one_at_a_time(given, nominal)
    elif method == "sensitivity":
        samples = saltelli(given, n, seed)
    else:
        samples = drawn(given, method, n, seed)
    p = dict(zip(given, samples.T))
    more = {} if options is None else dict(checks.mapping(options, "options"))
    runs: Any
    if along is not None:
        runs = sweep_many(system, along, n=len(samples), p=p, guess=guess, speed=speed, **more)
    else:
        start = {} if states is None else states
        runs = ensemble(system, start, t, n=len(samples), p=p, guess=guess, **more)
    values = np.column_stack([_values(f, runs, name, len(samples)) for name, f in wanted.items()])
    values[~np.asarray(runs.success)] = np.nan
    return Study(system, method, tuple(given), tuple(wanted), samples, values, nominal, deviations, runs)


def _values(f: Callable[[Any], Any], runs: Any, name: str, n: int) -> np.ndarray:
    """(n,) numbers of a result."""
    try:
        x = np.asarray(f(runs), dtype=float)
    except Exception as error:
        raise ArgumentError(f"results['{name}'] raised {type(error).__name__}: {error}") from error
    if x.shape != (n,):
        raise ArgumentError(
            f"results['{name}'] gives numbers of shape {x.shape}; needed: ({n},), one for each variant."
        )
    return x
