"""What tests share: the embedded AWS, one a test session, and a provisioned stack, one a test."""

from __future__ import annotations

import functools
import itertools
import os
import socket
from collections.abc import Iterator
from dataclasses import dataclass

import boto3
import pytest

from infra.local import process
from infra.provision import Stack

REGION = "us-east-1"
_numbers = itertools.count(1)


@dataclass(frozen=True)
class LocalStack:
    """A provisioned stack: where it is and what it is called (names of its parts derive from that)."""

    endpoint: str
    stack_name: str
    access_key: str = "local"
    secret_key: str = "local"
    region: str = REGION


def free_port() -> int:
    """A port on the loopback that nothing listens on."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


@functools.cache
def session() -> boto3.Session:
    """One session for all clients of the tests: it is the reading of service models that is slow."""
    return boto3.Session("local", "local", region_name=REGION)


@pytest.fixture(scope="session")
def aws_server() -> Iterator[str]:
    """The endpoint of an embedded AWS that keeps nothing on disk."""
    port = free_port()
    server = process.start(port)
    yield f"http://127.0.0.1:{port}"
    server.terminate()
    server.wait(timeout=20)


@pytest.fixture
def stack(aws_server: str, monkeypatch: pytest.MonkeyPatch) -> LocalStack:
    """A stack of its own for one test, with the environment pointing at it."""
    # Nothing that the shell is signed in to may be reached by a test.
    for name in list(os.environ):
        if name.startswith("AWS_"):
            monkeypatch.delenv(name)
    found = LocalStack(aws_server, f"t{os.getpid()}-{next(_numbers)}")
    for name, value in (
        ("AWS_ENDPOINT_URL", found.endpoint),
        ("AWS_ACCESS_KEY_ID", found.access_key),
        ("AWS_SECRET_ACCESS_KEY", found.secret_key),
        ("AWS_REGION", REGION),
        ("AWS_DEFAULT_REGION", REGION),
        ("AWS_EC2_METADATA_DISABLED", "true"),
        ("STACK_NAME", found.stack_name),
    ):
        monkeypatch.setenv(name, value)
    Stack(session(), found.endpoint, found.stack_name).provision()
    return found
