"""Model files from strangers: bombs, junk, wrong types, and thousands of seeded mutations; nothing but clean errors."""

import json
import random
import string
from contextlib import suppress

import pytest
from test_model_files import EXAMPLES, GOOD
from test_model_roundtrip import everything

import dalembert as da
from dalembert import zoo
from dalembert.formats import yaml
from dalembert.formats.model import read_text, scope, text_of

HEAD = "dalembert: 1\nname: m\n"
NINE = ", ".join(["*a"] * 9)


def bomb(levels: int = 30) -> str:
    lines = ["a0: &a0 [x, x, x, x, x, x, x, x, x]"]
    lines += [f"a{k}: &a{k} [{', '.join([f'*a{k - 1}'] * 9)}]" for k in range(1, levels)]
    return "\n".join(lines)


YAMLS = {
    "aliases that multiply": bomb(),
    "an alias of itself": "a: &a [*a]",
    "an alias of nothing": "a: *b",
    "python objects": "!!python/object/apply:os.system ['echo']",
    "a tag on a value": "dalembert: !!int 1",
    "an own tag": "name: !mine x",
    "a tag on a mapping": "parameters: !!omap {a: 1}",
    "binary": "name: !!binary aGVsbG8=",
    "a merge": "bodies: {a: &x {mass: 1}, b: {<<: *x}}",
    "two documents": "a: 1\n---\nb: 2",
    "deep lists": "[" * 50_000,
    "deep mappings": "{a: " * 3000,
    "deep blocks": "".join(" " * k + "a:\n" for k in range(400)),
    "nested dashes": "- " * 20_000,
    "a million keys": "\n".join(f"k{k}: 1" for k in range(10**6)),
    "a million items": "[" + "1," * 10**6 + "1]",
    "a huge text": "x" * (17 * 2**20),
    "a mapping as key": "? {a: 1}\n: 2",
    "a tab": "\ta: 1",
    "control characters": "a: \x01\x02",
    "a null byte": "a: \0",
    "duplicate keys": "a: 1\na: 2",
    "an anchor on a key": "&k a: 1",
    "an alias as a key": "x: &k 1\n*k : 2",
    "a directive": "%YAML 9.9\n---\na: 1",
    "an open quote": "a: 'x",
    "lone surrogates": 'a: "\\ud800"',
}


@pytest.mark.parametrize("name", YAMLS)
def test_hostile_yaml_is_refused(name):
    with pytest.raises(da.ModelFileError):
        read_text(HEAD + YAMLS[name])
    with pytest.raises(da.ModelFileError):
        read_text(YAMLS[name])


@pytest.mark.parametrize(
    "text",
    [
        "", "{", "[", "{]", '{"a": 1,}', "[1,]", '{"a" 1}', '{a: 1}', "[NaN]", "[Infinity]", "[-Infinity]", "[01]",
    "[1.]",
        "[.5]", "[+1]", "['a']", '"abc', '"\\x"', '["\t"]', '{"a": 1, "a": 2}', "[1] 2", "nul", "tru", "//", "[1 2]",
        "[" * 50_000, '{"a":' * 50_000, "[" + "1," * (2 * 10**6) + "1]", "\x00", "{\"a\": 1}\x00", "1e",
    ],
)  # fmt: skip
def test_what_is_no_json_is_refused(text):
    with pytest.raises(da.ModelFileError):
        read_text(text, json=True)
    with pytest.raises(da.ModelFileError):
        yaml.loads(text, json_only=True)


def test_json_is_read_as_the_standard_library_reads_it():
    rng = random.Random(0)

    def make(depth):
        kind = rng.randrange(7 if depth else 5)
        if kind == 0:
            return rng.choice([None, True, False])
        if kind == 1:
            return rng.randrange(-(10**12), 10**12)
        if kind == 2:
            return rng.uniform(-1, 1) * 10.0 ** rng.randrange(-300, 300)
        if kind < 5:
            return "".join(chr(rng.randrange(1, 0x2FF)) for _ in range(rng.randrange(9)))
        if kind == 5:
            return [make(depth - 1) for _ in range(rng.randrange(5))]
        return {f"{k}{rng.random()}": make(depth - 1) for k in range(rng.randrange(5))}

    for _ in range(300):
        data = make(4)
        for indent in (None, 2):
            assert yaml.loads(json.dumps(data, indent=indent), json_only=True) == data


