"""Objects in the platform's bucket: pinned by VersionId, checked by SHA-256, encrypted with the platform's key."""

from __future__ import annotations

import base64
import hashlib
import random
import time
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from botocore.exceptions import ClientError

from resources.errors import Code, StoreError
from resources.values import ObjectRef

READ_BYTES = 1 << 20
#: How often a conditional put that met another one is made.
CONFLICTS = 5
_HASH = "sha256"


class Objects:
    """The bucket. `key_id` is the KMS key (id, ARN or alias) that every object is encrypted with."""

    def __init__(self, client: Any, bucket: str, key_id: str) -> None:
        self.client = client
        self.bucket = bucket
        self.key_id = key_id

    def put_file(
        self, path: Path, key: str, *, once: bool = False, metadata: Mapping[str, str] | None = None
    ) -> ObjectRef:
        """Store a file; S3 checks its SHA-256. With `once` nothing is overwritten: an object with the same bytes is
        returned as if stored now (an answer that was lost), another is OBJECT_EXISTS."""
        with path.open("rb") as body:
            digest = hashlib.file_digest(body, "sha256").hexdigest()
            body.seek(0)
            return self._put(body, path.stat().st_size, digest, key, once, metadata or {}, "application/pdf")

    def put_bytes(
        self, data: bytes, key: str, *, once: bool = False, content_type: str = "application/octet-stream"
    ) -> ObjectRef:
        """`put_file` for bytes in memory."""
        return self._put(data, len(data), hashlib.sha256(data).hexdigest(), key, once, {}, content_type)

    def _put(
        self, body: Any, size: int, digest: str, key: str, once: bool, metadata: Mapping[str, str], content_type: str
    ) -> ObjectRef:
        arguments: dict[str, Any] = {
            "Bucket": self.bucket,
            "Key": key,
            "Body": body,
            "ContentType": content_type,
            "ChecksumSHA256": base64.b64encode(bytes.fromhex(digest)).decode(),
            "Metadata": {**metadata, _HASH: digest},
            "ServerSideEncryption": "aws:kms",
            "SSEKMSKeyId": self.key_id,
            "BucketKeyEnabled": True,
        }
        if once:
            arguments["IfNoneMatch"] = "*"
        try:
            version = self._undisturbed(arguments)["VersionId"]
        except ClientError as error:
            if error.response["ResponseMetadata"].get("HTTPStatusCode") != 412:
                raise
            found = self.head(key)
            if found is not None and found.sha256 == digest and found.size == size:
                return found
            raise StoreError(Code.OBJECT_EXISTS, f"{key} is there already, with other bytes.") from error
        return ObjectRef(key, version, digest, size)

    def _undisturbed(self, arguments: dict[str, Any]) -> dict[str, Any]:
        """Put an object; once more where S3 says 409: another write of the key went on, and which is first is open."""
        body = arguments["Body"]
        turn = 0
        while True:
            try:
                made: dict[str, Any] = self.client.put_object(**arguments)
                return made
            except ClientError as error:
                turn += 1
                if turn == CONFLICTS or error.response["ResponseMetadata"].get("HTTPStatusCode") != 409:
                    raise
            time.sleep(random.uniform(0.5, 1) * 0.05 * 2**turn)
            if hasattr(body, "seek"):
                body.seek(0)

    def head(self, key: str, version_id: str | None = None) -> ObjectRef | None:
        """What stands at a key (at a version of it); None for nothing. `sha256` is empty where S3 has none."""
        arguments = {"Bucket": self.bucket, "Key": key, "ChecksumMode": "ENABLED"}
        if version_id is not None:
            arguments["VersionId"] = version_id
        try:
            found = self.client.head_object(**arguments)
        except ClientError as error:
            if error.response["ResponseMetadata"].get("HTTPStatusCode") in (404, 405):
                return None
            raise
        checksum = found.get("ChecksumSHA256", "")
        # A multipart object's checksum is one of its parts' checksums ("…-3"), not of its bytes.
        digest = base64.b64decode(checksum).hex() if checksum and "-" not in checksum else ""
        return ObjectRef(key, found["VersionId"], digest, found["ContentLength"])

    def metadata(self, key: str, version_id: str) -> dict[str, str]:
        """The metadata that a client gave an object. Raises StoreError OBJECT_MISSING."""
        try:
            found = self.client.head_object(Bucket=self.bucket, Key=key, VersionId=version_id)
        except ClientError as error:
            if error.response["ResponseMetadata"].get("HTTPStatusCode") in (404, 405):
                raise StoreError(Code.OBJECT_MISSING, f"{key} is not there any more.") from error
            raise
        return dict(found.get("Metadata", {}))

    def peek(self, key: str, version_id: str, most: int) -> bytes | None:
        """The first bytes of an object, `most` of them; None where it is gone."""
        try:
            found = self.client.get_object(
                Bucket=self.bucket, Key=key, VersionId=version_id, Range=f"bytes=0-{most - 1}"
            )
            with found["Body"] as body:
                return bytes(body.read(most))
        except ClientError as error:
            status = error.response["ResponseMetadata"].get("HTTPStatusCode")
            if status in (404, 405):
                return None
            if status == 416:  # what is empty has no first byte
                return b""
            raise

    def fetch(self, ref: ObjectRef, path: Path) -> None:
        """Write exactly the pinned bytes to `path`. Raises StoreError OBJECT_MISSING, OBJECT_CHANGED."""
        got = self.download(ref.key, ref.version_id, path)
        if got.size != ref.size or (ref.sha256 and got.sha256 != ref.sha256):
            path.unlink(missing_ok=True)
            raise StoreError(Code.OBJECT_CHANGED, f"{ref.key} does not hold the bytes that were recorded.")

    def download(self, key: str, version_id: str, path: Path) -> ObjectRef:
        """Write a version of an object to `path`; returns it with the SHA-256 of what was read."""
        try:
            body = self.client.get_object(Bucket=self.bucket, Key=key, VersionId=version_id)["Body"]
        except ClientError as error:
            if error.response["ResponseMetadata"].get("HTTPStatusCode") in (404, 405):
                raise StoreError(Code.OBJECT_MISSING, f"{key} is not there any more.") from error
            raise
        digest, size = hashlib.sha256(), 0
        with path.open("wb") as out:
            for part in body.iter_chunks(READ_BYTES):
                digest.update(part)
                size += len(part)
                out.write(part)
        return ObjectRef(key, version_id, digest.hexdigest(), size)

    def read(self, key: str, version_id: str | None = None) -> bytes:
        """An object's bytes. Raises StoreError OBJECT_MISSING."""
        arguments = {"Bucket": self.bucket, "Key": key}
        if version_id is not None:
            arguments["VersionId"] = version_id
        try:
            data: bytes = self.client.get_object(**arguments)["Body"].read()
        except ClientError as error:
            if error.response["ResponseMetadata"].get("HTTPStatusCode") in (404, 405):
                raise StoreError(Code.OBJECT_MISSING, f"{key} is not there.") from error
            raise
        return data

    def copy(self, ref: ObjectRef, key: str, content_type: str = "application/pdf") -> ObjectRef:
        """The pinned bytes under another key, without their passing through this machine."""
        found = self.client.copy_object(
            Bucket=self.bucket,
            Key=key,
            CopySource={"Bucket": self.bucket, "Key": ref.key, "VersionId": ref.version_id},
            MetadataDirective="REPLACE",
            Metadata={_HASH: ref.sha256},
            ContentType=content_type,
            ChecksumAlgorithm="SHA256",
            ServerSideEncryption="aws:kms",
            SSEKMSKeyId=self.key_id,
            BucketKeyEnabled=True,
        )
        return ObjectRef(key, found["VersionId"], ref.sha256, ref.size)

    def latest(self, prefix: str) -> Iterator[ObjectRef]:
        """Current objects under a prefix with their VersionIds, in key order; `sha256` is empty."""
        for page in self.client.get_paginator("list_object_versions").paginate(Bucket=self.bucket, Prefix=prefix):
            for found in page.get("Versions", []):
                if found["IsLatest"]:
                    yield ObjectRef(found["Key"], found["VersionId"], "", found["Size"])

    def keys(self, prefix: str, limit: int | None = None) -> Iterator[ObjectRef]:
        """Current objects under a prefix, in key order; `version_id` and `sha256` are empty (a listing has neither)."""
        seen = 0
        for page in self.client.get_paginator("list_objects_v2").paginate(Bucket=self.bucket, Prefix=prefix):
            for found in page.get("Contents", []):
                yield ObjectRef(found["Key"], "", "", found["Size"])
                seen += 1
                if limit is not None and seen >= limit:
                    return

    def delete_version(self, ref: ObjectRef) -> None:
        """Remove one version of an object; that it is gone already is no error."""
        self.client.delete_object(Bucket=self.bucket, Key=ref.key, VersionId=ref.version_id)

    def delete_with_older(self, ref: ObjectRef) -> int:
        """Remove the newest version of an object and every older one; returns how many.

        The older ones go first: removed before them, the newest would bring the one below it to the light. Nothing is
        removed where it is not the newest any more.
        """
        found: list[dict[str, Any]] = []
        for page in self.client.get_paginator("list_object_versions").paginate(Bucket=self.bucket, Prefix=ref.key):
            found += [one for one in page.get("Versions", []) if one["Key"] == ref.key]
        if not any(one["IsLatest"] and one["VersionId"] == ref.version_id for one in found):
            return 0
        for one in sorted(found, key=lambda one: bool(one["IsLatest"])):
            self.client.delete_object(Bucket=self.bucket, Key=ref.key, VersionId=one["VersionId"])
        return len(found)

    def delete_versions(self, prefix: str) -> int:
        """Remove every version of every object under a prefix, which ends with a slash; returns how many."""
        if not prefix.endswith("/") or len(prefix) < 3:
            raise ValueError(f"{prefix!r} is no folder")
        removed = 0
        for page in self.client.get_paginator("list_object_versions").paginate(Bucket=self.bucket, Prefix=prefix):
            found = [
                {"Key": one["Key"], "VersionId": one["VersionId"]}
                for one in [*page.get("Versions", []), *page.get("DeleteMarkers", [])]
            ]
            if found:
                answer = self.client.delete_objects(Bucket=self.bucket, Delete={"Objects": found, "Quiet": True})
                if answer.get("Errors"):
                    first = answer["Errors"][0]
                    raise StoreError(Code.OBJECT_MISSING, f"{first['Key']}: {first['Message']}", retryable=True)
                removed += len(found)
        return removed
