"""What a crashing process runs for a mail: it is handed in, sent, reported and removed; and what comes after it."""

import json
from collections.abc import Mapping
from http import HTTPStatus
from pathlib import Path
from typing import Any, Final
from urllib.error import HTTPError
from urllib.request import Request, urlopen

from functions.api.mails.services import build
from shared.adapters.clock import SystemClock
from shared.adapters.dynamo.accounts.accounts import Accounts
from shared.adapters.dynamo.recipients.suppressions import Suppressions
from shared.bootstrap.mailing import Mailing
from shared.domain.jobs.job import Job
from shared.domain.jobs.ledger import Ledger
from shared.domain.jobs.states import OPEN, Cell, JobState
from shared.domain.mails.destination import has_end, is_pending
from shared.domain.mails.mail import MailState, StoredMail
from shared.domain.times import KEY_LIFE_MS
from shared.engine.mails.service import AskedDestination, AskedMail, MailPlace
from shared.ports import Idempotency, Replay
from tests.crash.script import LATER, SENDER, Later, Place, Process
from tests.crash.taps import Tap, install
from tests.fakes.mails.figures import FakeMailFigures

DATA: Final = b"From: news@example.com\r\nSubject: Hello\r\n\r\nHello!\r\n.\r\n"
PEOPLE: Final = ("ann@example.org", "bob@example.org")
UNWANTED: Final = "gone@example.net"
"""It is suppressed: the mail's sender is to be notified of it, once."""
ROUNDS: Final = 24
ROUND: Final = 150.0
"""Seconds from one run of the sweeper and the walk of mails to the next; questions about doubts are asked meanwhile."""
NEEDY: Final = OPEN | {Cell.UNKNOWN}
EXPIRY: Final = 49 * 3600.0
"""Seconds after which a mail has expired, so that a doubt that no provider could settle is given up."""


class QuietMailing(Mailing):
    """Tells no figures: they are no part of what the matrix prints."""

    @property
    def figures(self) -> FakeMailFigures:
        return FakeMailFigures()


class MailProcess(Process):
    """One process of the deployment that does in turn what mails need."""

    def __init__(self, place: Place, clock: SystemClock, tap: Tap) -> None:
        super().__init__(place, clock)
        self.tap = tap
        self.mailing = QuietMailing(self.d)
        client, table = self.d.dynamo.client, self.d.records_table
        self.services = build(self.d, Accounts(client, table, clock), Suppressions(client, table, clock))
        self._started: set[str] = set()
        self._shown: dict[tuple[str, int], Ledger] = {}

    def accept(self) -> str:
        """Hand the mail in as its client would, by one call or by upload and commit, and return its id."""
        some = [AskedDestination(x) for x in (*PEOPLE, UNWANTED)]
        asked = AskedMail(self.place.account, False, SENDER, some)
        return self._upload(asked) if self.place.shape.upload else self._post(asked)

    def _post(self, asked: AskedMail) -> str:
        got = self.services.service.post(asked, [DATA], lambda mail: self._key(mail.id))
        if isinstance(got, Replay):
            return got.answer
        assert isinstance(got, StoredMail), got
        return got.id

    def _upload(self, asked: AskedMail) -> str:
        got = self.services.service.open(asked, lambda place: self._key(json.dumps([place.mail.id, place.url])))
        if isinstance(got, Replay):
            name, url = json.loads(got.answer)
        else:
            assert isinstance(got, MailPlace), got
            name, url = got.mail.id, got.url
        headers = {"Content-Type": "message/rfc822", "If-None-Match": "*"}
        put = Request(url, DATA, headers, method="PUT")  # noqa: S310 - moto's address
        try:
            with urlopen(put, timeout=10):  # noqa: S310 - as above
                pass
        except HTTPError as error:
            if error.code != HTTPStatus.PRECONDITION_FAILED:  # an earlier try has stored it
                raise
        mail = self.services.mails.get(name)
        assert mail is not None
        done = self.services.service.commit(mail, "")
        assert isinstance(done, StoredMail), done
        return done.id

    def _key(self, answer: str) -> Idempotency:
        expires = int(self.d.clock.now() * 1000) + KEY_LIFE_MS
        return Idempotency(self.place.account, self.place.key, "same", answer, expires)

    def mails(self) -> list[StoredMail]:
        """Return the mail and the notifications that it has caused; the calls are the test's, and no points."""
        with self.tap.aside():
            found, _ = self.services.mails.page(self.place.account, after="", limit=100)
        return [x for x in found if x.job]

    def serve(self, pointer: Mapping[str, Any]) -> None:
        """Serve a pointer, or ask the provider about a doubt."""
        if pointer.get("resolve"):
            deadline = self.d.clock.now() + 30
            after = pointer.get("after", -1)
            self.lane.resolution(3.0).resolve(pointer["job"], pointer["chunk"], deadline=deadline, after=after)
        else:
            super().serve(pointer)

    def send(self) -> None:
        """Start the jobs that are new, and serve the lane."""
        for mail in self.mails():
            if mail.job not in self._started:
                self._started.add(mail.job)
                self.d.planner.react(mail.job)
        self.pump()

    def log(self) -> None:
        """Do what the stream of the ledgers leads to: each process begins with all that it has shown so far."""
        for mail in self.mails():
            with self.tap.aside():
                ledgers = self.d.ledgers.read_all(mail.job)
            some = [x for x in ledgers if self._shown.get((x.job, x.chunk)) != x]
            self._shown |= {(x.job, x.chunk): x for x in some}
            for _, fold in self.d.logger.batch(some):
                state = fold().state
                if not self.place.shape.deaf:
                    self.mailing.stream.released(mail.job, some, logged=state is JobState.LOGGED)

    def walk(self) -> None:
        """Look at finished jobs of mails, as happens every minute."""
        for _, look in list(self.mailing.jobs.walk()):
            look()

    def job(self, mail: StoredMail) -> Job:
        """Return the job of a mail."""
        job = self.d.records.job(mail.job)
        assert job is not None
        return job

    def has_content(self, mail: StoredMail) -> bool:
        """Tell whether the bytes that a mail's job names are in the bucket."""
        content = self.d.records.content(mail.job)
        assert content is not None
        assert content.finished is not None
        return self.mailing.files.facts(content.finished.name) is not None

    def is_over(self) -> bool:
        """Tell whether all mails have come to their end."""
        mails = self.mails()
        ledgers = [x for mail in mails for x in self.d.ledgers.read_all(mail.job)]
        return (
            all(mail.state is MailState.CLEANED for mail in mails)
            and all(has_end(x) and not is_pending(x) for x in ledgers)
            and all(self.job(mail).state is JobState.LOGGED for mail in mails)
        )

    def early(self) -> list[str]:
        """Return the mails whose content is gone although a destination needs it, or may."""
        return [
            mail.id
            for mail in self.mails()
            if any(x.cell(0)[0] in NEEDY for x in self.d.ledgers.read_all(mail.job)) and not self.has_content(mail)
        ]


