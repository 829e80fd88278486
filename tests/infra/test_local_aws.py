"""The embedded AWS keeps what it was told, refuses to be wiped, and shares its state with nobody."""

from __future__ import annotations

import time
import urllib.error
import urllib.request
from pathlib import Path

import pytest

from infra.local import process
from infra.provision import Stack
from tests.conftest import free_port, session


def test_a_kill_loses_nothing_older_than_a_second(tmp_path: Path) -> None:
    account = session()
    port = free_port()
    server = process.start(port, tmp_path)
    stack = Stack(account, f"http://127.0.0.1:{port}", "kept")
    stack.provision()
    table, bucket = stack.attribute("WorkTable", "Ref"), stack.attribute("Bucket", "Ref")
    stack.client("dynamodb").put_item(TableName=table, Item={"pk": {"S": "a"}, "sk": {"S": "b"}})
    version = stack.client("s3").put_object(Bucket=bucket, Key="docs/a", Body=b"bytes")["VersionId"]
    stack.client("sqs").send_message(QueueUrl=stack.attribute("VerifyQueue", "Ref"), MessageBody="hello")
    time.sleep(2)
    server.kill()
    server.wait(timeout=20)

    port = free_port()
    server = process.start(port, tmp_path)
    stack = Stack(account, f"http://127.0.0.1:{port}", "kept")
    assert stack.differences() == []
    assert "Item" in stack.client("dynamodb").get_item(TableName=table, Key={"pk": {"S": "a"}, "sk": {"S": "b"}})
    assert stack.client("s3").get_object(Bucket=bucket, Key="docs/a", VersionId=version)["Body"].read() == b"bytes"
    queue = stack.attribute("VerifyQueue", "Ref")
    assert stack.client("sqs").receive_message(QueueUrl=queue, WaitTimeSeconds=1)["Messages"][0]["Body"] == "hello"
    server.terminate()
    server.wait(timeout=20)


def test_one_process_a_state_folder(tmp_path: Path) -> None:
    port = free_port()
    server = process.start(port, tmp_path)
    with pytest.raises(RuntimeError, match="another process uses"):
        process.start(free_port(), tmp_path)
    server.terminate()
    server.wait(timeout=20)


def test_wiping_everything_is_refused(aws_server: str) -> None:
    request = urllib.request.Request(f"{aws_server}/_ministack/reset", method="POST")
    with pytest.raises(urllib.error.HTTPError, match="403") as refused:
        urllib.request.urlopen(request)
    refused.value.close()