def test_yaml_numbers_words_and_lines_are_those_of_version_1_2():
    data = yaml.loads(
        "a: 1e-3\nb: no\nc: 0x1F\n\nd: [~, True, 1., -.5, +3, 0o17, 010, 1_0, .inf]\ne: '1'\n# x\nf:\n  g: 2\n"
    )
    inf = float("inf")
    assert data == {
        "a": 0.001,
        "b": "no",
        "c": 31,
        "d": [None, True, 1.0, -0.5, 3, 15, 10, "1_0", inf],
        "e": "1",
        "f": {"g": 2},
    }
    assert data.lines == {"a": 1, "b": 2, "c": 3, "d": 5, "e": 6, "f": 8}
    assert data["f"].lines == {"g": 9}
    assert yaml.loads("a: &x [1, 2]\nb: *x") == {"a": [1, 2], "b": [1, 2]}


@pytest.mark.parametrize("data", [b"\xff\xfe\0a", bytes(range(256)), b"a: \xc3\x28", "a: 1".encode("utf-16")])
def test_wrong_encodings_are_refused(data, tmp_path):
    for name in ("m.yaml", "m.json"):
        (tmp_path / name).write_bytes(data)
        with pytest.raises(da.ModelFileError, match="UTF-8"):
            da.read(tmp_path / name)


def test_a_byte_order_mark_and_windows_lines_are_read(tmp_path):
    (tmp_path / "m.yaml").write_bytes(b"\xef\xbb\xbf" + GOOD.replace("\n", "\r\n").encode())
    assert da.read(tmp_path / "m.yaml").name == "m"


def test_a_folder_and_a_device_are_no_files(tmp_path):
    with pytest.raises(da.ModelFileError):
        da.read(tmp_path.rename(tmp_path.with_suffix(".yaml")))


def test_graphs_that_double_do_not_explode():
    """60 definitions, each the product of the one before with itself: 2⁶⁰ factors when written out."""
    lets = "".join(f"      x{k}: x{k - 1}*(x{k - 1} + 1)\n" for k in range(1, 60))
    base = GOOD.split("forces:")[0]
    text = (
        base
        + "forces:\n  law:\n    type: joint force\n    joint: A\n    let:\n      x0: q(A)\n"
        + lets
        + "    value: x59\n"
    )
    m = read_text(text)
    m.compile("casadi")
    assert len(text_of(m)) < 10_000


def test_many_uses_of_many_definitions_are_refused(monkeypatch):
    """Values that each use a long chain of definitions: quadratic work from a short text."""
    assert scope.MAX_WORK == 5 * 10**6
    monkeypatch.setattr(scope, "MAX_WORK", 10**5)
    base = GOOD.split("constraints:")[0] + "constraints:\n  c:\n    type: expression\n    let:\n      x0: q(A)\n"
    base += "".join(f"      x{k}: x{k - 1} + 1\n" for k in range(1, 400)) + "    holonomic:\n"
    read_text(base + "".join(f"      r{k}: x399\n" for k in range(50)))
    with pytest.raises(da.ModelFileError, match="more than 100000 steps"):
        read_text(base + "".join(f"      r{k}: x399\n" for k in range(150)))
    chain = "dalembert: 1\nparameters: {L: 1}\nlet:\n  x0: L\n"
    chain += "".join(f"  x{k}: x{k - 1} + x{k - 1}*0.01\n" for k in range(1, 400)) + "bodies:\n"
    assert len(read_text(chain + "".join(f"  b{k}: {{mass: x399}}\n" for k in range(40))).bodies) == 41
    with pytest.raises(da.ModelFileError, match="more than 100000 steps"):
        read_text(chain + "".join(f"  b{k}: {{mass: x399}}\n" for k in range(150)))


