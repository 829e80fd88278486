"""The API over a store on the embedded AWS, a fake issuer, and callers with tokens."""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from pathlib import Path
from typing import Any

import httpx
import pytest
from fastapi import FastAPI
from fastapi.testclient import TestClient

from api import issuer
from api.app import PREFIX, make_app
from resources.settings import Settings, load_settings
from resources.store import Store
from tests.pdf.layout.paper import PROSE, Page, write
from tests.resources.conftest import clock, store

__all__ = ["clock", "store"]
AUDIENCE = "accessible-pdf"
SESSION = "session-1"


@pytest.fixture(scope="session")
def keys(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("issuer")
    issuer.prepare(folder)
    return folder


@pytest.fixture
def settings(stack: object, keys: Path) -> Settings:
    return load_settings(
        jwt_issuer=issuer.ISSUER,
        jwks_url=str(keys / "jwks.json"),
        platform_allowlist="ann, ben",
        public_base_url="https://files.example",
    )


@pytest.fixture
def app(settings: Settings, store: Store) -> FastAPI:
    return make_app(settings, store)


class Client:
    """One user's calls."""

    def __init__(self, app: FastAPI, token: str | None) -> None:
        headers = {"Authorization": f"Bearer {token}"} if token else {}
        self.http = TestClient(app, headers=headers, raise_server_exceptions=False)

    def call(self, method: str, path: str, status: int = 200, **more: Any) -> Any:
        """The answer's JSON, after its status was what it must be."""
        answer = self.http.request(method, PREFIX + path, **more)
        assert answer.status_code == status, answer.text
        return answer.json() if answer.content else None

    def code(self, method: str, path: str, status: int, **more: Any) -> str:
        """The code of a refusal."""
        found = self.call(method, path, status, **more)["error"]
        assert found["message"]
        return str(found["code"])


@pytest.fixture
def users(app: FastAPI, keys: Path) -> Callable[[str], Client]:
    return lambda name: Client(app, issuer.token(keys, name, AUDIENCE))


@pytest.fixture
def ann(users: Callable[[str], Client]) -> Client:
    return users("ann")


@pytest.fixture
def ben(users: Callable[[str], Client]) -> Client:
    return users("ben")


@pytest.fixture(scope="session")
def pdf(tmp_path_factory: pytest.TempPathFactory) -> bytes:
    path = tmp_path_factory.mktemp("pdf") / "a.pdf"
    return write(path, Page().text(72, 800, "A title", 20, "b").lines(72, 760, PROSE)).read_bytes()


def bytes_of(data: bytes) -> dict[str, Any]:
    return {"sha256": hashlib.sha256(data).hexdigest(), "size": len(data)}


def send(signed: dict[str, Any], data: bytes, **headers: str | None) -> httpx.Response:
    """Follow a signed address, with some headers changed or (None) left out."""
    wanted = {**signed["headers"], **{k.replace("_", "-"): v for k, v in headers.items()}}
    return httpx.request(
        signed["method"], signed["url"], content=data, headers={k: v for k, v in wanted.items() if v is not None}
    )


def opened(client: Client, pdf: bytes) -> str:
    """A document with a base."""
    doc = str(client.call("POST", "", 201, json={"title": "A title"})["id"])
    signed = client.call("POST", f"/{doc}/base/upload-url", json=bytes_of(pdf))
    assert send(signed, pdf).status_code == 200
    assert client.call("POST", f"/{doc}/base/commit", json=bytes_of(pdf))["status"] == "ready"
    client.call("POST", f"/{doc}/lease", json={"sessionId": SESSION})
    return doc


def record(seq: int, pdf: bytes, author: str = "ann", title: str = "A title") -> dict[str, Any]:
    op = {"type": "document", "title": title, "lang": "en"}
    base = hashlib.sha256(pdf).hexdigest()
    return {"v": 1, "seq": seq, "opId": f"op-{seq}", "author": author, "baseHash": base, "op": op}


def saved(client: Client, doc: str, data: bytes, up_to: int = 0) -> int:
    """A committed version of these bytes."""
    body = {"upToSeq": up_to, "sessionId": SESSION, **bytes_of(data)}
    made = client.call("POST", f"/{doc}/versions", 201, json=body)
    number = int(made["version"]["version"])
    if made["upload"]:
        assert send(made["upload"], data).status_code == 200
    assert client.call("POST", f"/{doc}/versions/{number}/commit")["status"] == "queued"
    return number
