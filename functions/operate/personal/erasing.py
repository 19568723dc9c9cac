"""Erasing a person in all accounts: a look, and then request after request, each for some seconds.

Each request notes in the deployment's audit log that it begins, and what it erased. The latter is also in the logs of
the accounts concerned. A repeat after a lost answer finds only what is left.
"""

import uuid
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from enum import StrEnum
from typing import TYPE_CHECKING, Final

from pydantic import Field

from functions.operate.call import Call, OperateBody, OperateView, route
from functions.operate.services import OperateServices
from shared.domain.accounts import is_account_id
from shared.domain.audit import EVERYONE, Act, audited
from shared.domain.channels.lookup import CHANNELS
from shared.domain.namespaces import owner
from shared.domain.recipients.address_names import person
from shared.domain.recipients.reader import RecipientFault
from shared.web.http import Answer
from shared.web.problems import Problem, invalid
from shared.web.routing import Nothing

if TYPE_CHECKING:
    from functions.operate.services import Eraser

LOOK_SECONDS: Final = 10
"""For so long a look counts entries of accounts."""
WORK_SECONDS: Final = 12
"""For so long one request begins further work; the client asks again while there is more."""
TOGETHER: Final = 25
"""Accounts whose lists are read at once."""


class EraseStep(StrEnum):
    """The steps of an erasure, in their order."""

    LISTS = "lists"
    """It finds entries of accounts by the address."""
    MESSAGES = "messages"
    """It reads the table."""
    NOTICES = "notices"
    """Again: a record may have become a notice before the scan reached it."""
    ARCHIVE = "archive"
    """It reads archived files."""
    DONE = ""


ORDER: Final = tuple(EraseStep)


class Whom(OperateBody):
    """A person, by an e-mail address or a number with its country code. `start`: where the table is read from."""

    address: str = Field(min_length=1, max_length=998)
    start: str = Field("", max_length=4000)


class ErasureLook(Whom):
    """Whose data are sought. `count`: also the entries of each account."""

    count: bool


class ErasureSize(OperateView):
    """The size of an erasure. `erased`: entries of accounts by kind; None: they were not counted, or not in time.

    `bytes` and `items` are of the table, as DynamoDB last counted them.
    """

    bytes: int
    items: int
    accounts: int
    erased: dict[str, int] | None


class ErasureRequest(Whom):
    """How an erasure continues. `run`, `step` and `after`: of the answer before."""

    dry_run: bool
    run: str = Field("", pattern=r"^([0-9a-f]{32})?$")
    step: EraseStep = ORDER[0]
    after: str = Field("", max_length=1_000_000)


class ErasureResult(OperateView):
    """The report of one request. `step` and `after`: of the next one, with the same `run`; no step: it was the last.

    `items` of the table and `bytes` of archived files were read. `lists` are uploaded ones; `kept` are sentences.
    """

    run: str
    step: EraseStep
    after: str
    erased: dict[str, int]
    jobs: list[str]
    accounts: list[str]
    lists: list[str]
    kept: list[str]
    items: int
    bytes: int


def look(call: Call[Nothing, ErasureLook]) -> Answer:
    """Return how much there is to read, and what is found without reading the table."""
    services = call.services
    eraser = services.eraser(*_whom(call.body), dry=True)
    size, items = eraser.size()
    accounts = _accounts(services)
    counted = call.body.count and _count(services, eraser, accounts)
    erased = dict(eraser.report.erased) if counted else None
    return ErasureSize(bytes=size, items=items, accounts=len(accounts), erased=erased).answer()


def _count(services: OperateServices, eraser: "Eraser", accounts: list[str]) -> bool:
    """Look at the entries of accounts; return whether there was time for all of them."""
    until = services.clock.now() + LOOK_SECONDS
    for start in range(0, len(accounts), TOGETHER):
        if services.clock.now() >= until:
            return False
        some = accounts[start : start + TOGETHER]
        eraser.lists(some)
        eraser.notices(some, int(services.clock.now() * 1000))
    return True


def erase(call: Call[Nothing, ErasureRequest]) -> Answer:
    """Erase for some seconds, or find what would be erased."""
    services, body = call.services, call.body
    _check(body)
    key, raw = _whom(body)
    run = body.run or uuid.uuid4().hex
    eraser = services.eraser(key, raw, dry=body.dry_run)
    work = _Work(services, eraser, body)
    with _audited(call, eraser, key, run):
        step, after = work.go()
    report = eraser.report
    return ErasureResult(
        run=run,
        step=step,
        after=after,
        erased=dict(report.erased),
        jobs=sorted(report.jobs),
        accounts=sorted(report.accounts),
        lists=sorted(report.lists),
        kept=report.kept,
        items=work.items,
        bytes=work.bytes,
    ).answer()


