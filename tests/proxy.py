"""A small HTTP proxy before the embedded AWS that loses answers: the request is carried out, and nobody hears of it."""

from __future__ import annotations

import http.client
import sys
import threading
import urllib.parse
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

#: (method, path, X-Amz-Target) → whether this is the request whose answer is to be lost.
Which = Callable[[str, str, str], bool]


@dataclass
class Proxy:
    """`lose` the answers to the next requests that match; or `refuse` them with a status and body, unheard."""

    url: str
    lose: list[Which] = field(default_factory=list)
    refuse: list[tuple[Which, int, bytes]] = field(default_factory=list)
    lost: int = 0
    #: while set, nobody gets through
    cut: threading.Event = field(default_factory=threading.Event)
    lock: threading.Lock = field(default_factory=threading.Lock)

    def loses(self, method: str, path: str, target: str) -> bool:
        with self.lock:
            for which in self.lose:
                if which(method, path, target):
                    self.lose.remove(which)
                    self.lost += 1
                    return True
        return False

    def refuses(self, method: str, path: str, target: str) -> tuple[int, bytes] | None:
        with self.lock:
            for entry in self.refuse:
                if entry[0](method, path, target):
                    self.refuse.remove(entry)
                    self.lost += 1
                    return entry[1:]
        return None


@contextmanager
def proxy(upstream: str) -> Iterator[Proxy]:
    """A proxy on a free port, for the length of a test."""
    to = urllib.parse.urlsplit(upstream).netloc

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def serve(self) -> None:
            body = self.rfile.read(int(self.headers.get("Content-Length", 0)))
            if found.cut.is_set():
                self.close_connection = True
                self.connection.close()
                return
            asked = (self.command, self.path, self.headers.get("X-Amz-Target", ""))
            refusal = found.refuses(*asked)
            if refusal is not None:
                self.send_response(refusal[0])
                self.send_header("Content-Length", str(len(refusal[1])))
                self.end_headers()
                self.wfile.write(refusal[1])
                return
            there = http.client.HTTPConnection(to, timeout=30)
            there.request(self.command, self.path, body, dict(self.headers.items()))
            answer = there.getresponse()
            data = answer.read()
            there.close()
            if found.loses(*asked):
                self.close_connection = True
                self.connection.close()
                return
            self.send_response_only(answer.status, answer.reason)
            for name, value in answer.getheaders():
                if name.lower() not in ("transfer-encoding", "connection"):
                    self.send_header(name, value)
            self.end_headers()
            self.wfile.write(data)

        do_GET = do_PUT = do_POST = do_HEAD = do_DELETE = serve

        def log_message(self, format: str, *args: object) -> None:
            """Quiet."""

    class Server(ThreadingHTTPServer):
        daemon_threads = True

        def handle_error(self, request: Any, client_address: Any) -> None:
            """A client that was killed closes nothing politely; anything else is told."""
            if not isinstance(sys.exception(), ConnectionError):
                super().handle_error(request, client_address)

    server = Server(("127.0.0.1", 0), Handler)
    found = Proxy(f"http://127.0.0.1:{server.server_address[1]}")
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.05}, daemon=True)
    thread.start()
    try:
        yield found
    finally:
        server.shutdown()
        server.server_close()
        thread.join()


def write(method: str, path: str, target: str) -> bool:
    """The first conditional write or transaction."""
    return target.endswith((".PutItem", ".UpdateItem", ".DeleteItem", ".TransactWriteItems"))


def put(method: str, path: str, target: str) -> bool:
    """The first object that is put."""
    return method == "PUT" and not target
