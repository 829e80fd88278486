"""The CloudFormation template read and resolved, as far as it uses the language: parameters, conditions, references.

Only what a development machine is provisioned from; what depends on a condition that is false is left out.
"""

from __future__ import annotations

import functools
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml

TEMPLATE = Path(__file__).parent / "template.yaml"
Value = Any
_VARIABLE = re.compile(r"\$\{([^!}][^}]*)\}")


class _Loader(yaml.SafeLoader):
    """YAML with CloudFormation's short forms: ``!Ref x`` is ``{"Ref": x}``."""


def _short(loader: yaml.SafeLoader, suffix: str, node: yaml.Node) -> dict[str, Value]:
    value: Value
    if isinstance(node, yaml.ScalarNode):
        value = loader.construct_scalar(node)
    elif isinstance(node, yaml.SequenceNode):
        value = loader.construct_sequence(node, deep=True)
    else:
        assert isinstance(node, yaml.MappingNode)
        value = loader.construct_mapping(node, deep=True)
    if suffix == "GetAtt" and isinstance(value, str):
        value = value.split(".", 1)
    return {suffix if suffix in ("Ref", "Condition") else f"Fn::{suffix}": value}


_Loader.add_multi_constructor("!", _short)


@dataclass(frozen=True)
class Resource:
    """A resource of the template with its properties as written."""

    name: str
    type: str
    properties: Mapping[str, Value]
    needs: tuple[str, ...]


@functools.lru_cache(maxsize=4)
def _parsed(text: str) -> Any:
    """A template as written. It is read only: it is the same for every stack of a process."""
    return yaml.load(text, _Loader)


class Template:
    """One template for one stack. `attribute(resource, name)` answers Ref (name "Ref") and GetAtt of what stands."""

    def __init__(
        self, stack_name: str, account: str, region: str, text: str | None = None, **parameters: Value
    ) -> None:
        self.document = _parsed(text or TEMPLATE.read_text(encoding="utf-8"))
        self.pseudo = {
            "AWS::StackName": stack_name,
            "AWS::AccountId": account,
            "AWS::Region": region,
            "AWS::Partition": "aws",
        }
        self.parameters = {
            name: parameters.get(name, self._default(declared))
            for name, declared in self.document.get("Parameters", {}).items()
        }
        self.resources = {
            name: Resource(name, body["Type"], body.get("Properties", {}), tuple(sorted(_needs(body))))
            for name, body in self.document["Resources"].items()
            if "Condition" not in body or self._holds(body["Condition"])
        }

    @staticmethod
    def _default(declared: Mapping[str, Value]) -> Value:
        default = declared.get("Default", "")
        return [part for part in default.split(",") if part] if declared["Type"] == "CommaDelimitedList" else default

    def _holds(self, condition: str) -> bool:
        return bool(self.resolve(self.document["Conditions"][condition], _nothing))

    def in_order(self) -> list[Resource]:
        """The resources, each after those it needs."""
        done: dict[str, Resource] = {}

        def visit(name: str, path: tuple[str, ...]) -> None:
            if name in path:
                raise ValueError(f"the template goes in a circle: {' → '.join((*path, name))}")
            if name in done or name not in self.resources:
                return
            for needed in self.resources[name].needs:
                visit(needed, (*path, name))
            done[name] = self.resources[name]

        for name in self.resources:
            visit(name, ())
        return list(done.values())

    def resolve(self, value: Value, attribute: Callable[[str, str], str]) -> Value:
        """A property with its functions worked out."""
        if isinstance(value, list):
            return [self.resolve(part, attribute) for part in value]
        if not isinstance(value, dict):
            return value
        if len(value) == 1:
            ((function, argument),) = value.items()
            if function == "Ref":
                return self._reference(argument, attribute)
            if function == "Fn::GetAtt":
                return attribute(argument[0], argument[1])
            if function == "Fn::Sub":
                return _VARIABLE.sub(lambda found: self._variable(found[1], attribute), argument)
            if function == "Fn::If":
                return self.resolve(argument[1 if self._holds(argument[0]) else 2], attribute)
            if function == "Fn::Not":
                return not self.resolve(argument[0], attribute)
            if function == "Fn::Equals":
                return self.resolve(argument[0], attribute) == self.resolve(argument[1], attribute)
            if function == "Fn::Join":
                return argument[0].join(self.resolve(argument[1], attribute))
            if function.startswith("Fn::"):
                raise ValueError(f"{function} is not known here")
        return {key: self.resolve(part, attribute) for key, part in value.items()}

    def _reference(self, name: str, attribute: Callable[[str, str], str]) -> Value:
        if name in self.pseudo:
            return self.pseudo[name]
        return self.parameters[name] if name in self.parameters else attribute(name, "Ref")

    def _variable(self, name: str, attribute: Callable[[str, str], str]) -> str:
        resource, dot, part = name.partition(".")
        return attribute(resource, part) if dot else str(self._reference(name, attribute))


def _nothing(resource: str, name: str) -> str:
    raise ValueError(f"a condition cannot depend on {resource}.{name}")


def _needs(body: Value) -> set[str]:
    """The names a resource refers to."""
    if isinstance(body, list):
        return {name for part in body for name in _needs(part)}
    if not isinstance(body, dict):
        return set()
    found: set[str] = set()
    for key, value in body.items():
        if key == "Ref" or key == "DependsOn":
            found |= {value} if isinstance(value, str) else set(value)
        elif key == "Fn::GetAtt":
            found.add(value[0])
        elif key == "Fn::Sub":
            found |= {name.partition(".")[0] for name in _VARIABLE.findall(value)}
        else:
            found |= _needs(value)
    return found
