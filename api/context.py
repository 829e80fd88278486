"""What a call has at hand: the store, the caller, and one of the caller's documents."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Annotated

from fastapi import Depends, Header, Path, Request

from api.auth import Access
from api.errors import ApiError
from api.limits import Rate
from api.models import ID
from resources.documents import Document
from resources.errors import Code, StoreError
from resources.settings import Settings
from resources.store import Store

_UUID = re.compile(ID)


@dataclass(frozen=True)
class Parts:
    """What the application was made of. `store` is None where the stack is not there."""

    settings: Settings
    access: Access
    rate: Rate
    store: Store | None


@dataclass(frozen=True)
class Caller:
    """An enabled user, and the store for this call."""

    user: str
    store: Store
    settings: Settings


def parts(request: Request) -> Parts:
    """The application's parts."""
    found: Parts = request.app.state.parts
    return found


def caller(request: Request, authorization: Annotated[str | None, Header()] = None) -> Caller:
    """Who calls. Raises ApiError 401, 403, 429, 503."""
    found = parts(request)
    user = found.access.user(authorization)
    request.state.user = user
    if not found.rate.take(user):
        raise ApiError(429, "TOO_MANY_CALLS", "Too many calls in a minute: wait a little.")
    if found.store is None:
        raise ApiError(503, "NOT_CONFIGURED", "The store is not configured.")
    return Caller(user, found.store, found.settings)


@dataclass(frozen=True)
class Own:
    """A document of the caller's."""

    user: str
    store: Store
    settings: Settings
    document: Document

    @property
    def id(self) -> str:
        """Its id."""
        return self.document.id


def valid_id(doc: str) -> bool:
    """Whether a text can be a document's id. Asked before a key is built of it."""
    return _UUID.fullmatch(doc) is not None


def owned(who: Caller, doc: str) -> Own:
    """A document of the caller's: not theirs and not there are one answer. Raises NOT_FOUND."""
    missing = StoreError(Code.NOT_FOUND, "There is no such document.")
    if not valid_id(doc):
        raise missing
    try:
        found = who.store.documents.get(doc)
    except StoreError as error:
        if error.code == Code.NOT_FOUND:
            raise missing from error
        raise
    if found.owner != who.user:
        raise missing
    return Own(who.user, who.store, who.settings, found)


def own(who: Annotated[Caller, Depends(caller)], doc_id: Annotated[str, Path(alias="docId", max_length=200)]) -> Own:
    """The caller's document that the path names."""
    return owned(who, doc_id)


Calling = Annotated[Caller, Depends(caller)]
Owning = Annotated[Own, Depends(own)]
Number = Annotated[int, Path(ge=0, le=999_999, alias="version")]
