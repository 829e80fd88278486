"""Alerts to the people who run the platform: one interface, to the log and to SNS."""

from __future__ import annotations

import logging
from typing import Any, Protocol

from resources.ledger import Ledger
from resources.values import Clock, iso, new_token

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


class RecordedAlerts:
    """To a row of the ledger first, so that none is forgotten where nobody listens, and then on to where people do."""

    KIND = "alerts"

    def __init__(self, ledger: Ledger, clock: Clock, onward: Alerts) -> None:
        self.ledger = ledger
        self.clock = clock
        self.onward = onward

    def send(self, subject: str, message: str) -> None:
        """Write the alert down, and send it on."""
        now = self.clock()
        self.ledger.record(self.KIND, f"{iso(now)}#{new_token()}", now, {"subject": subject, "message": message})
        self.onward.send(subject, message)
