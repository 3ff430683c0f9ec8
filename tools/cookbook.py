"""The pictures of docs/cookbook.md: what each question draws, for pages in light and in dark.

`python tools/cookbook.py build/cookbook` runs the recipes from the first to the last, as a reader does, and draws
behind each of them what `PICTURES` has for it. The site shows the lines and their picture under the recipe.
"""

from __future__ import annotations

import doctest
import re
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

PAGE = Path(__file__).parents[1] / "docs" / "cookbook.md"
STYLES = {"light": "default", "dark": "dark_background"}
RECIPE = re.compile(r"^### … (?P<question>[^\n]+)\n\n```python\n(?P<code>.*?)```\n", re.M | re.S)

#: question: the lines that draw its picture, with the names of the recipes before it
PICTURES = {
    "describe a pendulum?": 'view.snapshot(pendulum, {"A": 0.5})',
    "close a loop?": "view.snapshot(linkage, start)",
    "sketch a planar linkage by its points?": "view.snapshot(sketched, sketched.state())",
    "add a spring and a damper between two bodies?": 'view.snapshot(sprung, sprung.assemble({"A": 0.6}))',
    "make a length a parameter?": (
        'lengths = {"l": [0.5, 0.6, 0.7]}\n'
        'stroke = da.sweep_many(slider, {"A": np.linspace(0, 2 * np.pi, 73)}, p=lengths, guess={"guide": 0.9})\n'
        'stroke.plot("q.guide")'
    ),
    "assemble a position?": 'view.snapshot(linkage, linkage.assemble({"A": 1.2}, guess=start))',
    "find all ways to assemble it?": (
        'figure, both = plt.subplots(1, 2, layout="constrained")\n'
        'for ax, way in zip(both, linkage.assemble({"A": 0.6}, branches="all")):\n'
        "    view.snapshot(linkage, way, ax=ax)"
    ),
    "put a point where I want it (inverse kinematics)?": (
        'view.snapshot(robot, x)\nplt.plot(*there[:2], "+", ms=14)'
    ),
    "lead the crank through a turn?": 'turn.plot(["q.B", "q.D", "v.B", "v.D"])',
    "plot the path of a point?": (
        'plt.plot(*path.T)\nplt.axis("equal")\nplt.xlabel("x (m)")\nplt.ylabel("y (m)")'
    ),
    "find dead points?": 'rocker.plot(["q.A", "q.B"])',
    "map where a mechanism reaches?": "reached.plot()",
    "lead hundreds of variants at once?": 'many.plot("q.guide")',
    "get the force in a pin over a cycle?": (
        'plt.plot(np.degrees(turn["A"]), pin)\nplt.xlabel("crank (°)")\nplt.ylabel("force in B (N)")'
    ),
    "get the torque that drives the crank?": 'turn.plot("force")',
    "hold a load at rest?": 'forces.plot("u")',
    "hold many loads in many positions?": 'held.plot("u")',
    "find where it comes to rest?": "view.snapshot(pendulum, rest.state)",
    "find a stable rest from an unstable one?": (
        'figure, both = plt.subplots(1, 2, layout="constrained")\n'
        'view.snapshot(pendulum, {"A": np.pi}, ax=both[0])\n'
        "view.snapshot(pendulum, hanging.state, ax=both[1])"
    ),
    "know how stiff it is at a point?": (
        'plt.bar(["x", "y", "z"], [yields[n, n] for n in "xyz"])\nplt.ylabel("compliance (m/N)")'
    ),
    "read the mass matrix?": "plt.matshow(mass)\nplt.colorbar()",
    "simulate?": 'run.plot(panels=["positions", "energy"])',
    "read a coordinate, a rate, a point and the energy?": (
        'plt.plot(*run.position("coupler point")[:, :2].T)\nplt.axis("equal")'
    ),
    "get states at times of my own?": (
        "t = np.linspace(0, 2, 21)\n"
        'plt.plot(run.t, run["A"])\n'
        'plt.plot(t, run(t)[0][:, linkage.q_names.index("A")], "o")\n'
        'plt.xlabel("t (s)")\nplt.ylabel("A (rad)")'
    ),
    "know whether to trust a run?": 'run.plot(panels=["evidence"])',
    "stop when something happens?": 'stopped.plot("A", panels=["positions"])',
    "drive a joint by a motion of my own?": 'led.plot(panels=["positions", "velocities"])',
    "apply a force that depends on the state?": 'calmed.plot(panels=["positions", "energy"])',
    "give each input a law of its own?": (
        'plt.plot(braked.t, braked["A"], label="at every moment")\n'
        'plt.plot(digital.t, digital["A"], "--", label="every 10 ms")\n'
        'plt.xlabel("t (s)")\nplt.ylabel("A (rad)")\nplt.legend()'
    ),
    "drop something on a floor?": 'drop.plot(panels=["positions", "energy"])',
    "simulate a thousand variants?": (
        'plt.plot(runs.t, runs["A"][::50].T, lw=0.8)\nplt.xlabel("t (s)")\nplt.ylabel("A (rad)")'
    ),
    "plot a band of quantiles?": 'runs.plot("A")',
    "linearize?": 'model.plot("step")',
    "see natural frequencies and damping?": 'model.plot("poles")',
    "draw a Bode diagram?": 'model.plot("bode")',
    "draw mode shapes, and watch one?": 'model.plot("shapes")',
    "get gain and phase margins?": 'model.plot("nyquist")',
    "discretize for a sample time?": 'discrete.plot("poles")',
    "reduce a model to fewer states?": 'less.plot("step")',
    "design a regulator?": (
        'leaning = up.replace(q={"phi1": 0.1})\n'
        'da.simulate(cart, leaning, 8.0, u=keep).plot(["cart", "phi1"], panels=["positions"])'
    ),
    "try it from many starts?": 'tried.plot(["cart", "phi1"])',
    "estimate states from noisy measurements?": (
        'watched = da.simulate(cart, up.replace(q={"phi1": 0.05}), 8.0, u=law, period=0.01)\n'
        'watched.plot(["cart", "phi1"], panels=["positions"])'
    ),
    "get the motor torques for a motion?": 'forces.plot(["force", "power"])',
    "get the derivative of a position with respect to a length?": "s.plot()",
    "fit parameters to measurements?": "fit.plot()",
    "choose lengths so that it follows a curve?": "design.plot()",
    "get a tolerance band?": "stack.plot()",
    "write a page about a study?": "drawn.plot()",
    "draw it?": "view.snapshot(linkage, start)",
    "animate it?": (
        'view.snapshot(linkage, run.state(-1))\nplt.plot(*run.position("coupler point")[:, :2].T, lw=0.8)'
    ),
}  # fmt: skip

