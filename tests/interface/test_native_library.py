"""Native functions by name: made anew when a source changes, found again when not, called through structs."""

import json
import shutil
import subprocess
import sys

import numba
import numpy as np
import pytest

from dalembert import sources
from dalembert.compiler import cache
from dalembert.compiler.target import compile_modules, host
from dalembert.errors import CompileError
from dalembert.native import build, library
from dalembert.native.calls import jump
from dalembert.native.jit import OPTIONS
from dalembert.native.memory import cut, doubles
from dalembert.native.numba_struct import struct_at
from dalembert.native.struct import Doubles, Float, Int, Ints, Struct, StructPart

MODULES = sorted({module for module, _ in library.ENTRIES.values()})
SMALL = "tree_pairs"  # an entry that is soon compiled
IMPORTED = """
import json, sys
from dalembert.native.numba_bitcode import load
found = {}
for name in sys.argv[1:]:
    for old in [m for m in sys.modules if m.split(".")[0] == "dalembert"]:
        del sys.modules[old]
    load(name)
    found[name] = [m for m in sys.modules if m.split(".")[0] == "dalembert"]
print(json.dumps(found))
"""


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.setenv("DALEMBERT_CACHE", str(tmp_path / "cache"))
    cache._prepared.cache_clear()
    yield tmp_path
    cache._prepared.cache_clear()


@pytest.fixture
def edited(tmp_path, monkeypatch):
    """A copy of the package's sources that digests are taken of."""
    package = tmp_path / sources.PACKAGE.name
    shutil.copytree(sources.PACKAGE, package, ignore=shutil.ignore_patterns("__pycache__", "shipped"))
    monkeypatch.setattr(sources, "PACKAGE", package)
    forget()
    yield package
    forget()


def forget():
    sources.digest_of.cache_clear()
    sources.package_stamp.cache_clear()
    sources._read.cache_clear()


def digests():
    forget()
    return {module: sources.digest_of(module) for module in MODULES}


# --- what machine code depends on


def test_sources_of_an_entry_are_all_the_modules_that_python_imports_for_it():
    done = subprocess.run([sys.executable, "-c", IMPORTED, *MODULES], check=True, capture_output=True, text=True)
    for module, imported in json.loads(done.stdout).items():
        assert len(imported) > 5
        door = {"dalembert", "dalembert.forks"}  # what `import dalembert` loads
        assert set(imported) - {*door, *sources.packages(module)} <= sources.closure(module), module


def test_an_edit_of_any_source_changes_the_digests_of_the_entries_that_use_it_and_no_others(edited, monkeypatch):
    uses = {module: sources.closure(module) for module in MODULES}
    monkeypatch.setattr(sources, "closure", uses.get)  # an empty line imports nothing
    monkeypatch.setattr(sources, "_imported", lambda *given: [])  # so texts need not be looked through again
    before = digests()
    for name in sorted(set().union(*uses.values())):
        path = sources._path(name)
        text = path.read_text()
        path.write_text(text + "\n")
        after = digests()
        changed = {module for module in MODULES if after[module] != before[module]}
        assert changed == {module for module in MODULES if name in uses[module]}, name
        path.write_text(text)
    assert digests() == before


def test_an_edit_of_the_translator_makes_all_bitcode_stale(edited):
    before = {name: library.source(name) for name in library.ENTRIES}
    forget()
    path = edited / "native/numba_bitcode.py"
    path.write_text(path.read_text() + "\n")
    assert all(library.source(name) != before[name] for name in library.ENTRIES)


