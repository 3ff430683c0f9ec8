"""Every mechanism of the zoo as C on other processors: `python -m tests.campaign.exports [--only four_bar]`.

- gcc and clang (of ziglang) compile it without a warning under the flags of the suite; cppcheck, if it is there, finds
  nothing.
- 200 steps of rk4 on x86-64, aarch64, riscv64 and arm, each with fused products, under qemu-user where the processor
  is another one: the same bits everywhere.
- A step's processor time: the median of 2000, and the largest but two, which other programs may reach.
"""

from __future__ import annotations

import argparse
import importlib.util
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

from dalembert import zoo
from dalembert.export.c import source_files, written
from dalembert.export.contents import make_contents

WARNINGS = ["-std=c99", "-Wall", "-Wextra", "-pedantic", "-Wconversion", "-Werror"]
ZIG = [sys.executable, "-m", "ziglang", "cc"]
LONGEST = 900  # s of cppcheck
EXACT = ["-O1", "-ffp-contract=off"]
#: {processor: (compiler, emulator)}
PROCESSORS: dict[str, tuple[list[str], str | None]] = {
    "x86-64": (["gcc", "-mfma"], None),
    "x86-64 by clang": ([*ZIG, "-target", "x86_64-linux-musl", "-mfma"], None),
    "aarch64": ([*ZIG, "-target", "aarch64-linux-musl"], "qemu-aarch64"),
    "riscv64": ([*ZIG, "-target", "riscv64-linux-musl"], "qemu-riscv64"),
    "arm": ([*ZIG, "-target", "arm-linux-musleabihf", "-mcpu=cortex_a15"], "qemu-arm"),
}
MAIN = """
#define _POSIX_C_SOURCE 199309L
#include "NAME.h"
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

SIZES
static NAME_work work;

static int longer(const void *a, const void *b)
{
    const double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

int main(int argc, char **argv)
{
    NAME_parameters p;
    NAME_state x;
    double u[1 + NU] = {0.0};
    static double taken[2000];
    (void)argv;
    NAME_defaults(&p);
    NAME_start(&x);
    for (int i = 0; i < (argc > 1 ? 2000 : 200); ++i) {
        struct timespec a, b;
        clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &a);
        if (NAME_step_rk4(&x, u, &p, 0.001, &work) > 1) {
            return 1;
        }
        clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &b);
        taken[i] = 1e6 * (double)(b.tv_sec - a.tv_sec) + 1e-3 * (double)(b.tv_nsec - a.tv_nsec);
        if (argc > 1 && i % 200 == 199) {
            NAME_start(&x);
        }
    }
    if (argc > 1) {
        qsort(taken, 2000, sizeof taken[0], longer);
        printf("%.2f %.2f", taken[1000], taken[1997]);
        return 0;
    }
    for (int k = 0; k < NQ; ++k) {
        printf("%a ", x.q[k]);
    }
    for (int k = 0; k < NV; ++k) {
        printf("%a ", x.v[k]);
    }
    return 0;
}
"""


def built(name: str, folder: Path) -> str:
    """The C of a mechanism of the zoo with a main program; its prefix."""
    entry = zoo.CATALOG[name]
    system = entry.build().compile("casadi")
    state = system.state(*entry.start())
    c = make_contents(system, state, None, None, "double", (), (), None, None, None)
    written(folder, source_files(c))
    sizes = f"enum {{ NQ = {system.nq}, NV = {system.nv}, NU = {len(system.u_names)} }};"
    text = MAIN.replace("NAME", c.prefix).replace("SIZES", sizes)
    (folder / "run.c").write_text(text)
    return str(c.prefix)


def compiled(command: list[str], folder: Path, prefix: str, flags: list[str], out: str) -> str:
    """What the compiler says."""
    sources = [str(folder / f"{prefix}.c"), str(folder / "run.c")]
    done = subprocess.run(
        [*command, *flags, *sources, "-lm", "-o", str(folder / out)], check=False, capture_output=True, text=True
    )
    return done.stderr.strip() if done.returncode else ""


def checked(source: Path) -> list[str]:
    """What cppcheck finds; where straight-line functions are so long that it does not end, it is told."""
    asked = ["--std=c99", "--enable=warning,performance,portability", "--error-exitcode=3", "--quiet", str(source)]
    try:
        done = subprocess.run(["cppcheck", *asked], check=False, capture_output=True, text=True, timeout=LONGEST)
    except subprocess.TimeoutExpired:
        print(f"  cppcheck does not end within {LONGEST} s on {source.name}")
        return []
    return [f"cppcheck: {done.stderr.strip()[:300]}"] if done.returncode else []


def compare(name: str, folder: Path) -> tuple[list[str], str]:
    """What is wrong with the C of a mechanism, and its times on this computer."""
    prefix, wrong, ends, times = built(name, folder), [], {}, ""
    zig = importlib.util.find_spec("ziglang") is not None
    for processor, (command, emulator) in PROCESSORS.items():
        if (command[:3] == ZIG[:3] and not zig) or (emulator and not shutil.which(emulator)):
            continue
        flags = [*EXACT, *WARNINGS, *([] if command[0] == "gcc" else ["-static"])]
        if said := compiled(command, folder, prefix, flags, "run"):
            wrong.append(f"{processor}: {said.splitlines()[0]}")
            continue
        start = [*([emulator] if emulator else []), str(folder / "run")]
        done = subprocess.run(start, check=False, capture_output=True, text=True)
        ends[processor] = done.stdout if done.returncode == 0 else f"exit {done.returncode}"
        if processor == "x86-64":
            compiled(command, folder, prefix, ["-O2", "-ffp-contract=off"], "timed")
            times = subprocess.run([str(folder / "timed"), "time"], check=False, capture_output=True, text=True).stdout
    first = next(iter(ends.values()), "")
    wrong += [f"{processor} has other bits than {next(iter(ends))}" for processor, end in ends.items() if end != first]
    if shutil.which("cppcheck"):
        wrong += checked(folder / f"{prefix}.c")
    return wrong, times


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--only", nargs="*", choices=list(zoo.CATALOG), help="mechanisms, by default all")
    given, bad = parser.parse_args(), 0
    missing = [t for t in ("gcc", "qemu-aarch64", "qemu-riscv64", "qemu-arm", "cppcheck") if not shutil.which(t)]
    if missing:
        print(f"not on the PATH, so not tried: {', '.join(missing)}")
    for name in given.only or zoo.CATALOG:
        with tempfile.TemporaryDirectory() as folder:
            wrong, times = compare(name, Path(folder))
        median, most = times.split() if times else ("?", "?")
        print(f"{name}: {'; '.join(wrong) or 'the same bits'}; a step {median} µs, at most {most} µs", flush=True)
        bad += bool(wrong)
    return 1 if bad else 0


if __name__ == "__main__":
    raise SystemExit(main())
