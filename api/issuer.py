"""An issuer for local runs. It is plainly fake: it gives anybody on this machine a token for anybody."""

from __future__ import annotations

import json
import time
from pathlib import Path

import jwt
from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric.rsa import RSAPrivateKey, generate_private_key
from jwt.algorithms import RSAAlgorithm

ISSUER = "http://fake-issuer.localhost"
KID = "local-fake-key"
#: How long a local token is good for.
SECONDS = 12 * 3600


def prepare(folder: str | Path) -> Path:
    """Make the key once; returns the file with the public half (JWKS)."""
    folder = Path(folder)
    folder.mkdir(parents=True, exist_ok=True)
    private, public = folder / "fake-private-key.pem", folder / "jwks.json"
    if not private.exists() or not public.exists():
        key = generate_private_key(public_exponent=65537, key_size=2048)
        private.write_bytes(
            key.private_bytes(
                serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
            )
        )
        private.chmod(0o600)
        half = json.loads(RSAAlgorithm.to_jwk(key.public_key()))
        public.write_text(json.dumps({"keys": [{**half, "kid": KID, "use": "sig", "alg": "RS256"}]}))
    return public


def token(folder: str | Path, user: str, audience: str) -> str:
    """A token for a user, by the key in the folder."""
    prepare(folder)
    key = serialization.load_pem_private_key((Path(folder) / "fake-private-key.pem").read_bytes(), None)
    assert isinstance(key, RSAPrivateKey)
    now = int(time.time())
    claims = {"iss": ISSUER, "aud": audience, "sub": user, "iat": now, "exp": now + SECONDS}
    return jwt.encode(claims, key, algorithm="RS256", headers={"kid": KID})