def test_the_key_of_a_kernel_changes_with_any_source_of_the_compiler(edited, monkeypatch):
    compiler = edited / "compiler"
    monkeypatch.setattr(cache, "__file__", str(compiler / "cache.py"))
    cache._own_source.cache_clear()
    keys = {cache.key("kernel")}
    paths = sorted(compiler.glob("*.py"))
    for path in paths:
        path.write_text(path.read_text() + "\n")
        cache._own_source.cache_clear()
        keys.add(cache.key("kernel"))
    assert len(keys) == len(paths) + 1 > 15
    cache._own_source.cache_clear()
    outside = {m for m in sources.closure("dalembert.compiler.build") if not m.startswith("dalembert.compiler")}
    assert outside <= {"dalembert.errors", "dalembert.forks", "dalembert.sources"}  # none of which shapes code


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("from dalembert.a.b import c", {"dalembert.a.b", "dalembert.a.b.c"}),
        ("from dalembert.a import (\n    b,  # why\n    c as d,\n)", {"dalembert.a", "dalembert.a.b", "dalembert.a.c"}),
        ("from . import b\nfrom .c import d", {"dalembert.p", "dalembert.p.b", "dalembert.p.c", "dalembert.p.c.d"}),
        ("    from ..a import b", {"dalembert.a", "dalembert.a.b"}),
        ("import dalembert.a.b as c, dalembert.d", {"dalembert.a.b", "dalembert.d"}),
        ("from numba import njit\nimport math", set()),
    ],
)
def test_every_form_of_import_is_seen(text, expected):
    assert set(sources._imported("dalembert.p.module", False, text)) == expected


# --- from bitcode to an address


def test_machine_code_is_found_again_and_made_anew_when_the_file_is_damaged_or_a_source_changed(folder, monkeypatch):
    made = []

    def watched(texts, *args, **options):
        made.append(len(texts))
        return compile_modules(texts, *args, **options)

    from dalembert.compiler import target

    compile_modules = target.compile_modules
    monkeypatch.setattr(target, "compile_modules", watched)
    for _ in range(2):
        assert library._load(SMALL).addresses[library.SYMBOL] != 0
    assert made == [1]
    digest, kept = sorted((folder / "cache").glob("*.bin"), key=lambda file: file.stat().st_size)
    assert b'"digest"' in digest.read_bytes()  # of its sources
    kept.write_bytes(kept.read_bytes()[:-1])
    library._load(SMALL)
    assert made == [1, 1]
    code = library.shipped(SMALL) or library.bitcode(SMALL)
    monkeypatch.setattr(library, "source", lambda name: "an edited source")
    monkeypatch.setattr(library, "bitcode", lambda name: code)  # asked for, since none is shipped for that source
    library._load(SMALL)
    assert made == [1, 1, 1]


def test_shipped_bitcode_counts_for_the_sources_it_was_made_from_only(tmp_path, monkeypatch):
    monkeypatch.setattr(library, "SHIPPED", tmp_path)
    library._manifest.cache_clear()
    assert library.shipped(SMALL) is None
    for found, expected in ((library.source(SMALL), b"code"), ("another", None)):
        (tmp_path / f"{SMALL}.bc").write_bytes(b"code")
        (tmp_path / "manifest.json").write_text(json.dumps({SMALL: found}))
        library._manifest.cache_clear()
        assert library.shipped(SMALL) == expected
    monkeypatch.undo()
    library._manifest.cache_clear()


def test_bitcode_is_for_any_processor_and_knows_no_folder_of_the_machine_that_made_it():
    import llvmlite.binding as llvm

    code = library.bitcode(SMALL)
    text = str(llvm.parse_bitcode(code, llvm.create_context()))
    assert "target-cpu" not in text
    assert "target-features" not in text
    assert f"define void @{library.SYMBOL}(" in text
    assert text.count("\ndefine ") == text.count("\ndefine void @entry(") + text.count("\ndefine internal")
    for folder in (sys.prefix, sys.base_prefix, str(sources.PACKAGE.parent)):
        assert folder.encode() not in code


def test_bitcode_of_another_machine_becomes_the_same_machine_code_here():
    """One wheel serves all platforms: triple and data layout are all that ties bitcode to the one that made it."""
    import llvmlite.binding as llvm

    here = library.bitcode(SMALL)
    module = llvm.parse_bitcode(here, llvm.create_context())
    module.triple = "aarch64-unknown-linux-gnu"
    module.data_layout = "e-m:e-i8:8:32-i16:16:32-i64:64-i128:128-n32:64-S128"
    moved = library.at_home(bytes(module.as_bitcode()))
    assert llvm.parse_bitcode(moved, llvm.create_context()).triple == host().triple
    assert compile_modules([moved]) == compile_modules([here])


