"""Start services, know when they are ready, notice when one ends, stop them in order. Nothing about AWS or Dagster."""

from __future__ import annotations

import fcntl
import json
import os
import signal
import socket
import subprocess
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import IO

from orchestration.launchers.processes import ProcessRef, is_alive, is_here, reference, send, wait_gone


class ServiceFailed(RuntimeError):
    """A service ended, or did not become ready in time. The message shows the end of its log."""


class AlreadyRunning(RuntimeError):
    """Another console holds the lock."""


@dataclass(frozen=True)
class Service:
    """One process to run: how it is started, how one sees that it is ready, how long it gets to end by itself."""

    name: str
    command: Sequence[str]
    environment: Mapping[str, str]
    ready: Callable[[], bool]
    directory: Path
    ready_seconds: float = 90
    stop_seconds: float = 20


def free_port() -> int:
    """A loopback port that nothing listens on now."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
        return port


def port_is_free(port: int) -> bool:
    """Whether a server could listen on this loopback port now."""
    with socket.socket() as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind(("127.0.0.1", port))
        except OSError:
            return False
        return True


class Lock:
    """One console a folder. The lock is the kernel's (flock(2)): it goes when the process goes, however it ends."""

    def __init__(self, path: Path):
        path.parent.mkdir(parents=True, exist_ok=True)
        self._file: IO[str] = path.open("a")
        try:
            fcntl.flock(self._file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError as error:
            self._file.close()
            raise AlreadyRunning(f"another console holds {path}") from error

    def release(self) -> None:
        """Give the lock back."""
        self._file.close()


class Record:
    """The file that says which processes belong to a run: name → process. Written whole, by rename."""

    def __init__(self, path: Path):
        self.path = path

    def read(self) -> dict[str, ProcessRef]:
        """The recorded processes; empty where there is no record."""
        try:
            value = json.loads(self.path.read_text())
        except FileNotFoundError:
            return {}
        return {name: ProcessRef.from_json(json.dumps(ref)) for name, ref in value["processes"].items()}

    def facts(self) -> dict[str, str]:
        """What the console noted about the run (addresses); empty where there is no record."""
        try:
            facts: dict[str, str] = json.loads(self.path.read_text())["facts"]
        except FileNotFoundError:
            return {}
        return facts

    def write(self, processes: Mapping[str, ProcessRef], facts: Mapping[str, str]) -> None:
        """Replace the record."""
        value = {
            "processes": {name: json.loads(ref.to_json()) for name, ref in processes.items()},
            "facts": dict(facts),
        }
        unfinished = self.path.with_suffix(".unfinished")
        unfinished.write_text(json.dumps(value, indent=2))
        unfinished.replace(self.path)

    def alive(self) -> dict[str, ProcessRef]:
        """Those recorded processes that still run on this machine."""
        return {name: ref for name, ref in self.read().items() if is_here(ref) and is_alive(ref)}

    def remove(self) -> None:
        """Forget the run."""
        self.path.unlink(missing_ok=True)


def stop_process(ref: ProcessRef, seconds: float) -> bool:
    """End one process and its group: politely first. False where it had to be killed."""
    if not send(ref, signal.SIGTERM):
        return True
    if wait_gone(ref, seconds):
        return True
    send(ref, signal.SIGKILL, group=True)
    wait_gone(ref, 5)
    return False


class Supervisor:
    """Runs services as children that lead sessions of their own, so that a Ctrl-C reaches only the console.

    The console then stops them in the order that loses nothing.
    """

    def __init__(self, record: Record, logs: Path):
        self.record = record
        self.logs = logs
        self.facts: dict[str, str] = {}
        self._children: dict[str, tuple[Service, subprocess.Popen[bytes], ProcessRef]] = {}
        own = reference(os.getpid())
        assert own is not None, "the console itself runs"
        self._processes: dict[str, ProcessRef] = {"console": own}

    def note(self, **facts: str) -> None:
        """Add facts to the record."""
        self.facts.update(facts)
        self.record.write(self._processes, self.facts)

    def start(self, service: Service) -> None:
        """Start a service; returns at once. Raises ``ServiceFailed`` where it ends immediately."""
        log = (self.logs / f"{service.name}.log").open("ab")
        with log:
            child = subprocess.Popen(
                list(service.command),
                env=dict(service.environment),
                cwd=service.directory,
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=subprocess.STDOUT,
                start_new_session=True,
            )
        ref = reference(child.pid)
        if ref is None:
            raise self._failed(service, f"ended at once with exit code {child.wait()}")
        self._children[service.name] = (service, child, ref)
        self._processes[service.name] = ref
        self.record.write(self._processes, self.facts)

    def wait_ready(self, name: str) -> None:
        """Wait until a started service answers. Raises ``ServiceFailed`` when it ends or the time is over."""
        service, child, _ = self._children[name]
        deadline = time.monotonic() + service.ready_seconds
        while not service.ready():
            if child.poll() is not None:
                raise self._failed(service, f"ended with exit code {child.returncode} while it started")
            if time.monotonic() > deadline:
                raise self._failed(service, f"was not ready after {service.ready_seconds:g} s")
            time.sleep(0.1)

    def check(self) -> None:
        """Raise ``ServiceFailed`` when any service has ended."""
        for service, child, _ in self._children.values():
            if child.poll() is not None:
                raise self._failed(service, f"ended unexpectedly with exit code {child.returncode}")

    def restart(self, name: str) -> None:
        """Start a service again that has ended, or was killed."""
        service, child, _ = self._children[name]
        child.wait()
        self.start(service)

    def process(self, name: str) -> ProcessRef:
        """The process of a started service."""
        return self._children[name][2]

    def stop(self, name: str) -> bool:
        """Stop one service; False where it did not end by itself. A service that was never started is stopped."""
        entry = self._children.pop(name, None)
        if entry is None:
            return True
        service, child, ref = entry
        clean = stop_process(ref, service.stop_seconds)
        child.wait()
        self._processes.pop(name, None)
        self.record.write(self._processes, self.facts)
        return clean

    def _failed(self, service: Service, what: str) -> ServiceFailed:
        path = self.logs / f"{service.name}.log"
        tail = "\n".join(f"    {line}" for line in path.read_text(errors="replace").splitlines()[-15:])
        return ServiceFailed(f"{service.name} {what}. The end of {path}:\n{tail}")