#: class: the question whose recipe stands on its page of the reference
EXAMPLES = {
    "Mechanism": "describe a pendulum?",
    "Linkage": "sketch a planar linkage by its points?",
    "System": "read the mass matrix?",
    "State": "assemble a position?",
    "Run": "simulate?",
    "Event": "stop when something happens?",
    "Sweep": "lead the crank through a turn?",
    "Sweeps": "lead hundreds of variants at once?",
    "Ensemble": "plot a band of quantiles?",
    "Workspace": "map where a mechanism reaches?",
    "Equilibrium": "find a stable rest from an unstable one?",
    "StaticForces": "hold many loads in many positions?",
    "Stiffness": "know how stiff it is at a point?",
    "LinearModel": "draw a Bode diagram?",
    "Mode": "draw mode shapes, and watch one?",
    "Regulator": "design a regulator?",
    "Estimator": "estimate states from noisy measurements?",
    "Observed": "estimate states from noisy measurements?",
    "ActuatorForcesAlong": "get the motor torques for a motion?",
    "Sensitivities": "get the derivative of a position with respect to a length?",
    "Fit": "fit parameters to measurements?",
    "Design": "choose lengths so that it follows a curve?",
    "Study": "get a tolerance band?",
}

#: page: the question whose picture it begins with
LEADS = {
    "describing.md": "sketch a planar linkage by its points?",
    "elements.md": "add a spring and a damper between two bodies?",
    "constraining.md": "close a loop?",
    "kinematics.md": "lead the crank through a turn?",
    "workspace.md": "map where a mechanism reaches?",
    "statics.md": "hold many loads in many positions?",
    "simulating.md": "simulate?",
    "contacts.md": "drop something on a floor?",
    "ensembles.md": "plot a band of quantiles?",
    "linearizing.md": "draw mode shapes, and watch one?",
    "sensitivities.md": "fit parameters to measurements?",
    "studies.md": "write a page about a study?",
    "controlling.md": "design a regulator?",
    "results.md": "get the force in a pin over a cycle?",
    "viewing.md": "animate it?",
    "choosing.md": "know whether to trust a run?",
}


