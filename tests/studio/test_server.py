"""The server: loopback only, a token, the right Host and Origin, files of the page and no others, bounded messages."""

import http.client
import json
import socket
from urllib.parse import urlsplit

import pytest

from dalembert import view, zoo
from dalembert.errors import ArgumentError
from dalembert.studio.messages import unpacked

sync = pytest.importorskip("websockets.sync.client", reason="websockets is not installed (extra `studio`)")
exceptions = pytest.importorskip("websockets.exceptions")


@pytest.fixture(scope="module")
def studio():
    with view.studio(zoo.four_bar().compile(), open=False) as s:
        assert s.session.idle(60)
        yield s


def get(studio, path, host=None):
    at = urlsplit(studio.url)
    c = http.client.HTTPConnection("127.0.0.1", at.port, timeout=10)
    c.putrequest("GET", path, skip_host=True)
    for h in [f"127.0.0.1:{at.port}"] if host is None else host:
        c.putheader("Host", h)
    c.endheaders()
    answer = c.getresponse()
    body = answer.read()
    c.close()
    return answer, body


def connect(studio, origin="right", token=None, **more):
    at = urlsplit(studio.url)
    path = at.path if token is None else f"/{token}/"
    given = f"http://127.0.0.1:{at.port}" if origin == "right" else origin
    return sync.connect(f"ws://127.0.0.1:{at.port}{path}socket", origin=given, max_size=None, **more)


def heard(ws, event):
    for _ in range(100):
        message = ws.recv(timeout=20)
        header = json.loads(message) if isinstance(message, str) else unpacked(message)[0]
        if header["event"] == event:
            return header
    raise AssertionError(event)


def test_the_page_and_its_parts_are_served(studio):
    base = urlsplit(studio.url).path
    for name, kind in (("", "text/html"), ("app.js", "text/javascript"), ("stage/three.js", "text/javascript"),
                       ("style.css", "text/css"), ("icon.svg", "image/svg")):  # fmt: skip
        answer, body = get(studio, base + name)
        assert answer.status == 200
        assert body
        assert answer.headers["Content-Type"].startswith(kind)
        policy = answer.headers["Content-Security-Policy"]
        assert "default-src 'self'" in policy
        assert "unsafe-eval" not in policy
        assert answer.headers["Referrer-Policy"] == "no-referrer"


@pytest.mark.parametrize("path", ["/", "/wrong/", "/wrong/app.js", "/wrong/socket", "//", "/%00/"])
def test_another_token_is_refused(studio, path):
    answer, body = get(studio, path)
    assert answer.status == 403
    assert b"<html" not in body


@pytest.mark.parametrize(
    "name",
    ["../server.py", "..%2fserver.py", "%2e%2e/server.py", "stage/../../__init__.py", "stage/", "stage/__init__.py",
     "web/app.js", "./app.js", "//etc/passwd", "stage//etc/passwd", "app.js%00.txt", "nothing.js"],
)  # fmt: skip
def test_other_files_are_not_served(studio, name):
    answer, _ = get(studio, urlsplit(studio.url).path + name)
    assert answer.status == 404


@pytest.mark.parametrize("host", [["evil.example"], ["127.0.0.1"], ["127.0.0.1:1"], ["127.0.0.1.evil.example:80"], []])
def test_another_host_is_refused(studio, host):
    """A name that was made to lead to this computer brings its own Host."""
    answer, _ = get(studio, urlsplit(studio.url).path, host)
    assert answer.status == 403


@pytest.mark.parametrize("origin", [None, "null", "http://evil.example", "https://127.0.0.1", "http://127.0.0.1:1"])
def test_web_sockets_of_other_origins_are_refused(studio, origin):
    with pytest.raises(exceptions.InvalidStatus) as refused:
        connect(studio, origin)
    assert refused.value.response.status_code == 403


def test_a_web_socket_with_another_token_is_refused(studio):
    with pytest.raises(exceptions.InvalidStatus):
        connect(studio, token="guess")


def test_it_listens_on_this_computer_only(studio):
    port = urlsplit(studio.url).port
    with socket.socket() as probe:
        probe.settimeout(2)
        assert probe.connect_ex(("127.0.0.1", port)) == 0
    with socket.socket() as other:
        other.bind(("127.0.0.2", port))  # free: nobody listens on all addresses


def test_two_pages_see_the_same_and_a_reload_finds_it_again(studio):
    with connect(studio) as one, connect(studio) as two:
        heard(one, "pose"), heard(two, "pose")
        one.send(json.dumps({"do": "slide", "name": "A", "to": 1.1}))
        while abs((seen := heard(two, "pose"))["q"][0] - 1.1) > 1e-6:
            pass
        assert seen["source"] == "slide"
    with connect(studio) as again:
        assert abs(heard(again, "pose")["q"][0] - 1.1) < 1e-6


def test_broken_messages_are_answered_and_too_large_ones_end_the_connection(studio):
    with connect(studio) as ws:
        for bad in ("nonsense", "[]", '{"do": 1}', '{"do": "close"}', b"\x00", b"\xff\xff\xff\x7f"):
            ws.send(bad)
            assert heard(ws, "error")["text"]
        ws.send(json.dumps({"do": "ping", "sent": 1}))
        assert heard(ws, "pong")["sent"] == 1
    with connect(studio) as ws:
        heard(ws, "pose")
        ws.send(bytes(9 << 20))
        with pytest.raises(exceptions.ConnectionClosed) as closed:
            heard(ws, "never")
    assert closed.value.rcvd.code == 1009
    with connect(studio) as ws:
        heard(ws, "pose")


def test_a_port_in_use_is_refused_and_a_closed_studio_is_gone():
    system = zoo.four_bar().compile()
    with view.studio(system, open=False) as s:
        port = urlsplit(s.url).port
        with pytest.raises(ArgumentError, match="cannot listen"):
            view.studio(system, open=False, port=port)
    with socket.socket() as probe:
        probe.settimeout(2)
        assert probe.connect_ex(("127.0.0.1", port)) != 0
