"""Notices whose time has come: they become runs, and what is kept for one that is under way is tried (Runs 1 and 2).

Chunk, ledger and content of a run are stored first, under a random job id. Then one transaction accepts the job and
moves its notices from WAITING to ACTIVE, on the versions that were read. So there is no job without its notices and no
ACTIVE notice without its job, and nothing has to be taken back. Source: docs/adr/0111.
"""

import logging
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import partial
from itertools import islice
from math import inf
from typing import Final

from shared.contracts import TEST_CREDENTIAL, Settings
from shared.domain.content.content import Content, Mailbox, Speech
from shared.domain.content.personal import Personal
from shared.domain.content.templates import Template, TemplateKind
from shared.domain.jobs import chunks as chunking
from shared.domain.jobs.chunks import Recipient
from shared.domain.jobs.job import NOTICE, Policy
from shared.domain.jobs.prepared import PreparedJob
from shared.domain.jobs.states import Cell
from shared.domain.notices import words as rules
from shared.domain.notices.codes import Failure
from shared.domain.notices.notice import SHARDS, DeliveryMethod, Notice, NoticeChange, Verb
from shared.domain.notices.notifier import Notifier
from shared.domain.notices.times import MINUTE_MS, run_end
from shared.domain.recipients.suppressions import reaches
from shared.domain.times import Seconds
from shared.engine.intake.accept import Acceptor, BatchRequest, send_pointers
from shared.engine.intake.declined import Decline
from shared.engine.notices.texts import CHANNELS, NoticeText
from shared.engine.notices.words import NOTICE_VALUE, NoticeWords
from shared.frozen import dataclass
from shared.ports import Clock, Lanes, Notices, Notifiers, Records, Retriable, RunStarts

MOST: Final = 96
"""Notices of one run: their moves, the job and its stats fit into one transaction of DynamoDB, which takes 100."""
READ: Final = 1_000
"""Notices that are read at once, so that many that are due in one minute gather in few jobs."""
TRIES: Final = 5
"""Transactions of one run, each without the notices that had changed; what is left waits for the next minute."""
TEXT: Final = "text"
"""The value of a recipient that is the rendered text. The job's template holds nothing else."""
_OTHER: Final = {DeliveryMethod.SMS: DeliveryMethod.IVR, DeliveryMethod.IVR: DeliveryMethod.SMS}
_NO_RETRY: Final = Policy(retry_on=())
_LOG: Final = logging.getLogger(__name__)


Texts = Callable[[str, str], Mapping[DeliveryMethod, NoticeText]]
"""(namespace, template id) → what the template says by each channel; empty if there is no such template."""


@dataclass(frozen=True, slots=True)
class _Planned:
    """A notice that can be sent now, and how."""

    notice: Notice
    method: DeliveryMethod
    recipient: Recipient


@dataclass(frozen=True, slots=True)
class _Kind:
    """The properties that the notices of one run share."""

    notifier: Notifier
    method: DeliveryMethod
    speech: Speech | None


_Runs = dict[tuple[str, DeliveryMethod, Speech | None], tuple[_Kind, list[_Planned]]]


