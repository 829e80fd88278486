"""The queues, and what S3 puts on one of them."""

from __future__ import annotations

import json
import urllib.parse
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Annotated, Any, Literal

from botocore.exceptions import ClientError
from pydantic import BaseModel, Field

from resources.errors import Code, StoreError

INCOMING = "incoming/"
#: The type of the messages on the verify queue.
VERIFY_TYPE: Literal["tags-verify"] = "tags-verify"
#: SQS's most at a time.
BATCH = 10


@dataclass(frozen=True)
class Message:
    """A message that was received, and is hidden from others for the queue's visibility time."""

    id: str
    body: str
    receipt: str
    received: int


@dataclass(frozen=True)
class ObjectCreated:
    """An object has appeared in a bucket, as S3's event tells it. `key` is decoded."""

    bucket: str
    key: str
    version_id: str
    size: int
    sequencer: str


class Queue:
    """One queue, by name."""

    def __init__(self, client: Any, name: str) -> None:
        self.client = client
        self.name = name
        self._url: str | None = None

    @property
    def url(self) -> str:
        """The queue's address, asked for once. Raises StoreError NOT_CONFIGURED."""
        if self._url is None:
            try:
                self._url = str(self.client.get_queue_url(QueueName=self.name)["QueueUrl"])
            except ClientError as error:
                if "NonExistentQueue" not in error.response["Error"]["Code"] and "DoesNotExist" not in str(error):
                    raise
                raise StoreError(Code.NOT_CONFIGURED, f"There is no queue {self.name}.") from error
        return self._url

    def send(self, body: object) -> None:
        """Put a message (as JSON)."""
        self.client.send_message(QueueUrl=self.url, MessageBody=json.dumps(body, separators=(",", ":")))

    def receive(self, most: int) -> list[Message]:
        """Up to `most` messages, without waiting for any."""
        out: list[Message] = []
        while len(out) < most:
            found = self.client.receive_message(
                QueueUrl=self.url,
                MaxNumberOfMessages=min(BATCH, most - len(out)),
                WaitTimeSeconds=0,
                MessageSystemAttributeNames=["ApproximateReceiveCount"],
            ).get("Messages", [])
            if not found:
                break
            for message in found:
                count = int(message.get("Attributes", {}).get("ApproximateReceiveCount", 1))
                out.append(Message(message["MessageId"], message["Body"], message["ReceiptHandle"], count))
        return out

    def delete(self, messages: Sequence[Message]) -> None:
        """Take messages off for good. One that is gone already is no error."""
        for first in range(0, len(messages), BATCH):
            entries = [
                {"Id": str(n), "ReceiptHandle": m.receipt} for n, m in enumerate(messages[first : first + BATCH])
            ]
            self.client.delete_message_batch(QueueUrl=self.url, Entries=entries)

    def give_back(self, messages: Iterable[Message], seconds: int = 0) -> None:
        """Let others see messages again, after so many seconds."""
        for message in messages:
            self.client.change_message_visibility(
                QueueUrl=self.url, ReceiptHandle=message.receipt, VisibilityTimeout=seconds
            )

    def depth(self) -> int:
        """About how many messages wait."""
        found = self.client.get_queue_attributes(
            QueueUrl=self.url, AttributeNames=["ApproximateNumberOfMessages", "ApproximateNumberOfMessagesNotVisible"]
        )["Attributes"]
        return sum(int(value) for value in found.values())

    def move_to(self, other: Queue, most: int = 1000) -> int:
        """Redrive: send each message to another queue, then take it off this one; returns how many.

        A crash between the two leaves a message in both, which what reads them must bear anyway.
        """
        moved = 0
        while moved < most:
            messages = self.receive(min(BATCH, most - moved))
            if not messages:
                break
            for message in messages:
                other.client.send_message(QueueUrl=other.url, MessageBody=message.body)
            self.delete(messages)
            moved += len(messages)
        return moved


class VerifyMessage(BaseModel):
    """Asks for the verification of a committed version."""

    type: Literal["tags-verify"]
    docId: Annotated[str, Field(min_length=1, max_length=100)]
    version: Annotated[int, Field(ge=1, le=999_999)]


def verify_message(doc: str, version: int) -> dict[str, str | int]:
    """The message that asks for the verification of a committed version."""
    return VerifyMessage(type=VERIFY_TYPE, docId=doc, version=version).model_dump()


def parse_verify_message(body: str) -> VerifyMessage:
    """What a message on the verify queue asks for. Raises ValueError for one that is not ours."""
    return VerifyMessage.model_validate_json(body)


class _Bucket(BaseModel):
    name: str


class _Object(BaseModel):
    key: Annotated[str, Field(min_length=1, max_length=3072)]
    versionId: Annotated[str, Field(max_length=1024)] = ""
    size: Annotated[int, Field(ge=0, le=1 << 60)] = 0
    sequencer: Annotated[str, Field(max_length=64)] = ""


class _Place(BaseModel):
    bucket: _Bucket
    object: _Object


class _Record(BaseModel):
    eventName: str
    s3: Any = None


class _Event(BaseModel):
    """A message of S3: its test event when a notification is set up, or records."""

    Event: str = ""
    Records: list[_Record] | None = None


def parse_s3_event(body: str) -> list[ObjectCreated]:
    """The created objects that a message of S3 tells of; none for S3's test event and for other events.

    Raises ValueError for a message that is not S3's, whatever it is: it would come again and again.
    """
    event = _Event.model_validate_json(body)
    if event.Event == "s3:TestEvent":
        return []
    if event.Records is None:
        raise ValueError("the message is no S3 event")
    out = []
    for record in event.Records:
        if record.eventName.removeprefix("s3:").startswith("ObjectCreated:"):
            found = _Place.model_validate(record.s3)
            # S3 encodes keys in events like form fields: a space is a plus.
            key = urllib.parse.unquote_plus(found.object.key)
            of = found.object
            out.append(ObjectCreated(found.bucket.name, key, of.versionId, of.size, of.sequencer))
    return out