def test_without_numba_and_without_bitcode_a_sentence_tells_what_to_install(monkeypatch):
    monkeypatch.setattr(build, "find_spec", lambda name: None)
    with pytest.raises(CompileError, match=r"no machine code of 'tree_pairs' came with this .* pip install numba"):
        library.bitcode(SMALL)


def test_trouble_in_the_translating_process_is_told(tmp_path):
    with pytest.raises(CompileError, match=r"does not translate one of no such entry.*\n(.*\n)*KeyError"):
        list(build.translate([["no such entry"]], str(tmp_path)))


PROGRAM = """
import sys
import dalembert as da
from dalembert import zoo
system = zoo.five_bar().compile()
state = system.state(*zoo.five_bar_start())
low = da.expression(lambda t, s: s["A"])
run = da.simulate(system, state, 1.0, events={"low": low})
assert run.success and run.passages, run
assert len(run(0.5).q) == 4
for method, options in (("rk4", {"step": 1e-2}), ("sdirk4", {}), ("variational", {"step": 1e-2})):
    assert da.simulate(system, state, 0.1, method=method, **options).success
for name in ("nullspace", "admissible", "projection", "partition"):
    assert system.acceleration(state, formulation=name).status == 0
da.linearize(system, state)
chain = zoo.chain(50).compile()
chain.inverse_dynamics_derivatives(chain.state(), [0.0] * 50)
print([name for name in sys.modules if name.split(".")[0] == "numba" or name.startswith("dalembert.linalg")])
"""


def test_numba_is_not_imported_to_simulate_linearize_or_pass_a_singular_position(folder):
    """With an empty cache, events, dense output, every method and formulation, and long chains."""
    done = subprocess.run([sys.executable, "-c", PROGRAM], check=False, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert done.stdout.strip() == "[]"


# --- structs and calls inside Numba


class Inner(Struct):
    """A part of `Outer`."""

    scale = Float()


class Outer(Struct):
    """All kinds of fields."""

    n = Int()
    count = Int()
    values = Doubles("n")
    table = Doubles("n", "max(n - 1, 2)")
    order = Ints("n")
    inner = StructPart(lambda: Inner)


def test_native_code_reads_and_writes_the_fields_that_python_sees():
    at = struct_at(Outer)

    @numba.njit(**{**OPTIONS, "no_cpython_wrapper": False})
    def work(address):
        s = at(address)
        for i in range(s.n):
            s.values[i] = s.inner.scale * s.order[i]
            s.table[i, s.table.shape[1] - 1] = i
        s.count = s.table.shape[1]
        s.inner.scale = 0.5

    s = Outer.sized(n=4, inner=Inner(scale=2.0))
    s.order[:] = [3, 1, 2, 0]
    work(s.pointer)
    np.testing.assert_array_equal(s.values, [6.0, 2.0, 4.0, 0.0])
    np.testing.assert_array_equal(s.table[:, 2], np.arange(4))
    assert (s.count, s.inner.scale) == (3, 0.5)


def test_native_code_cuts_blocks_and_jumps_to_addresses():
    @numba.njit(**{**OPTIONS, "no_cpython_wrapper": False})
    def work(function, x, y):
        block = doubles(y, 8)
        cut(block, 2, (2, 3))[1, 2] = 5.0
        jump(function, x, y, 0)

    called = []
    callback = library.SIGNATURE(lambda x, y, w: called.append((x, y, w)))
    import ctypes

    x, y = np.zeros(1), np.zeros(8)
    work(ctypes.cast(callback, ctypes.c_void_p).value, x.ctypes.data, y.ctypes.data)
    assert called == [(x.ctypes.data, y.ctypes.data, None)]
    np.testing.assert_array_equal(np.flatnonzero(y), [7])


def test_an_array_must_have_the_shape_that_its_struct_declares():
    class Sized(Struct):
        rows = Int()
        x = Doubles("rows", "3")

    assert Sized(x=np.zeros((2, 3)), rows=2).x.shape == (2, 3)  # numbers count first, in any order
    for wrong in (np.zeros((1, 3)), np.zeros((3, 2)), np.zeros(6)):
        with pytest.raises(ValueError, match=r"Sized.x has shape .*; needed: \(2, 3\)"):
            Sized(rows=2, x=wrong)
