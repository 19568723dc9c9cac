"""Approvals of lists: who may give them, what waits, and what an account asks. Source: docs/approvals.md, ADR 236."""

from collections.abc import Iterable, Iterator
from typing import Final, Protocol

from shared.domain.accounts import ApiKey, is_key_id
from shared.domain.audit import Act, Event, Log, audited
from shared.domain.campaigns.approval import ApprovalLimit, ApprovalPolicy, Decided, Decision, Who
from shared.domain.campaigns.campaign import Campaign
from shared.domain.people import FIRST_KEY
from shared.domain.times import DAY_MS, Millis
from shared.engine.campaigns.campaigns import (
    CampaignControl,
    Grant,
    Reason,
    Refused,
    Sent,
    WaitsForApproval,
    decided_event,
)
from shared.engine.lists.list_jobs import Order
from shared.ports import Approvals, Clock, Journal, Mismatch, Replay, Retriable

NEW_MS: Final[Millis] = DAY_MS
"""For so long a key or member counts as the one who made it."""
TRIES: Final = 5
"""Compare-and-swaps of a policy that others also change."""
_MADE: Final = frozenset({Act.KEY_CREATED, Act.MEMBER_INVITED})
_OPERATOR: Final = "operator:"


class KeyFamilies(Protocol):
    """The keys of accounts, and which replaced which."""

    def list_keys(self, account: str) -> list[ApiKey]:
        """Return an account's keys."""

    def heirs(self, account: str) -> list[tuple[str, str]]:
        """Return which key replaced which: old and new id of each rotation."""


class Kinship:
    """Tells whether two names in an account's audit log are one person, or one was just made by the other.

    A key and the one that replaced it are one; so are a person and the key that their own account began with. Whom
    somebody has made counts as them for NEW_MS, and so do two whom they made. Operators make keys for others, so what
    they make ties no names.
    """

    def __init__(self, keys: KeyFamilies, journal: Journal, clock: Clock) -> None:
        self._keys = keys
        self._journal = journal
        self._clock = clock

    def related(self, account: str, one: Who, other: Who) -> bool:
        """Tell whether two are one, or are not far enough apart; reads a day of the audit log."""
        ties = list(self._ties(account))
        ties += [(who.actor, who.person) for who in (one, other) if who.person]
        return bool(_reached(_names(one), ties) & _names(other))

    def gone(self, account: str, who: Who) -> bool:
        """Tell whether somebody is a key that was revoked, and that no other has replaced."""
        if not is_key_id(who.actor):
            return False
        heirs = _reached({who.actor}, self._keys.heirs(account))
        return not heirs & {key.id for key in self._keys.list_keys(account)}

    def _ties(self, account: str) -> Iterator[tuple[str, str]]:
        yield from self._keys.heirs(account)
        for key in self._keys.list_keys(account):
            if key.name.startswith(FIRST_KEY):
                yield key.id, f"user:{key.name.removeprefix(f'{FIRST_KEY} of ')}"
        now = int(self._clock.now() * 1000)
        for event in self._journal.since(account, Log.AUDIT, now - NEW_MS):
            if (event.kind in _MADE and not event.actor.startswith(_OPERATOR)) or event.kind == Act.MEMBER_JOINED:
                yield event.actor, event.id


def _names(who: Who) -> set[str]:
    return {x.lower() for x in (who.actor, who.person) if x}


def _reached(names: set[str], ties: Iterable[tuple[str, str]]) -> set[str]:
    """Return all names that ties lead to. `ties`: each holds in both directions."""
    every = [(a.lower(), b.lower()) for a, b in ties]
    found: set[str] = set()
    new = set(names)
    while new:
        found |= new
        new = {x for a, b in every for x in (a, b) if {a, b} & found} - found
    return found


