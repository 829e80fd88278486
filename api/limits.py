"""How much one caller may ask for: calls a minute, bytes a call."""

from __future__ import annotations

import json

from limits import RateLimitItemPerMinute
from limits.storage import MemoryStorage
from limits.strategies import MovingWindowRateLimiter
from starlette.types import ASGIApp, Message, Receive, Scope, Send

#: The largest body: an append of 4 MB of ops, and what JSON adds to it.
MAX_BODY_BYTES = 8 << 20


class Rate:
    """Calls of each user in the last minute, in this process."""

    def __init__(self, calls_a_minute: int) -> None:
        self.item = RateLimitItemPerMinute(calls_a_minute)
        self.limiter = MovingWindowRateLimiter(MemoryStorage())

    def take(self, user: str) -> bool:
        """Count a call; False when it is one too many."""
        return bool(self.limiter.hit(self.item, user))


class BodyLimit:
    """Refuses bodies over `MAX_BODY_BYTES`, whether their length is said or not."""

    def __init__(self, app: ASGIApp) -> None:
        self.app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Count what comes in; at the limit the caller gets 413 and the rest is not read."""
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return
        said = dict(scope["headers"]).get(b"content-length", b"0")
        if said.isdigit() and int(said) > MAX_BODY_BYTES:
            await _refuse(send)
            return
        seen = 0
        body: list[bytes] = []
        while True:  # a body is JSON and small: it is read before the call begins
            message = await receive()
            if message["type"] != "http.request":
                return
            body.append(message.get("body", b""))
            seen += len(body[-1])
            if seen > MAX_BODY_BYTES:
                await _refuse(send)
                return
            if not message.get("more_body"):
                break
        whole: Message = {"type": "http.request", "body": b"".join(body), "more_body": False}
        given = False

        async def again() -> Message:
            nonlocal given
            if given:
                return await receive()
            given = True
            return whole

        await self.app(scope, again, send)


async def _refuse(send: Send) -> None:
    text = f"A call may have {MAX_BODY_BYTES} bytes at most."
    body = json.dumps({"error": {"code": "BODY_TOO_LARGE", "message": text}}).encode()
    headers = [(b"content-type", b"application/json"), (b"content-length", str(len(body)).encode())]
    await send({"type": "http.response.start", "status": 413, "headers": headers})
    await send({"type": "http.response.body", "body": body})
