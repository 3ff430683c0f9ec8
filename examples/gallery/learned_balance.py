"""Learning to stand: a load on parallel cranks, balanced by a law that is found by trying.

`da.environments` puts 128 copies of the machine behind the interface of Gymnasium. Each episode draws another push,
load and strength of the motor; the copies step side by side in lanes of the processor. The law has two gains, of the
angle and of its rate, and begins with none. In every generation each copy tries its own two, and the best 32 tell where
the next are drawn (the cross-entropy method). The law of `da.lqr`, which knows the equations, tries the same episodes.
"""

import numpy as np
from common import Panel, Picture, publish
from robust_regulator import TOP, TORQUE, lift
from scipy.stats import uniform

import dalembert as da

COPIES, BEST, DT, DURATION = 128, 32, 0.05, 2.0


def returns(envs, gains: np.ndarray, seed: int) -> np.ndarray:
    """(COPIES,) sums of rewards of one episode each, by laws with the gains (COPIES, 2)."""
    seen, _ = envs.reset(seed=seed)
    total, going = np.zeros(COPIES), np.ones(COPIES, dtype=bool)
    while going.any():
        seen, reward, fell, late, _ = envs.step(-(gains * seen).sum(axis=1, keepdims=True))
        total += going * reward
        going &= ~(fell | late)
    return total


def main(out, generations=12) -> dict[str, object]:
    top = (system := lift()).assemble({"A": TOP}, guess={"A": TOP, "B": -TOP, "C": TOP})
    envs = da.environments(
        system, {"A": uniform(TOP - 0.1, 0.2)}, COPIES, period=DT, duration=DURATION, guess=top,
        p={"load": uniform(3.0, 2.0), "strength": uniform(0.8, 0.4)}, actions={"torque": (-TORQUE, TORQUE)},
        observe=lambda t, s: [s["A"] - TOP, s.rate("A")], ends=lambda t, s: (s["A"] - TOP) ** 2 > 0.25,
        reward=lambda t, s, u: 1.0 - 4.0 * (s["A"] - TOP) ** 2 - 1e-4 * u["torque"] ** 2,
    )  # fmt: skip
    rng, mean, spread = np.random.default_rng(0), np.zeros(2), np.array([10.0, 3.0])
    tried = []
    for k in range(generations):
        gains = mean + spread * rng.standard_normal((COPIES, 2))
        found = returns(envs, gains, seed=k)
        chosen = gains[np.argsort(found)[-BEST:]]
        mean, spread = chosen.mean(axis=0), chosen.std(axis=0) + 1.0
        tried.append(DURATION / DT - np.quantile(found, [0.25, 0.5, 0.75]))
    K = da.lqr(da.linearize(system, top, independent=["A"]), [4000.0, 40.0], 1.0).K[0]
    learned, known = (float(returns(envs, np.tile(law, (COPIES, 1)), seed=1000).mean()) for law in (mean, K))
    rows = {
        "episodes": generations * COPIES,
        "law that was learned (N m/rad, N m s/rad)": f"{mean[0]:.0f}, {mean[1]:.0f}",
        "law of da.lqr": f"{K[0]:.0f}, {K[1]:.0f}",
        "mean return of the learned law in new episodes": learned,
        "mean return of da.lqr in these": known,
        "return of standing still": DURATION / DT,
    }
    lacks = zip(("lower quartile", "median", "upper quartile"), np.transpose(tried))
    curves = {name: (range(1, generations + 1), x) for name, x in lacks}
    panel = Panel("what the return lacks of standing still", curves, log=True, xlabel="generation")
    return publish(out, "learned_balance", rows, [Picture(system, [top])], [panel])
