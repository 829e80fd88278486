"""The embedded AWS as a process: the command that starts it, and whether it answers."""

from __future__ import annotations

import subprocess
import tempfile
import time
import urllib.error
import urllib.request
from pathlib import Path

HERE = Path(__file__).parent
PYTHON = HERE / ".venv/bin/python"


def command(port: int, state: Path | None = None, *, parent_death: bool = False) -> list[str]:
    """The command that serves AWS at ``http://127.0.0.1:<port>``; `state` is where it keeps what is stored."""
    out = [str(PYTHON), str(HERE / "server.py"), "--port", str(port)]
    if state is not None:
        out += ["--state", str(state)]
    if parent_death:
        out.append("--parent-death")
    return out


def answers(port: int) -> bool:
    """Whether it takes calls."""
    # Never through a proxy: the address is on this machine.
    opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))
    try:
        with opener.open(f"http://127.0.0.1:{port}/_ministack/health", timeout=2) as response:
            return bool(response.status == 200)
    except (urllib.error.URLError, OSError):
        return False


def start(port: int, state: Path | None = None, *, seconds: float = 30) -> subprocess.Popen[bytes]:
    """Start it and wait until it answers; it ends with this process. Raises RuntimeError where it does not come up."""
    # A file, not a pipe: nobody reads while it runs, and a full pipe would stop it.
    with tempfile.TemporaryFile() as said:
        process = subprocess.Popen(command(port, state, parent_death=True), stdout=said, stderr=said)
        until = time.monotonic() + seconds
        while not answers(port):
            if process.poll() is not None or time.monotonic() > until:
                process.kill()
                process.wait()
                said.seek(0)
                words = said.read().decode(errors="replace").strip()
                raise RuntimeError(f"the embedded AWS did not come up: {words or 'no answer'}")
            time.sleep(0.05)
    return process
