"""Doors: operations of a vendor's own API that ours takes in its place, so that its clients need only another address.

A provider's package that has some has a module `intake` with `DOORS`, and perhaps `LISTS`. The API mounts all alike.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import field
from importlib import import_module
from typing import Any, Final

from pydantic import BaseModel

from shared.domain.content.posting import Posting
from shared.domain.recipients.suppressions import Reach, Suppression
from shared.frozen import dataclass
from shared.providers.needs import package_of

NAMES: Final = ("sendgrid", "postmark", "resend")
"""Providers that have a door."""
TAG: Final = "Other services"
"""Of their operations, in the document."""


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
        keyless: the request had no key at all.
    """

    code: str
    status: int
    faults: Sequence[DoorFault]
    help: str
    keyless: bool = False

    @property
    def sentence(self) -> str:
        """All faults in one line, for forms that have no place for fields."""
        return " ".join(f"{f.field}: {f.text}" if f.field else f.text for f in self.faults)


@dataclass(frozen=True, slots=True)
class DoorTaken:
    """A message, or several of one job, that was taken. `job`: its id."""

    posting: Posting
    job: str


@dataclass(frozen=True, slots=True)
class DoorAnswer:
    """The vendor's answer. `body`: JSON, or empty."""

    status: int
    body: str = ""
    headers: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Several:
    """How a door takes several messages in one request: each is a job of its own.

    Attributes:
        most: how many a request has at most.
        item: model of each.
        together: whether a message that is not valid stops all others, by the headers of the request (lower case).
    """

    most: int
    item: type[BaseModel]
    together: Callable[[Mapping[str, str]], bool]


@dataclass(frozen=True, slots=True)
class Voice:
    """How a vendor refuses.

    Attributes:
        refusal: model of the vendor's errors.
        status: the vendor's status for our code and status.
        refused: the vendor's body for a refusal, as JSON.
    """

    refusal: type[BaseModel]
    status: Callable[[str, int], int]
    refused: Callable[[DoorRefusal], str]


@dataclass(frozen=True, slots=True)
class Door:
    """An operation `POST` of a vendor's API.

    Attributes:
        path: as the vendor's clients call it.
        name: unique; the OpenAPI operationId.
        summary: a line for people; `description`: more lines.
        body: model of the vendor's request.
        read: what a valid body asks for, or with `several` one of its items. Raises Uncarried.
        statuses: of requests that are taken.
        answer: to a request that was taken: its only result. With `several` one for each item, in order.
        headers: of that answer, with what they say.
        voice: of its refusals.
        several: the request has several messages, each by itself; its body is a list. None: it is one job.
        key_header: of requests, in lower case, if the vendor's clients send their key in one of their own.
        brief: the document describes no fields. A page of ours has them, and the vendor's documentation.
    """

    path: str
    name: str
    summary: str
    body: type[BaseModel]
    read: Callable[[Any], Posting]
    answer: Callable[[Sequence[DoorTaken | DoorRefusal]], DoorAnswer]
    voice: Voice
    description: str = ""
    statuses: tuple[int, ...] = (200,)
    headers: Mapping[str, str] = field(default_factory=dict)
    several: Several | None = None
    key_header: str = ""
    brief: bool = False


@dataclass(frozen=True, slots=True)
class ListDoor:
    """A list of addresses that are not sent to, as a vendor's API has it.

    Attributes:
        path: of the list, by GET; `list_name`: its operationId.
        entry_path: of one entry, by DELETE, with `{address}`; `delete_name`: its operationId.
        summary: of the list, a line for people.
        reach: which of our lists it shows.
        holds: whether it has an entry of that list.
        shown: an entry as the vendor writes it.
        voice: of refusals.
    """

    path: str
    list_name: str
    entry_path: str
    delete_name: str
    summary: str
    reach: Reach
    holds: Callable[[Suppression], bool]
    shown: Callable[[Suppression], Mapping[str, object]]
    voice: Voice


def doors() -> tuple[Door, ...]:
    """Return all doors."""
    return tuple(door for name in NAMES for door in import_module(f"{package_of(name)}.intake").DOORS)


def lists() -> tuple[ListDoor, ...]:
    """Return all lists of doors."""
    found = (import_module(f"{package_of(name)}.intake") for name in NAMES)
    return tuple(x for module in found for x in getattr(module, "LISTS", ()))


def tables(carried: Mapping[str, str], refused: Mapping[str, str], answers: Mapping[int, str], of: str = "") -> str:
    """Return the tables of a door's page, in Markdown.

    Args:
        carried: field → how it is carried.
        refused: field → why a request with it is refused, and what to do.
        answers: status → what it means.
        of: the vendor, where a page is about several.
    """
    parts = (
        ("What is carried", "| field | |", {f"`{name}`": said for name, said in carried.items()}),
        ("What is refused", "| field | why, and what to do |", {f"`{name}`": said for name, said in refused.items()}),
        ("Answers", "| status | meaning |", {str(status): said for status, said in answers.items()}),
    )
    out: list[str] = []
    for title, head, rows in parts:
        out += [f"### {of}: {title.lower()}" if of else f"## {title}", "", head, "|---|---|"]
        out += [*(f"| {name} | {said} |" for name, said in rows.items()), ""]
    return "\n".join(out)