class DueNotices:
    """Begins runs of the notices whose time has come.

    Args:
        words: applies the results of runs, before a kept action is tried.
    """

    def __init__(
        self,
        *,
        notices: Notices,
        starts: RunStarts,
        notifiers: Notifiers,
        texts: Texts,
        records: Records,
        acceptor: Acceptor,
        lanes: Lanes,
        settings: Settings,
        words: NoticeWords,
        clock: Clock,
    ) -> None:
        self._notices = notices
        self._starts = starts
        self._notifiers = notifiers
        self._texts = texts
        self._records = records
        self._acceptor = acceptor
        self._lanes = lanes
        self._settings = settings
        self._words = words
        self._clock = clock
        self._known: dict[tuple[str, str], Mapping[DeliveryMethod, NoticeText]] = {}
        """The texts of templates, as read in this walk of a shard."""

    def walk(self, until: Seconds = inf) -> Iterator[tuple[str, Callable[[], None]]]:
        """Yield each shard of the index with what begins its runs, each minute from another shard on.

        Args:
            until: Unix seconds after which a shard is left to the next minute.
        """
        first = self._now() // MINUTE_MS
        for shard in ((first + i) % SHARDS for i in range(SHARDS)):
            yield f"due notices, shard {shard}", partial(self.shard, shard, until)

    def shard(self, shard: int, until: Seconds = inf) -> None:
        """Begin the runs of one shard's notices, and try what is kept, the oldest first, until nothing more is due.

        Args:
            shard: of the index.
            until: Unix seconds after which the rest is left to the next minute, so that other walks have their time.
        """
        seen: set[str] = set()
        faults: list[Exception] = []
        self._known = {}
        due = iter(self._notices.due(shard, self._now()))
        while some := list(islice(due, READ)):
            fresh = [uuid for uuid in some if uuid not in seen]
            seen.update(fresh)
            faults += self.begin(fresh)
            if self._clock.now() > until:
                break
        if faults:
            raise faults[0]

    def at_once(self, uuids: Sequence[str]) -> None:
        """Do what is due for notices that have changed. After a fault or a lost race, the next minute does it."""
        self._known = {}
        self.begin(uuids)

    def begin(self, uuids: Sequence[str]) -> list[Exception]:
        """Begin runs of notices, or end or postpone them; a notice that is not due any more stays as it is.

        Returns:
            The faults: what cannot be done about one notice, or one run, keeps no other from its own.
        """
        faults: list[Exception] = []
        now = self._now()
        found = [x for x in self._notices.read(uuids).values() if x.due is not None and x.due <= now]
        notifiers = self._owners(found)
        runs: _Runs = {}
        for notice in found:
            notifier = notifiers.get(notice.notifier)
            if notifier is None:
                continue
            self._guarded(faults, notice.uuid, partial(self._one, notice, notifier, now, runs))
        for kind, planned in runs.values():
            for part in _parts(planned, self._size(kind)):
                self._guarded(faults, kind.notifier.name, partial(self._run, kind, part))
        return faults

    @staticmethod
    def _guarded(faults: list[Exception], name: str, act: Callable[[], None]) -> None:
        try:
            act()
        except Exception as fault:  # noqa: BLE001 - raised once all others had their turn
            _LOG.exception("not begun", extra={"notice": name})
            faults.append(fault)

    # One notice

    def _one(self, notice: Notice, notifier: Notifier, now: int, runs: "_Runs") -> None:
        if notice.kept is not None:
            self._try(notice, notifier, now)
        else:
            self._plan(notice, notifier, now, runs)

    def _try(self, notice: Notice, notifier: Notifier, now: int) -> None:
        """Withdraw the message of a notice with a kept action, or count a failed try.

        A message of unknown fate cannot be withdrawn. A cancellation closes it; an update would send a second one.
        """
        run, kept = notice.run, notice.kept
        if run is None or kept is None:
            return
        cell = self._words.withdraw(run)
        until = self._words.cancel(run) if cell is Cell.UNKNOWN and kept.verb is Verb.CANCEL else 0
        latest = self._notices.read([notice.uuid]).get(notice.uuid)
        if latest is None or latest.kept is None or latest.version != notice.version:
            return  # the word of its run has carried it out, or another action has come
        change = rules.tried(latest, notifier.conflict_tries, now, cell, until)
        if change is not None:
            self._notices.write(latest, change)

    def _plan(self, notice: Notice, notifier: Notifier, now: int, runs: "_Runs") -> None:
        """Add a notice to a run, or write why it gets none now; a lost race is for the next minute."""
        change = self._ended(notice, notifier, now)
        if change is not None:
            self._notices.write(notice, change)
            return
        said = self._said(notice, notifier)
        if said is None:
            self._notices.write(notice, rules.failed(notice, Failure.TEMPLATE, now))
            return
        method, text = said
        data = notice.data
        own = Personal(labels=notice.labels.tags, reference=notice.labels.reference)
        recipient = Recipient(
            data.phone,
            data.phone,
            data.first_name,
            values={**own.values(), TEXT: _render(text.text, data.first_name), NOTICE_VALUE: notice.uuid},
            not_after=run_end(notifier.hours, now, notice.expires_at),
        )
        kind = _Kind(notifier, method, text.speech)
        alike = (notifier.name, method, text.speech)
        runs.setdefault(alike, (kind, []))[1].append(_Planned(notice, method, recipient))

    def _ended(self, notice: Notice, notifier: Notifier, now: int) -> NoticeChange | None:
        if now >= notice.expires_at:
            return rules.expired(notice, now)
        return rules.postponed(notice, notifier.hours, now)

    def _said(self, notice: Notice, notifier: Notifier) -> tuple[DeliveryMethod, NoticeText] | None:
        """Return how a notice is delivered: by the requested channel, or by the other one; None: by neither."""
        texts = self._said_by(notifier.namespace, notice.data.template)
        for method in (notice.data.method, _OTHER[notice.data.method]):
            if method in texts and self._route(notifier, CHANNELS[method]):
                return method, texts[method]
        return None

    def _said_by(self, namespace: str, template: str) -> Mapping[DeliveryMethod, NoticeText]:
        known = self._known
        if (namespace, template) not in known:
            known[namespace, template] = self._texts(namespace, template)
        return known[namespace, template]

    # One run

    def _run(self, kind: _Kind, planned: Sequence[_Planned]) -> None:
        """Accept one job for notices; those that have changed are left out, and the others start over."""
        left: Sequence[_Planned] = self._wanted(kind, planned)
        for _ in range(TRIES):
            if not left:
                return
            request = self._request(kind, left)
            try:
                charge = self._acceptor.charge(request)
            except Decline as found:
                left = self._afforded(left, found)
                continue
            made = self._acceptor.prepare(request)
            job = made.job.id
            moves = [(x.notice, rules.begun(x.notice, job, i, x.method)) for i, x in enumerate(left)]
            changed = self._starts.begin(made, _content(kind), moves)
            if not changed:
                self._point(made)
                return
            self._acceptor.give_back(charge)
            left = [x for x in left if x.notice.uuid not in changed]

    def _afforded(self, planned: Sequence[_Planned], found: Decline) -> Sequence[_Planned]:
        """Return the first notices, about as many as a limit of the day takes yet. The others wait for the next day."""
        excess = found.declined.excess
        if excess is None:
            raise found
        fit = min(len(planned) - 1, len(planned) * max(0, excess.limit - excess.used) // excess.asked)
        for x in planned[fit:]:
            self._notices.write(x.notice, rules.held(x.notice, excess.resets_at, self._now()))
        return planned[:fit]

    def _wanted(self, kind: _Kind, planned: Sequence[_Planned]) -> list[_Planned]:
        """Leave out numbers that are suppressed, or of a country that is not allowed: the notice ends without a run."""
        now = self._now()
        heeded = reaches(CHANNELS[kind.method], unsubscribable=False)
        numbers = {x.recipient.key for x in planned}
        refused = set(self._records.suppressed(kind.notifier.namespace, numbers, heeded))
        refused |= set() if kind.notifier.test else self._acceptor.barred(kind.notifier.account, numbers)
        for x in planned:
            if x.recipient.key in refused:
                self._notices.write(x.notice, rules.failed(x.notice, Failure.PERMANENT, now))
        return [x for x in planned if x.recipient.key not in refused]

    def _request(self, kind: _Kind, planned: Sequence[_Planned]) -> BatchRequest:
        notifier = kind.notifier
        return BatchRequest(
            account=notifier.account,
            test=notifier.test,
            channel=CHANNELS[kind.method],
            route=self._route(notifier, CHANNELS[kind.method]),
            content=_content(kind),
            recipients=tuple(x.recipient for x in planned),
            duplicates=0,
            policy=_NO_RETRY,
            name=notifier.name,
            by=notifier.name,
            kind=NOTICE,
        )

    def _point(self, made: PreparedJob) -> None:
        try:
            send_pointers(self._lanes, made.job, made.ledgers)
        except Retriable:  # the job is accepted; the sweeper sends the pointers
            _LOG.warning("pointers not sent", extra={"job": made.job.id})

    # Routes

    def _route(self, notifier: Notifier, channel: str) -> tuple[str, ...]:
        """Return the credentials for a channel that the notifier may use; empty: there are none."""
        wanted = notifier.routes.get(channel, self._settings.routes.get(channel, ()))
        open_to = {c.id for c in self._settings.credentials if c.open_to(notifier.account) and c.channel == channel}
        route = tuple(c for c in wanted if c in open_to)
        return (TEST_CREDENTIAL,) if route and notifier.test else route

    def _size(self, kind: _Kind) -> int:
        """Return the most notices of one run: its only chunk takes the slowest credential half a minute."""
        route = self._route(kind.notifier, CHANNELS[kind.method])
        slowest = min(self._settings.credential(c).rate for c in route)
        return min(MOST, chunking.chunk_size(MOST, 1, slowest))

    def _owners(self, found: Iterable[Notice]) -> Mapping[str, Notifier]:
        names = dict.fromkeys(x.notifier for x in found)
        read = ((name, self._notifiers.get(name)) for name in names)
        return {name: notifier for name, notifier in read if notifier is not None}

    def _now(self) -> int:
        return int(self._clock.now() * 1000)


def _parts(planned: Sequence[_Planned], size: int) -> Iterator[Sequence[_Planned]]:
    """Yield what each run takes: no more notices than `size`, and no more text than its only chunk holds."""
    first = 0
    for part in chunking.split([x.recipient for x in planned], size):
        yield planned[first : first + len(part)]
        first += len(part)


def _content(kind: _Kind) -> Content:
    return Content(sender=Mailbox(""), subject="", text="{{ text }}", merge=True, speech=kind.speech)


def _render(text: str, first_name: str) -> str:
    return Template.parse(text, TemplateKind.TEXT).render({"first_name": first_name})
