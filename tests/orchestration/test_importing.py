"""Importing the definitions talks to nothing: no socket, no AWS client, no credentials, no external program."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[2]

# Runs in a fresh interpreter: audit events (PEP 578) tell what importing does, whoever does it.
PROBE = """
import sys
found = []
def watch(event, args):
    if event in ("socket.connect", "socket.bind", "socket.getaddrinfo", "socket.sendto"):
        found.append(f"{event} {args[1:]}")
    elif event == "subprocess.Popen" and args[0] == "file":
        pass  # Dagster asks how wide the interpreter's integers are (platform.architecture)
    elif event in ("subprocess.Popen", "os.system", "os.posix_spawn", "os.exec", "os.fork"):
        found.append(f"{event} {args[0]}")
    elif event == "open" and isinstance(args[0], str) and "/.aws/" in args[0]:
        found.append(f"reads {args[0]}")
import botocore.session
def refuse(self, name, *args, **kwargs):
    found.append(f"makes a client of {name}")
botocore.session.Session.create_client = refuse
sys.addaudithook(watch)
if "--proof" in sys.argv:
    import socket
    socket.socket().connect_ex(("127.0.0.1", 9))
    botocore.session.get_session().create_client("s3")
import orchestration.definitions
assert orchestration.definitions.defs.resolve_all_job_defs()
print("\\n".join(found))
"""


def probe(home: Path, *arguments: str) -> list[str]:
    done = subprocess.run(
        [sys.executable, "-c", PROBE, *arguments],
        cwd=ROOT,
        env={"PATH": "/usr/bin:/bin", "HOME": str(home), "PYTHONPATH": str(ROOT)},
        capture_output=True,
        text=True,
        timeout=120,
    )
    assert done.returncode == 0, done.stderr
    return [line for line in done.stdout.splitlines() if line]


def test_importing_the_definitions_talks_to_nothing(tmp_path: Path) -> None:
    assert probe(tmp_path) == []


def test_the_probe_sees_what_it_forbids(tmp_path: Path) -> None:
    assert [line.split()[0] for line in probe(tmp_path, "--proof")] == ["socket.connect", "makes"]
