"""The gallery: python examples/gallery [--out build/gallery] [case ...]."""

from argparse import ArgumentParser
from importlib import import_module
from pathlib import Path

from cases import CASES

if __name__ == "__main__":
    parser = ArgumentParser(description="Run cases of the gallery and write their figures, animations and numbers.")
    parser.add_argument("cases", nargs="*", metavar="case", help=f"all by default: {', '.join(CASES)}")
    parser.add_argument("--out", type=Path, default=Path("build/gallery"))
    given = parser.parse_args()
    given.out.mkdir(parents=True, exist_ok=True)
    if unknown := set(given.cases) - set(CASES):
        parser.error(f"unknown: {', '.join(sorted(unknown))}; known: {', '.join(CASES)}")
    for case in given.cases or CASES:
        import_module(case).main(given.out)
