"""`make api`: the API alone, over an embedded AWS of its own, until it is told to end."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from pathlib import Path

import requests

from orchestration.launchers.processes import ProcessRef, is_alive
from orchestration.local.environment import LOCAL_USER
from orchestration.local.places import ROOT, Places
from orchestration.local.supervise import Record
from tests.orchestration.conftest import wait_for


def test_the_api_is_served_alone_and_ends_with_everything_it_started(tmp_path: Path) -> None:
    places = Places(tmp_path / "state")
    command = [sys.executable, "-m", "orchestration.local", "api", "--state", str(places.base)]
    environment = {k: v for k, v in os.environ.items() if not k.startswith("AWS_")} | {"PYTHONPATH": str(ROOT)}
    log = (tmp_path / "log").open("wb")
    with subprocess.Popen(command, cwd=ROOT, env=environment, stdout=log, stderr=subprocess.STDOUT) as console:
        try:
            wait_for(lambda: "api" in Record(places.record).facts() or console.poll() is not None, 90)
            assert console.poll() is None, (tmp_path / "log").read_text()
            at = Record(places.record).facts()["api"]
            assert requests.get(f"{at}/health", timeout=20).json() == {"status": "ok", "missing": []}
            printed = subprocess.run(
                [sys.executable, "-m", "api", "token", LOCAL_USER, "--keys", str(places.issuer)],
                cwd=ROOT,
                env=environment,
                capture_output=True,
                text=True,
                check=True,
            ).stdout.strip()
            headers = {"Authorization": f"Bearer {printed}"}
            made = requests.post(f"{at}/api/v1/tag-docs", json={"title": "A"}, headers=headers, timeout=20)
            assert made.status_code == 201
            again = subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True, timeout=60)
            assert (again.returncode, at in again.stdout) == (0, True)
            started: dict[str, ProcessRef] = Record(places.record).alive()
        finally:
            console.send_signal(signal.SIGINT)
            console.wait(timeout=60)
    log.close()
    assert console.returncode == 0, (tmp_path / "log").read_text()
    assert {"api", "aws"} <= set(started)
    assert not any(is_alive(process) for process in started.values())
    line = next(json.loads(x) for x in (places.logs / "api.log").read_text().splitlines() if '"call"' in x)
    assert line["method"] in ("GET", "POST") and line["status"] in (200, 201) and line["requestId"]
