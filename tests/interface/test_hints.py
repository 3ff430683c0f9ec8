"""Words that people try lead to what there is: every hint names something that exists, and no word that does."""

import inspect
import pickle
import re

import pytest

import dalembert as da
from dalembert.hints import ATTRIBUTES, KEYWORDS, MissingAttribute, explained
from result_cases import CASES

OWNERS = {n: da if n == "dalembert" else getattr(da.control, n, None) or getattr(da, n) for n in ATTRIBUTES}
LETTERS = {
    "da": da, "control": da.control, "m": da.Mechanism, "system": da.System, "state": da.State, "run": da.Run,
    "model": da.LinearModel, "sweep": da.Sweep, "runs": da.Ensemble, "rest": da.Equilibrium, "forces": da.StaticForces,
    "study": da.Study, "plan": da.control.MotionPlan,
}  # fmt: skip
RESULTS = ("sweep", "ensemble", "equilibrium", "static_forces", "study", "plan")
WORDS = [(owner, word) for owner, table in ATTRIBUTES.items() for word in table]


@pytest.fixture(scope="module")
def objects():
    m = da.zoo.four_bar()
    system = m.compile()
    x = system.state(*da.zoo.four_bar_start(0.6))
    run = da.simulate(system, x, 0.01)
    return {
        "control": da.control,
        "Mechanism": m,
        "System": system,
        "State": x,
        "Run": run,
        "LinearModel": da.linearize(system, x),
        **{type(y).__name__: y for y in (CASES[name]() for name in RESULTS)},
    }


def has(owner, name) -> bool:
    return hasattr(owner, name) or name in getattr(owner, "__dataclass_fields__", {})


@pytest.mark.parametrize(("owner", "word"), WORDS)
def test_a_hint_names_what_exists_for_a_word_that_does_not(owner, word, objects):
    hint = ATTRIBUTES[owner][word]
    assert not has(OWNERS[owner], word), f"{owner}.{word} exists; take it out of the table"
    named = re.findall(rf"\b({'|'.join(LETTERS)})\.(\w+)(?:\.(\w+))?", hint)
    assert named or "m.compile" in hint or word.startswith("add_")
    for letter, name, inner in named:
        of = LETTERS[letter]
        known = has(of, name) or (letter in ("m", "system") and has(objects[of.__name__], name))
        assert known, f"{letter}.{name} of the hint for {owner}.{word} does not exist"
        assert not inner or not inspect.ismodule(getattr(of, name, None)) or has(getattr(of, name), inner)
    with pytest.raises(AttributeError) as caught:
        getattr(da if owner == "dalembert" else objects[owner], word)
    assert hint in str(caught.value)


@pytest.mark.parametrize("function", KEYWORDS)
def test_keywords_that_people_try_lead_to_those_that_exist(function, objects):
    *package, last = function.split(".")
    owner = next((c for c in ("Mechanism", "System") if hasattr(getattr(da, c), function)), None)
    f = getattr(getattr(da, owner or package[0]) if owner or package else da, last)
    known = inspect.signature(f).parameters
    for word, hint in KEYWORDS[function].items():
        assert word not in known
        assert any(re.search(rf"\b{name}\b", hint) for name in known), f"{hint} names no keyword of {function}"
        of = getattr(objects[owner], function) if owner else f
        with pytest.raises(TypeError, match=rf"{last}\(\) has no keyword '{word}'; here it is "):
            of(**{word: 1})


def test_words_in_no_table_get_the_nearest_name(objects):
    for act, message in (
        (lambda: objects["Mechanism"].add_sprng, "has no attribute 'add_sprng'. Did you mean 'add_spring'?"),
        (lambda: objects["Run"].enrgy, "Did you mean 'energy'?"),
        (lambda: da.simulat, "module 'dalembert' has no attribute 'simulat'. Did you mean 'simulate'?"),
        (lambda: objects["System"].zzzz, "'System' object has no attribute 'zzzz'."),
    ):
        with pytest.raises(AttributeError) as caught:
            act()
        assert message in str(caught.value)
    with pytest.raises(TypeError, match=r"add_joint\(\) has no keyword 'dampng'. Did you mean 'damping'\?"):
        objects["Mechanism"].add_joint("x", da.Revolute(), "ground", "crank", dampng=1.0)


def test_errors_inside_keep_their_own_words():
    """A TypeError inside a function, and an AttributeError inside a property, are not taken for the caller's."""

    @explained
    def outer(**more):
        return (lambda x: x)(y=1)

    with pytest.raises(TypeError, match="unexpected keyword argument 'y'"):
        outer(z=1)

    class Broken(da.Mechanism):
        @property
        def stiffest(self):
            return self.nothing_like_it

    with pytest.raises(AttributeError, match="nothing_like_it"):
        _ = Broken().stiffest


def test_missing_attributes_probe_copy_and_pickle_as_ever(objects):
    import copy

    m = objects["Mechanism"]
    assert getattr(m, "nothing", 5) == 5
    assert not hasattr(objects["State"], "sx")
    assert copy.copy(objects["State"]).q is not None
    error = MissingAttribute("Run", "times", lambda: ())
    assert str(pickle.loads(pickle.dumps(error))) == str(error)
