"""Bring up in AWS what the template defines, with plain calls: for the embedded AWS, whose CloudFormation leaves out
encryption, lifecycle, point-in-time recovery and expiry.

Every step looks first and changes only what differs, so it can be repeated at any time, also after it died half-way.
`differences` reads back what stands and compares it, property by property, with the template.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import boto3

from infra.kinds import KINDS, normal
from infra.template import Resource, Template


@dataclass(frozen=True)
class Difference:
    """A property that stands otherwise than the template has it."""

    resource: str
    property: str
    wanted: Any
    found: Any


class Stack:
    """One stack of the template in one account. `session` carries region and credentials; `endpoint` is the AWS."""

    def __init__(self, session: boto3.Session, endpoint: str | None, stack_name: str, **parameters: Any) -> None:
        self._session, self._endpoint = session, endpoint
        self._clients: dict[str, Any] = {}
        #: What was answered in the call that goes on: names and addresses of what stands do not change under it.
        self._known: dict[tuple[str, str], str] = {}
        account = self.client("sts").get_caller_identity()["Account"]
        self.template = Template(stack_name, account, session.region_name or "us-east-1", **parameters)

    def client(self, name: str) -> Any:
        """The boto3 client of a service."""
        if name not in self._clients:
            self._clients[name] = self._session.client(name, endpoint_url=self._endpoint)
        return self._clients[name]

    def provision(self) -> None:
        """Create what is missing and set what differs."""
        self._known.clear()
        for resource in self.template.in_order():
            KINDS[resource.type](self).provide(self._resolved(resource))

    def differences(self) -> list[Difference]:
        """Where what stands is not what the template says; a resource that is missing differs as a whole."""
        self._known.clear()
        out: list[Difference] = []
        for resource in self.template.in_order():
            try:
                wanted = self._resolved(resource)
            except LookupError as error:  # something it refers to is missing
                out.append(Difference(resource.name, "", str(error), None))
                continue
            found = KINDS[resource.type](self).read(wanted)
            if found is None:
                out.append(Difference(resource.name, "", "stands", "missing"))
                continue
            for name, value in wanted.items():
                if normal(found.get(name)) != normal(value):
                    out.append(Difference(resource.name, name, value, found.get(name)))
        return out

    def attribute(self, resource: str, name: str) -> str:
        """Ref or GetAtt of a resource that stands."""
        if (resource, name) not in self._known:
            found = self.template.resources[resource]
            self._known[resource, name] = KINDS[found.type](self).attribute(self._resolved(found), name)
        return self._known[resource, name]

    def _resolved(self, resource: Resource) -> dict[str, Any]:
        resolved: dict[str, Any] = self.template.resolve(resource.properties, self.attribute)
        return resolved
