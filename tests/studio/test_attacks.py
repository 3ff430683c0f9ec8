"""Attacks on the server: of a thousand forged requests only those for the page's own files are answered."""

import json
import random
import socket
import time
from pathlib import Path
from urllib.parse import urlsplit

import pytest

from dalembert import view, zoo
from dalembert.errors import ArgumentError
from dalembert.studio.messages import parsed
from dalembert.studio.server import HERE, KINDS, STAGE

sync = pytest.importorskip("websockets.sync.client", reason="websockets is not installed (extra `studio`)")

DOTS = ("..", "%2e%2e", "%2E.", "..%2f..", "%252e%252e", "..\\", "..%5c", "....//", "%c0%ae%c0%ae", ".", "", "%00", "~")
TARGETS = ("etc/passwd", "server.py", "session.py", "__init__.py", "proc/self/environ", "app.js", "index.html",
           "stage/three.js", "socket",
           "stage/__init__.py",
           "pyproject.toml", ".git/config", "stage", "three.LICENSE")  # fmt: skip
PAGES = {p.read_bytes() for folder in (HERE, STAGE) for p in folder.iterdir() if p.suffix in KINDS}


@pytest.fixture(scope="module")
def studio():
    with view.studio(zoo.four_bar().compile(), open=False) as s:
        assert s.session.idle(60)
        yield s


def answer(port, request):
    """What the server says to some bytes: status (0: nothing), body."""
    with socket.create_connection(("127.0.0.1", port), timeout=10) as s:
        s.sendall(request)
        if not request.endswith(b"\r\n\r\n"):
            s.shutdown(socket.SHUT_WR)
        data = b""
        while len(data) < 1 << 20:
            try:
                part = s.recv(65536)
            except OSError:
                break
            if not part:
                break
            data += part
    head, _, body = data.partition(b"\r\n\r\n")
    words = head.split(b" ", 2)
    return (int(words[1]), body) if data.startswith(b"HTTP/") and len(words) > 1 else (0, data)


def forged(rng, port, token):
    """(request, whether it has the right token, host and method)."""
    right = rng.random() < 0.7
    given = (
        token if right else rng.choice([token[:-1], token.upper(), token + "x", "", "..", token[::-1], "%00" + token])
    )
    right = right or given == token
    path = "/".join([*rng.choices(DOTS, k=rng.randrange(4)), rng.choice(TARGETS)])
    if rng.random() < 0.2:
        path = "".join(chr(rng.randrange(33, 127)) for _ in range(rng.randrange(60)))
    host = rng.choice([f"127.0.0.1:{port}"] * 4 + [f"localhost:{port}", "evil.example",
                       f"127.0.0.1:{port}.evil", "", "127.0.0.1",
                       f"evil@127.0.0.1:{port}", f"[::1]:{port}", f"127.0.0.1:{port}\r\nHost: evil"])  # fmt: skip
    method = rng.choice(["GET"] * 6 + ["POST", "PUT", "HEAD", "OPTIONS", "TRACE", "get", "\x00"])
    upgrade = rng.random() < 0.3
    if upgrade and rng.random() < 0.5:
        path, method = "socket", "GET"
    good_host = host in (f"127.0.0.1:{port}", f"localhost:{port}")
    lines = [f"{method} /{given}/{path} HTTP/{rng.choice(['1.1', '1.1', '1.0', '9'])}", f"Host: {host}"]
    if upgrade:
        lines += ["Upgrade: websocket", "Connection: Upgrade", "Sec-WebSocket-Version: 13",
                  "Sec-WebSocket-Key: AAAAAAAAAAAAAAAAAAAAAA==",
                  f"Origin: {rng.choice(['null', 'http://evil.example'])}"]  # fmt: skip
    if rng.random() < 0.05:
        lines += [f"X: {'y' * 100_000}"]
    if rng.random() < 0.1:
        lines += ["Content-Length: -1", "Transfer-Encoding: chunked"]
    end = "\r\n\r\n" if rng.random() < 0.95 else ""
    return ("\r\n".join(lines) + end).encode("latin-1"), right and good_host


@pytest.mark.parametrize("seed", range(2))
def test_forged_requests_get_nothing(studio, seed):
    """No file but the page's own, none without token and host, no web socket of another origin, and it goes on."""
    at, rng, given = urlsplit(studio.url), random.Random(seed), 0
    token = at.path.strip("/")
    for _ in range(600):
        request, allowed = forged(rng, at.port, token)
        status, body = answer(at.port, request)
        assert status != 101, request
        if status == 200:
            assert allowed, request
            assert body in PAGES, request
            given += 1
        else:
            assert token.encode() not in body
            assert str(Path(HERE).parent).encode() not in body
            assert b"root:" not in body
    assert given  # some were right
    assert answer(at.port, f"GET {at.path} HTTP/1.1\r\nHost: 127.0.0.1:{at.port}\r\n\r\n".encode())[0] == 200


def test_many_that_say_nothing_do_not_stop_a_page(studio):
    """Two hundred connections that never ask leave room for one that does."""
    at = urlsplit(studio.url)
    idle = [socket.create_connection(("127.0.0.1", at.port), timeout=10) for _ in range(200)]
    try:
        origin = f"http://127.0.0.1:{at.port}"
        with sync.connect(f"ws://127.0.0.1:{at.port}{at.path}socket", origin=origin, max_size=None) as ws:
            ws.send(json.dumps({"do": "ping", "sent": 7}))
            while True:
                message = ws.recv(timeout=20)
                if isinstance(message, str) and json.loads(message)["event"] == "pong":
                    break
    finally:
        for s in idle:
            s.close()


def test_a_page_that_never_reads_does_not_hold_up_the_session(studio):
    """Messages for a page that stands still are dropped, and the mechanism moves on."""
    at = urlsplit(studio.url)
    origin = f"http://127.0.0.1:{at.port}"
    with sync.connect(
        f"ws://127.0.0.1:{at.port}{at.path}socket", origin=origin, max_size=None, max_queue=1, close_timeout=1
    ) as ws:
        for k in range(400):
            ws.send(json.dumps({"do": "slide", "name": "A", "to": 0.5 + 0.4 * (k % 2)}))
        ws.send(json.dumps({"do": "slide", "name": "A", "to": 1.25}))
        assert studio.session.idle(60)
        for _ in range(600):
            if abs(studio.state["A"] - 1.25) < 1e-6:
                break
            studio.session.idle(60)
            time.sleep(0.01)
        assert abs(studio.state["A"] - 1.25) < 1e-6


@pytest.mark.parametrize("depth", [40, 900])
def test_lists_deep_in_each_other_are_refused_with_a_sentence(depth):
    text = '{"event": "pose", "q": ' + "[" * depth + "1" + "]" * depth + "}"
    with pytest.raises(ArgumentError, match="more than 32 deep"):
        parsed(text)
    assert parsed('{"q": [[1, 2], {"a": []}]}') == {"q": [[1, 2], {"a": []}]}
