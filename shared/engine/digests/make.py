"""A closed window becomes one job: its events, grouped by recipient, each recipient a message (rules D6 to D8).

Chunks and ledgers are stored first, under a random job id. Then one transaction accepts the job and moves the window
from CLOSED to PROCESSED. If two makers run, or one dies, one job wins, and what the other has stored expires.
Source: docs/adr/0119.
"""

import logging
import threading
from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import nullcontext
from dataclasses import replace
from typing import Final

from shared.contracts import TEST_CREDENTIAL, Routing, Settings
from shared.domain.channels.lookup import channel_of
from shared.domain.content.content import GROUP, Content
from shared.domain.digests.events import DigestEvent, unpack
from shared.domain.digests.grouping import DigestGroup, GroupedEvents, group
from shared.domain.digests.policy import DigestPolicy
from shared.domain.digests.rendering import digest_content
from shared.domain.digests.window import DigestWindow, WindowState, processed
from shared.domain.jobs.chunks import Recipient
from shared.domain.jobs.job import DIGEST, Policy
from shared.domain.jobs.prepared import PreparedJob
from shared.domain.jobs.states import JobState
from shared.domain.namespaces import TEST
from shared.domain.recipients.reader import RecipientFault
from shared.domain.recipients.suppressions import reaches
from shared.domain.spending.limits import BARRED, Charge
from shared.engine.digests.repeats import Repeats
from shared.engine.intake.accept import Acceptor, BatchRequest, send_pointers
from shared.engine.intake.addresses import shown
from shared.engine.intake.declined import Decline
from shared.engine.intake.opened import CODE, is_open
from shared.frozen import dataclass
from shared.ports import (
    AccountStatuses,
    Clock,
    DigestJobs,
    DigestPolicies,
    Lanes,
    Records,
    Retriable,
    WindowRetention,
    Windows,
)

MANY: Final = 200
"""Windows with more events are made one after the other in a process: each may take a hundred megabytes."""
_LOG: Final = logging.getLogger(__name__)


class DigestFault(Exception):
    """A window cannot be made now. `code`: why, stable and in snake_case."""

    def __init__(self, code: str) -> None:
        super().__init__(code)
        self.code = code


@dataclass(frozen=True, slots=True)
class DigestStores:
    """The stores that a digest is made from, and that of its job."""

    windows: Windows
    keeping: WindowRetention
    policies: DigestPolicies
    records: Records
    standings: AccountStatuses
    jobs: DigestJobs


