"""Pages' programs without a browser: Node runs a machine's module and the script of a test."""

import json
import shutil
import subprocess
from functools import cache
from pathlib import Path
from typing import Any

import pytest

import dalembert
from dalembert import zoo
from dalembert.live.export import page_data

SOURCES = Path(dalembert.__file__).parent / "live"
_RESOLVE = """
export async function resolve(name, context, next) {
  const own = "dalembert/live/"
  if (!name.startsWith(own)) return next(name, context)
  return { url: new URL(name.slice(own.length), SOURCES).href, shortCircuit: true }
}
"""
_SCRIPT = """
import { readFileSync } from "node:fs"
import { register } from "node:module"
const SOURCES = __SOURCES__
const resolver = "const SOURCES = " + JSON.stringify(SOURCES) + "\\n" + __RESOLVE__
register("data:text/javascript," + encodeURIComponent(resolver))
const { Machine } = await import("dalembert/live/machine.js")
const { library } = await import("dalembert/live/memory.js")
const { data, given } = JSON.parse(readFileSync(0, "utf8"))
const machine = data && await Machine.create(Buffer.from(data.code, "base64"), data.map)
const answer = await (async () => { __BODY__ })()
console.log(JSON.stringify(answer, (_, x) => (ArrayBuffer.isView(x) ? Array.from(x) : x)))
"""
#: JavaScript that has `machine` and times `t`: a run with the lengths of native steps, each begun as the native loop
#: begins it: an `end` at every step would keep the loop from its usual step and from answering near singular positions
STEPS = """
machine.begin()
const least = machine.singular().least, times = [], rows = []
for (let k = 1; k < t.length && !machine.ended; k++) {
  const before = machine.last.t
  machine.run.set("step.h", t[k] - before)
  if (k === 1) machine.run.set("step.usual_h", t[1] - before)
  while (machine.last.t === before && machine.step(t[t.length - 1]));
  times.push(machine.last.t)
  rows.push(Array.from(machine.last.row))
}
return { least, times, rows, ended: machine.ended, residual: machine.residual() }
"""


def node() -> str:
    """The path of Node; without it a test is skipped."""
    path = shutil.which("node")
    if path is None:
        pytest.skip("Node is not installed, which runs WebAssembly without a browser")
    return path


def page(system: Any, state: Any, **how: Any) -> dict[str, Any]:
    """What a page of a system is made of."""
    return page_data(system, state, u=None, p=how.get("p"), traces=[], modes=how.get("modes", False))


@cache
def zoo_page(name: str) -> tuple[Any, Any, dict[str, Any]]:
    """A system of the zoo, its start, and its page."""
    entry = zoo.CATALOG[name]
    system = entry.build().compile()
    x = system.state(*entry.start())
    return system, x, page(system, x)


def ask(data: dict[str, Any] | None, body: str, **given: Any) -> Any:
    """What JavaScript returns that has the `machine` of a page, its `data` and what is `given`."""
    script = _SCRIPT.replace("__SOURCES__", json.dumps(SOURCES.as_uri() + "/")).replace("__BODY__", body)
    script = script.replace("__RESOLVE__", json.dumps(_RESOLVE))
    command = [node(), "--no-warnings", "--input-type=module", "-e", script]
    done = subprocess.run(command, input=json.dumps({"data": data, "given": given}), capture_output=True, text=True)
    assert done.returncode == 0, done.stderr[-3000:]
    return json.loads(done.stdout)
