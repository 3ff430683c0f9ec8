"""`python -m tests.campaign.files N --seed S`: changed files to every reader, `da.read` and `da.load`.

Each is read, or refused by an error of this library with a sentence, within seconds and bounded memory. Good files are
written here in every format, so that nothing but this folder is needed. A crash is seen by whoever started the process;
the case at work is in FOLDER/case, where --folder gives one.
"""

from __future__ import annotations

import argparse
import json
import random
import re
import signal
import string
import sys
import tempfile
import time
import traceback
import warnings
from collections import Counter
from pathlib import Path
from xml.dom import minidom

sys.path[:0] = [str(Path(__file__).parents[1])]

import dalembert as da  # noqa: E402
import forged_runs  # noqa: E402
from dalembert.formats import yaml  # noqa: E402
from dalembert.formats.model import read_text, text_of  # noqa: E402

LIMIT = 20  # seconds that a file may take
DATA = Path(__file__).parents[1] / "formats" / "data"
MODELS = ("four_bar", "heavy_top", "slider_crank", "stewart", "rolling_disc", "cart_pole")
WORDS = [
    "nan", "inf", "-1", "0", "1e400", "1e308", "1e-320", "1 2", "", "world", "ground", "../x", "/etc/passwd", "a.b",
    "::", "true", "null", "[]", "{}", "&amp;", "&x;", "<", ">", '"', "'", "]]>", "<!--", "<!DOCTYPE a>", "\0", "\u2028",
    "é", "!!python/name:os", "*a", "&a", "- ", ": ", "fixed", "ball", "free", "revolute", "universal", "x" * 3000,
    "9" * 400,
]  # fmt: skip


def good(folder: Path) -> list[list[Path]]:
    """Good files, each with those that belong to it; the first is the one to read."""
    out = []
    for name in MODELS:
        m = getattr(da.zoo, name)()
        for suffix in (".urdf", ".sdf", ".xml", ".yaml", ".json"):
            place = folder / f"{name}{suffix}"
            place.mkdir()
            m.save(place / f"model{suffix}")
            out.append(sorted(place.iterdir(), key=lambda p: p.suffix in (".yaml", ".yml")))
    for path in sorted(DATA.rglob("*.xml")):
        out.append([path])
    return out


# --- changes ----------------------------------------------------------------------------------------------------------


def bytes_changed(data: bytes, r: random.Random) -> bytes:
    """Some bytes other ones, a stretch taken away or repeated, the end cut off."""
    out = bytearray(data)
    for _ in range(r.choice([1, 1, 2, 8])):
        a, n, kind = r.randrange(len(out) + 1), r.choice([1, 4, 64, 1000]), r.randrange(5)
        if kind == 0 and out:
            out[a % len(out)] ^= 1 << r.randrange(8)
        elif kind == 1:
            out[a : a + n] = r.randbytes(n)
        elif kind == 2:
            del out[a : a + n]
        elif kind == 3:
            out[a:a] = out[r.randrange(len(out) + 1) :][:n]
        else:
            del out[a:]
    return bytes(out)


def words_changed(data: bytes, r: random.Random) -> bytes:
    """Names, numbers and values exchanged with one another, or with words that mean trouble."""
    text = data.decode()
    known = re.findall(r"[\w.+-]+", text)
    for _ in range(r.choice([1, 1, 2, 3])):
        found = list(re.finditer(r"[\w.+-]+", text))
        if not found:
            break
        x = r.choice(found)
        new = r.choice(WORDS) if r.random() < 0.5 else r.choice(known)
        text = text[: x.start()] + new + text[x.end() :]
    return text.encode(errors="replace")


def lines_changed(data: bytes, r: random.Random) -> bytes:
    """Lines, and stretches of them, exchanged, doubled, taken away, or deep inside one another."""
    lines = data.decode().split("\n")
    for _ in range(r.choice([1, 1, 2, 4])):
        a, b, n = r.randrange(len(lines)), r.randrange(len(lines)), r.choice([1, 1, 3, 10])
        kind = r.randrange(5)
        if kind == 0:
            lines[a], lines[b] = lines[b], lines[a]
        elif kind == 1:
            lines[a:a] = lines[b : b + n]
        elif kind == 2 and len(lines) > n:
            del lines[a : a + n]
        elif kind == 3:
            lines[a:a] = lines[b : b + n] * 30
        else:
            lines[a] += r.choice(string.punctuation)
        lines = lines or [""]
    return "\n".join(lines).encode()


def structure_changed(data: bytes, r: random.Random) -> bytes:
    """Values, elements and branches of what the text says other ones: the text is well-formed after it."""
    if data.lstrip().startswith(b"<"):
        return _elements_changed(data, r)
    facts = json.loads(json.dumps(yaml.loads(data.decode(), "good")))
    for _ in range(r.choice([1, 1, 2, 3])):
        forged_runs._change(facts, r)
    return json.dumps(facts).encode(errors="replace")  # which is YAML, too