class ApprovalLimits:
    """Owners' and operators' actions on the limit from which on lists wait."""

    def __init__(self, *, approvals: Approvals, kinship: Kinship, clock: Clock) -> None:
        self._approvals = approvals
        self._kinship = kinship
        self._clock = clock

    def policy(self, account: str) -> ApprovalPolicy:
        """Return what an account asks of its lists."""
        return self._approvals.policy(account)

    def limit(self, account: str, limit: ApprovalLimit, who: Who, *, operator: bool = False) -> ApprovalPolicy:
        """Set the limit, or propose it if it is looser than the one that there is: another one approves that.

        Args:
            operator: an operator sets it, and needs no second person.

        Raises:
            Retriable: others kept changing it.
        """
        for current in self._tries(account):
            if current.limit == limit and not current.proposed:
                return current
            if operator or not limit.looser_than(current.limit):
                act, changed = Act.LIMIT_SET, current.limited(limit)
            else:
                act, changed = Act.LIMIT_PROPOSED, current.with_proposal(limit, who, self._now())
            if self._approvals.change(current, changed, event=self._told(current, act, limit, who)):
                return changed
        raise Retriable("approvals: busy")

    def approve_limit(self, account: str, name: str, who: Who) -> ApprovalPolicy | Refused:
        """Set the limit that somebody else has proposed. `name`: the id of the proposal that was shown."""
        return self._decide(account, name, who, approved=True)

    def refuse_limit(self, account: str, name: str, who: Who) -> ApprovalPolicy | Refused:
        """Drop a proposal; the one who made it may do so as well. `name`: as of `approve_limit`."""
        return self._decide(account, name, who, approved=False)

    def _decide(self, account: str, name: str, who: Who, *, approved: bool) -> ApprovalPolicy | Refused:
        for current in self._tries(account):
            if not current.proposed:
                return Refused(Reason.NOT_WAITING)
            if current.proposal_id != name:
                return Refused(Reason.APPROVAL_CHANGED)
            if approved and self._kinship.related(account, current.proposer, who):
                return Refused(Reason.OWN_REQUEST)
            limit = current.proposal if approved else current.limit
            act = Act.LIMIT_SET if approved else Act.LIMIT_REFUSED
            event = self._told(current, act, current.proposal, who, asked_by=current.proposed_by)
            changed = current.limited(limit)
            if self._approvals.change(current, changed, event=event):
                return changed
        raise Retriable("approvals: busy")

    def _tries(self, account: str) -> Iterator[ApprovalPolicy]:
        for _ in range(TRIES):
            yield self._approvals.policy(account)

    def _told(self, policy: ApprovalPolicy, act: Act, limit: ApprovalLimit, who: Who, **more: str) -> Event:
        told: dict[str, str | int] = {"limit": limit.above if limit.on else "off", **more}
        return audited(policy.account, self._now(), policy.account, act, who.actor, told)

    def _now(self) -> Millis:
        return int(self._clock.now() * 1000)


class ApprovalControl(ApprovalLimits):
    """Owners' actions on requests for approval as well."""

    def __init__(self, *, approvals: Approvals, campaigns: CampaignControl, kinship: Kinship, clock: Clock) -> None:
        super().__init__(approvals=approvals, kinship=kinship, clock=clock)
        self._campaigns = campaigns

    def waiting(self, namespace: str) -> list[Campaign]:
        """Return campaigns that wait, the oldest request first."""
        return self._approvals.waiting(namespace)

    def approve(
        self, campaign: Campaign, name: str, who: Who, *, key: str = "", fingerprint: str = ""
    ) -> Sent | WaitsForApproval | Replay | Mismatch | Refused | None:
        """Send what waits, as it was shown; None: the campaign no longer exists.

        Args:
            name: the id of the request that was shown.
            who: approves; neither the one who asked nor somebody near.
            key: the client's idempotency key, or empty; `fingerprint`: hash of its request.

        Raises:
            Retriable: nothing has happened, or all of it; the call may be repeated under its key.
        """
        asked = campaign.waiting
        if asked is None:
            return Refused(Reason.NOT_WAITING)
        if asked.id != name:
            return Refused(Reason.APPROVAL_CHANGED)
        if self._kinship.related(campaign.account, asked.who, who):
            return Refused(Reason.OWN_REQUEST)
        if self._kinship.gone(campaign.account, asked.who):
            return Refused(Reason.ASKER_GONE)
        order = Order(asked.rate or None, asked.not_before, key, fingerprint, asked.by, asked.person)
        return self._campaigns.send(campaign, order, Grant(name, who.actor))

    def refuse(self, campaign: Campaign, name: str, who: Who, reason: str = "") -> Campaign | Refused | None:
        """Refuse what waits, or withdraw it if that is the one who asked; the list stays. None: no campaign.

        Args:
            name: the id of the request that was shown.
            reason: without an address, as `audit.checked_reason` returns it; empty: none.
        """
        for current in self._campaigns.tries(campaign):
            asked = current.waiting
            if asked is None:
                return Refused(Reason.NOT_WAITING)
            if asked.id != name:
                return Refused(Reason.APPROVAL_CHANGED)
            own = _names(asked.who) & _names(who)
            decision = Decision.WITHDRAWN if own else Decision.REFUSED
            decided = Decided(name, decision, who.actor, asked.by, current.ready, self._now(), reason)
            changed = current.changed(decided.at, decided=decided)
            if self._campaigns.save(current, changed, decided_event(current, decided)):
                return changed
        return None
