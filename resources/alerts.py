"""Alerts to the people who run the platform: one interface, to the log and to SNS."""

from __future__ import annotations

import logging
from typing import Any, Protocol

log = logging.getLogger("accessible_pdf.alerts")


class Alerts(Protocol):
    """Where alerts go."""

    def send(self, subject: str, message: str) -> None:
        """Tell an operator."""


class LogAlerts:
    """To the log, as an error."""

    def send(self, subject: str, message: str) -> None:
        """Write the alert to the log."""
        log.error("ALERT %s: %s", subject, message)


class TopicAlerts:
    """To an SNS topic, and to the log."""

    def __init__(self, client: Any, topic_name: str) -> None:
        self.client = client
        self.topic_name = topic_name

    def send(self, subject: str, message: str) -> None:
        """Publish the alert. CreateTopic answers with the ARN of the topic that is there."""
        LogAlerts().send(subject, message)
        topic = self.client.create_topic(Name=self.topic_name)["TopicArn"]
        self.client.publish(TopicArn=topic, Subject=subject[:100], Message=message)
