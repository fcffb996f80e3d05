"""A small file server on the loopback interface that can be told to misbehave."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer


class Server:
    """Serves `content` at any path. `requests` holds the Range header of each request, empty where there was none."""

    def __init__(self, content: bytes) -> None:
        self.content = content
        self.requests: list[str] = []
        self.breaks_after: int | None = None
        """Bytes of each answer until the connection is cut."""
        self.honours_ranges = True
        self.announces = True
        self.redirect = ""
        self.status = 200
        self.address = ""

    def answer(self, request: BaseHTTPRequestHandler) -> None:
        wanted = request.headers.get("Range") or ""
        self.requests.append(wanted)
        if self.redirect and request.path != "/moved":
            request.send_response(302)
            request.send_header("Location", self.redirect)
            request.end_headers()
            return
        begin = int(wanted.removeprefix("bytes=").rstrip("-")) if wanted and self.honours_ranges else 0
        if self.status != 200 or begin >= max(1, len(self.content)):
            request.send_error(self.status if self.status != 200 else 416)
            return
        body = self.content[begin:]
        request.send_response(206 if begin else 200)
        if begin:
            request.send_header("Content-Range", f"bytes {begin}-{len(self.content) - 1}/{len(self.content)}")
        if self.announces:
            request.send_header("Content-Length", str(len(body)))
        request.end_headers()
        request.wfile.write(body if self.breaks_after is None else body[: self.breaks_after])


@contextmanager
def serving(content: bytes, change: Callable[[Server], object] = lambda server: None) -> Iterator[Server]:
    server = Server(content)
    change(server)

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            server.answer(self)

        def log_message(self, format: str, *args: object) -> None:
            pass

    http = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.address = f"http://127.0.0.1:{http.server_address[1]}"
    thread = threading.Thread(target=http.serve_forever, kwargs={"poll_interval": 0.01})
    thread.start()
    try:
        yield server
    finally:
        http.shutdown()
        thread.join()
        http.server_close()
