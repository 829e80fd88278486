"""``python -m api``: serve. ``python -m api token USER``: a token of the local, fake issuer."""

from __future__ import annotations

import argparse
import json
import logging
import sys

import uvicorn

from api import issuer
from api.app import JsonLines, make_app, open_store
from resources.settings import load_settings


def main() -> int:
    """Serve the API, print its OpenAPI, or make a local token."""
    parser = argparse.ArgumentParser(prog="python -m api")
    parser.add_argument("command", nargs="?", choices=("serve", "openapi", "token"), default="serve")
    parser.add_argument("user", nargs="?", default="local-editor", help="whom a token is for")
    parser.add_argument("--keys", default=".local/issuer", help="folder of the local issuer's keys")
    chosen = parser.parse_args()
    settings = load_settings()
    if chosen.command == "token":
        print(issuer.token(chosen.keys, chosen.user, settings.jwt_audience))
        return 0
    if chosen.command == "openapi":
        print(json.dumps(make_app(settings, None).openapi(), indent=1, sort_keys=True))
        return 0
    handler = logging.StreamHandler(sys.stdout)
    handler.setFormatter(JsonLines())
    logging.basicConfig(level=logging.INFO, handlers=[handler], force=True)
    logging.getLogger("botocore").setLevel(logging.WARNING)
    app = make_app(settings, open_store(settings))
    uvicorn.run(app, host="127.0.0.1", port=settings.api_port, log_config=None, access_log=False)
    return 0


if __name__ == "__main__":
    sys.exit(main())
