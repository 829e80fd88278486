"""Who gets in: only a token of the issuer, for this API, in its time, of an enabled user; and only to their own."""

from __future__ import annotations

import base64
import hashlib
import hmac
import json
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import jwt
import pytest
from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric import ec, rsa
from fastapi import FastAPI
from fastapi.testclient import TestClient

from api import issuer
from api.app import PREFIX, make_app, open_store
from api.auth import KeySet
from api.limits import MAX_BODY_BYTES
from resources.settings import Settings
from resources.store import Store
from tests.api.conftest import AUDIENCE, Client, opened
from tests.resources.conftest import new_doc


def signed(keys: Path, claims: dict[str, Any], **more: Any) -> str:
    """A token by the issuer's key, with some claims and headers other than they should be."""
    now = int(time.time())
    good = {"iss": issuer.ISSUER, "aud": AUDIENCE, "sub": "ann", "iat": now, "exp": now + 600}
    wanted = {k: v for k, v in {**good, **claims}.items() if v is not None}
    key = (keys / "fake-private-key.pem").read_bytes()
    return jwt.encode(wanted, more.get("key", key), algorithm=more.get("alg", "RS256"), headers={"kid": issuer.KID})


def by_hand(header: dict[str, Any], claims: dict[str, Any], sign: Callable[[bytes], bytes]) -> str:
    def part(value: bytes) -> str:
        return base64.urlsafe_b64encode(value).rstrip(b"=").decode()

    body = f"{part(json.dumps(header).encode())}.{part(json.dumps(claims).encode())}"
    return f"{body}.{part(sign(body.encode()))}"


def refusal(app: FastAPI, token: str | None) -> tuple[int, str]:
    found = Client(app, token).http.get(PREFIX)
    return found.status_code, found.json()["error"]["code"]


def test_a_good_token_gets_in(app: FastAPI, keys: Path) -> None:
    assert Client(app, signed(keys, {})).call("GET", "") == {"documents": [], "next": None}


@pytest.mark.parametrize(
    "claims",
    [
        {"iss": "https://somebody.else"},
        {"aud": "another-api"},
        {"exp": int(time.time()) - 3600},
        {"nbf": int(time.time()) + 3600},
        {"exp": None},
        {"sub": None},
        {"iss": None},
        {"aud": None},
    ],
    ids=["issuer", "audience", "expired", "not-yet", "no-expiry", "no-subject", "no-issuer", "no-audience"],
)
def test_a_claim_that_is_wrong_is_refused(app: FastAPI, keys: Path, claims: dict[str, Any]) -> None:
    assert refusal(app, signed(keys, claims)) == (401, "NOT_AUTHENTICATED")


def test_tokens_of_another_making_are_refused(app: FastAPI, keys: Path) -> None:
    now = int(time.time())
    claims = {"iss": issuer.ISSUER, "aud": AUDIENCE, "sub": "ann", "exp": now + 600}
    other = rsa.generate_private_key(public_exponent=65537, key_size=2048)
    curve = ec.generate_private_key(ec.SECP256R1())
    private = serialization.load_pem_private_key((keys / "fake-private-key.pem").read_bytes(), None)
    public = private.public_key().public_bytes(
        serialization.Encoding.PEM, serialization.PublicFormat.SubjectPublicKeyInfo
    )
    hs256 = {"alg": "HS256", "typ": "JWT", "kid": issuer.KID}
    tokens = {
        "none": by_hand({"alg": "none", "kid": issuer.KID}, claims, lambda _: b""),
        "hmac with the public key": by_hand(hs256, claims, lambda b: hmac.new(public, b, hashlib.sha256).digest()),
        "another key": signed(keys, {}, key=other),
        "another kind of key": signed(keys, {}, key=curve, alg="ES256"),
        "another algorithm of the key": signed(keys, {}, alg="RS512"),
        "unknown kid": jwt.encode(claims, other, algorithm="RS256", headers={"kid": "unknown"}),
        "no kid": jwt.encode(claims, other, algorithm="RS256"),
        "changed": signed(keys, {})[:-6] + "AAAAAA",
        "no token": "not.a.token",
    }
    assert {name: refusal(app, token) for name, token in tokens.items()} == dict.fromkeys(
        tokens, (401, "NOT_AUTHENTICATED")
    )
    assert refusal(app, None) == (401, "NOT_AUTHENTICATED")
    basic = TestClient(app).get(PREFIX, headers={"Authorization": "Basic YW5uOg=="})
    assert (basic.status_code, basic.headers["www-authenticate"]) == (401, "Bearer")


def test_es256_keys_are_taken_for_what_they_are(settings: Settings, store: Store, tmp_path: Path) -> None:
    key = ec.generate_private_key(ec.SECP256R1())
    half = json.loads(jwt.algorithms.ECAlgorithm.to_jwk(key.public_key()))
    path = tmp_path / "jwks.json"
    path.write_text(json.dumps({"keys": [{**half, "kid": "curve", "alg": "ES256"}]}))
    app = make_app(settings.model_copy(update={"jwks_url": str(path)}), store)
    claims = {"iss": issuer.ISSUER, "aud": AUDIENCE, "sub": "ann", "exp": int(time.time()) + 60}
    token = jwt.encode(claims, key, algorithm="ES256", headers={"kid": "curve"})
    assert Client(app, token).http.get(PREFIX).status_code == 200


