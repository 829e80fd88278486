"""The embedded AWS: ministack on this machine's loopback, with state that survives a kill.

    python server.py --port 4566 [--state DIR] [--parent-death]

ministack saves what it holds (but for S3's objects) when it is stopped politely only. Here it is saved about a second
after each change, so that a kill loses no more than that. One process at a time uses a state folder, and the call that
wipes everything without asking is refused. Everything on disk is plain text: for development and tests, never more.

Runs in its own environment (`pyproject.toml` beside this file): ministack pins another botocore than the platform's.
"""

from __future__ import annotations

import argparse
import asyncio
import ctypes
import fcntl
import json
import os
import signal
import sys
import time
from collections.abc import Awaitable, Callable, MutableMapping
from pathlib import Path
from typing import Any

Scope = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[MutableMapping[str, Any]]]
Send = Callable[[MutableMapping[str, Any]], Awaitable[None]]
App = Callable[[Scope, Receive, Send], Awaitable[None]]

#: Calls that change nothing, though they are POSTs.
_READS = {
    *("GetItem", "Query", "Scan", "BatchGetItem", "TransactGetItems", "DescribeTable", "DescribeTimeToLive"),
    *("DescribeContinuousBackups", "ListTables", "GetQueueUrl", "GetQueueAttributes", "ListQueues"),
    *("DescribeKey", "GenerateDataKey", "Encrypt", "Decrypt", "ListAliases", "GetKeyPolicy", "GetKeyRotationStatus"),
}
#: Seconds from a change to its saving; longer where a save itself takes long, so that saving stays a tenth of the time.
SAVE_AFTER_SECONDS = 0.7
SHARE_OF_TIME = 10
_PR_SET_PDEATHSIG = 1


def changes(scope: Scope) -> bool:
    """Whether a request may change what is stored."""
    if scope["method"] in ("GET", "HEAD", "OPTIONS"):
        return False
    for name, value in scope["headers"]:
        if name == b"x-amz-target":
            return value.decode("latin-1").rpartition(".")[2] not in _READS
    return True


class Saving:
    """Saves state soon after it changed, in the server's own loop: nothing changes while it is written."""

    def __init__(self, save: Callable[[], None]) -> None:
        self._save = save
        self._timer: asyncio.TimerHandle | None = None
        self._delay = SAVE_AFTER_SECONDS

    def soon(self) -> None:
        if self._timer is None:
            self._timer = asyncio.get_running_loop().call_later(self._delay, self.now)

    def now(self) -> None:
        self._timer = None
        began = time.monotonic()
        self._save()
        self._delay = max(SAVE_AFTER_SECONDS, SHARE_OF_TIME * (time.monotonic() - began))


def guarded(app: App, saving: Saving | None) -> App:
    """``app`` without its reset, and with a save after each change."""

    async def serve(scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await app(scope, receive, send)
            return
        if scope["path"] == "/_ministack/reset":
            body = json.dumps({"message": "Refused: this would remove everything that is stored."}).encode()
            headers = [(b"content-type", b"application/json"), (b"content-length", str(len(body)).encode())]
            await send({"type": "http.response.start", "status": 403, "headers": headers})
            await send({"type": "http.response.body", "body": body})
            return
        try:
            await app(scope, receive, send)
        finally:
            if saving is not None and changes(scope):
                saving.soon()

    return serve


def environment(state: Path | None) -> dict[str, str]:
    """ministack's settings; it reads them when it is imported."""
    settings = {"BIND_HOST": "127.0.0.1", "IOT_MTLS_ENABLED": "0", "SFTP_ENABLED": "0", "LOG_LEVEL": "WARNING"}
    # The one pair it knows, plainly fake: signed addresses are checked against it.
    settings |= {"AWS_ACCESS_KEY_ID": "local", "AWS_SECRET_ACCESS_KEY": "local"}
    if state is None:
        return settings | {"PERSIST_STATE": "0", "S3_PERSIST": "0"}
    objects = state / "s3"
    objects.mkdir(parents=True, exist_ok=True)
    return settings | {
        "PERSIST_STATE": "1",
        "STATE_DIR": str(state / "state"),
        "S3_PERSIST": "1",
        "S3_DATA_DIR": str(objects),
    }


def lock(state: Path) -> int:
    """Hold the state folder for this process. Ends the process with a sentence where another one has it."""
    state.mkdir(parents=True, exist_ok=True)
    held = os.open(state / "lock", os.O_RDWR | os.O_CREAT, 0o600)
    try:
        fcntl.flock(held, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        sys.exit(f"embedded AWS: another process uses {state}")
    return held


def main() -> None:
    parser = argparse.ArgumentParser(description="The embedded AWS.")
    parser.add_argument("--port", type=int, required=True, help="port on 127.0.0.1")
    parser.add_argument("--state", type=Path, help="folder that holds the state; without it nothing is kept")
    parser.add_argument("--parent-death", action="store_true", help="end when the process that started this one ends")
    options = parser.parse_args()
    if options.parent_death:
        ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGTERM)
    state: Path | None = options.state.resolve() if options.state else None
    held = lock(state) if state is not None else -1
    os.environ.update(environment(state))
    os.environ["GATEWAY_PORT"] = str(options.port)

    from hypercorn.asyncio import serve
    from hypercorn.config import Config
    from ministack import app as ministack
    from ministack.core.persistence import save_all

    saving = Saving(lambda: save_all(ministack._build_persistence_save_dict())) if state is not None else None
    config = Config()
    config.bind = [f"127.0.0.1:{options.port}"]
    config.keep_alive_timeout = 75
    config.loglevel = "WARNING"

    async def run() -> None:
        stop = asyncio.Event()
        for number in (signal.SIGTERM, signal.SIGINT):
            asyncio.get_running_loop().add_signal_handler(number, stop.set)
        await serve(guarded(ministack.app, saving), config, shutdown_trigger=stop.wait)

    asyncio.run(run())
    if held >= 0:
        os.close(held)


if __name__ == "__main__":
    main()
