"""How a stage ends when something goes wrong: tried again when that can help, failed at once with its code when not.

Transient errors (throttling, a service or a network that does not answer, a time-out, a quota) are tried again after
10 s, then ×2.5: five tries, waits of 10, 25, 62, 156 and 390 s. Anything else fails at once: the same call would only
fail again. A retry never starts over what is stored: every stage looks for its own results first.
"""

from __future__ import annotations

import traceback
from dataclasses import dataclass
from typing import NoReturn

from botocore import exceptions as aws
from dagster import Failure, MetadataValue, RetryRequested

from pdf.errors import PdfError
from resources.errors import StoreError

FIRST_WAIT_SECONDS = 10.0
WAIT_FACTOR = 2.5
MAX_RETRIES = 5

# What AWS answers when the same call may succeed a little later.
TRANSIENT_AWS_CODES = frozenset(
    {
        "InternalError",
        "InternalFailure",
        "InternalServerError",
        "LimitExceededException",
        "ProvisionedThroughputExceededException",
        "RequestLimitExceeded",
        "RequestTimeout",
        "RequestTimeoutException",
        "ServiceUnavailable",
        "ServiceUnavailableException",
        "SlowDown",
        "Throttling",
        "ThrottlingException",
        "TooManyRequestsException",
        "TransactionInProgressException",
    }
)


@dataclass(frozen=True)
class Problem:
    """An error in the words of the product: stable code, a sentence for a person, whether a retry can help."""

    code: str
    message: str
    retryable: bool


def problem_of(error: BaseException) -> Problem:
    """What an exception means for the work it ended. An exception nobody foresaw is ``UNEXPECTED``, never transient."""
    if isinstance(error, PdfError | StoreError):
        return Problem(str(error.code), error.message, error.retryable)
    if isinstance(error, aws.ClientError):
        answer = error.response
        code = str(answer.get("Error", {}).get("Code", "Unknown"))
        status = int(answer.get("ResponseMetadata", {}).get("HTTPStatusCode", 0))
        transient = code in TRANSIENT_AWS_CODES or status >= 500
        return Problem(f"AWS_{code}", str(error), transient)
    if isinstance(error, aws.ConnectionError | aws.HTTPClientError):
        return Problem("AWS_UNREACHABLE", f"AWS did not answer: {error}", True)
    if isinstance(error, aws.BotoCoreError):
        return Problem("AWS_CLIENT", str(error), False)
    if isinstance(error, OSError) and error.errno == 28:  # ENOSPC
        return Problem("DISK_FULL", "The disk of the worker is full.", True)
    return Problem("UNEXPECTED", f"{type(error).__name__}: {error}", False)


def wait_seconds(retry_number: int) -> float:
    """The wait after try ``retry_number`` (0-based): 10, 25, 62.5, 156.25, 390.6 seconds."""
    return float(FIRST_WAIT_SECONDS * WAIT_FACTOR**retry_number)


def retries_left(problem: Problem, retry_number: int) -> bool:
    """Whether this problem is worth another try within the run, after ``retry_number`` earlier ones."""
    return problem.retryable and retry_number < MAX_RETRIES


def retry_or_fail(error: BaseException, *, retry_number: int, stage: str, document: str) -> NoReturn:
    """End a step: ``RetryRequested`` for a transient error with tries left, else ``Failure`` without retries.

    Args:
        error: what happened; becomes the cause of what is raised.
        retry_number: how often this step was tried before (Dagster's ``context.retry_number``).
        stage, document: for the person who reads the failure.
    """
    problem = problem_of(error)
    if retries_left(problem, retry_number):
        raise RetryRequested(max_retries=MAX_RETRIES, seconds_to_wait=wait_seconds(retry_number)) from error
    metadata: dict[str, MetadataValue[str] | MetadataValue[bool]] = {
        "code": MetadataValue.text(problem.code),
        "reason": MetadataValue.text(problem.message),
        "stage": MetadataValue.text(stage),
        "document": MetadataValue.text(document),
        "tries": MetadataValue.text(str(retry_number + 1)),
    }
    if problem.code == "UNEXPECTED":
        trace = "".join(traceback.format_exception(error))
        metadata["trace"] = MetadataValue.md(f"```\n{trace[-6000:]}\n```")
    raise Failure(description=f"{problem.code}: {problem.message}", metadata=metadata, allow_retries=False) from error
