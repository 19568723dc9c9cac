"""Doors: operations of a vendor's own API that ours takes in its place, so that its clients need only another address.

A provider's package that has one has a module `intake` with `DOOR`. The API mounts all of them alike.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from importlib import import_module
from typing import Any, Final

from pydantic import BaseModel

from shared.domain.content.posting import Posting
from shared.providers.needs import package_of

NAMES: Final = ("sendgrid",)
"""Providers that have a door."""


@dataclass(frozen=True, slots=True)
class DoorFault:
    """A fault of a request. `field`: its path, empty if it is about none; `text`: a sentence for people."""

    field: str
    text: str


class Uncarried(Exception):
    """A request has what this deployment cannot carry; `faults`: at least one."""

    def __init__(self, *faults: DoorFault) -> None:
        super().__init__(faults[0].text)
        self.faults = faults


@dataclass(frozen=True, slots=True)
class DoorRefusal:
    """Why a request is not taken.

    Attributes:
        code: of our problem, stable.
        status: of our problem.
        faults: at least one.
        help: where our own page explains the code.
    """

    code: str
    status: int
    faults: Sequence[DoorFault]
    help: str


@dataclass(frozen=True, slots=True)
class Door:
    """An operation `POST` of a vendor's API.

    Attributes:
        path: as the vendor's clients call it.
        name: unique; the OpenAPI operationId.
        tag: in the document.
        summary: a line for people; `description`: more lines.
        body: model of the vendor's request.
        read: what a valid body asks for. Raises Uncarried.
        statuses: of requests that are taken.
        taken: the status and the headers of a request that was taken, by the id of its job.
        headers: of that answer, with what they say.
        refusal: model of the vendor's errors.
        status: the vendor's status for our code and status.
        refused: the vendor's body for a refusal, as JSON.
    """

    path: str
    name: str
    tag: str
    summary: str
    description: str
    body: type[BaseModel]
    read: Callable[[Any], Posting]
    statuses: tuple[int, ...]
    taken: Callable[[Posting, str], tuple[int, Mapping[str, str]]]
    headers: Mapping[str, str]
    refusal: type[BaseModel]
    status: Callable[[str, int], int]
    refused: Callable[[DoorRefusal], str]


def doors() -> tuple[Door, ...]:
    """Return all doors."""
    return tuple(import_module(f"{package_of(name)}.intake").DOOR for name in NAMES)
