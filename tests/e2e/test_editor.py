"""A real editor, as the README has it: its version is verified and published by what `make run` starts."""

from __future__ import annotations

import hashlib
import os
import re
import subprocess
import sys
from pathlib import Path

import requests
from dagster import AssetKey, AssetRecordsFilter, DagsterRunStatus, RunsFilter

from api import issuer
from orchestration.local.environment import LOCAL_USER
from orchestration.local.places import ROOT
from tests.e2e.platform import Running
from tests.orchestration.conftest import wait_for

AUDIENCE = "accessible-pdf"


def token(platform: Running, user: str) -> str:
    return issuer.token(platform.places.issuer, user, AUDIENCE)


def test_the_editor_of_the_readme_gets_its_version_verified_and_published(
    platform: Running, samples: Path, tmp_path: Path
) -> None:
    found = re.search(r"```python\n(.*?)```", (ROOT / "README.md").read_text(), re.DOTALL)
    assert found is not None
    (tmp_path / "editor.py").write_text(found[1])
    platform.supervisor.wait_ready("api")
    environment = {**os.environ, "API": platform.supervisor.facts["api"], "TOKEN": token(platform, LOCAL_USER)}
    command = [sys.executable, "editor.py", str(samples / "letter.pdf")]
    done = subprocess.run(command, cwd=tmp_path, env=environment, capture_output=True, text=True, timeout=240)
    assert done.returncode == 0, done.stderr
    verdict, doc = done.stdout.splitlines()
    assert verdict.startswith("passed"), verdict
    store = platform.look.store
    wait_for(lambda: store.documents.get(doc).outcome == "published", 60)
    document, version = store.documents.get(doc), store.versions.get(doc, 1)
    assert (document.active_version, version.published is not None) == (1, True)

    def run_ended() -> bool:
        runs = platform.look.instance.get_runs(RunsFilter(tags={"document": doc}))
        return [run.status for run in runs] == [DagsterRunStatus.SUCCESS]

    wait_for(run_ended, 60)  # one run: the verification and publication of version 1
    wanted = AssetRecordsFilter(asset_key=AssetKey("verification_report"), asset_partitions=[doc])
    (event,) = platform.look.instance.fetch_materializations(wanted, limit=1).records
    assert event.partition_key == doc


def test_a_caller_who_is_not_enabled_gets_403(platform: Running) -> None:
    platform.supervisor.wait_ready("api")
    at = f"{platform.supervisor.facts['api']}/api/v1/tag-docs"
    refused = requests.get(at, headers={"Authorization": f"Bearer {token(platform, 'stranger')}"}, timeout=20)
    assert (refused.status_code, refused.json()["error"]["code"]) == (403, "NOT_ENABLED")


def test_a_source_uploaded_through_the_api_is_published(platform: Running, samples: Path) -> None:
    platform.supervisor.wait_ready("api")
    data = (samples / "letter.pdf").read_bytes()
    at = f"{platform.supervisor.facts['api']}/api/v1/tag-docs"
    headers = {"Authorization": f"Bearer {token(platform, LOCAL_USER)}"}
    facts: dict[str, str | int] = {"sha256": hashlib.sha256(data).hexdigest(), "size": len(data)}
    body: dict[str, str | int] = {
        "fileName": "letter.pdf",
        "contentType": "application/pdf",
        "title": "A letter",
        **facts,
    }
    made = requests.post(f"{at}/uploads", json=body, headers=headers, timeout=20).json()
    (signed,) = made["uploads"]
    requests.put(signed["url"], headers=signed["headers"], data=data, timeout=20).raise_for_status()
    doc = made["docId"]
    confirmed = requests.post(f"{at}/{doc}/uploads/{made['uploadId']}/confirm", json={}, headers=headers, timeout=20)
    assert confirmed.json()["state"] == "queued"
    wait_for(lambda: requests.get(f"{at}/{doc}/work", headers=headers, timeout=20).json()["state"] == "done", 120)
    shown = requests.get(f"{at}/{doc}", headers=headers, timeout=20).json()
    assert (shown["outcome"], shown["activeVersion"], shown["code"]) == ("published", 1, None)
