"""Every knob of the platform, in one typed object: its unit in its name, its default here and nowhere else.

Read from the environment and from ``.env``. No other module reads the environment.
"""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field
from pydantic_settings import BaseSettings, SettingsConfigDict

Positive = Annotated[int, Field(gt=0)]
Seconds = Annotated[float, Field(ge=0)]
Amount = Annotated[float, Field(ge=0)]


class Settings(BaseSettings):
    """The platform's settings. A wrong value is an error that names it, when the process starts."""

    model_config = SettingsConfigDict(env_file=".env", env_file_encoding="utf-8", extra="ignore", frozen=True)

    # Where things are.
    stack_name: str = Field("accessible-pdf", description="Name of the stack; the names of its parts derive from it")
    aws_region: str = Field("us-east-1", description="AWS region")
    aws_endpoint_url: str | None = Field(None, description="Address of an AWS other than Amazon's (local runs)")
    bucket_name: str | None = Field(None, description="Bucket, where it is not `<stack>-documents`")
    public_base_url: str = Field("", description="Address that published files are delivered under")

    # Intake.
    intake_owner_id: str = Field("unowned", description="Owner of an upload that names none in its `owner-id` metadata")
    folder_wait_seconds: Seconds = Field(30, description="A folder becomes one job when it was quiet for this long")
    intake_batch_messages: Positive = Field(200, description="Messages that the intake sensor takes at one tick")
    intake_launch_limit: Positive = Field(50, description="Runs that the intake sensor asks for at one tick")
    intake_queue_runs: Positive = Field(
        50, description="Most runs in Dagster's queue; what is due beyond them waits in the store"
    )
    intake_mode: Literal["realtime", "batch", "both"] = Field("both", description="Events, the scheduled scan, or both")
    job_folder_depth: Annotated[int, Field(ge=1, le=8)] = Field(1, description="Folders that name a job, in a scan")
    scan_job_limit: Positive = Field(50, description="Jobs that one scan takes")
    scan_retake_limit: Positive = Field(5, description="How often a scan takes a file again whose run has failed")
    stale_job_minutes: Positive = Field(30, description="An active job that did not move for this long is reclaimed")
    rewrite_signed: bool = Field(False, description="Take signed PDFs too; their signatures do not outlive tagging")
    max_source_mb: Positive = Field(500, description="Largest upload")
    fast_source_mb: Positive = Field(100, description="Largest upload of the fast lane")

    # Lanes and chunks.
    max_pages: Positive = Field(32, description="Most pages of the fast lane")
    absolute_max_pages: Positive = Field(800, description="Most pages of any document")
    long_lane_enabled: bool = Field(True, description="Whether the long lane's launcher is configured")
    analyzer: str = Field(
        "layout", description="What goes over the pages that `layout` read: nothing more, or a `module:attribute`"
    )
    chunk_pages: Positive = Field(4, description="Pages of a chunk")
    chunk_min_pages: int = Field(9, description="Documents of fewer pages are one chunk; 0 or less: every document is")
    host_map_concurrency: Positive = Field(4, description="Chunks of a long document in work at once")

    # Work.
    max_attempts: Positive = Field(5, description="Attempts of a unit of work before it fails for good")
    retry_seconds: Seconds = Field(10, description="Wait after a first failed attempt; each later one is 2.5 times it")
    owner_active_rows: Positive = Field(8, description="Units of work of one owner that are asked for or run at once")
    stage_max_chunks: Positive = Field(4096, description="Chunks that one generation may stage")
    stage_max_items: Positive = Field(50_000, description="Pages that one generation may stage")
    stage_chunk_items: Positive = Field(250, description="Pages that one staged chunk may have")
    claim_lease_seconds: Positive = Field(600, description="A claim that was not renewed for this long is over")
    claim_renew_seconds: Positive = Field(60, description="How often a worker renews its claim")
    due_hold_seconds: Positive = Field(120, description="Work that was asked to run and did not begin is due again")
    editor_lease_seconds: Positive = Field(45, description="An editor's lease ends so long after its last heartbeat")

    # Guards of the long lane.
    host_max_attempts: Positive = Field(3, description="Attempts in a row that may get no further on the long lane")
    cost_ceiling_usd: Amount = Field(5.0, description="What any document may cost over all attempts, at least")
    cost_ceiling_usd_a_page: Amount = Field(1.0, description="What a document may cost a page, if that is more")
    sweep_minutes: Positive = Field(240, description="Work that did not move for this long is rerouted, or fails")
    host_lane_minutes: Positive = Field(480, description="How long a document may be on the long lane, and")
    host_lane_minutes_a_page: Amount = Field(3.0, description="so much longer for each of its pages")

    # The API.
    api_port: Positive = Field(3080, description="Port of the API")
    platform_allowlist: str = Field("", description="User ids that may use the API, with commas between; empty: nobody")
    jwt_issuer: str = Field("", description="Issuer of the API's bearer tokens")
    jwt_audience: str = Field("accessible-pdf", description="Audience that a token must be for")
    jwks_url: str = Field("", description="Where the issuer's keys are (JWKS): an https address, or a file's path")
    upload_seconds: Positive = Field(300, description="How long an upload's signed address lasts")
    api_calls_a_minute: Positive = Field(600, description="Calls that one user may make in a minute")

    # The sandbox.
    sandbox_seconds: Seconds = Field(100, description="Time one sandboxed step may take on the fast lane")
    host_sandbox_seconds: Seconds = Field(600, description="The same on the long lane")
    sandbox_memory_mb: Positive = Field(2048, description="Memory one sandboxed step may take")
    sandbox_folder: str | None = Field(None, description="Folder for work directories, where it is not the system's")

    # Publication.
    publish_policy: Literal["compliant", "integrity"] = Field(
        "compliant", description="What may be published: PDF/UA-1 with sound structure, or whatever is intact"
    )

    # Figures.
    ceiling_warn_fraction: Annotated[float, Field(gt=0, le=1)] = Field(
        0.70, description="Share of a phase's ceiling that is worth a warning"
    )
    hourly_rate_usd: Annotated[float, Field(ge=0)] = Field(0, description="Cost of a computing hour; 0: durations only")
    alerts_topic: bool = Field(False, description="Send alerts to the stack's SNS topic as well as to the log")

    # Housekeeping.
    source_retention_hours: Positive = Field(24, description="A published upload is removed after this many hours")
    partition_days: Positive = Field(14, description="A settled document's partition is retired after this many days")

    @property
    def bucket(self) -> str:
        """The bucket's name."""
        return self.bucket_name or f"{self.stack_name}-documents"

    @property
    def documents_table(self) -> str:
        """Documents: META, ops, leases, versions."""
        return f"{self.stack_name}-documents"

    @property
    def work_table(self) -> str:
        """Work rows and job records."""
        return f"{self.stack_name}-work"

    @property
    def ledger_table(self) -> str:
        """Facts for analysts."""
        return f"{self.stack_name}-ledger"

    @property
    def intake_queue(self) -> str:
        """The queue S3 sends its events to."""
        return f"{self.stack_name}-intake"

    @property
    def verify_queue(self) -> str:
        """The queue of versions that wait for verification."""
        return f"{self.stack_name}-verify"

    @property
    def key_alias(self) -> str:
        """The KMS key's alias."""
        return f"alias/{self.stack_name}"

    @property
    def alerts_topic_name(self) -> str:
        """The topic of alerts."""
        return f"{self.stack_name}-alerts"


def load_settings(**overrides: object) -> Settings:
    """Read the settings; ``overrides`` win. Raises pydantic's ``ValidationError`` for a wrong value."""
    return Settings(**overrides)  # type: ignore[arg-type]
