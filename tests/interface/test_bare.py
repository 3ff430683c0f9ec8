"""Without the extras, Numba among them: every public name and call works, or names the extra it needs."""

import ast
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[2]
SOURCES = ROOT / "src"
#: modules that may ask for those with native code: they translate it, or offer it to functions written in Numba
DOORS = {"dalembert.native.build", "dalembert.native.numba_bitcode", "dalembert.compiler"}


def run(*arguments):
    """A new process."""
    done = subprocess.run([sys.executable, *map(str, arguments)], check=False, capture_output=True, text=True)
    return done.returncode, done.stdout + done.stderr[-2000:]


def test_every_public_name_and_call_works_or_names_its_extra():
    code, text = run(ROOT / "tests/campaign/bare.py", "--hide")
    assert code == 0, text


def imports(path):
    """The modules that a file may import, at any place, types aside."""
    checked = set()
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.If) and ast.unparse(node.test) == "TYPE_CHECKING":
            checked |= set(ast.walk(node))
        elif node in checked:
            continue
        elif isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            package = path.relative_to(SOURCES).with_suffix("").parts[: -node.level] if node.level else ()
            module = ".".join([*package, *([node.module] if node.module else [])])
            yield from (module, *(f"{module}.{alias.name}" for alias in node.names))


def test_no_module_but_those_with_native_code_imports_numba():
    """Those that import Numba hold native code; the others ask for machine code by name and import none of them."""
    files = {".".join(p.relative_to(SOURCES).with_suffix("").parts): p for p in SOURCES.rglob("*.py")}
    files = {name.removesuffix(".__init__"): path for name, path in files.items()}
    asked = {name: set(imports(path)) for name, path in files.items()}
    program = """
import importlib, sys
sys.modules["numba"] = None
for name in sys.argv[1:]:
    try:
        importlib.import_module(name)
    except ImportError as error:
        print(name) if "numba" in str(error) else None
"""
    code, text = run("-c", program, *sorted(files))
    assert code == 0, text
    native = set(text.split())
    assert "dalembert.integrators.loop" in native
    wrong = {
        name: sorted(asked[name] & native)
        for name in files
        if name not in native | DOORS and not name.startswith("dalembert.linalg.") and asked[name] & native
    }
    assert not wrong
