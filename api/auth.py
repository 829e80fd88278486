"""Who calls: a bearer JWT of the configured issuer, for this audience, signed with one of its keys; and may they?

The algorithm is pinned to what the key is for (RS256, ES256): ``none``, an HMAC made with a public key, and a key of
another kind are refused. Keys are found by ``kid`` in the issuer's JWKS, which is read again when a new one turns up,
but not more often than every `REFRESH_SECONDS`.
"""

from __future__ import annotations

import json
import re
import threading
import time
import urllib.request
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import jwt
from jwt import PyJWK, PyJWKSet

from api.errors import ApiError
from resources.settings import Settings

ALGORITHMS = ("RS256", "ES256")
REFRESH_SECONDS = 60.0
#: Clocks of issuer and API may differ by so much.
LEEWAY_SECONDS = 30
#: A user id: no e-mail address, nothing that could be a key's separator.
USER = re.compile(r"[A-Za-z0-9][A-Za-z0-9._:|-]{0,127}")


@dataclass
class KeySet:
    """The issuer's keys, by kid."""

    address: str
    clock: Any = time.monotonic
    _keys: dict[str, PyJWK] = field(default_factory=dict)
    _read_at: float | None = None
    _lock: threading.Lock = field(default_factory=threading.Lock)

    def find(self, kid: str) -> PyJWK | None:
        """The key of this id; the set is read again for one that is not known."""
        with self._lock:
            if kid not in self._keys and (self._read_at is None or self.clock() - self._read_at >= REFRESH_SECONDS):
                found = PyJWKSet.from_dict(self._read()).keys
                self._keys = {key.key_id: key for key in found if key.key_id}
                self._read_at = self.clock()
            return self._keys.get(kid)

    def _read(self) -> dict[str, Any]:
        if self.address.startswith("https://"):
            with urllib.request.urlopen(self.address, timeout=5) as response:
                found: dict[str, Any] = json.loads(response.read(1 << 20))
            return found
        read: dict[str, Any] = json.loads(Path(self.address).read_text())
        return read


class Access:
    """Lets users of the allowlist in."""

    def __init__(self, settings: Settings, keys: KeySet | None = None) -> None:
        self.issuer = settings.jwt_issuer
        self.audience = settings.jwt_audience
        self.allowed = frozenset(name.strip() for name in settings.platform_allowlist.split(",") if name.strip())
        self.keys = keys or KeySet(settings.jwks_url)
        self.configured = bool(settings.jwt_issuer and settings.jwks_url)

    def user(self, authorization: str | None) -> str:
        """The user id of a call. Raises ApiError 401, 403, 503."""
        if not self.configured:
            raise ApiError(503, "NOT_CONFIGURED", "No issuer of tokens is configured (JWT_ISSUER, JWKS_URL).")
        scheme, _, token = (authorization or "").partition(" ")
        if scheme.lower() != "bearer" or not token:
            raise ApiError(401, "NOT_AUTHENTICATED", "Send a bearer token.")
        try:
            claims = self._claims(token.strip())
        except (jwt.PyJWTError, ValueError) as error:
            raise ApiError(401, "NOT_AUTHENTICATED", "The token is not valid here.") from error
        except OSError as error:
            raise ApiError(503, "NOT_CONFIGURED", "The issuer's keys cannot be read.") from error
        user = claims["sub"]
        if not isinstance(user, str) or not USER.fullmatch(user) or user not in self.allowed:
            raise ApiError(403, "NOT_ENABLED", "This user is not enabled.")
        return user

    def _claims(self, token: str) -> dict[str, Any]:
        header = jwt.get_unverified_header(token)
        kid, algorithm = header.get("kid"), header.get("alg")
        if algorithm not in ALGORITHMS or not isinstance(kid, str):
            raise jwt.InvalidAlgorithmError("the algorithm is not one of ours")
        key = self.keys.find(kid)
        if key is None or key.algorithm_name != algorithm:
            raise jwt.InvalidKeyError("no key of the issuer has this id and algorithm")
        claims: dict[str, Any] = jwt.decode(
            token,
            key,
            algorithms=[algorithm],
            audience=self.audience,
            issuer=self.issuer,
            leeway=LEEWAY_SECONDS,
            options={"require": ["exp", "sub", "iss", "aud"]},
        )
        return claims