def test_a_new_key_is_found_but_the_set_is_not_read_for_every_stranger(tmp_path: Path, keys: Path) -> None:
    now = [0.0]
    path = tmp_path / "jwks.json"
    other = json.loads((keys / "jwks.json").read_text())["keys"][0] | {"kid": "older"}
    path.write_text(json.dumps({"keys": [other]}))
    found = KeySet(str(path), clock=lambda: now[0])
    assert found.find(issuer.KID) is None
    path.write_text((keys / "jwks.json").read_text())
    assert found.find(issuer.KID) is None
    now[0] = 61
    assert found.find(issuer.KID) is not None


def test_nobody_is_enabled_who_is_not_on_the_list(app: FastAPI, keys: Path, settings: Settings, store: Store) -> None:
    for user in ("cleo", "ann@example.org", "ANN", "a" * 200):
        assert refusal(app, signed(keys, {"sub": user})) == (403, "NOT_ENABLED")
    mail = make_app(settings.model_copy(update={"platform_allowlist": "ann@example.org"}), store)
    assert refusal(mail, signed(keys, {"sub": "ann@example.org"})) == (403, "NOT_ENABLED")
    nobody = make_app(settings.model_copy(update={"platform_allowlist": ""}), store)
    assert refusal(nobody, signed(keys, {})) == (403, "NOT_ENABLED")


def test_what_is_not_mine_is_not_there(ann: Client, ben: Client, pdf: bytes) -> None:
    doc = opened(ann, pdf)
    calls = [
        ("GET", f"/{doc}", {}),
        ("DELETE", f"/{doc}", {}),
        ("POST", f"/{doc}/lease", {"json": {"sessionId": "session-9"}}),
        ("GET", f"/{doc}/ops", {}),
        ("GET", f"/{doc}/versions", {}),
        ("GET", f"/{doc}/versions/0/download-url", {}),
        ("POST", f"/{doc}/cancel", {}),
        ("POST", f"/{doc}/retry", {}),
        ("GET", f"/{doc}/work", {}),
    ]
    answers = {(m, p): ben.call(m, p, 404, **more)["error"] for m, p, more in calls}
    missing = ben.call("GET", f"/{new_doc()}", 404)["error"]
    assert all(answer == missing for answer in answers.values())
    assert ann.call("GET", f"/{doc}")["id"] == doc


@pytest.mark.parametrize(
    "doc", ["x", "DOC%23x", "..%2F..", "%00", "A" * 36, "9" * 36, new_doc().upper(), "OWNER%23ann", " "]
)
def test_an_id_that_is_none_is_not_there(ann: Client, doc: str) -> None:
    assert ann.code("GET", f"/{doc}", 404) in ("NOT_FOUND", "NO_SUCH_CALL")


def test_bodies_and_calls_have_limits(settings: Settings, store: Store, keys: Path) -> None:
    app = make_app(settings.model_copy(update={"api_calls_a_minute": 3}), store)
    ann, ben = Client(app, signed(keys, {})), Client(app, signed(keys, {"sub": "ben"}))
    assert ann.code("POST", "", 413, content=b"x" * (MAX_BODY_BYTES + 1)) == "BODY_TOO_LARGE"
    chunks = (b"x" * (1 << 20) for _ in range(9))
    assert ann.code("POST", "", 413, content=chunks) == "BODY_TOO_LARGE"
    for _ in range(3):
        ann.call("GET", "")
    assert ann.code("GET", "", 429) == "TOO_MANY_CALLS"
    ben.call("GET", "")


def test_a_fault_says_where_it_is_logged_and_nothing_else(
    app: FastAPI, ann: Client, monkeypatch: pytest.MonkeyPatch, store: Store
) -> None:
    def broken(*_: object) -> None:
        raise RuntimeError("a secret")

    monkeypatch.setattr(store.documents, "create", broken)
    answer = ann.http.post(PREFIX, json={"title": "A title"})
    assert (answer.status_code, answer.json()["error"]["code"]) == (500, "UNEXPECTED")
    assert "secret" not in answer.text and "Traceback" not in answer.text


def test_health_says_what_is_missing(app: FastAPI, settings: Settings, store: Store) -> None:
    assert TestClient(app).get("/health").json() == {"status": "ok", "missing": []}
    bare = settings.model_copy(update={"jwt_issuer": "", "platform_allowlist": ""})
    answer = TestClient(make_app(bare, store)).get("/health")
    assert answer.status_code == 503 and len(answer.json()["missing"]) == 2
    assert refusal(make_app(bare, store), "x.y.z") == (503, "NOT_CONFIGURED")
    gone = settings.model_copy(update={"stack_name": "no-such-stack", "bucket_name": None})
    app_without = make_app(gone, open_store(gone))
    found = TestClient(app_without).get("/health").json()
    assert any("store" in text for text in found["missing"])
