"""The start page: what a studio without a mechanism offers."""

from __future__ import annotations

import inspect
from pathlib import Path
from typing import TYPE_CHECKING, Any

from dalembert import checks
from dalembert.linearization.equilibrium import equilibrium
from dalembert.studio import recent
from dalembert.studio.bench import Bench
from dalembert.studio.drawing import TEMPLATES
from dalembert.studio.jobs import Job
from dalembert.studio.script import Script, state_line
from dalembert.zoo import CATALOG

if TYPE_CHECKING:
    from dalembert.studio.session import Session

PICTURES = Path(__file__).parent / "web"  # made by tools/thumbnails.py


def start_page() -> dict[str, Any]:
    """Recent files, templates of sketches and mechanisms of the zoo, as the page is told."""
    zoo = [
        {
            "name": name,
            "mobility": e.mobility,
            "text": (inspect.getdoc(e.build) or "").split("\n")[0],
            "picture": picture if (PICTURES / (picture := f"zoo-{name}.png")).is_file() else "",
        }
        for name, e in CATALOG.items()
    ]
    templates = [{"name": name, "sketch": sketch.to_dict()} for name, sketch in TEMPLATES.items()]
    return {"event": "start", "recent": recent.names(), "templates": templates, "zoo": zoo}


class StartPage:
    """Opens what the start page offers."""

    def __init__(self, session: Session):
        self.session = session

    def commands(self) -> dict[str, tuple[str, Any, str]]:
        """{command: (lane, method, label)}."""
        return {"start": ("look", self.tell, ""), "zoo": ("study", self.open, "compiling")}

    def tell(self, job: Job, given: dict[str, Any]) -> None:
        """Show the start page to the one that asks."""
        self.session.tell(start_page(), to=given.get("client"))

    def open(self, job: Job, given: dict[str, Any]) -> None:
        """A mechanism of the zoo, with the inputs that hold it where nothing else does."""
        name = checks.choice(given.get("name"), CATALOG, "name")
        entry = CATALOG[name]
        system = entry.build().compile()
        x = system.project(system.state(*entry.start()))
        if entry.held:
            x = equilibrium(system, x, solve_for="u").state
        script = Script(f"system = da.zoo.{name}().compile()")
        bench = Bench(system, x)
        script.add("place", state_line(system, bench.x))
        if job.take():
            self.session.open(bench, script)
