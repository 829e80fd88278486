"""Dagster's three processes and the folder that configures them (DAGSTER_HOME)."""

from __future__ import annotations

import sys
import urllib.error
import urllib.request
from collections.abc import Callable, Mapping
from pathlib import Path

import yaml

from orchestration.local.places import ROOT, Places
from orchestration.local.supervise import Service

LOCATION = "accessible-pdf"
MODULE = "orchestration.definitions"


def write_dagster_home(places: Places, code_port: int, config: Path = ROOT / "infra/dagster/local.yaml") -> Path:
    """Write ``dagster.yaml`` and a workspace that points at our code server; returns the workspace file.

    The file is written anew at each start, so that a changed configuration is what runs.
    """
    places.dagster_home.mkdir(parents=True, exist_ok=True)
    (places.dagster_home / "dagster.yaml").write_text(config.read_text())
    workspace = places.dagster_home / "workspace.yaml"
    server = {"host": "127.0.0.1", "port": code_port, "location_name": LOCATION}
    workspace.write_text(yaml.safe_dump({"load_from": [{"grpc_server": server}]}))
    return workspace


def answers(url: str, *, seconds: float = 2) -> bool:
    """Whether something answers HTTP 200 there."""
    # Never through a proxy: the address is on this machine.
    opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))
    try:
        with opener.open(url, timeout=seconds) as response:
            return bool(response.status == 200)
    except (urllib.error.URLError, OSError):
        return False


def code_server_answers(port: int) -> Callable[[], bool]:
    """A probe that is true once the code server has loaded the definitions."""

    def probe() -> bool:
        # Deferred: importing Dagster takes seconds, and by now something else is starting.
        from dagster._core.errors import DagsterUserCodeUnreachableError
        from dagster._grpc.client import DagsterGrpcClient

        try:
            DagsterGrpcClient(host="127.0.0.1", port=port).ping("")
        except DagsterUserCodeUnreachableError:
            return False
        return True

    return probe


def code_server(environment: Mapping[str, str], port: int, module: str = MODULE) -> Service:
    """The process that has our definitions loaded; runs of the fast lane are its children."""
    command = [
        *(sys.executable, "-m", "dagster", "api", "grpc", "--module-name", module, "--working-directory", str(ROOT)),
        *("--host", "127.0.0.1", "--port", str(port), "--location-name", LOCATION),
        # Sensors and schedules are evaluated here, a thread each.
        *("--max-workers", "8", "--log-level", "warning"),
    ]
    return Service("code-server", command, environment, code_server_answers(port), ROOT, ready_seconds=180)


def daemon(environment: Mapping[str, str], workspace: Path) -> Service:
    """The process that evaluates sensors and schedules, launches queued runs and monitors them."""
    command = [sys.executable, "-m", "dagster._daemon", "run", "--workspace", str(workspace), "--log-level", "info"]
    return Service("daemon", command, environment, lambda: True, ROOT)


def api(environment: Mapping[str, str], port: int) -> Service:
    """The editing API."""
    command = [sys.executable, "-m", "api", "serve"]
    url = f"http://127.0.0.1:{port}/health"
    return Service("api", command, {**environment, "API_PORT": str(port)}, lambda: answers(url), ROOT, ready_seconds=60)


def webserver(environment: Mapping[str, str], workspace: Path, port: int) -> Service:
    """Dagster's UI."""
    command = [
        *(sys.executable, "-m", "dagster_webserver", "--host", "127.0.0.1", "--port", str(port)),
        *("--workspace", str(workspace), "--dagster-log-level", "warning", "--suppress-warnings"),
    ]
    url = f"http://127.0.0.1:{port}/server_info"
    return Service("webserver", command, environment, lambda: answers(url), ROOT, ready_seconds=180)