def _elements_changed(data: bytes, r: random.Random) -> bytes:
    document = minidom.parseString(data)
    for _ in range(r.choice([1, 1, 2, 3])):
        every = document.getElementsByTagName("*")
        a, b = r.choice(every), r.choice(every)
        kind = r.randrange(8)
        if kind < 4:  # a value
            known = [x for e in every for x in e.attributes.values()]
            new = str(r.choice(VALUES)) if r.random() < 0.6 else r.choice(known).value
            parts = [*a.attributes.values(), *(n for n in a.childNodes if n.nodeType == n.TEXT_NODE and n.data.strip())]
            if parts:
                x = r.choice(parts)
                old = (x.value if hasattr(x, "value") else x.data).split() or [""]
                k = r.randrange(len(old))
                x.nodeValue = " ".join([*old[:k], new, *old[k + 1 :]]) if r.random() < 0.5 else new
        elif kind == 4 and a.attributes.length:
            a.removeAttribute(r.choice(list(a.attributes.keys())))
        elif kind == 5 and a.parentNode is not document:
            a.parentNode.removeChild(a)
        elif kind == 6:
            a.appendChild(b.cloneNode(deep=True))
        else:
            a.tagName = a.nodeName = b.tagName
    return document.toxml().encode(errors="replace")


VALUES = [x for x in WORDS if x.isprintable() and "<" not in x] + ["0.1 0 0 1", "1 0 0", "0 0 0", "mesh.stl", "model"]
CHANGES = (bytes_changed, words_changed, lines_changed, *[structure_changed] * 6)


# --- the campaign -----------------------------------------------------------------------------------------------------


class TooSlow(BaseException):
    """Not an Exception, so that no one catches it on the way."""


def _alarm(*_: object) -> None:
    raise TooSlow(f"took more than {LIMIT} s")


def examine(path: Path, r: random.Random) -> str:
    """Read a file; what came of it. Some that are read are written to our format and read again."""
    try:
        m = da.read(path, **({"strict": True} if r.random() < 0.05 else {}))
    except da.DalembertError as error:
        if len(str(error).split()) < 4:
            raise AssertionError(f"{error!r} is no sentence") from error
        return "refused"
    if r.random() < 0.1:
        try:
            text = text_of(m)
        except da.DescriptionError:  # names that a file cannot hold
            return "read"
        assert text_of(read_text(text)) == text
    return "read"


def main(count: int, seed: int, folder: Path, first: int = 0) -> int:
    """Returns how many files did something else than they may."""
    began, outcome, failed = time.time(), Counter[str](), 0
    (folder / "models").mkdir()
    (folder / "runs").mkdir()
    (folder / "changed").mkdir()
    files = good(folder / "models")
    for family in files:
        da.read(family[0])  # the good ones are
    forged_runs.make(folder / "runs")
    runs = forged_runs.models()
    forged_runs.bounded()
    warnings.simplefilter("ignore")
    signal.signal(signal.SIGALRM, _alarm)
    for case in range(first, first + count):
        r = random.Random(f"files {seed} {case}")
        if case % 10 == 0:
            name, change = r.choice(list(runs)), r.choice(forged_runs.CHANGES)
            what, path = f"da.load {name}", folder / "changed" / "run"
            change(folder / "runs" / name, path, r)
        else:
            family, change = r.choice(files), r.choice(CHANGES)
            which, name = r.choice(family), ""
            for file in family:
                data = file.read_bytes()
                (folder / "changed" / file.name).write_bytes(change(data, r) if file is which else data)
            what, path = f"da.read {which.parent.name}/{which.name}", folder / "changed" / family[0].name
        (folder / "case").write_text(f"{seed} {case}: {what}, {change.__name__}")
        signal.alarm(LIMIT)
        try:
            if name:
                outcome["run read" if forged_runs.examine(name, path, runs[name]) else "run refused"] += 1
            else:
                outcome[examine(path, r)] += 1
        except (Exception, TooSlow):
            failed += 1
            print(f"case {(folder / 'case').read_text()}", flush=True)
            traceback.print_exc(limit=-6, file=sys.stdout)
        finally:
            signal.alarm(0)
            for file in (folder / "changed").iterdir():
                file.unlink()
    words = ", ".join(f"{n} {what}" for what, n in sorted(outcome.items()))
    print(f"{count} files, {words}, {failed} wrong, {time.time() - began:.0f} s")
    return failed


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("count", type=int, nargs="?", default=10_000, help="files")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--first", type=int, default=0, help="the case to begin with")
    parser.add_argument("--folder", type=Path, help="an empty folder to work in")
    given = parser.parse_args()
    with tempfile.TemporaryDirectory() as temporary:
        raise SystemExit(min(1, main(given.count, given.seed, given.folder or Path(temporary), given.first)))
