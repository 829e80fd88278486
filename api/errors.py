"""One shape for every error, with a stable code: ``{"error": {"code", "message", …}}``. No stack ever leaves."""

from __future__ import annotations

import logging
from typing import Any

from botocore.exceptions import BotoCoreError, ClientError
from fastapi import FastAPI, Request
from fastapi.exceptions import RequestValidationError
from fastapi.responses import JSONResponse
from starlette.exceptions import HTTPException

from resources.errors import Code, StoreError

log = logging.getLogger("api")

#: The HTTP status of each of the store's codes. Whatever is not here is the server's own fault.
STATUS = {
    Code.NOT_FOUND: 404,
    Code.NOT_READY: 409,
    Code.SEQ_CONFLICT: 409,
    Code.LEASE_HELD: 409,
    Code.LEASE_LOST: 409,
    Code.VERSION_CONFLICT: 409,
    Code.BASE_CONFLICT: 409,
    Code.NOT_VERIFIED: 409,
    Code.SUPERSEDED: 409,
    Code.CANCELLED: 409,
    Code.OBJECT_MISSING: 409,
    Code.OBJECT_CHANGED: 409,
    Code.OBJECT_EXISTS: 409,
    Code.OWNER_REVOKED: 403,
    Code.UPLOAD_EXPIRED: 410,
    Code.BATCH_TOO_LARGE: 413,
    Code.OP_INVALID: 422,
    Code.UPLOAD_INVALID: 422,
    Code.NOT_CONFIGURED: 503,
}
#: Codes that are the API's own, and when they are said.
OWN = {
    "NOT_AUTHENTICATED": "401: there is no bearer token, or it is not one of the issuer's for this API",
    "NOT_ENABLED": "403: the user is not on the allowlist",
    "NOTHING_QUEUED": "409: none of a batch's documents could be queued; `items` says why not",
    "NO_SUCH_CALL": "404: there is no such path",
    "METHOD_NOT_ALLOWED": "405: the path has no such method",
    "BODY_TOO_LARGE": "413: the body has more bytes than any call may have",
    "INVALID": "422: the call does not have the form the schema says",
    "TOO_MANY_CALLS": "429: more calls than one user may make in a minute",
    "UNEXPECTED": "500: a fault of the server, which its log has under `requestId`",
    "STORE_BUSY": "503: the store did not answer; the same call may succeed later",
}


class ApiError(Exception):
    """An answer other than the one asked for."""

    def __init__(self, status: int, code: str, message: str, **details: Any) -> None:
        super().__init__(message)
        self.status, self.code, self.message, self.details = status, code, message, details


def answer(status: int, code: str, message: str, headers: dict[str, str] | None = None, **details: Any) -> JSONResponse:
    """The one shape of an error."""
    return JSONResponse({"error": {"code": code, "message": message, **details}}, status, headers)


def install(app: FastAPI) -> None:
    """Turn whatever is raised into that shape."""

    @app.exception_handler(ApiError)
    async def own(request: Request, error: ApiError) -> JSONResponse:
        headers = {"WWW-Authenticate": "Bearer"} if error.status == 401 else None
        if error.status == 429:
            headers = {"Retry-After": "60"}
        return answer(error.status, error.code, error.message, headers, **error.details)

    @app.exception_handler(StoreError)
    async def store(request: Request, error: StoreError) -> JSONResponse:
        status = STATUS.get(error.code)
        if status is None:
            return unforeseen(request, error)
        return answer(status, str(error.code), error.message, None, **error.details)

    @app.exception_handler(RequestValidationError)
    async def form(request: Request, error: RequestValidationError) -> JSONResponse:
        problems = [
            {"place": ".".join(str(part) for part in found["loc"]), "problem": str(found["msg"])}
            for found in error.errors()[:20]
        ]
        return answer(422, "INVALID", "The call does not have the form it must have.", problems=problems)

    @app.exception_handler(HTTPException)
    async def http(request: Request, error: HTTPException) -> JSONResponse:
        code = {404: "NO_SUCH_CALL", 405: "METHOD_NOT_ALLOWED"}.get(error.status_code, "INVALID")
        headers = dict(error.headers) if error.headers else None
        return answer(error.status_code, code, str(error.detail), headers)

    @app.exception_handler(ClientError)
    @app.exception_handler(BotoCoreError)
    async def aws(request: Request, error: Exception) -> JSONResponse:
        log.error("the store did not answer", extra={"problem": str(error), "path": request.url.path})
        return answer(503, "STORE_BUSY", "The store did not answer. Try again later.", {"Retry-After": "5"})

    app.exception_handler(Exception)(unforeseen_handler)


async def unforeseen_handler(request: Request, error: Exception) -> JSONResponse:
    """Anything nobody foresaw."""
    return unforeseen(request, error)


def unforeseen(request: Request, error: Exception) -> JSONResponse:
    """Log it whole, say nothing of it but where to find it."""
    ident = getattr(request.state, "request_id", "")
    log.error("unexpected", exc_info=error, extra={"path": request.url.path, "requestId": ident})
    return answer(500, "UNEXPECTED", "Something went wrong here. It is logged under the request's id.", requestId=ident)
