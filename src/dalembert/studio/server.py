"""The server: the page and its web socket, on this computer only.

Every address begins with a random token. The Host must be the address that was bound, the Origin of a web socket the
page itself: other sites that a browser shows, and names that were made to lead here, are refused.
"""

from __future__ import annotations

import asyncio
import base64
import contextlib
import functools
import hashlib
import http
import itertools
import re
import secrets
import threading
from collections import deque
from pathlib import Path
from typing import Any
from urllib.parse import unquote, urlsplit

from dalembert.errors import ArgumentError, DalembertError, extra
from dalembert.studio.files import LARGEST
from dalembert.studio.messages import Message, parsed, text, unpacked
from dalembert.studio.session import Session

HERE = Path(__file__).parent / "web"
STAGE = Path(__file__).parent.parent / "view" / "web"
KINDS = {
    ".html": "text/html; charset=utf-8",
    ".js": "text/javascript; charset=utf-8",
    ".css": "text/css; charset=utf-8",
    ".svg": "image/svg+xml",
    ".png": "image/png",
    ".txt": "text/plain; charset=utf-8",
}
LARGEST_MESSAGE = LARGEST + (1 << 16)  # bytes
WAITING = 240  # messages for one page; what is shown only for a moment is left out before

PROGRESS = 0.2  # s between words about it

numbers = itertools.count(1)


class Server:
    """Serves a session on the loopback address until it is closed; `url` has the token."""

    def __init__(self, session: Session, port: int = 0):
        self._websockets = extra("websockets", "studio", "the studio")
        self.session, self.token = session, secrets.token_urlsafe(24)
        self._ready, self._stop = threading.Event(), threading.Event()
        self._failure: BaseException | None = None
        self.port = port
        self._loop: asyncio.AbstractEventLoop | None = None
        self._end: asyncio.Event | None = None
        self._thread = threading.Thread(target=self._serve, name="studio server", daemon=True)
        self._thread.start()
        self._ready.wait()
        if self._failure is not None:
            raise ArgumentError(f"the studio cannot listen on port {port}: {self._failure}. Take another, or 0.")

    @property
    def url(self) -> str:
        """The address of the page."""
        return f"http://127.0.0.1:{self.port}/{self.token}/"

    def close(self) -> None:
        """Stop serving."""
        self._stop.set()
        if self._loop is not None and self._end is not None and self._thread.is_alive():
            self._loop.call_soon_threadsafe(self._end.set)
        self._thread.join(5.0)

    def _serve(self) -> None:
        try:
            asyncio.run(self._run())
        except OSError as error:
            self._failure = error
        finally:
            self._ready.set()

    async def _run(self) -> None:
        from websockets.asyncio.server import serve

        self._loop, self._end = asyncio.get_running_loop(), asyncio.Event()
        async with serve(
            self._page, "127.0.0.1", self.port, process_request=self._request, max_size=LARGEST_MESSAGE,
            compression=None, open_timeout=10, ping_interval=20, ping_timeout=60, close_timeout=1,
        ) as server:  # fmt: skip
            self.port = next(iter(server.sockets)).getsockname()[1]
            self._ready.set()
            while not self._end.is_set():
                with contextlib.suppress(TimeoutError):
                    await asyncio.wait_for(self._end.wait(), PROGRESS)
                self._tell_progress()

    def _tell_progress(self) -> None:
        part = self.session.progress
        if part is not None:
            self.session.tell({"event": "progress", "part": part})

    # --- requests -----------------------------------------------------------------------------------------------

    @property
    def hosts(self) -> tuple[str, ...]:
        """Permitted values of the Host header."""
        return f"127.0.0.1:{self.port}", f"localhost:{self.port}"

    def _request(self, connection: Any, request: Any) -> Any:
        """Answer a request for a file, or refuse it; None lets a web socket open."""
        hosts = request.headers.get_all("Host")
        if len(hosts) != 1 or hosts[0].lower() not in self.hosts:
            return self._response(403, b"another host")
        path = unquote(urlsplit(request.path).path)
        parts = path.split("/")
        if len(parts) < 3 or not secrets.compare_digest(parts[1].encode(), self.token.encode()):
            return self._response(403, b"the address has another token")
        name = "/".join(parts[2:])
        if name == "socket":
            origins = request.headers.get_all("Origin")
            if len(origins) != 1 or origins[0].lower() not in [f"http://{h}" for h in self.hosts]:
                return self._response(403, b"another origin")
            return None
        file = served(name or "index.html")
        if file is None:
            return self._response(404, b"no such file")
        return self._response(200, file.read_bytes(), KINDS[file.suffix])

    def _response(self, status: int, body: bytes, kind: str = "text/plain; charset=utf-8") -> Any:
        from websockets.datastructures import Headers
        from websockets.http11 import Response

        policy = (
            f"default-src 'self'; script-src 'self' '{inline_hash()}'; img-src 'self' data: blob:; media-src blob:; "
            "style-src 'self' 'unsafe-inline'; worker-src 'self' blob:; object-src 'none'; base-uri 'none'; "
            f"connect-src 'self' ws://127.0.0.1:{self.port} ws://localhost:{self.port}; frame-ancestors 'none'; "
            "form-action 'none'"
        )
        headers = Headers()
        for name, value in (
            ("Content-Type", kind), ("Content-Length", str(len(body))), ("Cache-Control", "no-store"),
            ("Referrer-Policy", "no-referrer"), ("X-Content-Type-Options", "nosniff"),
            ("Content-Security-Policy", policy), ("Cross-Origin-Resource-Policy", "same-origin"),
            ("Cross-Origin-Opener-Policy", "same-origin"), ("Connection", "close"),
        ):  # fmt: skip
            headers[name] = value
        return Response(status, http.HTTPStatus(status).phrase, headers, body)

    # --- pages --------------------------------------------------------------------------------------------------

    async def _page(self, connection: Any) -> None:
        """One page, as long as it stays."""
        number, outbox = next(numbers), Outbox(asyncio.get_running_loop())
        writer = asyncio.create_task(self._write(connection, outbox))
        outbox.put(text({"event": "hello", "client": number}))
        self.session.listen(number, outbox.put)
        try:
            async for message in connection:
                self._asked(message, number)
        except self._websockets.ConnectionClosed:
            pass
        finally:
            self.session.leave(number)
            writer.cancel()

    def _asked(self, message: Message, number: int) -> None:
        try:
            if isinstance(message, bytes):
                given, data = unpacked(message)
                given["data"] = data
            else:
                given = parsed(message)
            if given.get("do") == "ping":
                self.session.tell({"event": "pong", "sent": given.get("sent")}, to=number)
                return
            self.session.do(given, number)
        except DalembertError as error:
            self.session.tell({"event": "error", "of": "", "text": str(error)}, to=number)

    async def _write(self, connection: Any, outbox: Outbox) -> None:
        while True:
            await connection.send(await outbox.get())


