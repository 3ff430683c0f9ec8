"""Object code on disk: found again, private, bounded, and never in the way."""

import concurrent.futures
import os
import stat
import subprocess
import sys
import tempfile
import time
import warnings

import casadi as ca
import numpy as np
import pytest

from dalembert.compiler import Kernel, build, cache


def function(number=1.0):
    x = ca.SX.sym("x", 3)
    return ca.Function("cached", [x], [ca.sin(x) * number + x**2])


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """A cache of its own for the test, and a process that has loaded nothing yet."""
    path = tmp_path / "cache"
    monkeypatch.setenv("DALEMBERT_CACHE", str(path))
    forget()
    return path


def forget():
    build._loaded.clear()
    cache._prepared.cache_clear()


def files(folder):
    return sorted(folder.glob("*.bin"))


@pytest.fixture
def compiled(monkeypatch):
    """Names of the functions that were really compiled."""
    names = []
    original = build._compile

    def counting(function, *rest):
        names.append(function.name())
        return original(function, *rest)

    monkeypatch.setattr(build, "_compile", counting)
    return names


def right(kernel, number=1.0):
    x = np.array([0.1, 2.0, -3.0])
    return np.allclose(kernel(x), np.sin(x) * number + x**2, rtol=1e-14)


def test_the_second_process_finds_what_the_first_compiled(folder, compiled):
    assert right(Kernel(function()))
    assert compiled == ["cached"]
    forget()
    assert right(Kernel(function()))
    assert compiled == ["cached"]
    assert stat.S_IMODE(folder.stat().st_mode) == 0o700


def test_lanes_cuts_and_functions_are_kept_apart(folder, compiled):
    for options in ({}, {"lanes": 4}, {"chunk": 2}):
        Kernel(function(), **options)
    assert right(Kernel(function(2.0)), 2.0)
    assert len(compiled) == 4


def test_a_change_of_the_compilers_source_or_processor_changes_the_key(monkeypatch):
    before = cache.key("a", "b")
    assert before == cache.key("a", "b")
    assert before != cache.key("ab", "")
    monkeypatch.setattr(cache, "_own_source", lambda: b"another version")
    assert cache.key("a", "b") != before