def first(place: Place, kill_at: int, report: Path) -> None:
    """Live a mail's whole life, or die at a point; writes the names of the points it passed."""
    tap = Tap(kill_at)
    clock = Later(0)
    process = MailProcess(place, clock, tap)
    install(tap)
    process.accept()
    for _ in range(2):  # the mail, then its notification
        process.send()
        process.log()
        if place.shape.deaf:
            clock.advance(ROUND)
            process.walk()
    if place.shape.feedback:
        for mail in process.mails():
            process.feedback(mail.job)
        process.log()
    report.write_text(json.dumps(tap.names))


def after(place: Place, report: Path) -> None:
    """Recover: the client repeats its request, the sweeper runs, lanes are served, until every mail has its end."""
    clock = Later(LATER)
    process = MailProcess(place, clock, Tap(0))
    name = process.accept()
    early = process.early()
    process.log()
    for number in range(ROUNDS):
        if number == ROUNDS // 2:
            clock.advance(EXPIRY)
        process.d.sweeper.sweep(clock.now() + 60)
        process.send()
        process.log()
        process.walk()
        early += process.early()
        if process.is_over():
            break
        clock.advance(ROUND)
    said = [_summary(process, mail) for mail in process.mails()]
    for mail in process.mails():
        process.feedback(mail.job)
    process.log()
    proven = {mail.job: _cells(process, mail) for mail in process.mails()}
    report.write_text(json.dumps({"mail": name, "mails": said, "early": early, "proven": proven}))


def _summary(process: MailProcess, mail: StoredMail) -> dict[str, Any]:
    job = process.job(mail)
    shown = process.services.moves.show(mail, 0, len(mail.hosts))
    return {
        "id": mail.id,
        "job": mail.job,
        "notification": not mail.mail_from,
        "state": mail.state,
        "reporting": mail.reporting,
        "reports": mail.reports,
        "content": process.has_content(mail),
        "logged": job.state is JobState.LOGGED and sum(job.counts.values()) == job.total,
        "states": {x.address: x.state for x in shown},
        "cells": _cells(process, mail),
    }


def _cells(process: MailProcess, mail: StoredMail) -> dict[str, str]:
    """Return the state of each destination's cell, by address."""
    shown = process.services.moves.show(mail, 0, len(mail.hosts))
    ledgers = process.d.ledgers.read_all(mail.job)
    return {x.address: ledger.cell(0)[0].name for x, ledger in zip(shown, ledgers, strict=True)}
