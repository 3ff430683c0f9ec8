"""Passes over a list of operations: dead code, shared reciprocals, products fused into sums.

Each takes and returns `(op, args, outputs)`, operands before users.
"""

from __future__ import annotations

from collections import Counter

Listing = tuple[list[str], list[tuple], list[int]]
LEAVES = frozenset({"input", "const"})
_LATENCY = {"add": 3, "sub": 3, "mul": 4, "div": 13, "sqrt": 20, "neg": 1, "sin": 40, "cos": 40}


def without_dead_code(op: list[str], args: list[tuple], outputs: list[int]) -> Listing:
    """Only what an output depends on, renumbered."""
    live = bytearray(len(op))
    for k in outputs:
        live[k] = 1
    for k in range(len(op) - 1, -1, -1):
        if live[k] and op[k] not in LEAVES:
            for a in args[k]:
                live[a] = 1
    number: dict[int, int] = {}
    new_op: list[str] = []
    new_args: list[tuple] = []
    for k, name in enumerate(op):
        if live[k]:
            number[k] = len(new_op)
            new_op.append(name)
            new_args.append(args[k] if name in LEAVES else tuple([number[a] for a in args[k]]))
    return new_op, new_args, [number[k] for k in outputs]


def share_reciprocals(op: list[str], args: list[tuple], outputs: list[int], least: int = 3) -> Listing:
    """a/d, b/d, c/d, … → r = 1/d, then a r, b r, c r, ….

    A division keeps the divider busy some five cycles, a product half a cycle. The price is half an ulp, and
    an infinity where d is subnormal (|d| < 2⁻¹⁰²²).
    """
    divisors = Counter(args[k][1] for k, name in enumerate(op) if name == "div")
    shared = {d for d, count in divisors.items() if count >= least and op[d] != "const"}
    if not shared:
        return op, args, outputs
    new_op, new_args = list[str](), list[tuple]()
    number: list[int] = []
    reciprocal: dict[int, int] = {}  # of a divisor
    products: dict[tuple, int] = {}  # with reciprocals: a/d and a (1/d) are one

    def emit(name: str, operands: tuple) -> int:
        new_op.append(name)
        new_args.append(operands)
        return len(new_op) - 1

    def product(a: int, r: int) -> int:
        key = (a, r) if a < r else (r, a)
        if key not in products:
            products[key] = emit("mul", key)
        return products[key]

    one = emit("const", (1.0,))
    inverses: set[int] = set()
    for name, operands in zip(op, args):
        if name in LEAVES:
            number.append(emit(name, operands))
        elif name == "div" and operands[1] in shared:
            a, d = operands
            if d not in reciprocal:
                reciprocal[d] = emit("div", (one, number[d]))
                inverses.add(reciprocal[d])
            unit = op[a] == "const" and args[a][0] == 1.0
            number.append(reciprocal[d] if unit else product(number[a], reciprocal[d]))
        else:
            operands = tuple([number[a] for a in operands])
            known = name == "mul" and not inverses.isdisjoint(operands)
            number.append(product(*operands) if known else emit(name, operands))
    return new_op, new_args, [number[k] for k in outputs]


def fuse(op: list[str], args: list[tuple], outputs: list[int]) -> Listing:
    """Products whose every use is a sum or difference disappear into fused multiply-adds.

    Each sum takes in one product. A product of k uses needs all k sums, so those of few uses choose first:
    each removes one operation whatever its k. Of two rivals, the one ready later is taken in, for then the
    other is ready in time. Done here and not by LLVM, which fuses products of one use only, and differently in
    scalar and vector code.
    """
    users: dict[int, list[int]] = {k: [] for k, name in enumerate(op) if name == "mul"}
    ready = [0] * len(op)
    for k, name in enumerate(op):
        if name in LEAVES:
            continue
        operands = args[k]
        ready[k] = max([ready[a] for a in operands]) + _LATENCY.get(name, 3)
        for i, a in enumerate(operands):
            if op[a] == "mul" and a not in operands[:i]:
                users[a].append(k)
    for k in outputs:
        users.pop(k, None)
    taken: dict[int, int] = {}
    for product in sorted(users, key=lambda k: (len(users[k]), -ready[k])):
        sums = users[product]
        if all(op[s] in ("add", "sub") and s not in taken and args[s][0] != args[s][1] for s in sums):
            for s in sums:
                taken[s] = product
    new_op, new_args = list(op), list(args)
    for s, product in taken.items():
        left, right = args[s]
        a, b = args[product]
        if left == product:
            new_op[s], new_args[s] = ("fma" if op[s] == "add" else "fms"), (a, b, right)
        else:
            new_op[s], new_args[s] = ("fma" if op[s] == "add" else "fnma"), (a, b, left)
    return without_dead_code(new_op, new_args, outputs)
