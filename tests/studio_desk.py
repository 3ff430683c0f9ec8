"""A session of the studio with everything it told."""

import json

from dalembert.studio.bench import Bench
from dalembert.studio.messages import arrays_of, unpacked
from dalembert.studio.script import Script, state_line
from dalembert.studio.session import Session


class Desk:
    """A session with everything it told."""

    def __init__(self, system, x):
        script = Script("system = da.zoo.four_bar().compile()")
        script.add("place", state_line(system, x))
        self.session = Session(Bench(system, x), script)
        self.told = []
        self.session.listen(1, self.hear)

    def hear(self, message):
        if isinstance(message, str):
            self.told.append((json.loads(message), {}))
        elif b'"event":"file"' in message[:40]:
            self.told.append(unpacked(message))
        else:
            self.told.append(arrays_of(message))

    def events(self, name):
        return [(h, a) for h, a in self.told if h["event"] == name]

    def last(self, name):
        return self.events(name)[-1]

    def do(self, command_name, data=None, **given):
        command = {"do": command_name, **given}
        if data is not None:
            command["data"] = data
        self.session.do(command, 1)
        assert self.session.idle(60)
        return self

    def errors(self):
        return [h["text"] for h, _ in self.events("error")]
