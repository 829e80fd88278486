"""What stands is what the template says, however often and from wherever it is brought up."""

from __future__ import annotations

import pytest
from botocore.exceptions import ClientError

from infra.provision import Stack
from infra.template import Template
from tests.conftest import LocalStack, session


def standing(stack: LocalStack) -> Stack:
    return Stack(session(), stack.endpoint, stack.stack_name)


def test_a_provisioned_stack_differs_nowhere_from_the_template(stack: LocalStack) -> None:
    assert standing(stack).differences() == []


def test_provisioning_again_changes_nothing(stack: LocalStack) -> None:
    found = standing(stack)
    key = found.attribute("Key", "Arn")
    found.provision()
    assert found.differences() == []
    assert found.attribute("Key", "Arn") == key


def test_nothing_stands_before(aws_server: str) -> None:
    found = Stack(session(), aws_server, "never-provisioned")
    assert {d.resource for d in found.differences()} == set(found.template.resources)


@pytest.mark.parametrize(
    ("resource", "property"),
    [
        ("Bucket", "VersioningConfiguration"),
        ("Bucket", "BucketEncryption"),
        ("Bucket", "LifecycleConfiguration"),
        ("Bucket", "NotificationConfiguration"),
        ("WorkTable", "TimeToLiveSpecification"),
        ("WorkTable", "PointInTimeRecoverySpecification"),
        ("IntakeQueue", "RedrivePolicy"),
        ("BucketPolicy", ""),
        ("VerifyDeadLettersAlarm", "Threshold"),
    ],
)
def test_a_change_is_seen_and_mended(stack: LocalStack, resource: str, property: str) -> None:
    found = standing(stack)
    change(found, resource, property)
    assert [(d.resource, d.property) for d in found.differences()] == [(resource, property)]
    found.provision()
    assert found.differences() == []


def change(found: Stack, resource: str, property: str) -> None:
    s3, bucket = found.client("s3"), found.attribute("Bucket", "Ref")
    table = found.attribute("WorkTable", "Ref")
    if property == "VersioningConfiguration":
        s3.put_bucket_versioning(Bucket=bucket, VersioningConfiguration={"Status": "Suspended"})
    elif property == "BucketEncryption":
        rule = {"ApplyServerSideEncryptionByDefault": {"SSEAlgorithm": "AES256"}}
        s3.put_bucket_encryption(Bucket=bucket, ServerSideEncryptionConfiguration={"Rules": [rule]})
    elif property == "LifecycleConfiguration":
        s3.delete_bucket_lifecycle(Bucket=bucket)
    elif property == "NotificationConfiguration":
        s3.put_bucket_notification_configuration(Bucket=bucket, NotificationConfiguration={})
    elif property == "TimeToLiveSpecification":
        off = {"Enabled": False, "AttributeName": "expiresAtSeconds"}
        found.client("dynamodb").update_time_to_live(TableName=table, TimeToLiveSpecification=off)
    elif property == "PointInTimeRecoverySpecification":
        off = {"PointInTimeRecoveryEnabled": False}
        found.client("dynamodb").update_continuous_backups(TableName=table, PointInTimeRecoverySpecification=off)
    elif property == "RedrivePolicy":
        url = found.attribute("IntakeQueue", "Ref")
        found.client("sqs").set_queue_attributes(QueueUrl=url, Attributes={"RedrivePolicy": ""})
    elif resource == "BucketPolicy":
        s3.delete_bucket_policy(Bucket=bucket)
    else:
        alarms = found.client("cloudwatch")
        name = f"{found.template.pseudo['AWS::StackName']}-verify-dead-letters"
        alarm = alarms.describe_alarms(AlarmNames=[name])["MetricAlarms"][0]
        keys = ("AlarmName", "Namespace", "MetricName", "Dimensions", "Statistic", "Period", "EvaluationPeriods")
        rest = ("ComparisonOperator", "TreatMissingData", "AlarmActions", "AlarmDescription")
        alarms.put_metric_alarm(Threshold=5, **{key: alarm[key] for key in (*keys, *rest)})


def test_a_half_provisioned_stack_is_finished(stack: LocalStack) -> None:
    found = standing(stack)
    found.client("dynamodb").delete_table(TableName=found.attribute("LedgerTable", "Ref"))
    found.client("sqs").delete_queue(QueueUrl=found.attribute("VerifyQueue", "Ref"))
    found.provision()
    assert found.differences() == []


def test_an_upload_reaches_the_intake_queue(stack: LocalStack) -> None:
    found = standing(stack)
    bucket = found.attribute("Bucket", "Ref")
    found.client("s3").put_object(Bucket=bucket, Key="elsewhere/a.pdf", Body=b"x")
    found.client("s3").put_object(Bucket=bucket, Key="incoming/a b.pdf", Body=b"x")
    url = found.attribute("IntakeQueue", "Ref")
    messages = found.client("sqs").receive_message(QueueUrl=url, MaxNumberOfMessages=10, WaitTimeSeconds=2)["Messages"]
    # S3 sends a test event when the notification is set, as it does in AWS.
    uploads = [message["Body"] for message in messages if "s3:TestEvent" not in message["Body"]]
    assert len(uploads) == 1
    assert "incoming/a" in uploads[0]


def test_objects_are_encrypted_with_the_stacks_key_when_a_client_says_nothing(stack: LocalStack) -> None:
    found = standing(stack)
    bucket = found.attribute("Bucket", "Ref")
    found.client("s3").put_object(Bucket=bucket, Key="incoming/a.pdf", Body=b"x")
    head = found.client("s3").head_object(Bucket=bucket, Key="incoming/a.pdf")
    assert head["ServerSideEncryption"] == "aws:kms"
    assert head["SSEKMSKeyId"] == found.attribute("Key", "Arn")


def test_the_heavy_lane_is_left_out_without_subnets() -> None:
    assert not any(name.startswith("Heavy") for name in Template("s", "1", "r").resources)
    with_lane = Template("s", "1", "r", HeavyLaneSubnets=["subnet-1"])
    assert {"HeavyCluster", "HeavyInstances", "HeavyCapacity"} <= set(with_lane.resources)


def test_what_must_outlive_the_stack_is_retained() -> None:
    document = Template("s", "1", "r").document
    kept = {name for name, body in document["Resources"].items() if body.get("DeletionPolicy") == "Retain"}
    assert kept == {"Key", "KeyAlias", "Bucket", "DocumentsTable", "WorkTable", "LedgerTable"}


def test_a_client_cannot_name_another_encryption() -> None:
    """The statements that S3 evaluates; `test_bucket_policy` has the embedded AWS evaluate the first one."""
    statements = Template("s", "1", "r").document["Resources"]["BucketPolicy"]["Properties"]["PolicyDocument"][
        "Statement"
    ]
    denied = {s["Sid"]: s["Condition"] for s in statements if s["Effect"] == "Deny"}
    assert denied["OnlyKms"] == {"StringNotEqualsIfExists": {"s3:x-amz-server-side-encryption": "aws:kms"}}
    assert "s3:x-amz-server-side-encryption-aws-kms-key-id" in denied["OnlyOwnKey"]["StringNotEqualsIfExists"]


def test_queue_urls_of_missing_queues_say_so(aws_server: str) -> None:
    found = Stack(session(), aws_server, "never-provisioned")
    with pytest.raises(LookupError, match="does not stand"):
        found.attribute("IntakeQueue", "Ref")
    with pytest.raises(ClientError):
        found.client("sqs").get_queue_url(QueueName="never-provisioned-intake")
