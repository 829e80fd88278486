"""The environment of the processes that a local run starts.

They inherit what a person set (a knob as in ``MAX_PAGES=10 make run``), except everything that names AWS accounts and
endpoints: a local run must never reach a real account, whatever the shell it was started from is signed in to.
"""

from __future__ import annotations

import os
from collections.abc import Mapping

from api.issuer import ISSUER
from orchestration.local.places import ROOT, Places

REGION = "us-east-1"
# The embedded AWS takes any key. These are no secrets; they only must not be empty.
LOCAL_KEY = "local"
#: Who may use the API of a local run, unless PLATFORM_ALLOWLIST says otherwise.
LOCAL_USER = "local-editor"


def child_environment(places: Places, endpoint: str, inherited: Mapping[str, str] | None = None) -> dict[str, str]:
    """Environment of Dagster's processes: this one's, with AWS pointing at the embedded one.

    ``inherited`` replaces this process's own environment in tests.
    """
    environment = dict(os.environ if inherited is None else inherited)
    for name in list(environment):
        if name.startswith(("AWS_", "DAGSTER_")) and name != "AWS_CA_BUNDLE":
            del environment[name]
    environment.pop("VIRTUAL_ENV", None)
    # Several processes import the same packages: compiled once and kept, that costs a third.
    environment.pop("PYTHONDONTWRITEBYTECODE", None)
    # A person who uploads a folder waits for it to be quiet. On one machine nobody else uploads into it.
    environment.setdefault("FOLDER_WAIT_SECONDS", "3")
    # A process for each band of a long document pays off from about four cores for one.
    environment.setdefault("HOST_MAP_CONCURRENCY", str(max(1, (os.cpu_count() or 1) // 4)))
    environment.setdefault("PLATFORM_ALLOWLIST", LOCAL_USER)
    return environment | {
        "JWT_ISSUER": ISSUER,
        "JWKS_URL": str(places.issuer / "jwks.json"),
        "AWS_ENDPOINT_URL": endpoint,
        "AWS_ACCESS_KEY_ID": LOCAL_KEY,
        "AWS_SECRET_ACCESS_KEY": LOCAL_KEY,
        "AWS_REGION": REGION,
        "AWS_DEFAULT_REGION": REGION,
        "AWS_EC2_METADATA_DISABLED": "true",
        "AWS_CONFIG_FILE": os.devnull,
        "AWS_SHARED_CREDENTIALS_FILE": os.devnull,
        "DAGSTER_HOME": str(places.dagster_home),
        "DAGSTER_COMPUTE_LOGS": str(places.compute_logs),
        "DAGSTER_DISABLE_TELEMETRY": "1",
        "PYTHONPATH": str(ROOT),
        "PYTHONUNBUFFERED": "1",
        "NO_PROXY": "127.0.0.1,localhost",
        "no_proxy": "127.0.0.1,localhost",
    }


def adopt(environment: Mapping[str, str]) -> None:
    """Make this process see what its children see, so that the console reads settings as they do."""
    os.environ.clear()
    os.environ.update(environment)
