"""How each type of resource of the template is created, changed to what it should be, and read back."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from typing import Any, Protocol

from botocore.exceptions import ClientError

from infra.template import Template

Properties = Mapping[str, Any]


class Account(Protocol):
    """What a resource needs to know of the stack it belongs to."""

    template: Template

    def client(self, name: str) -> Any: ...

    def attribute(self, resource: str, name: str) -> str: ...


class Kind:
    """How one type of resource is created, set and read back."""

    def __init__(self, stack: Account) -> None:
        self.stack = stack

    def provide(self, wanted: Properties) -> None:
        raise NotImplementedError

    def read(self, wanted: Properties) -> dict[str, Any] | None:
        """The properties that stand; None where the resource does not."""
        raise NotImplementedError

    def attribute(self, wanted: Properties, name: str) -> str:
        raise NotImplementedError


class Key(Kind):
    """A key has no name of its own: it is found by the alias that the template gives it."""

    def _alias(self) -> str:
        alias = next(r for r in self.stack.template.resources.values() if r.type == "AWS::KMS::Alias")
        return str(self.stack.template.resolve(alias.properties["AliasName"], self.stack.attribute))

    def _id(self) -> str | None:
        try:
            found: str = self.stack.client("kms").describe_key(KeyId=self._alias())["KeyMetadata"]["Arn"]
        except ClientError as error:
            if error.response["Error"]["Code"] == "NotFoundException":
                return None
            raise
        return found

    def provide(self, wanted: Properties) -> None:
        kms = self.stack.client("kms")
        key = self._id()
        if key is None:
            policy = json.dumps(wanted["KeyPolicy"])
            key = kms.create_key(Description=wanted["Description"], Policy=policy)["KeyMetadata"]["Arn"]
            # At once: a key without its alias would be made a second time.
            kms.create_alias(AliasName=self._alias(), TargetKeyId=key)
        now = self.read(wanted) or {}
        if now.get("EnableKeyRotation") != wanted["EnableKeyRotation"]:
            kms.enable_key_rotation(KeyId=key)
        if normal(now.get("KeyPolicy")) != normal(wanted["KeyPolicy"]):
            kms.put_key_policy(KeyId=key, PolicyName="default", Policy=json.dumps(wanted["KeyPolicy"]))
        if now.get("Description") != wanted["Description"]:
            kms.update_key_description(KeyId=key, Description=wanted["Description"])

    def read(self, wanted: Properties) -> dict[str, Any] | None:
        key = self._id()
        if key is None:
            return None
        kms = self.stack.client("kms")
        return {
            "Description": kms.describe_key(KeyId=key)["KeyMetadata"]["Description"],
            "EnableKeyRotation": kms.get_key_rotation_status(KeyId=key)["KeyRotationEnabled"],
            "KeyPolicy": json.loads(kms.get_key_policy(KeyId=key, PolicyName="default")["Policy"]),
        }

    def attribute(self, wanted: Properties, name: str) -> str:
        key = self._id()
        if key is None:
            raise LookupError("the key does not stand yet")
        return key if name == "Arn" else key.rpartition("/")[2]


class Alias(Kind):
    """Made together with its key."""

    def provide(self, wanted: Properties) -> None:
        if self.read(wanted) is None:
            self.stack.client("kms").create_alias(AliasName=wanted["AliasName"], TargetKeyId=wanted["TargetKeyId"])

    def read(self, wanted: Properties) -> dict[str, Any] | None:
        for page in self.stack.client("kms").get_paginator("list_aliases").paginate():
            for alias in page["Aliases"]:
                if alias["AliasName"] == wanted["AliasName"]:
                    key = self.stack.client("kms").describe_key(KeyId=alias["TargetKeyId"])["KeyMetadata"]["Arn"]
                    return {"AliasName": alias["AliasName"], "TargetKeyId": key}
        return None

    def attribute(self, wanted: Properties, name: str) -> str:
        return str(wanted["AliasName"])


class Bucket(Kind):
    def provide(self, wanted: Properties) -> None:
        s3, name = self.stack.client("s3"), wanted["BucketName"]
        if not self._stands(name):
            s3.create_bucket(Bucket=name)
        now = self.read(wanted) or {}

        def differs(key: str) -> bool:
            return bool(normal(now.get(key)) != normal(wanted[key]))

        if differs("VersioningConfiguration"):
            s3.put_bucket_versioning(Bucket=name, VersioningConfiguration=wanted["VersioningConfiguration"])
        if differs("OwnershipControls"):
            s3.put_bucket_ownership_controls(Bucket=name, OwnershipControls=wanted["OwnershipControls"])
        if differs("PublicAccessBlockConfiguration"):
            s3.put_public_access_block(
                Bucket=name, PublicAccessBlockConfiguration=wanted["PublicAccessBlockConfiguration"]
            )
        if differs("BucketEncryption"):
            rules = [
                {
                    "BucketKeyEnabled": rule["BucketKeyEnabled"],
                    "ApplyServerSideEncryptionByDefault": rule["ServerSideEncryptionByDefault"],
                }
                for rule in wanted["BucketEncryption"]["ServerSideEncryptionConfiguration"]
            ]
            s3.put_bucket_encryption(Bucket=name, ServerSideEncryptionConfiguration={"Rules": rules})
        if differs("LifecycleConfiguration"):
            s3.put_bucket_lifecycle_configuration(
                Bucket=name,
                LifecycleConfiguration={
                    "Rules": [_lifecycle_rule(rule) for rule in wanted["LifecycleConfiguration"]["Rules"]]
                },
            )
        if differs("NotificationConfiguration"):
            s3.put_bucket_notification_configuration(
                Bucket=name,
                NotificationConfiguration={
                    "QueueConfigurations": [
                        {
                            "QueueArn": q["Queue"],
                            "Events": [q["Event"]],
                            "Filter": {"Key": {"FilterRules": q["Filter"]["S3Key"]["Rules"]}},
                        }
                        for q in wanted["NotificationConfiguration"]["QueueConfigurations"]
                    ]
                },
            )

    def _stands(self, name: str) -> bool:
        try:
            self.stack.client("s3").head_bucket(Bucket=name)
        except ClientError as error:
            if error.response["Error"]["Code"] in ("404", "NoSuchBucket"):
                return False
            raise
        return True

    def read(self, wanted: Properties) -> dict[str, Any] | None:
        s3, name = self.stack.client("s3"), wanted["BucketName"]
        if not self._stands(name):
            return None
        out: dict[str, Any] = {"BucketName": name}
        status = s3.get_bucket_versioning(Bucket=name).get("Status")
        out["VersioningConfiguration"] = {"Status": status} if status else None
        out["OwnershipControls"] = _unless_missing(
            lambda: s3.get_bucket_ownership_controls(Bucket=name)["OwnershipControls"]
        )
        out["PublicAccessBlockConfiguration"] = _unless_missing(
            lambda: s3.get_public_access_block(Bucket=name)["PublicAccessBlockConfiguration"]
        )
        encryption = _unless_missing(
            lambda: s3.get_bucket_encryption(Bucket=name)["ServerSideEncryptionConfiguration"]["Rules"]
        )
        out["BucketEncryption"] = encryption and {
            "ServerSideEncryptionConfiguration": [
                {
                    "BucketKeyEnabled": rule.get("BucketKeyEnabled", False),
                    "ServerSideEncryptionByDefault": rule["ApplyServerSideEncryptionByDefault"],
                }
                for rule in encryption
            ]
        }
        rules = _unless_missing(lambda: s3.get_bucket_lifecycle_configuration(Bucket=name)["Rules"])
        out["LifecycleConfiguration"] = rules and {"Rules": [_lifecycle_read(rule) for rule in rules]}
        queues = s3.get_bucket_notification_configuration(Bucket=name).get("QueueConfigurations")
        out["NotificationConfiguration"] = queues and {
            "QueueConfigurations": [
                {
                    "Event": q["Events"][0],
                    "Queue": q["QueueArn"],
                    "Filter": {
                        "S3Key": {
                            "Rules": [
                                {"Name": rule["Name"].lower(), "Value": rule["Value"]}
                                for rule in q["Filter"]["Key"]["FilterRules"]
                            ]
                        }
                    },
                }
                for q in queues
            ]
        }
        return out

    def attribute(self, wanted: Properties, name: str) -> str:
        return wanted["BucketName"] if name == "Ref" else f"arn:aws:s3:::{wanted['BucketName']}"


class BucketPolicy(Kind):
    def provide(self, wanted: Properties) -> None:
        if normal(self.read(wanted)) != normal(wanted):
            self.stack.client("s3").put_bucket_policy(
                Bucket=wanted["Bucket"], Policy=json.dumps(wanted["PolicyDocument"])
            )

    def read(self, wanted: Properties) -> dict[str, Any] | None:
        policy = _unless_missing(lambda: self.stack.client("s3").get_bucket_policy(Bucket=wanted["Bucket"])["Policy"])
        return policy and {"Bucket": wanted["Bucket"], "PolicyDocument": json.loads(policy)}


class Table(Kind):
    def provide(self, wanted: Properties) -> None:
        dynamodb, name = self.stack.client("dynamodb"), wanted["TableName"]
        if self.read(wanted) is None:
            indexes = wanted.get("GlobalSecondaryIndexes")
            dynamodb.create_table(
                TableName=name,
                BillingMode=wanted["BillingMode"],
                AttributeDefinitions=wanted["AttributeDefinitions"],
                KeySchema=wanted["KeySchema"],
                SSESpecification=_enabled(wanted["SSESpecification"]),
                **({"GlobalSecondaryIndexes": indexes} if indexes else {}),
            )
            dynamodb.get_waiter("table_exists").wait(TableName=name, WaiterConfig={"Delay": 1})
        now = self.read(wanted) or {}
        if now.get("SSESpecification") != wanted["SSESpecification"]:
            dynamodb.update_table(TableName=name, SSESpecification=_enabled(wanted["SSESpecification"]))
        if now.get("TimeToLiveSpecification") != wanted["TimeToLiveSpecification"]:
            dynamodb.update_time_to_live(TableName=name, TimeToLiveSpecification=wanted["TimeToLiveSpecification"])
        if now.get("PointInTimeRecoverySpecification") != wanted["PointInTimeRecoverySpecification"]:
            dynamodb.update_continuous_backups(
                TableName=name, PointInTimeRecoverySpecification=wanted["PointInTimeRecoverySpecification"]
            )

    def read(self, wanted: Properties) -> dict[str, Any] | None:
        dynamodb, name = self.stack.client("dynamodb"), wanted["TableName"]
        try:
            table = dynamodb.describe_table(TableName=name)["Table"]
        except dynamodb.exceptions.ResourceNotFoundException:
            return None
        expiry = dynamodb.describe_time_to_live(TableName=name)["TimeToLiveDescription"]
        backups = dynamodb.describe_continuous_backups(TableName=name)["ContinuousBackupsDescription"]
        recovery = backups.get("PointInTimeRecoveryDescription", {}).get("PointInTimeRecoveryStatus")
        encryption = table.get("SSEDescription", {})
        return {
            "TableName": table["TableName"],
            "BillingMode": table.get("BillingModeSummary", {}).get("BillingMode"),
            "AttributeDefinitions": table["AttributeDefinitions"],
            "KeySchema": table["KeySchema"],
            "GlobalSecondaryIndexes": [
                {key: index[key] for key in ("IndexName", "KeySchema", "Projection")}
                for index in table.get("GlobalSecondaryIndexes") or []
            ]
            or None,
            "PointInTimeRecoverySpecification": {"PointInTimeRecoveryEnabled": recovery == "ENABLED"},
            "TimeToLiveSpecification": {
                "AttributeName": expiry.get("AttributeName"),
                "Enabled": expiry.get("TimeToLiveStatus") in ("ENABLED", "ENABLING"),
            },
            "SSESpecification": {
                "SSEEnabled": encryption.get("Status") in ("ENABLED", "ENABLING", "UPDATING"),
                "SSEType": encryption.get("SSEType"),
                "KMSMasterKeyId": encryption.get("KMSMasterKeyArn"),
            },
        }

    def attribute(self, wanted: Properties, name: str) -> str:
        return str(wanted["TableName"])


class Queue(Kind):
    def _url(self, name: str) -> str | None:
        sqs = self.stack.client("sqs")
        try:
            url: str = sqs.get_queue_url(QueueName=name)["QueueUrl"]
        except ClientError as error:
            if "NonExistentQueue" in error.response["Error"]["Code"] or "QueueDoesNotExist" in str(error):
                return None
            raise
        return url

    def provide(self, wanted: Properties) -> None:
        sqs, name = self.stack.client("sqs"), wanted["QueueName"]
        attributes = {
            key: json.dumps(value) if key == "RedrivePolicy" else str(value)
            for key, value in wanted.items()
            if key != "QueueName"
        }
        url = self._url(name)
        if url is None:
            sqs.create_queue(QueueName=name, Attributes=attributes)
        elif normal(self.read(wanted)) != normal(wanted):
            sqs.set_queue_attributes(QueueUrl=url, Attributes=attributes)

    def read(self, wanted: Properties) -> dict[str, Any] | None:
        url = self._url(wanted["QueueName"])
        if url is None:
            return None
        found = self.stack.client("sqs").get_queue_attributes(QueueUrl=url, AttributeNames=["All"])["Attributes"]
        out: dict[str, Any] = {"QueueName": wanted["QueueName"]}
        for key, value in wanted.items():
            if key == "RedrivePolicy":
                policy = json.loads(found.get(key, "{}"))
                out[key] = policy | {"maxReceiveCount": int(policy.get("maxReceiveCount", 0))}
            elif key != "QueueName":
                out[key] = type(value)(found[key]) if key in found else None
        return out

    def attribute(self, wanted: Properties, name: str) -> str:
        if name == "QueueName":
            return str(wanted["QueueName"])
        url = self._url(wanted["QueueName"])
        if url is None:
            raise LookupError(f"queue {wanted['QueueName']} does not stand yet")
        if name == "Ref":
            return url
        sqs = self.stack.client("sqs")
        return str(sqs.get_queue_attributes(QueueUrl=url, AttributeNames=["QueueArn"])["Attributes"]["QueueArn"])


class QueuePolicy(Kind):
    def provide(self, wanted: Properties) -> None:
        if normal(self.read(wanted)) != normal(wanted):
            for url in wanted["Queues"]:
                self.stack.client("sqs").set_queue_attributes(
                    QueueUrl=url, Attributes={"Policy": json.dumps(wanted["PolicyDocument"])}
                )

    def read(self, wanted: Properties) -> dict[str, Any] | None:
        sqs = self.stack.client("sqs")
        policies = []
        for url in wanted["Queues"]:
            found = sqs.get_queue_attributes(QueueUrl=url, AttributeNames=["All"])["Attributes"].get("Policy")
            policies.append(json.loads(found) if found else None)
        same = all(policy == policies[0] for policy in policies)
        return {"Queues": wanted["Queues"], "PolicyDocument": policies[0] if same else policies}


class Topic(Kind):
    def _arn(self, name: str) -> str:
        pseudo = self.stack.template.pseudo
        return f"arn:aws:sns:{pseudo['AWS::Region']}:{pseudo['AWS::AccountId']}:{name}"

    def provide(self, wanted: Properties) -> None:
        sns = self.stack.client("sns")
        now = self.read(wanted)
        if now is None:
            sns.create_topic(Name=wanted["TopicName"], Attributes={"KmsMasterKeyId": wanted["KmsMasterKeyId"]})
        elif now != wanted:
            sns.set_topic_attributes(
                TopicArn=self._arn(wanted["TopicName"]),
                AttributeName="KmsMasterKeyId",
                AttributeValue=wanted["KmsMasterKeyId"],
            )

    def read(self, wanted: Properties) -> dict[str, Any] | None:
        sns = self.stack.client("sns")
        try:
            found = sns.get_topic_attributes(TopicArn=self._arn(wanted["TopicName"]))["Attributes"]
        except ClientError as error:
            if "NotFound" in error.response["Error"]["Code"]:
                return None
            raise
        return {"TopicName": wanted["TopicName"], "KmsMasterKeyId": found.get("KmsMasterKeyId")}

    def attribute(self, wanted: Properties, name: str) -> str:
        return self._arn(wanted["TopicName"])


class Alarm(Kind):
    def provide(self, wanted: Properties) -> None:
        if normal(self.read(wanted)) != normal(wanted):
            self.stack.client("cloudwatch").put_metric_alarm(**wanted)

    def read(self, wanted: Properties) -> dict[str, Any] | None:
        found = self.stack.client("cloudwatch").describe_alarms(AlarmNames=[wanted["AlarmName"]])["MetricAlarms"]
        return {key: found[0].get(key) for key in wanted} if found else None


KINDS: dict[str, type[Kind]] = {
    "AWS::KMS::Key": Key,
    "AWS::KMS::Alias": Alias,
    "AWS::S3::Bucket": Bucket,
    "AWS::S3::BucketPolicy": BucketPolicy,
    "AWS::DynamoDB::Table": Table,
    "AWS::SQS::Queue": Queue,
    "AWS::SQS::QueuePolicy": QueuePolicy,
    "AWS::SNS::Topic": Topic,
    "AWS::CloudWatch::Alarm": Alarm,
}
_MISSING = (
    "NoSuchLifecycleConfiguration",
    "ServerSideEncryptionConfigurationNotFoundError",
    "NoSuchPublicAccessBlockConfiguration",
    "OwnershipControlsNotFoundError",
    "NoSuchBucketPolicy",
)


def _unless_missing(call: Callable[[], Any]) -> Any:
    try:
        return call()
    except ClientError as error:
        if error.response["Error"]["Code"] in _MISSING:
            return None
        raise


def _enabled(specification: Properties) -> dict[str, Any]:
    """SSESpecification as the API names it."""
    return {
        "Enabled": specification["SSEEnabled"],
        "SSEType": specification["SSEType"],
        "KMSMasterKeyId": specification["KMSMasterKeyId"],
    }


def _lifecycle_rule(rule: Properties) -> dict[str, Any]:
    """A rule of the template as the API names it."""
    out: dict[str, Any] = {"ID": rule["Id"], "Status": rule["Status"], "Filter": {"Prefix": rule["Prefix"]}}
    if "ExpirationInDays" in rule:
        out["Expiration"] = {"Days": rule["ExpirationInDays"]}
    for key in ("NoncurrentVersionExpiration", "AbortIncompleteMultipartUpload"):
        if key in rule:
            out[key] = rule[key]
    return out


def _lifecycle_read(rule: Properties) -> dict[str, Any]:
    """A rule of the API as the template names it."""
    out: dict[str, Any] = {
        "Id": rule["ID"],
        "Status": rule["Status"],
        "Prefix": rule.get("Filter", {}).get("Prefix", rule.get("Prefix", "")),
    }
    if "Expiration" in rule:
        out["ExpirationInDays"] = rule["Expiration"]["Days"]
    for key in ("NoncurrentVersionExpiration", "AbortIncompleteMultipartUpload"):
        if key in rule:
            out[key] = rule[key]
    return out


def normal(value: Any) -> Any:
    """Comparable: what is a set to AWS sorted, numbers as numbers."""
    if isinstance(value, dict):
        return {key: normal(part) for key, part in value.items()}
    if isinstance(value, list):
        return sorted((normal(part) for part in value), key=lambda part: json.dumps(part, sort_keys=True, default=str))
    if isinstance(value, float) and value.is_integer():
        return int(value)
    return value
