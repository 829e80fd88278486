"""What a killed process left is removed; what a living one, or somebody else, has is not."""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from pathlib import Path

from pdf.workdir import prefix, sweep


def test_only_the_directories_of_the_dead_are_removed(tmp_path: Path) -> None:
    code = "import sys, tempfile; from pdf.workdir import prefix; "
    code += "print(tempfile.mkdtemp(prefix=prefix('stage'), dir=sys.argv[1]))"
    done = subprocess.run([sys.executable, "-c", code, str(tmp_path)], capture_output=True, text=True, check=True)
    dead = Path(done.stdout.strip())
    (dead / "source.pdf").write_bytes(b"x")
    mine = Path(tempfile.mkdtemp(prefix=prefix("pdf"), dir=tmp_path))
    pid, namespace = dead.name.split("-")[1:3]
    elsewhere = tmp_path / f"stage-{pid}-{int(namespace) + 1}-abc"
    others = [elsewhere, tmp_path / "stage-notes", tmp_path / f"other-{pid}-{namespace}-abc"]
    for path in others:
        path.mkdir()
    assert mine.name.split("-")[1] == str(os.getpid())
    assert sweep(tmp_path) == 1
    assert not dead.exists()
    assert all(path.exists() for path in [mine, *others])
    assert sweep(tmp_path) == 0
