"""An owner's access to the platform's work, withdrawn and given back by an operator."""

from dagster import Config, OpExecutionContext, job, op
from pydantic import Field

from assets.platform import Platform


class Owner(Config):
    """Whose access."""

    owner: str = Field(description="The owner's id, as in the uploads' `owner-id` metadata")


@op(description="Fence everything that runs for an owner, and begin nothing more.")
def revoke(context: OpExecutionContext, platform: Platform, config: Owner) -> None:
    """What waits fails with OWNER_REVOKED when its turn comes; what is published stays."""
    epoch = platform.store.work.owners.revoke(config.owner)
    context.log.warning("The access of %s was revoked (epoch %d).", config.owner, epoch)


@op(description="Let an owner's work begin again.")
def restore(context: OpExecutionContext, platform: Platform, config: Owner) -> None:
    """What failed meanwhile is tried again by a person's retry, or a new upload."""
    epoch = platform.store.work.owners.restore(config.owner)
    context.log.info("The access of %s was restored (epoch %d).", config.owner, epoch)


@job(description="Withdraws an owner's access: what runs for them can change nothing any more, nothing more begins.")
def revoke_owner() -> None:
    """One step."""
    revoke()


@job(description="Gives an owner's access back.")
def restore_owner() -> None:
    """One step."""
    restore()


JOBS = (revoke_owner, restore_owner)
