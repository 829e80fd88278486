"""Uploads that clients make themselves: signed addresses for exactly one object, and what they were authorized for.

An address is for one key and a few minutes, and signs the bytes (``x-amz-checksum-sha256``), that nothing is
overwritten (``If-None-Match: *``), the size, and the encryption. From `MULTIPART_BYTES` on an upload comes in parts,
each signed for its own bytes. Items: pk ``DOC#<id>``, sk ``UPLOAD#<id>``.
"""

from __future__ import annotations

import base64
import hashlib
import re
import uuid
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from botocore.exceptions import ClientError

from resources.documents import Documents, doc_key
from resources.errors import Code, StoreError
from resources.objects import Objects
from resources.table import Item, Refused, Write
from resources.values import ObjectRef

MULTIPART_BYTES = 100 << 20
PART_BYTES = 32 << 20
SHA256 = re.compile(r"[0-9a-f]{64}")
#: A PDF's first bytes may stand behind some others (ISO 32000-1, annex H, note 13).
SIGNATURE, SIGNATURE_WITHIN = b"%PDF-", 1024


@dataclass(frozen=True)
class Signed:
    """An address to send bytes to (with exactly these headers), or to fetch them from."""

    method: str
    url: str
    headers: Mapping[str, str]
    seconds: int


@dataclass(frozen=True)
class Upload:
    """An authorized upload of a source. `state`: authorized | confirmed; `expires_at` epoch seconds."""

    id: str
    document: str
    state: str
    key: str
    size: int
    sha256: str
    title: str
    external_code: str
    authorized_at: float
    expires_at: float
    multipart: str | None
    parts: tuple[str, ...]

    @classmethod
    def read(cls, item: Item) -> Upload:
        """From the stored item."""
        return cls(
            item["uploadId"],
            item["docId"],
            item["state"],
            item["key"],
            item["size"],
            item["sha256"],
            item["title"],
            item.get("externalCode", ""),
            item["authorizedAt"],
            item["expiresAt"],
            item.get("multipartId"),
            tuple(item.get("parts", ())),
        )


