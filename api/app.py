"""The application: routes, one shape of errors, a line of log a call, health."""

from __future__ import annotations

import json
import logging
import time
import uuid
from collections.abc import Awaitable, Callable
from typing import Any

from botocore.exceptions import BotoCoreError, ClientError
from fastapi import FastAPI, Request, Response

from api import batches, editing, errors, sources, versions
from api.auth import Access, KeySet
from api.context import Parts
from api.limits import BodyLimit, Rate
from api.models import ErrorOut, HealthOut
from resources.clients import make_clients
from resources.errors import StoreError
from resources.settings import Settings
from resources.store import Store, make_store
from resources.values import system_clock

PREFIX = "/api/v1/tag-docs"
DESCRIPTION = """Documents that are being made accessible: a base PDF and an append-only log of operations, edited under
a single-editor lease; saved versions, verified and published. Errors have one shape and stable codes (docs/api.md)."""
log = logging.getLogger("api")


def make_app(settings: Settings, store: Store | None, keys: KeySet | None = None) -> FastAPI:
    """The API over a store (`open_store` gives the settings'). Without one it starts, and says what is missing."""
    app = FastAPI(
        title="Accessible PDF",
        version="1",
        description=DESCRIPTION,
        openapi_url="/api/v1/openapi.json",
        docs_url=None,
        redoc_url=None,
    )
    app.state.parts = Parts(settings, Access(settings, keys), Rate(settings.api_calls_a_minute), store)
    refusals: dict[int | str, dict[str, Any]] = {
        status: {"model": ErrorOut, "description": text}
        for status, text in (
            (401, "No valid token"),
            (403, "Not enabled"),
            (404, "Not there, or not yours"),
            (409, "Refused as things stand"),
            (410, "Too late"),
            (413, "Too large"),
            (422, "Not in the form it must have"),
            (429, "Too many calls"),
            (503, "The store does not answer, or is not configured"),
        )
    }
    for router in (batches.router, sources.router, editing.router, versions.router):
        app.include_router(router, prefix=PREFIX, responses=refusals)
    errors.install(app)
    app.add_middleware(BodyLimit)

    @app.middleware("http")
    async def logged(request: Request, go: Callable[[Request], Awaitable[Response]]) -> Response:
        begun = time.monotonic()
        request.state.request_id = ident = uuid.uuid4().hex
        response = await go(request)
        response.headers["X-Request-Id"] = ident
        log.info(
            "call",
            extra={
                "requestId": ident,
                "method": request.method,
                "path": request.url.path,
                "status": response.status_code,
                "milliseconds": round(1000 * (time.monotonic() - begun), 1),
                "user": getattr(request.state, "user", None),
            },
        )
        return response

    @app.get("/health", summary="What is there and what is missing", responses={503: {"model": HealthOut}})
    def health(response: Response) -> HealthOut:
        """200 when every call can be answered."""
        missing = lacks(app.state.parts)
        if missing:
            response.status_code = 503
        return HealthOut(status="missing" if missing else "ok", missing=missing)

    return app


def open_store(settings: Settings) -> Store | None:
    """The settings' store; None (and a line in the log) where the stack is not there."""
    try:
        return make_store(settings, make_clients(settings), system_clock)
    except (StoreError, ClientError, BotoCoreError) as error:
        log.error("the store is not there", extra={"problem": str(error)})
        return None


def lacks(parts: Parts) -> list[str]:
    """What is missing, in words for an operator."""
    out = []
    if not parts.access.configured:
        out.append("JWT_ISSUER and JWKS_URL: nobody can be told from anybody")
    if not parts.access.allowed:
        out.append("PLATFORM_ALLOWLIST: nobody is enabled")
    if parts.store is None:
        return [*out, "the store: its stack cannot be reached or is not provisioned"]
    store, settings = parts.store, parts.settings
    client = store.documents.table.client
    checks: list[tuple[str, Callable[[], object]]] = [
        (f"table {settings.documents_table}", lambda: client.describe_table(TableName=settings.documents_table)),
        (f"bucket {settings.bucket}", lambda: store.objects.client.head_bucket(Bucket=settings.bucket)),
        (f"queue {settings.verify_queue}", lambda: store.verify.depth()),
    ]
    for name, check in checks:
        try:
            check()
        except (StoreError, ClientError, BotoCoreError):
            out.append(name)
    return out


class JsonLines(logging.Formatter):
    """A JSON object a line: time, level, message, and whatever a call adds."""

    _PLAIN = frozenset(vars(logging.makeLogRecord({}))) | {"message", "asctime", "taskName"}

    def format(self, record: logging.LogRecord) -> str:
        """One line."""
        said = {key: value for key, value in vars(record).items() if key not in self._PLAIN}
        line = {"at": round(record.created, 3), "level": record.levelname, "message": record.getMessage(), **said}
        if record.exc_info:
            line["trace"] = self.formatException(record.exc_info)
        return json.dumps(line, default=str, ensure_ascii=False)