class _Work:
    """The work of one request. `items` of the table and `bytes` of archived files were read."""

    def __init__(self, services: OperateServices, eraser: "Eraser", asked: ErasureRequest) -> None:
        self._services = services
        self._eraser = eraser
        self._asked = asked
        self._until = services.clock.now() + WORK_SECONDS
        self.items = self.bytes = 0

    def go(self) -> tuple[EraseStep, str]:
        """Work until the time is over; return the step and the place to continue from."""
        does: dict[EraseStep, Callable[[str], str]] = {
            EraseStep.LISTS: self._lists,
            EraseStep.MESSAGES: self._messages,
            EraseStep.NOTICES: self._notices,
            EraseStep.ARCHIVE: self._archive,
        }
        step, after = self._asked.step, self._asked.after
        while step is not EraseStep.DONE:
            after = does[step](after)
            if not after:
                step = ORDER[ORDER.index(step) + 1]
                after = self._asked.start if step is EraseStep.MESSAGES else ""
            if self._over():
                break
        return step, after

    def _over(self) -> bool:
        return self._services.clock.now() >= self._until

    def _lists(self, after: str) -> str:
        def both(accounts: list[str]) -> None:
            self._eraser.lists(accounts)
            self._blank(accounts)

        return self._each(after, both)

    def _notices(self, after: str) -> str:
        return "" if self._asked.dry_run else self._each(after, self._blank)

    def _blank(self, accounts: list[str]) -> None:
        self._eraser.notices(accounts, int(self._services.clock.now() * 1000))

    def _each(self, after: str, do: Callable[[list[str]], None]) -> str:
        """Do something with some accounts after the other; return the last one if the time was over before the end."""
        accounts = [x for x in _accounts(self._services) if x > after]
        for start in range(0, len(accounts), TOGETHER):
            some = accounts[start : start + TOGETHER]
            do(some)
            if self._over():
                return some[-1]
        return ""

    def _messages(self, after: str) -> str:
        def reached(_after: str, items: int) -> None:
            self.items += items

        return self._eraser.scan(after, reached, enough=self._over)

    def _archive(self, after: str) -> str:
        def reached(size: int) -> None:
            self.bytes += size

        return self._eraser.archived(reached, after=after, enough=self._over)


def _accounts(services: OperateServices) -> list[str]:
    return sorted(x.id for x in services.accounts.list_accounts())


def _whom(body: Whom) -> tuple[str, str]:
    """Return the normalised address or number, and the address as it was given.

    Raises:
        Problem: validation_failed, also for a place that is none.
    """
    raw = body.address.strip()
    try:
        if body.start:
            OperateServices.check_place(body.start, archived=False)
    except (ValueError, TypeError):
        raise invalid("start", "Take the value that an interrupted run printed.") from None
    for channel in CHANNELS.values():
        got = channel.reader()(raw)
        if not isinstance(got, RecipientFault):
            return got[1], raw
    raise invalid(
        "address", "This is neither an e-mail address nor a phone number with its country code (+14155550100)."
    )


def _check(body: ErasureRequest) -> None:
    """Refuse a place that no request has answered with."""
    try:
        if body.step is EraseStep.MESSAGES and body.after:
            OperateServices.check_place(body.after, archived=False)
        elif body.step is EraseStep.ARCHIVE:
            OperateServices.check_place(body.after, archived=True)
    except (ValueError, TypeError):
        raise Problem("bad_cursor") from None


@contextmanager
def _audited(call: Call[Nothing, ErasureRequest], eraser: "Eraser", key: str, run: str) -> Iterator[None]:
    """Note that an erasure begins, and what it erased, however it ends; of a dry run nothing."""
    services = call.services
    whom = person(services.dynamo.names.new(key))

    def note(act: Act, accounts: list[str], data: dict[str, int]) -> None:
        at = int(services.clock.now() * 1000)
        for account in accounts:
            services.journal.write(audited(account, at, whom, act, call.key.id, {"run": run, **data}))

    if call.body.dry_run:
        yield
        return
    note(Act.ERASING, [EVERYONE], {})
    try:
        yield
    finally:
        report = eraser.report
        owners = sorted(filter(is_account_id, set(map(owner, report.accounts))))
        note(Act.ERASED, [*owners, EVERYONE], dict(report.erased))


ROUTES: Final = (
    route("POST", "/erase/look", "What an erasure reads", look, ErasureSize),
    route("POST", "/erase/run", "Erase a person", erase, ErasureResult, "bad_cursor"),
)
