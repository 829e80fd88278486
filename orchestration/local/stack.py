"""The embedded AWS of a local run: its process, what is provisioned in it, and the samples that go into it."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Mapping

from infra.local import process
from orchestration.local.places import ROOT, Places
from orchestration.local.supervise import Service, ServiceFailed, free_port, port_is_free


def aws_port(places: Places) -> int:
    """The port of the embedded AWS: yesterday's where it is free, so that a person's S3 client finds it again."""
    remembered = places.base / "aws-port"
    try:
        port = int(remembered.read_text())
    except (FileNotFoundError, ValueError):
        port = 0
    if not port or not port_is_free(port):
        port = free_port()
        remembered.write_text(f"{port}\n")
    return port


def aws(environment: Mapping[str, str], places: Places, port: int) -> Service:
    """The embedded AWS, with its state in ``.local/aws``."""
    return Service(
        "aws",
        process.command(port, places.aws),
        environment,
        lambda: process.answers(port),
        ROOT,
        ready_seconds=60,
        stop_seconds=30,
    )


def provision() -> str:
    """Bring up what the template defines, for the settings of this process; returns the stack's name."""
    import boto3

    from infra.provision import Stack
    from resources.settings import load_settings

    settings = load_settings()
    session = boto3.Session(region_name=settings.aws_region)
    Stack(session, settings.aws_endpoint_url, settings.stack_name).provision()
    return settings.stack_name


def make_samples(places: Places) -> list[str]:
    """Make the samples that are missing in ``.local/samples``; returns what their maker says, a line each."""
    if (places.samples / "expected.json").is_file():
        return []
    # A process of its own: the maker belongs to the tests, which nothing of the platform imports.
    command = [sys.executable, "-m", "tests.corpus", "--out", str(places.samples)]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=600)
    if done.returncode:
        raise ServiceFailed(f"the samples could not be made:\n{done.stderr.strip()}")
    return done.stdout.splitlines()
