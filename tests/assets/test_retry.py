"""Only what a retry can help is tried again; everything else fails at once with its code."""

from __future__ import annotations

import errno

import pytest
from botocore.exceptions import ClientError, EndpointConnectionError
from dagster import Failure, RetryRequested

from assets.retry import MAX_RETRIES, problem_of, retry_or_fail, wait_seconds
from pdf.errors import Code, PdfError


def aws_error(code: str, status: int = 400) -> ClientError:
    return ClientError({"Error": {"Code": code}, "ResponseMetadata": {"HTTPStatusCode": status}}, "PutItem")


def end(error: Exception, retry_number: int = 0) -> Failure | RetryRequested:
    with pytest.raises((Failure, RetryRequested)) as raised:
        retry_or_fail(error, retry_number=retry_number, stage="optimized_pdf", document="d1")
    assert raised.value.__cause__ is error
    assert isinstance(raised.value, Failure | RetryRequested)
    return raised.value


def test_waits_grow_from_ten_seconds_by_two_and_a_half():
    assert [int(wait_seconds(number)) for number in range(MAX_RETRIES)] == [10, 25, 62, 156, 390]


@pytest.mark.parametrize(
    "error",
    [
        aws_error("ThrottlingException"),
        aws_error("SlowDown", 503),
        aws_error("Whatever", 500),
        EndpointConnectionError(endpoint_url="http://localhost:1"),
        PdfError(Code.TOOL_TIMEOUT, "Ghostscript took too long.", retryable=True),
        OSError(errno.ENOSPC, "No space left on device"),
    ],
)
def test_a_transient_error_is_tried_again_five_times_and_then_fails(error: Exception):
    again = end(error)
    assert isinstance(again, RetryRequested)
    assert (again.max_retries, again.seconds_to_wait) == (MAX_RETRIES, 10)
    assert isinstance(end(error, retry_number=MAX_RETRIES - 1), RetryRequested)
    assert isinstance(end(error, retry_number=MAX_RETRIES), Failure)


@pytest.mark.parametrize(
    ("error", "code"),
    [
        (PdfError(Code.ENCRYPTED, "The file is encrypted."), "ENCRYPTED"),
        (aws_error("AccessDenied", 403), "AWS_AccessDenied"),
        (ValueError("nobody foresaw this"), "UNEXPECTED"),
    ],
)
def test_any_other_error_fails_at_once_with_its_code(error: Exception, code: str):
    failure = end(error)
    assert isinstance(failure, Failure)
    assert failure.allow_retries is False
    assert failure.metadata["code"].value == code
    assert failure.metadata["reason"].value == problem_of(error).message
    assert failure.metadata["stage"].value == "optimized_pdf"


def test_an_unforeseen_error_shows_where_it_happened():
    try:
        raise KeyError("blocks")
    except KeyError as error:
        failure = end(error)
    assert isinstance(failure, Failure)
    assert "test_retry.py" in str(failure.metadata["trace"].value)