def recipes(text: str) -> list[re.Match[str]]:
    """The questions of the page with their code."""
    return list(RECIPE.finditer(text))


def slug(question: str) -> str:
    """The name of a question's picture."""
    return re.sub(r"[^a-z0-9]+", "-", question.lower()).strip("-")


def with_pictures(text: str, folder: str, drawn: Path) -> str:
    """The page, with the lines that draw and their picture behind each recipe that has one.

    folder: where the pictures stand, from the page; drawn: where they were made.
    """

    def shown(recipe: re.Match[str]) -> str:
        question = recipe["question"]
        name = slug(question)
        if question not in PICTURES or not (drawn / f"{name}-light.png").exists():
            return recipe[0]
        return f"{recipe[0]}\n```python\n{PICTURES[question]}\n```\n\n{_images(question, folder)}\n"

    return RECIPE.sub(shown, text)


def example(kind: str, text: str, root: str, drawn: Path) -> str:
    """The recipe of a class with its picture, for the page of the class; "" where there is none.

    text: of the cookbook; root: where it stands, from the page.
    """
    question = EXAMPLES.get(kind, "")
    if not question or not (drawn / f"{slug(question)}-light.png").exists():
        return ""
    recipe = next(found for found in recipes(text) if found["question"] == question)
    code = f"```python\n{recipe['code']}```\n\n```python\n{PICTURES[question]}\n```"
    link = f"From the [cookbook]({root}/cookbook.md): how do I {question}"
    return f"{link}\n\n{code}\n\n{_images(question, f'{root}/cookbook')}\n"


def cards(questions: Mapping[str, str], folder: str, drawn: Path) -> str:
    """Pictures side by side, each with its words and a link to its recipe; "" where they were not drawn."""
    parts = []
    for question, words in questions.items():
        if (drawn / f"{slug(question)}-light.png").exists():
            parts.append(f"-   {_images(question, folder)}\n\n    [{words}]({folder}.md#{slug(question)})")
    return '<div class="grid cards" markdown>\n\n' + "\n\n".join(parts) + "\n\n</div>" if parts else ""


def led(page: str, text: str, drawn: Path) -> str:
    """A page of the site with the picture that it begins with, below its title."""
    question = LEADS.get(page, "")
    if not question or not (drawn / f"{slug(question)}-light.png").exists():
        return text
    images = "\n".join(
        f"[![{question.rstrip('?')}](cookbook/{slug(question)}-{style}.png#only-{style}){{ .drawn .lead }}]"
        f"(cookbook.md#{slug(question)})"
        for style in STYLES
    )
    return re.sub(r"^(# .+\n)", lambda title: f"{title[1]}\n{images}\n", text, count=1, flags=re.M)


def _images(question: str, folder: str) -> str:
    return " ".join(
        f"![{question.rstrip('?')}]({folder}/{slug(question)}-{style}.png#only-{style}){{ .drawn loading=lazy }}"
        for style in STYLES
    )


def draw(out: Path, styles: dict[str, str] = STYLES) -> Iterator[Path]:
    """Run the recipes and draw each picture in each style; gives the files as they are written."""
    import matplotlib

    matplotlib.use("Agg")
    from matplotlib import pyplot

    from dalembert.errors import MissingExtra

    out.mkdir(parents=True, exist_ok=True)
    text, parser, names = PAGE.read_text(encoding="utf-8"), doctest.DocTestParser(), {"plt": pyplot}
    _run(parser, text[: text.index("###")], names)
    for recipe in recipes(text):
        try:
            _run(parser, recipe["code"], names)
        except MissingExtra as error:
            print(f"{recipe['question']} {error}", file=sys.stderr)
        for style, sheet in styles.items():
            if lines := PICTURES.get(recipe["question"]):
                with pyplot.rc_context(), pyplot.style.context(sheet):
                    pyplot.close("all")
                    exec(compile(lines, recipe["question"], "exec"), dict(names))
                    path = out / f"{slug(recipe['question'])}-{style}.png"
                    pyplot.gcf().savefig(path, dpi=72, transparent=True)
                    yield path
    pyplot.close("all")


def _run(parser: doctest.DocTestParser, code: str, names: dict[str, Any]) -> None:
    for example in parser.get_examples(code):
        exec(compile(example.source, str(PAGE), "exec"), names)


if __name__ == "__main__":
    print(f"{len(list(draw(Path(sys.argv[1]))))} pictures in {sys.argv[1]}")
