"""Everything that a page computes with: one WebAssembly module, and where things are in its memory.

The module holds kernels of the mechanism, the native functions that a simulation calls, and an image of the structs
that they work with, laid out here by the library itself: what runs in the page is the loop that runs here.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from dalembert.analysis.mobility import report
from dalembert.compiler import Kernel
from dalembert.compiler.wasm import Memory, wasm_module
from dalembert.errors import CompileError
from dalembert.formulations import make_landing, make_problem
from dalembert.integrators.run_record import PASSAGE, FillRecord, RunRecord
from dalembert.lazy import cached_property
from dalembert.live.kernels import anchors, energies, places, poses, twists
from dalembert.native import library
from dalembert.native.bound import NOTHING, Bound
from dalembert.native.image import Image
from dalembert.native.struct import Float, Struct
from dalembert.outcome import Outcome
from dalembert.simulation.layout import RunLayout
from dalembert.simulation.run.context import lay_out
from dalembert.simulation.run.segment import Segment
from dalembert.simulation.run.stepper import Stepper
from dalembert.simulation.run.stepping import begin
from dalembert.simulation.setup import make_choices, make_setup, make_span
from dalembert.simulation.singular.rank_revealing import careful
from dalembert.system.formulation_options import formulation_options
from dalembert.system.state import State
from dalembert.system.system import System

START = 4096  # address of the image; constants of the code are below
ROOM = 8  # records of the loop between two looks
CALLED = ("begin", "advance", "fill", "nullspace", "factorize")  # by the page itself
NATIVES = (
    *CALLED, "runge_kutta", "gauge", "field", "position", "velocity",
    "sparse_field", "sparse_position", "sparse_velocity",
)  # fmt: skip
_DEFAULTS = ("dop853", 1e-9, 1e-10, None, np.inf, "projection", "auto", "continue", ROOM)


@dataclass(frozen=True)
class WasmProgram:
    """A WebAssembly module, and the map of its memory as plain data."""

    code: bytes
    map: dict[str, Any]


class _Functions:
    """Functions of the page in the order in which they are found, and their places in its table."""

    def __init__(self) -> None:
        self.natives = {library.address(name): name for name in NATIVES}
        self.found: dict[str, Any] = {}
        self._places: dict[int, int] = {}  # by address here

    def place(self, address: int, bound: Bound | None) -> int | None:
        """The place of a function; None for a number that is no address of one."""
        name = self.natives.get(address)
        if name is None and (bound is None or not address):
            return None
        if address not in self._places:
            self._places[address] = len(self.found) + 1
            if name is not None:
                self.found[name] = library.shipped(name) or library.bitcode(name)
            else:
                kernel = bound.owner if bound is not None else None
                if not isinstance(kernel, Kernel):
                    raise CompileError("a function of this run is no kernel, which is a fault of dalembert.")
                self.found[f"k{len(self.found)}_{kernel.name}"] = kernel.function
        return self._places[address]


class Parts:
    """Structs of a page, made by the library itself."""

    def __init__(self, system: System, state: State, p: np.ndarray, u: np.ndarray) -> None:
        """system: starts in a state, with parameters p and inputs u."""
        self.system, self.p, self.u = system, p, u
        choices = make_choices(*_DEFAULTS)
        span = make_span(system, state, 1.0, None, u)
        self.layout = RunLayout(make_setup(system, choices, span, p))
        ctx = lay_out(Segment(self.layout, span))
        begin(ctx)
        self.run, self.rows, self.state = ctx.record, ctx.rows, ctx.state()
        _clear(self.run)
        self.bounds = self._bounds()
        self.rank = 0
        if system.rows.of:
            on = np.ones(len(system.rows.of), dtype=bool)
            self.rank = report(system, state, p, on).generic_rank
        self.problems = {
            "follow": make_problem(system.nv, int(system.rows.holonomic.sum())),
            "sigma": make_problem(system.nv, len(system.rows.of), safety=np.inf),
        }

    def program(self) -> WasmProgram:
        """The module and its map."""
        functions = _Functions()
        image = Image(START, functions.place)
        for name in CALLED:
            functions.place(library.address(name), None)
        map_ = self.placed(image)
        blocks = [(at, bytes(block)) for at, block in image.blocks]
        code = wasm_module(functions.found, Memory(blocks, image.end), START)
        return WasmProgram(code, {**map_, "functions": list(functions.found), "image": [START, image.end]})

    # --- functions of the page ------------------------------------------------------------------------------------

    def _bounds(self) -> dict[str, Bound]:
        system, values = self.system, {"p": self.p, "u": self.u}
        out = {
            "poses": Bound.of(poses(system), values),
            "twists": Bound.of(twists(system), values),
            "energies": Bound.of(energies(system), values),
            "plus": Bound.of(system.kernel("plus"), {}),
            "equations": Bound.of(system.kernel("equations"), values),
            "placing": Bound.of(system.kernel("equations", rows=self.holonomic), values),
        }
        if self.anchors:
            out["anchors"] = Bound.of(places(system), values)
        if system.rows.holonomic.any():
            out["position"] = self._landing("position", self.holonomic)
        if system.rows.of:
            out["velocity"] = self._landing("velocity", None)
        return out

    @cached_property
    def anchors(self) -> list[list[Any]]:
        """[place of the body, name] of what shapes hang on; none where no parameter can move it."""
        return [[k, name] for k, name, _ in anchors(self.system)] if self.system.p_names else []

    @cached_property
    def holonomic(self) -> tuple[int, ...] | None:
        """The rows that restrict positions; None: all."""
        on = self.system.rows.holonomic
        return None if on.all() else tuple(np.flatnonzero(on).tolist())

    def _landing(self, name: str, rows: tuple[int, ...] | None) -> Bound:
        system, layout = self.system, self.layout
        return make_landing(
            name,
            system.kernel("equations", rows=rows),
            system.kernel("plus"),
            {**layout.equations.values(None), "u": self.u},
            nq=system.nq,
            nv=system.nv,
            rows=layout.equations.usual_rank(rows),
            powers=layout.equations.plain_powers,
            options=formulation_options(system, "nullspace", self.p, rows=rows),
            rounding=0.0,
        )

    # --- in memory ------------------------------------------------------------------------------------------------

    def placed(self, image: Image) -> dict[str, Any]:
        """Put all into the image; returns the map."""
        system, layout, run = self.system, self.layout, self.run
        wishes = [self._wish(run.copy())]
        steps: list[dict[str, Any]] = []
        if system.rows.of:
            beside = run.copy()
            careful(layout, self.rows).stepper.enter(beside)
            wishes.append(self._wish(beside))
            stepper = careful(layout, self.rows).stepper
            # the page does not look for branches
            stepper = stepper._replace(
                fields={**stepper.fields, "regime.across": layout.ruler.known, "gauge": run.gauge}
            )
            steppers = [stepper.now(run, layout.setup.method), stepper]
            if self.rows is not None:  # the gauge measures the chosen rows, not the mechanism, where these are poor
                every = {**stepper.fields, "regime.careful": 0, "regime.until": 0.0, "gauge": NOTHING}
                steppers.append(stepper._replace(fields=every))
            steps = [_words(image, s) for s in steppers]
        map_ = {
            "run": {"at": image.struct(run), "fields": _offsets(RunRecord)},
            "fill": [{"at": image.struct(w), "run": image.struct(w.run)} for w in wishes],
            "fill_fields": _offsets(FillRecord),
            "bounds": {name: _described(image, b) for name, b in self.bounds.items()},
            "bound_fields": _offsets(Bound),
            "problems": {name: image.struct(x) for name, x in self.problems.items()},
            "problem_fields": _offsets(type(self.problems["follow"])),
            "gauge": image.struct(run.gauge) if run.gauge.address else 0,
            "steps": steps,
            "passage": PASSAGE,
            "driven": "drivers" in system.work_names,
            "sizes": {
                "nq": system.nq, "nv": system.nv, "rows": len(system.rows.of), "rank": self.rank,
                "placing": int(system.rows.holonomic.sum()),
                "powers": layout.equations.plain_powers, "works": layout.works,
            },
            "start": {"q": self.state.q.tolist(), "v": self.state.v.tolist(), "t": self.state.t},
            "outcomes": {o.name: [int(o), o.sentence] for o in Outcome},
        }  # fmt: skip
        map_["parameters"] = _places(image, "p")
        map_["inputs"] = _places(image, "u")
        return map_

    def _wish(self, run: RunRecord) -> FillRecord:
        width = run.width
        _clear(run)
        return FillRecord(
            run=run, count=2, width=width, asked=1, backward=0,
            times=np.zeros(2), states=np.zeros((2, width)), wanted=np.zeros(1), out=np.zeros((1, width)),
        )  # fmt: skip


def _clear(run: RunRecord) -> None:
    """No records: memory that was never written is not the same twice."""
    run.times[1:], run.states[1:] = 0.0, 0.0


def _offsets(kind: type[Struct]) -> dict[str, list[Any]]:
    """{path: [offset, "f" for a double, "i" for a whole number or an address]}."""
    return {path: [at, "f" if isinstance(field, Float) else "i"] for path, (at, field) in kind.members().items()}


def _described(image: Image, b: Bound) -> dict[str, Any]:
    return {"at": image.struct(b), "slices": {name: [s.start, s.stop] for name, s in b.slices.items()}}


def _words(image: Image, stepper: Stepper) -> dict[str, Any]:
    """Values that `Stepper.enter` writes into a record: numbers by field, addresses already those of the image."""
    values: dict[str, Any] = {
        **stepper.fields,
        "ode": stepper.ode,
        "method": stepper.table,
        "step.exponent": stepper.method.exponent,
        "step.order": stepper.method.order,
        "u_index": stepper.ode.slices["u"].start if "u" in stepper.ode.slices else 0,
        "step.fresh": 0,
    }
    out, members = dict[str, Any](), RunRecord.members()
    for name, value in values.items():
        if isinstance(value, Struct):
            out[name] = image.struct(value)
        elif isinstance(value, np.ndarray):
            out[name] = image.array(value)
        else:
            out[name] = float(value) if isinstance(members[name][1], Float) else int(value)
    return out


def _places(image: Image, name: str) -> list[int]:
    """Addresses of an input by name in all functions that have it."""
    return sorted({image.array(b.x) + 8 * b.slices[name].start for b, _ in image.bounds if name in b.slices})
