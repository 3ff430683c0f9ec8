"""Connections that break off at any moment: nothing is left behind, and the session goes on for others."""

import json
import random
import socket
import struct
import time
from urllib.parse import urlsplit

import pytest

from dalembert import view, zoo
from dalembert.studio.messages import packed

sync = pytest.importorskip("websockets.sync.client", reason="websockets is not installed (extra `studio`)")

COMMANDS = (
    {"do": "slide", "name": "A", "to": 0.9},
    {"do": "grab", "body": "coupler"},
    {"do": "drag", "body": "coupler", "point": [0.1, 0, 0], "to": [0.3, 0.4, 0]},
    {"do": "simulate", "time": 0.2},
    {"do": "live"},
    {"do": "save", "what": "state"},
)


def connected(studio, **how):
    at = urlsplit(studio.url)
    origin = f"http://127.0.0.1:{at.port}"
    return sync.connect(f"ws://127.0.0.1:{at.port}{at.path}socket", origin=origin, max_size=None, **how)


def broken_off(ws, rng):
    """End a connection as networks do: reset, closed without a word, or in the middle of a frame."""
    raw = ws.socket
    if rng.random() < 0.5:  # a frame of 5 MB, of which a little comes
        raw.sendall(struct.pack(">BBQ", 0x82, 0x80 | 127, 5_000_000) + rng.randbytes(rng.randrange(400)))
    if rng.random() < 0.5:  # RST
        raw.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        raw.close()
    else:
        raw.shutdown(socket.SHUT_RDWR)


def until(condition):
    end = time.monotonic() + 60
    while not condition():
        assert time.monotonic() < end
        time.sleep(0.01)


def test_pages_that_break_off_leave_nothing_behind():
    """Fifty pages, each lost in the middle of something; then one finds the mechanism, closed, and moves it."""
    rng = random.Random(4)
    with view.studio(zoo.four_bar().compile(), open=False) as studio:
        for _ in range(50):
            with connected(studio, close_timeout=0) as ws:
                for command in rng.choices(COMMANDS, k=rng.randrange(4)):
                    ws.send(json.dumps(command))
                if rng.random() < 0.3:
                    ws.send(packed({"do": "load", "name": "m.yaml"}, {}) + rng.randbytes(3000))
                broken_off(ws, rng)
        until(lambda: not studio.session.listeners)
        studio.session.do({"do": "pause"}, 0)
        assert studio.session.idle(120)
        with connected(studio) as ws:
            ws.send(json.dumps({"do": "reset"}))
            ws.send(json.dumps({"do": "slide", "name": "A", "to": 1.1}))
            until(lambda: abs(studio.state["A"] - 1.1) < 1e-9)
        until(lambda: not studio.session.listeners)
