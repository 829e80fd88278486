"""The check itself: it finds the store's conditions, and a test fails without one of them."""

from __future__ import annotations

import os
import subprocess
import sys

from tests.mutation.sites import ROOT, sites

TEST = "tests/resources/test_log.py::test_a_stale_or_skipped_place_is_a_conflict"


def test_every_room_of_the_store_has_its_conditions() -> None:
    found = sites()
    assert len({site.name for site in found}) == len(found) > 45
    assert {site.path.removeprefix("resources/") for site in found} >= {
        *("cooldowns.py", "costs.py", "documents.py", "jobs.py", "ledger.py", "log.py", "offers.py", "rollback.py"),
        *("uploads.py", "versions.py", "work.py"),
    }


def test_a_condition_that_is_gone_is_noticed() -> None:
    (site,) = (one for one in sites() if one.path == "resources/log.py" and "headSeq = :base" in one.text)

    def outcome(name: str) -> int:
        command = [sys.executable, "-m", "pytest", "-q", "-p", "tests.mutation.plugin", TEST]
        environment = {**os.environ, "MUTATE": name}
        return subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, timeout=120).returncode

    (harmless,) = (one for one in sites() if one.path == "resources/rollback.py" and "activeVersion" in one.text)
    assert (outcome(site.name), outcome(harmless.name)) == (1, 0)
