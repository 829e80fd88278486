"""Signed uploads take exactly the bytes they are for, once, in time; sources become work once."""

from __future__ import annotations

import hashlib
import time
from typing import Any

import pytest

from resources.store import Store
from resources.uploads import MULTIPART_BYTES, PART_BYTES, Uploads
from resources.work import REMEDIATE
from tests.api.conftest import SESSION, Client, bytes_of, opened, send
from tests.resources.conftest import Clock, race


def authorized(client: Client, data: bytes, status: int = 201, **more: Any) -> Any:
    body = {"fileName": "a.pdf", "contentType": "application/pdf", "title": "A title", **bytes_of(data), **more}
    return client.call("POST", "/uploads", status, json=body)


def test_a_signed_address_takes_nothing_but_its_bytes_once(ann: Client, pdf: bytes) -> None:
    doc = ann.call("POST", "", 201, json={"title": "A title"})["id"]
    signed = ann.call("POST", f"/{doc}/base/upload-url", json=bytes_of(pdf))
    other_key = {**signed, "url": signed["url"].replace("/base.pdf", "/versions/9.pdf")}
    refused = {
        "other bytes": send(signed, pdf[:-1] + b"x"),
        "more bytes": send(signed, pdf + b"x"),
        "another key": send(other_key, pdf),
        "no checksum": send(signed, pdf, x_amz_checksum_sha256=None),
        "another checksum": send(
            signed, b"other", x_amz_checksum_sha256="LPJNul+wow4m6DsqxbninhsWHlwfp0JecwQzYpOLmCQ="
        ),
        "may overwrite": send(signed, pdf, if_none_match=None),
        "not encrypted": send(signed, pdf, x_amz_server_side_encryption=None),
        "another key of KMS": send(signed, pdf, x_amz_server_side_encryption_aws_kms_key_id="alias/other"),
    }
    assert {name: answer.status_code // 100 for name, answer in refused.items()} == dict.fromkeys(refused, 4)
    assert ann.code("POST", f"/{doc}/base/commit", 409, json=bytes_of(pdf)) == "OBJECT_MISSING"
    assert send(signed, pdf).status_code == 200
    assert send(signed, pdf).status_code == 412


def test_a_late_upload_is_refused(store: Store, ann: Client, pdf: bytes) -> None:
    doc = ann.call("POST", "", 201, json={"title": "A title"})["id"]
    signed = Uploads(store.documents, store.objects, 1).put(f"docs/{doc}/base.pdf", **bytes_of(pdf))
    time.sleep(2.1)
    late = {"method": signed.method, "url": signed.url, "headers": dict(signed.headers)}
    assert send(late, pdf).status_code == 403


def test_a_source_becomes_work_once(ann: Client, pdf: bytes, store: Store) -> None:
    made = authorized(ann, pdf)
    doc, path = made["docId"], f"/{made['docId']}/uploads/{made['uploadId']}/confirm"
    assert ann.code("POST", path, 409, json={}) == "OBJECT_MISSING"
    assert ann.code("GET", f"/{doc}/work", 404) == "NOT_FOUND"
    (signed,) = made["uploads"]
    assert send(signed, pdf).status_code == 200
    for _ in range(3):
        work = ann.call("POST", path, json={})
        assert (work["state"], work["revision"], work["generation"]) == ("queued", 1, 1)
    (row,) = store.work.due(10)
    assert row.source is not None and row.owner == "ann"
    assert row.source.key == f"docs/{doc}/sources/{made['uploadId']}.pdf"
    job = store.jobs.get(row.job_id, row.job_started)
    assert job is not None and job.total == 1
    assert ann.call("GET", "")["documents"][0]["id"] == doc


def test_a_replacement_is_a_new_revision_of_the_same_document(ann: Client, pdf: bytes, clock: Clock) -> None:
    first = authorized(ann, pdf)
    doc = first["docId"]
    clock.pass_(1)
    second = authorized(ann, pdf + b"%", docId=doc)
    assert second["docId"] == doc
    for made, data in ((second, pdf + b"%"), (first, pdf)):
        send(made["uploads"][0], data)
    assert ann.call("POST", f"/{doc}/uploads/{first['uploadId']}/confirm", json={})["revision"] == 1
    replaced = ann.call("POST", f"/{doc}/uploads/{second['uploadId']}/confirm", json={})
    assert (replaced["revision"], replaced["generation"]) == (2, 2)
    assert ann.code("POST", f"/{doc}/uploads/{first['uploadId']}/confirm", 409, json={}) == "SUPERSEDED"


def test_what_is_no_pdf_is_refused_before_and_after(ann: Client, pdf: bytes, ben: Client) -> None:
    def refused(**more: Any) -> str:
        return str(authorized(ann, pdf, 422, **more)["error"]["code"])

    assert refused(fileName="a.docx") == "UPLOAD_INVALID"
    assert refused(contentType="text/html") == "UPLOAD_INVALID"
    assert refused(size=501 << 20) == "UPLOAD_INVALID"
    page = b"<html>" + b" " * 2000
    made = authorized(ann, page)
    send(made["uploads"][0], page)
    path = f"/{made['docId']}/uploads/{made['uploadId']}/confirm"
    assert ann.code("POST", path, 422, json={}) == "UPLOAD_INVALID"
    assert ben.code("POST", path, 404, json={}) == "NOT_FOUND"
    doc = opened(ann, pdf)
    assert authorized(ann, pdf, 409, docId=doc)["error"]["code"] == "NOT_READY"
    assert authorized(ben, pdf, 404, docId=doc)["error"]["code"] == "NOT_FOUND"


def test_an_authorization_ends_but_not_for_what_came_in_time(ann: Client, pdf: bytes, clock: Clock) -> None:
    late, timely = authorized(ann, pdf), authorized(ann, pdf)
    send(timely["uploads"][0], pdf)
    clock.pass_(301)
    path = f"/{late['docId']}/uploads/{late['uploadId']}/confirm"
    assert ann.code("POST", path, 410, json={}) == "UPLOAD_EXPIRED"
    assert ann.call("POST", f"/{timely['docId']}/uploads/{timely['uploadId']}/confirm", json={})["state"] == "queued"


def test_a_large_source_comes_in_signed_parts(ann: Client, pdf: bytes, store: Store) -> None:
    data = pdf + b"%" * (MULTIPART_BYTES - len(pdf))
    parts = [data[at : at + PART_BYTES] for at in range(0, len(data), PART_BYTES)]
    digests = [hashlib.sha256(part).hexdigest() for part in parts]
    assert authorized(ann, data, 422)["error"]["code"] == "UPLOAD_INVALID"
    made = authorized(ann, data, partSha256=digests)
    path = f"/{made['docId']}/uploads/{made['uploadId']}/confirm"
    assert len(made["uploads"]) == len(parts) == 4
    assert send(made["uploads"][0], parts[1][:-1] + b"x").status_code // 100 == 4
    etags = []
    for signed, part in zip(made["uploads"], parts, strict=True):
        answer = send(signed, part)
        assert answer.status_code == 200, answer.text
        etags.append(answer.headers["etag"])
    assert ann.code("POST", path, 422, json={"etags": etags[:-1]}) == "UPLOAD_INVALID"
    for _ in range(2):
        assert ann.call("POST", path, json={"etags": etags})["state"] == "queued"
    row = store.work.get(made["docId"])
    assert row is not None and row.source is not None and row.source.size == MULTIPART_BYTES


def test_work_is_cancelled_and_tried_again(ann: Client, pdf: bytes, store: Store, clock: Clock) -> None:
    made = authorized(ann, pdf)
    doc = made["docId"]
    send(made["uploads"][0], pdf)
    ann.call("POST", f"/{doc}/uploads/{made['uploadId']}/confirm", json={})
    claim = store.work.claim(doc, REMEDIATE, "run-1")
    for _ in range(2):
        assert ann.call("POST", f"/{doc}/cancel")["state"] == "cancelled"
    shown = ann.call("GET", f"/{doc}")
    assert (shown["outcome"], shown["code"]) == ("cancelled", "CANCELLED")
    job = store.jobs.get(claim.job_id, claim.job_started)
    assert job is not None and (job.status, job.failed) == ("FAILED", 1)
    with pytest.raises(Exception, match="CANCELLED"):
        store.work.succeed(claim)
    clock.pass_(1)
    for _ in range(2):
        again = ann.call("POST", f"/{doc}/retry")
        assert (again["state"], again["generation"], again["attempts"]) == ("queued", 2, 0)
    (row,) = store.work.due(10)
    newer = store.jobs.get(row.job_id, row.job_started)
    assert newer is not None and (newer.status, newer.total) == ("QUEUED", 1)
    claim = store.work.claim(doc, REMEDIATE, "run-2")
    store.work.succeed(claim)
    assert ann.code("POST", f"/{doc}/retry", 409) == "NOT_READY"


def test_deleted_documents_take_nothing(ann: Client, pdf: bytes, store: Store) -> None:
    doc = opened(ann, pdf)
    store.documents.begin_delete(doc)
    assert ann.code("POST", f"/{doc}/lease", 409, json={"sessionId": SESSION}) == "NOT_READY"
    assert ann.code("POST", f"/{doc}/base/commit", 409, json=bytes_of(pdf)) == "NOT_READY"
    body = {"upToSeq": 0, "sessionId": SESSION, **bytes_of(pdf)}
    assert ann.code("POST", f"/{doc}/versions", 409, json=body) == "NOT_READY"
    assert authorized(ann, pdf, 409, docId=doc)["error"]["code"] == "NOT_READY"


def test_many_who_confirm_make_one_work(ann: Client, pdf: bytes, store: Store) -> None:
    made = authorized(ann, pdf)
    send(made["uploads"][0], pdf)
    path = f"/{made['docId']}/uploads/{made['uploadId']}/confirm"
    answers, bad = race([lambda: ann.call("POST", path, json={}) for _ in range(8)])
    assert not bad and all(a["generation"] == 1 for a in answers)
    (row,) = store.work.due(10)
    job = store.jobs.get(row.job_id, row.job_started)
    assert job is not None and job.total == 1


def test_a_deleted_upload_is_not_made_again_by_its_confirmation(ann: Client, pdf: bytes, store: Store) -> None:
    made = authorized(ann, pdf)
    upload = store.uploads.find(made["docId"], made["uploadId"])
    ann.call("DELETE", f"/{made['docId']}", 204)
    store.uploads.confirm(upload)
    assert list(store.documents.table.query(f"DOC#{made['docId']}")) == []