def part_count(size: int) -> int:
    """In how many parts an upload of so many bytes comes; 0 for one that is sent whole."""
    return -(-size // PART_BYTES) if size >= MULTIPART_BYTES else 0


class Uploads:
    """Signs addresses, and keeps what was authorized."""

    def __init__(self, documents: Documents, objects: Objects, seconds: int) -> None:
        self.documents = documents
        self.table = documents.table
        self.objects = objects
        self.clock = documents.clock
        self.seconds = seconds

    def put(self, key: str, sha256: str, size: int) -> Signed:
        """An address to put exactly these bytes at `key`, once."""
        checksum = base64.b64encode(bytes.fromhex(sha256)).decode()
        arguments: dict[str, Any] = {
            "Bucket": self.objects.bucket,
            "Key": key,
            "ContentLength": size,
            "ContentType": "application/pdf",
            "ChecksumSHA256": checksum,
            "IfNoneMatch": "*",
            "ServerSideEncryption": "aws:kms",
            "SSEKMSKeyId": self.objects.key_id,
            "BucketKeyEnabled": True,
        }
        headers = {
            "content-type": "application/pdf",
            "x-amz-checksum-sha256": checksum,
            "if-none-match": "*",
            "x-amz-server-side-encryption": "aws:kms",
            "x-amz-server-side-encryption-aws-kms-key-id": self.objects.key_id,
            "x-amz-server-side-encryption-bucket-key-enabled": "true",
        }
        url = self.objects.client.generate_presigned_url("put_object", Params=arguments, ExpiresIn=self.seconds)
        return Signed("PUT", url, headers, self.seconds)

    def get(self, ref: ObjectRef, name: str) -> Signed:
        """An address to fetch exactly the pinned bytes from."""
        arguments = {
            "Bucket": self.objects.bucket,
            "Key": ref.key,
            "VersionId": ref.version_id,
            "ResponseContentDisposition": f'attachment; filename="{name}"',
        }
        url = self.objects.client.generate_presigned_url("get_object", Params=arguments, ExpiresIn=self.seconds)
        return Signed("GET", url, {}, self.seconds)

    def authorize(
        self, doc: str, sha256: str, size: int, title: str, external_code: str, part_sha256: Sequence[str]
    ) -> Upload:
        """Write an upload down that a client may make now. Raises UPLOAD_INVALID where the parts are not its parts."""
        count = part_count(size)
        if len(part_sha256) != count:
            raise StoreError(Code.UPLOAD_INVALID, f"{size} bytes come in {count} parts, not in {len(part_sha256)}.")
        now, ident = self.clock(), str(uuid.uuid4())
        item: Item = {
            "docId": doc,
            "uploadId": ident,
            "state": "authorized",
            "key": f"docs/{doc}/sources/{ident}.pdf",
            "size": size,
            "sha256": sha256,
            "title": title,
            "externalCode": external_code,
            "authorizedAt": now,
            "expiresAt": now + self.seconds,
        }
        if count:
            made = self.objects.client.create_multipart_upload(
                Bucket=self.objects.bucket,
                Key=item["key"],
                ContentType="application/pdf",
                ChecksumAlgorithm="SHA256",
                ServerSideEncryption="aws:kms",
                SSEKMSKeyId=self.objects.key_id,
                BucketKeyEnabled=True,
            )
            item |= {"multipartId": made["UploadId"], "parts": list(part_sha256)}
        self.table.write(Write(doc_key(doc), f"UPLOAD#{ident}", put=item))
        return Upload.read(item)

    def addresses(self, upload: Upload) -> list[Signed]:
        """Where the bytes go: one address, or one a part."""
        if upload.multipart is None:
            return [self.put(upload.key, upload.sha256, upload.size)]
        out = []
        for number, digest in enumerate(upload.parts, 1):
            checksum = base64.b64encode(bytes.fromhex(digest)).decode()
            arguments = {
                "Bucket": self.objects.bucket,
                "Key": upload.key,
                "UploadId": upload.multipart,
                "PartNumber": number,
                "ChecksumSHA256": checksum,
            }
            url = self.objects.client.generate_presigned_url("upload_part", Params=arguments, ExpiresIn=self.seconds)
            out.append(Signed("PUT", url, {"x-amz-checksum-sha256": checksum}, self.seconds))
        return out

    def find(self, doc: str, ident: str) -> Upload:
        """An authorized upload. Raises NOT_FOUND."""
        item = self.table.get(doc_key(doc), f"UPLOAD#{ident}")
        if item is None:
            raise StoreError(Code.NOT_FOUND, f"There is no upload {ident}.")
        return Upload.read(item)

    def arrived(self, upload: Upload, etags: Sequence[str]) -> ObjectRef:
        """What was uploaded, checked: there, of the size and bytes that were authorized, and a PDF by its signature.

        Parts are put together first. Nothing changes where a check fails: the client may try again until the
        authorization ends. Raises UPLOAD_EXPIRED, UPLOAD_INVALID, OBJECT_MISSING, OBJECT_CHANGED.
        """
        found = self.objects.head(upload.key)
        if found is None and upload.state == "authorized" and self.clock() > upload.expires_at:
            raise StoreError(Code.UPLOAD_EXPIRED, "The time for this upload is over: ask for a new one.")
        if found is None and upload.multipart is not None:
            found = self._complete(upload, etags)
        if found is None:
            raise StoreError(Code.OBJECT_MISSING, "Nothing has been uploaded yet.")
        expected = composite(upload.parts) if upload.multipart is not None else upload.sha256
        stands = self.checksum(found) if upload.multipart is not None else found.sha256
        if found.size != upload.size or stands != expected:
            raise StoreError(Code.OBJECT_CHANGED, "What was uploaded is not what was authorized.")
        first = self.objects.client.get_object(
            Bucket=self.objects.bucket,
            Key=upload.key,
            VersionId=found.version_id,
            Range=f"bytes=0-{SIGNATURE_WITHIN + len(SIGNATURE)}",
        )["Body"].read()
        if SIGNATURE not in first:
            raise StoreError(Code.UPLOAD_INVALID, "What was uploaded is no PDF.")
        return ObjectRef(found.key, found.version_id, upload.sha256, found.size)

    def confirm(self, upload: Upload) -> None:
        """The upload has become work. Repeated, it changes nothing."""
        try:
            self.table.write(
                Write(
                    doc_key(upload.document),
                    f"UPLOAD#{upload.id}",
                    update="SET #state = :confirmed",
                    condition="#state = :authorized",
                    values={":confirmed": "confirmed", ":authorized": "authorized"},
                    names={"#state": "state"},
                )
            )
        except Refused:
            return

    def checksum(self, ref: ObjectRef) -> str:
        """The checksum S3 keeps of an object that came in parts."""
        found = self.objects.client.head_object(
            Bucket=self.objects.bucket, Key=ref.key, VersionId=ref.version_id, ChecksumMode="ENABLED"
        )
        return str(found.get("ChecksumSHA256", ""))

    def _complete(self, upload: Upload, etags: Sequence[str]) -> ObjectRef | None:
        if len(etags) != len(upload.parts):
            raise StoreError(Code.UPLOAD_INVALID, f"The upload has {len(upload.parts)} parts, not {len(etags)}.")
        parts = [
            {
                "PartNumber": number,
                "ETag": etag,
                "ChecksumSHA256": base64.b64encode(bytes.fromhex(digest)).decode(),
            }
            for number, (etag, digest) in enumerate(zip(etags, upload.parts, strict=True), 1)
        ]
        try:
            self.objects.client.complete_multipart_upload(
                Bucket=self.objects.bucket,
                Key=upload.key,
                UploadId=upload.multipart,
                MultipartUpload={"Parts": parts},
                IfNoneMatch="*",
            )
        except ClientError as error:
            code = error.response["Error"]["Code"]
            if code not in ("InvalidPart", "InvalidPartOrder", "NoSuchUpload", "EntityTooSmall", "InvalidRequest"):
                raise
            found = self.objects.head(upload.key)  # put together already, and the answer was lost
            if found is None:
                raise StoreError(Code.UPLOAD_INVALID, f"The parts cannot be put together: {code}.") from error
            return found
        return self.objects.head(upload.key)


def composite(parts: Sequence[str]) -> str:
    """S3's checksum of an object in parts: that of the parts' checksums, and how many they are."""
    digest = hashlib.sha256(b"".join(bytes.fromhex(part) for part in parts)).digest()
    return f"{base64.b64encode(digest).decode()}-{len(parts)}"
