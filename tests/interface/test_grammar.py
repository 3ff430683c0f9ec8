"""The public interface keeps the grammar of CONTRIBUTING: the table there is what these tests read."""

import inspect
import re
from dataclasses import is_dataclass
from enum import Enum
from pathlib import Path

import pytest

import dalembert as da
from public_surface import public_callables, public_objects

PAGE = (Path(__file__).parents[2] / "CONTRIBUTING.md").read_text(encoding="utf-8")
SECTION = PAGE.split("## Grammar of the public interface")[1].split("\n## ")[0]
ROWS = [
    [re.findall(r"`(\w+)`", cell) for cell in line.split("|")[1:4]] for line in SECTION.splitlines() if "| `" in line
]
WORDS = {word for row in ROWS for word in row[0]}
#: word that is not used: row of those that are
OTHERS = {word: row[0] for row in ROWS for word in row[2]}
COMMON = 7  # callables that share a parameter: from here on its word is defined on the page, or below
#: words that need no definition there: things of mechanics, and options of one family of functions
PLAIN = {
    "a", "at", "b", "creep", "epsilon", "independent", "joint", "kind", "mass", "merge_fixed", "normalized", "offset",
    "outputs", "parameters", "points", "positions", "radius", "rate", "rows", "strict", "system", "x", "y",
}  # fmt: skip
ASKED = ("dalembert.Joint.", "dalembert.zoo.", *(f"dalembert.{j}." for j in da._HOMES["mechanism.joints"].split()))


def parameters() -> dict[str, dict[str, inspect.Parameter]]:
    """{callable: its parameters}: not fields of results, nor of mechanisms of the zoo, nor what a new joint answers."""
    found = {}
    for name, f, _ in public_callables():
        fields = inspect.isclass(f) and (issubclass(f, (Enum, Exception)) or is_dataclass(f))
        if not fields and not name.startswith(ASKED):
            given = inspect.signature(f).parameters
            found[name] = {n: x for n, x in given.items() if n not in ("self", "cls")}
    return found


PARAMETERS = parameters()
FUNCTIONS = {
    n: ps for n, ps in PARAMETERS.items() if re.fullmatch(r"dalembert(\.control|\.analysis|\.view)?\.[a-z_]+", n)
}


def test_the_page_is_one():
    assert len(SECTION.splitlines()) <= 40
    assert len(ROWS) > 10
    assert not WORDS & set(OTHERS)


def test_no_parameter_has_another_word_for_what_has_one():
    wrong = {
        f"{f}({p}=): here it is {' or '.join(OTHERS[p])}" for f, ps in PARAMETERS.items() for p in ps if p in OTHERS
    }
    assert not wrong


def test_every_word_of_the_page_is_used_and_every_common_one_is_there():
    uses: dict[str, int] = {}
    for f, ps in PARAMETERS.items():
        if not f.startswith(("dalembert.Linkage.", "dalembert.control.")):  # whose words repeat
            for p in ps:
                uses[p] = uses.get(p, 0) + 1
    assert set(uses) >= WORDS
    assert {p for p, count in uses.items() if count >= COMMON} <= WORDS | PLAIN


def test_the_system_comes_first_and_then_a_state():
    order = {n: list(ps) for n, ps in FUNCTIONS.items() if "system" in ps}
    assert {n for n, ps in order.items() if ps[0] != "system"} == {"dalembert.read_run"}
    later = {n.split(".")[-1] for n, ps in order.items() if "state" in ps and ps.index("state") != 1}
    assert later == {"fit", "workspace", "export_html", "actuator_forces_along", "studio"}  # after what they are about


def test_inputs_and_parameters_are_given_by_keyword_and_default_to_those_of_the_state():
    for name, ps in PARAMETERS.items():
        asked = name.startswith("dalembert.System.") or name in FUNCTIONS
        for word in ("u", "p"):
            x = ps.get(word)
            if asked and x is not None and x.default is not x.empty:
                assert x.default is None, name
        if asked and {"u", "p"} <= set(ps) and "tau" not in ps:
            assert list(ps).index("u") < list(ps).index("p") or ps["u"].kind is ps["p"].kind, name


@pytest.mark.parametrize(("word", "default"), [("guess", None), ("seed", 0), ("active", None), ("held", (None, ()))])
def test_a_word_has_one_default(word, default):
    allowed = default if isinstance(default, tuple) else (default,)
    given = {n: ps[word].default for n, ps in PARAMETERS.items() if word in ps}
    assert not {n: x for n, x in given.items() if x is not inspect.Parameter.empty and x not in allowed}


def test_axes_are_those_of_the_frame_for_motions_and_of_the_ground_for_loads():
    defaults = {n.split(".")[-1]: ps["axes"].default for n, ps in PARAMETERS.items() if "axes" in ps}
    loads = {n for n, x in defaults.items() if x == "world"}
    assert loads == {"add_wrench", "static_forces", "stiffness"}
    assert set(defaults.values()) == {"world", "body"}


def test_a_function_called_by_a_noun_returns_the_class_of_that_noun():
    classes = {n.split(".")[-1] for n, x in public_objects().items() if inspect.isclass(x)}
    for name in FUNCTIONS:
        noun = "".join(part.capitalize() for part in name.split(".")[-1].split("_"))
        if noun in classes and noun not in ("Chart", "Planar", "Scene"):
            returned = str(inspect.signature(public_objects()[name]).return_annotation)
            assert returned.strip("'") == noun, name


def test_readers_take_a_path_first_and_writers_of_results_too():
    for name, ps in PARAMETERS.items():
        last = name.split(".")[-1]
        if last in ("save", "to_csv") or (last.startswith("read") and ".control." not in name):
            assert next(iter(ps)) == "path", name


def test_classes_are_capital_nouns_and_functions_small_words():
    for name, x in public_objects().items():
        last = name.split(".")[-1]
        assert last[0].isupper() == (inspect.isclass(x) and last != "expression"), name  # a decorator