@pytest.mark.parametrize("damage", ["cut", "flip", "empty", "other"])
def test_a_damaged_file_is_made_anew(folder, compiled, damage):
    Kernel(function())
    forget()
    for path in files(folder):
        data = bytearray(path.read_bytes())
        if damage == "flip":
            data[len(data) // 2] ^= 1
        path.write_bytes({"cut": data[:-100], "flip": data, "empty": b"", "other": b"x" * 5000}[damage])
    assert right(Kernel(function()))
    assert len(compiled) == 2
    forget()
    assert right(Kernel(function()))
    assert len(compiled) == 2


def test_many_processes_share_a_cache(folder):
    code = (
        "import casadi as ca, numpy as np\n"
        "from dalembert.compiler import Kernel\n"
        "x = ca.SX.sym('x', 2)\n"
        "for i in range(6):\n"
        "    kernel = Kernel(ca.Function('f', [x], [ca.sin(x) + i]))\n"
        "    assert np.allclose(kernel([1.0, 2.0]), np.sin([1, 2]) + i)\n"
    )

    def run(_):
        return subprocess.run([sys.executable, "-c", code], capture_output=True, text=True).stderr

    with concurrent.futures.ThreadPoolExecutor(4) as pool:
        assert list(pool.map(run, range(4))) == [""] * 4
    assert len(files(folder)) >= 6
    assert not list(folder.glob("*.tmp"))


def test_the_least_recently_used_go_when_the_cache_is_full(folder, monkeypatch):
    monkeypatch.setattr(cache, "LIMIT", 50_000)
    for i in range(8):
        cache.write(f"entry{i}", {"n": i}, [bytes(9_000)])
        os.utime(folder / f"entry{i}.bin", (time.time() - 1000 + i,) * 2)
        if i == 4:
            os.utime(folder / "entry0.bin")  # used again
    kept = {path.name for path in files(folder)}
    assert sum(path.stat().st_size for path in files(folder)) <= 50_000
    assert {"entry0.bin", "entry7.bin"} <= kept
    assert "entry1.bin" not in kept
    entry = cache.read("entry7")
    assert entry.facts == {"n": 7}
    assert entry.objects == [bytes(9_000)]


def test_what_interrupted_writers_left_is_removed(folder):
    cache.write("first", {}, [b"code"])
    (folder / "abc.tmp").write_bytes(b"half")
    os.utime(folder / "abc.tmp", (time.time() - 10_000,) * 2)
    cache._room.clear()  # as in the next process
    cache.write("second", {}, [b"code"])
    assert not list(folder.glob("*.tmp"))


def test_the_folder_is_not_looked_through_for_every_entry(folder, monkeypatch):
    """Of thousands of entries that takes longer than to compile a small function."""
    monkeypatch.setattr(cache, "LIMIT", 1_000_000)
    looks, evict = [], cache._evict
    monkeypatch.setattr(cache, "_evict", lambda path: looks.append(path) or evict(path))
    for i in range(300):
        cache.write(f"entry{i}", {}, [bytes(9_000)])
        assert sum(path.stat().st_size for path in files(folder)) <= 1_000_000
    assert 1 <= len(looks) <= 60


@pytest.mark.skipif(not hasattr(os, "getuid"), reason="Windows has no modes")
def test_a_folder_that_others_may_write_to_is_not_used_and_said_once(folder):
    folder.mkdir()
    folder.chmod(0o777)
    with pytest.warns(UserWarning, match="can be written by others.*mode 777.*DALEMBERT_CACHE"):
        assert right(Kernel(function()))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert right(Kernel(function(3.0)), 3.0)
    assert not files(folder)


@pytest.mark.skipif(not hasattr(os, "getuid"), reason="Windows has no owners")
def test_a_folder_of_another_user_is_not_used(folder, monkeypatch):
    folder.mkdir(mode=0o700)
    uid = os.getuid()
    monkeypatch.setattr(os, "getuid", lambda: uid + 1)
    with pytest.warns(UserWarning, match="belongs to another user"):
        assert right(Kernel(function()))
    assert not files(folder)


@pytest.mark.parametrize("planted", ["of another user", "writable by others", "a link"])
def test_code_in_a_file_that_is_not_the_users_own_is_not_run(folder, compiled, planted, monkeypatch, tmp_path):
    Kernel(function())
    (path,) = files(folder)
    build._loaded.clear()
    if planted == "of another user":
        uid = os.getuid()
        monkeypatch.setattr(os, "getuid", lambda: uid + 1)
    elif planted == "writable by others":
        path.chmod(0o666)
    else:
        path.rename(tmp_path / "elsewhere")
        path.symlink_to(tmp_path / "elsewhere")
    assert cache.read(path.stem) is None
    monkeypatch.undo()
    monkeypatch.setenv("DALEMBERT_CACHE", str(folder))
    assert right(Kernel(function()))


def test_an_entry_under_another_name_is_not_run(folder, compiled):
    Kernel(function(1.0))
    (one,) = files(folder)
    Kernel(function(2.0))
    (other,) = (path for path in files(folder) if path != one)
    other.write_bytes(one.read_bytes())
    build._loaded.clear()
    assert right(Kernel(function(2.0)), 2.0)
    assert compiled == ["cached"] * 3


def test_a_relative_folder_is_the_one_it_was_at_first(tmp_path, monkeypatch, compiled):
    (tmp_path / "a").mkdir()
    (tmp_path / "b").mkdir()
    monkeypatch.setenv("DALEMBERT_CACHE", "kept")
    forget()
    monkeypatch.chdir(tmp_path / "a")
    Kernel(function(1.0))
    monkeypatch.chdir(tmp_path / "b")
    Kernel(function(2.0))
    assert len(files(tmp_path / "a" / "kept")) == 2
    assert not (tmp_path / "b" / "kept").exists()
    forget()


def test_a_place_where_no_folder_can_be_made_only_warns(tmp_path, monkeypatch):
    (tmp_path / "file").write_text("in the way")
    monkeypatch.setenv("DALEMBERT_CACHE", str(tmp_path / "file" / "cache"))
    forget()
    with pytest.warns(UserWarning, match="cannot be made"):
        assert right(Kernel(function()))


def test_a_full_or_read_only_disk_never_breaks_a_computation(folder, monkeypatch):
    def refuse(*_, **__):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(tempfile, "mkstemp", refuse)
    assert right(Kernel(function()))
    monkeypatch.undo()
    monkeypatch.setenv("DALEMBERT_CACHE", str(folder))
    forget()
    monkeypatch.setattr(cache.os, "replace", refuse)
    assert right(Kernel(function()))
    assert not list(folder.iterdir())


def test_the_cache_can_be_switched_off_and_follows_the_platforms_rules(tmp_path, monkeypatch, compiled):
    monkeypatch.setenv("DALEMBERT_CACHE", "off")
    forget()
    assert right(Kernel(function()))
    forget()
    assert right(Kernel(function()))
    assert len(compiled) == 2
    monkeypatch.delenv("DALEMBERT_CACHE")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    forget()
    Kernel(function())
    assert files(tmp_path / "dalembert")


def test_long_compilations_show_progress_on_a_terminal_only(monkeypatch):
    class Terminal:
        def __init__(self, tty):
            self.text, self.tty = "", tty

        def isatty(self):
            return self.tty

        def write(self, text):
            self.text += text

        def flush(self):
            pass

    for tty in (True, False):
        terminal = Terminal(tty)
        monkeypatch.setattr(sys, "stderr", terminal)
        progress = build.CompileProgress("compiling 'big'", 40)
        progress.start -= 2
        with progress as done:
            done(3)
            done(12)
        assert ("compiling 'big': 12 of 40 parts" in terminal.text) == tty
        assert terminal.text.endswith("\r") == tty


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="no pipes by name on this platform")
def test_a_pipe_in_place_of_an_entry_is_not_waited_for(folder):
    Kernel(function())
    for path in folder.glob("*.bin"):
        path.unlink()
        os.mkfifo(path)
    forget()
    x = np.array([0.5, 1.0, 2.0])
    np.testing.assert_allclose(Kernel(function())(x), np.sin(x) + x**2)
