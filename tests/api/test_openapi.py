"""The published description is the served one, and what it says holds for calls nobody thought of."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import schemathesis
from fastapi import FastAPI
from fastapi.testclient import TestClient
from hypothesis import HealthCheck, given
from hypothesis import settings as settings_of
from hypothesis import strategies as st
from schemathesis.core.result import Ok

from api import issuer
from api.app import make_app
from api.errors import OWN, STATUS
from resources.settings import Settings
from resources.store import Store
from tests.api.conftest import AUDIENCE, Client, opened

ROOT = Path(__file__).parents[2]


#: Calls tried of each operation.
EXAMPLES = 12
#: What a refusal is for may lie outside of the form: a lease, a sequence, what is stored.
NOT_ASKED = ("positive_data_acceptance", "negative_data_rejection", "ignored_auth", "missing_required_header")


def test_any_call_gets_an_answer_of_the_schema(settings: Settings, store: Store, keys: Path, pdf: bytes) -> None:
    app = make_app(settings.model_copy(update={"api_calls_a_minute": 1_000_000}), store)
    token = issuer.token(keys, "ann", AUDIENCE)
    schema = schemathesis.openapi.from_asgi("/api/v1/openapi.json", app)
    excluded = [check for check in schemathesis.checks.CHECKS.get_all() if check.__name__ in NOT_ASKED]
    tried = 0
    for found in schema.get_all_operations():
        assert isinstance(found, Ok), found
        operation = found.ok()
        doc = opened(Client(app, token), pdf)

        @given(operation.as_strategy(), st.sampled_from([doc, ""]))
        @settings_of(max_examples=EXAMPLES, deadline=None, derandomize=True, suppress_health_check=list(HealthCheck))
        def call(case: Any, known: str) -> None:
            if known and "docId" in (case.path_parameters or {}):
                case.path_parameters["docId"] = known  # else hardly any call meets a document
            case.call_and_validate(headers={"Authorization": f"Bearer {token}"}, excluded_checks=excluded)

        call()
        tried += 1
    assert tried >= 22


def test_the_published_description_is_the_served_one(app: FastAPI) -> None:
    served = TestClient(app).get("/api/v1/openapi.json").json()
    assert json.loads((ROOT / "docs/openapi.json").read_text()) == served, "python -m api openapi > docs/openapi.json"


def test_every_code_is_in_the_docs() -> None:
    text = (ROOT / "docs/api.md").read_text()
    assert [code for code in (*map(str, STATUS), *OWN) if f"`{code}`" not in text] == []
