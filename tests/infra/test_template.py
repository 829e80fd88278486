"""The template is good CloudFormation, as cfn-lint sees it."""

from __future__ import annotations

from cfnlint.api import lint_file

from infra.template import TEMPLATE


def test_the_template_has_no_findings() -> None:
    assert [str(match) for match in lint_file(TEMPLATE)] == []