class DigestMaker:
    """Makes windows into jobs.

    Args:
        stores: what is read and written.
        unsubscribe: what the tokens of links are appended to; empty: no links are offered.
    """

    def __init__(
        self,
        *,
        stores: DigestStores,
        acceptor: Acceptor,
        lanes: Lanes,
        settings: Settings,
        clock: Clock,
        unsubscribe: str,
    ) -> None:
        self._stores = stores
        self._repeats = Repeats(stores.windows, stores.keeping)
        self._acceptor = acceptor
        self._lanes = lanes
        self._settings = settings
        self._clock = clock
        self._unsubscribe = unsubscribe
        self._large = threading.Lock()

    def make(self, window: DigestWindow) -> None:
        """Make a closed window into a job. If it has been made already, nothing happens.

        Raises:
            DigestFault: it cannot be made as things are. Its events are kept.
            Retriable: a store fails.
        """
        if window.state is WindowState.CLOSED:
            with self._large if window.events > MANY else nullcontext():
                self._make(window)

    def _make(self, window: DigestWindow) -> None:
        policy = self._stores.policies.at(window.namespace, window.prefix, window.policy_version)
        if policy is None:
            raise DigestFault("policy_not_found")
        events = self._events(window)
        fresh = self._repeats.first(window, events, self._now() // 1000 + int(policy.kept_for))
        named, people = self._people(policy, fresh)
        found = group([replace(x, recipients=tuple(named[to] for to in x.recipients)) for x in fresh])
        recipients = tuple(_recipients(found.groups, people))
        made, content, charge = None, None, None
        if recipients:  # else all events are repeats
            content = self._content(window, policy, found)
            request = self._request(window, policy, content, recipients)
            made = self._acceptor.prepare(request)
            charge = self._charge(request)
        now = self._now()
        done = processed(
            window,
            now,
            job=made.job.id if made else "",
            groups=len(found.groups) if made else 0,
            duplicates=len(events) - len(fresh),
            due_at=now + policy.retention * 1000,
        )
        if not self._stores.jobs.accept(made, content, window, done):
            self._acceptor.give_back(charge)  # another maker was faster, and what is stored of this job expires
        elif made:
            self._point(made)

    def _charge(self, request: BatchRequest) -> Charge | None:
        """Count a digest's messages; beyond a limit of the day its window waits for the next day."""
        try:
            return self._acceptor.charge(request)
        except Decline as found:
            raise DigestFault(found.declined.code) from None

    def _events(self, window: DigestWindow) -> list[DigestEvent]:
        """Return the events of a window in the order of their arrival."""
        parts = self._stores.windows.parts(window.parts)
        if len(parts) < len(window.parts):
            raise DigestFault("events_gone")
        return [event for name in window.parts for event in unpack(parts[name])]

    # Who gets it

    def _people(
        self, policy: DigestPolicy, events: Sequence[DigestEvent]
    ) -> tuple[Mapping[str, str], Mapping[str, Recipient]]:
        """Return text → key of the recipient in it, and key → recipient, with the codes of those not to be sent to."""
        read = channel_of(policy.channel).reader()
        named: dict[str, str] = {}
        people: dict[str, Recipient] = {}
        for text in dict.fromkeys(to for x in events for to in x.recipients):
            one = read(text)
            person = _unread(text, one) if isinstance(one, RecipientFault) else Recipient(*one)
            named[text] = name = f"?{person.key}" if person.skip else person.key
            people.setdefault(name, person)
        keys = {name for name, x in people.items() if not x.skip}
        heeded = reaches(policy.channel, unsubscribable=False, policy=policy.prefix)
        refused = self._stores.records.suppressed(policy.namespace, keys, heeded)
        codes = dict.fromkeys(self._barred(policy, keys), BARRED) | {key: x.code for key, x in refused.items()}
        people |= {key: replace(people[key], skip=code) for key, code in codes.items()}
        return named, people

    def _barred(self, policy: DigestPolicy, keys: Collection[str]) -> Collection[str]:
        """Return the numbers to whose countries the account does not send; those of test keys are all allowed."""
        if not channel_of(policy.channel).numbers or policy.namespace.endswith(TEST):
            return ()
        return self._acceptor.barred(policy.namespace, keys)

    # The job

    def _content(self, window: DigestWindow, policy: DigestPolicy, found: GroupedEvents) -> Content:
        """Return what the messages of a window are made of."""
        content = digest_content(policy, window.key, found.events, self._unsubscribe)
        if content.digest is None:
            raise TypeError("the content of a digest has lines")
        return replace(content, digest=replace(content.digest, groups=tuple(x.events for x in found.groups)))

    def _request(
        self, window: DigestWindow, policy: DigestPolicy, content: Content, recipients: tuple[Recipient, ...]
    ) -> BatchRequest:
        """Return the job of a window.

        Args:
            content: what its messages are made of.
            recipients: those of a group next to each other.
        """
        if policy.sender is not None and not window.test:
            standing = self._stores.standings.read(window.account, "", policy.sender.address)
            if not standing.sender:
                raise DigestFault("from_not_allowed")
        if not is_open(self._stores.standings, window.account, policy.channel, test=window.test):
            raise DigestFault(CODE)
        default = "" if policy.route else self._settings.routing.get(policy.channel, "")
        return BatchRequest(
            account=window.account,
            test=window.test,
            channel=policy.channel,
            route=self._route(window, policy),
            content=content,
            recipients=recipients,
            duplicates=0,
            policy=Policy(),
            name=window.key,
            kind=DIGEST,
            ordered=default == Routing.ORDERED,
            hours=None if window.urgent else policy.hours,
        )

    def _route(self, window: DigestWindow, policy: DigestPolicy) -> tuple[str, ...]:
        """Return the credentials of a policy that the account may still use."""
        open_to = {
            c.id for c in self._settings.credentials if c.open_to(window.account) and c.channel == policy.channel
        }
        wanted = policy.route or self._settings.routes.get(policy.channel, ())
        route = tuple(c for c in wanted if c in open_to)
        if not route:
            raise DigestFault("no_route")
        return (TEST_CREDENTIAL,) if window.test else route

    def _point(self, made: PreparedJob) -> None:
        if made.job.state is not JobState.ENQUEUED:
            return  # it waits for its hours, and the stream of jobs has it brought back
        try:
            send_pointers(self._lanes, made.job, made.ledgers)
        except Retriable:  # the job is accepted; the sweeper sends the pointers
            _LOG.warning("pointers not sent", extra={"job": made.job.id})

    def _now(self) -> int:
        return int(self._clock.now() * 1000)


def _unread(text: str, fault: RecipientFault) -> Recipient:
    """Return a recipient that is none, as the log shows it."""
    kept = shown(text).strip()
    return Recipient(kept, kept, skip=fault.code)


def _recipients(groups: Sequence[DigestGroup], people: Mapping[str, Recipient]) -> Iterator[Recipient]:
    """Yield the recipients group by group, so that calls carry many of one message."""
    for number, one in enumerate(groups):
        values = {GROUP: str(number)}
        for key in one.recipients:
            person = people[key]
            yield Recipient(person.address, person.key, person.display, person.skip, values)