SEEDS = {
    "errors": GOOD,
    "everything": text_of(everything()),
    "four bar": text_of(zoo.four_bar(), json=True),
    "rolling disc": text_of(zoo.rolling_disc()),
    **{path.stem: path.read_text() for path in EXAMPLES},
}
WORDS = [
    "1", "-1", "0", "1e308", "1e-320", "9**9**9", ".nan", ".inf", "null", "true", "[]", "{}", "[[1]]", "ground", "'",
    '"', "&a", "*a",
    "!!python/name:os", "q(A)", "v(A)", "t", "pi", "(", ")", "[", "]", "{", "}", ",", ":", "#", "\n", "\t", "- ",
    "\0", "\u2028", "é",
    "mass", "type", "let", "joint", "body", "axis", "free", "spherical", "fixed", "loop", "expression", "inf",
    "9" * 400, "x" * 3000,
]  # fmt: skip


def mutated(text: str, rng: random.Random) -> str:
    """A text with a few random changes: characters, words, lines moved, doubled, swapped and lost."""
    for _ in range(rng.randrange(1, 4)):
        kind, n = rng.randrange(7), max(len(text), 1)
        i = rng.randrange(n)
        if kind == 0:
            text = text[:i] + rng.choice(string.printable) + text[i + rng.randrange(2) :]
        elif kind == 1:
            text = text[:i] + rng.choice(WORDS) + text[i + rng.randrange(6) :]
        elif kind == 2:
            text = text[:i] + text[i + rng.randrange(30) :]
        elif kind == 3:
            j = rng.randrange(n)
            text = text[:i] + text[j : j + rng.randrange(40)] + text[i:]
        else:
            lines = text.split("\n")
            a, b = rng.randrange(len(lines)), rng.randrange(len(lines))
            if kind == 4:
                lines[a], lines[b] = lines[b], lines[a]
            elif kind == 5:
                lines.insert(a, lines[b])
            else:
                words = lines[a].split(" ")
                words[rng.randrange(len(words))] = rng.choice(WORDS)
                lines[a] = " ".join(words)
            text = "\n".join(lines)
    return text


@pytest.mark.parametrize("name", SEEDS)
def test_mutated_files_are_read_or_refused_cleanly(name):
    """Only `DalembertError` comes of them; what is read can be written, and read again."""
    rng = random.Random(f"{name} 19")
    text, is_json = SEEDS[name], SEEDS[name].startswith("{")
    runs = 250 if len(text) < 3000 else 80
    read = 0
    for _ in range(runs):
        try:
            m = read_text(mutated(text, rng), json=is_json)
        except da.DalembertError:
            continue
        read += 1
        if read % 8 == 0:
            written = text_of(m)
            assert text_of(read_text(written)) == written
    assert read > 0 or name == "everything"  # one that holds every element at once rarely survives


def test_mutated_expressions_are_read_or_refused_cleanly():
    from dalembert.formats.model.grammar import GrammarError, parse

    rng = random.Random(29)
    good = [
        "-k*(q(A) - 0.1)**2 + sin(2*pi*t)",
        "if_else(a < b and not c, position('x y').x, gain[1])",
        "rotation(f)[0, 2]/v(P.x)",
    ]
    for _ in range(4000):
        with suppress(GrammarError):
            parse(mutated(rng.choice(good), rng))


@pytest.mark.parametrize(
    ("mass", "com", "said"),
    [("1e308", "[1, 0, 0]", r"a mass of 1e\+308 kg"), ("2", "[1e308, 1e308, 1e308]", "moments of inertia up to inf")],
)
@pytest.mark.filterwarnings("ignore:.*encountered in:RuntimeWarning")
def test_masses_whose_products_no_number_holds_are_refused(tmp_path, mass, com, said):
    path = tmp_path / "heavy.yaml"
    path.write_text(
        f"dalembert: 1\nname: heavy\nbodies:\n  a: {{mass: {mass}, com: {com}, inertia: [1, 1, 1]}}\n"
        "joints:\n  A: {type: revolute, axis: z, parent: ground, child: a}\n"
    )
    with pytest.raises(da.DescriptionError, match=rf"joint 'A' carries has .*{said}.* at most 1e\+150"):
        da.read(path).compile()