class Outbox:
    """Messages for one page, from any thread; poses that are overtaken by newer ones are left out."""

    def __init__(self, loop: asyncio.AbstractEventLoop):
        self._loop, self._changed = loop, asyncio.Event()
        self._waiting: deque[Message] = deque()
        self._lock = threading.Lock()

    def put(self, message: Message) -> None:
        """Add a message."""
        with self._lock:
            passing = isinstance(message, bytes) and b'"event":"pose"' in message[:40]
            if passing and self._waiting and b'"event":"pose"' in _head(self._waiting[-1]):
                self._waiting.pop()
            if len(self._waiting) >= WAITING:
                self._waiting.popleft()
            self._waiting.append(message)
        if not self._loop.is_closed():
            self._loop.call_soon_threadsafe(self._changed.set)

    async def get(self) -> Message:
        """The next one."""
        while True:
            with self._lock:
                if self._waiting:
                    return self._waiting.popleft()
                self._changed.clear()
            await self._changed.wait()


@functools.cache
def inline_hash() -> str:
    """Hash that lets the page's one inline script, its import map, pass the policy."""
    page = (HERE / "index.html").read_text(encoding="utf-8")
    found = re.search(r'<script type="importmap">(.*?)</script>', page, re.DOTALL)
    digest = hashlib.sha256((found[1] if found else "").encode()).digest()
    return f"sha256-{base64.b64encode(digest).decode()}"


def _head(message: Message) -> bytes:
    return message[:40] if isinstance(message, bytes) else message[:40].encode()


def served(name: str) -> Path | None:
    """The file of a name: one of the page's own, or of the renderer's under stage/; None where there is none."""
    folder, _, rest = name.partition("/")
    root, file = (STAGE, rest) if folder == "stage" and rest else (HERE, name)
    known = {p.name: p for p in root.iterdir()} if root.is_dir() else {}
    path = known.get(file)
    return path if path is not None and path.is_file() and path.suffix in KINDS else None
