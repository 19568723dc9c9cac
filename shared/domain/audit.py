"""Events of an account's things, for its audit log and its webhooks, whether a person or the system caused them.

No entry names an address: an audit log outlives the things that it is about. Source: docs/adr/0045.
"""

import hashlib
import json
import re
from collections.abc import Mapping
from dataclasses import field
from datetime import UTC, datetime
from enum import StrEnum
from typing import Final

from shared.domain.times import Millis
from shared.frozen import dataclass

SYSTEM: Final = "system"
"""The actor of an event that no person or key caused."""
RECIPIENT: Final = "recipient"
"""The actor of what somebody does by the link in a mail to them."""
EVERYONE: Final = "*"
"""In place of an account, for events of the whole deployment, such as a credential's new rate."""
MARK: Final = 8
"""Hexadecimal digits of a mark: two entries of one millisecond, kind and thing are few."""
MAX_ID: Final = 64
"""Characters of an id."""
HOUR_MS: Final[Millis] = 3_600_000
_KIND: Final = re.compile(r"[a-z_]+\.[a-z_]+")
_ADDRESS: Final = re.compile(r"@|\+[0-9][0-9 ()./-]{5}")
"""An e-mail address has an `@`, a number that a text can be sent to begins with `+` and its country."""


class Log(StrEnum):
    """Where an event is kept."""

    AUDIT = "audit"
    """The audit log: each act with its actor. Kept for as long as the settings say, over a year by default."""
    EVENTS = "events"
    """The events that webhooks post: kept for as long as they may be replayed."""


EVENT_DAYS: Final = 30
"""Days that what webhooks tell is kept."""


class Act(StrEnum):
    """Kinds of what people do."""

    JOB_CREATED = "job.created"
    JOB_STOPPED = "job.stopped"
    JOB_RETRIED = "job.retried"
    JOB_RESUMED = "job.resumed"
    JOB_RESCHEDULED = "job.rescheduled"
    GUARD_OVERRIDDEN = "campaign.guard_overridden"
    BATCH_GUARD_OVERRIDDEN = "batch.guard_overridden"
    BATCHES_ACCEPTED = "batch.accepted"
    MAILS_ACCEPTED = "mail.accepted"
    NOTICES_ACCEPTED = "notice.accepted"
    EVENTS_ACCEPTED = "event.accepted"
    READ = "data.read"
    EXPORTED = "data.exported"
    KEY_REFUSED = "key.refused"
    CAMPAIGN_CREATED = "campaign.created"
    CAMPAIGN_CHANGED = "campaign.changed"
    CAMPAIGN_DELETED = "campaign.deleted"
    CAMPAIGN_TESTED = "campaign.tested"
    LIST_ADDED = "campaign.list_added"
    LIST_WITHDRAWN = "campaign.list_withdrawn"
    APPROVAL_ASKED = "approval.asked"
    APPROVED = "approval.approved"
    APPROVAL_REFUSED = "approval.refused"
    APPROVAL_WITHDRAWN = "approval.withdrawn"
    LIMIT_SET = "approval.limit_set"
    LIMIT_PROPOSED = "approval.limit_proposed"
    LIMIT_REFUSED = "approval.limit_refused"
    ACCOUNT_CREATED = "account.created"
    ACCOUNT_SUSPENDED = "account.suspended"
    ACCOUNT_UNSUSPENDED = "account.unsuspended"
    LEAVING_PLANNED = "account.deletion_planned"
    LEAVING_CANCELLED = "account.deletion_cancelled"
    ACCOUNT_LEAVING = "account.deleting"
    ACCOUNT_DELETED = "account.deleted"
    MOVE_BEGUN = "account.moving"
    MOVE_CANCELLED = "account.move_cancelled"
    ACCOUNT_MOVED = "account.moved"
    ACCOUNT_ARRIVED = "account.arrived"
    REGION_SET = "account.region_set"
    LIMITS_SET = "account.limits_set"
    LIMIT_REACHED = "account.limit_reached"
    BOUNCING = "account.bouncing"
    QUIET_SET = "account.quiet_hours_set"
    SEARCH_SET = "account.search_set"
    CHANNEL_OPENED = "account.channel_opened"
    CHANNEL_CLOSED = "account.channel_closed"
    KEY_CREATED = "key.created"
    KEY_EXPIRES = "key.expiry_changed"
    KEY_EXPIRING = "key.expiring"
    KEY_RESTRICTED = "key.networks_changed"
    KEY_ROTATED = "key.rotated"
    KEY_REVOKED = "key.revoked"
    SENDER_ADDED = "sender.added"
    SENDER_REMOVED = "sender.removed"
    MEMBER_INVITED = "member.invited"
    MEMBER_JOINED = "member.joined"
    MEMBER_CHANGED = "member.role_changed"
    MEMBER_REMOVED = "member.removed"
    MEMBER_SIGNED_OUT = "member.signed_out"
    LOGIN_RELEASED = "member.login_released"
    UNDONE = "unsubscription.undone"
    SUPPRESSION_ADDED = "suppression.added"
    SUPPRESSION_CHANGED = "suppression.changed"
    SUPPRESSION_REMOVED = "suppression.removed"
    TEMPLATE_CREATED = "template.created"
    TEMPLATE_CHANGED = "template.changed"
    TEMPLATE_DELETED = "template.deleted"
    IMAGE_ADDED = "image.added"
    IMAGE_DELETED = "image.deleted"
    SENDER_CLAIMED = "sender.claimed"
    SENDER_PROVEN = "sender.proven"
    SENDER_GIVEN_UP = "sender.given_up"
    GUEST_ADDED = "guest.added"
    GUEST_REMOVED = "guest.removed"
    NOTIFIER_CREATED = "notifier.created"
    NOTIFIER_CHANGED = "notifier.changed"
    NOTIFIER_ROTATED = "notifier.rotated"
    NOTIFIER_DISABLED = "notifier.disabled"
    NOTIFIER_ENABLED = "notifier.enabled"
    NOTIFIER_DELETED = "notifier.deleted"
    NOTICES_UNREAD = "notifier.notices_unread"
    PROGRAM_CREATED = "program.created"
    PROGRAM_CHANGED = "program.changed"
    PROGRAM_DELETED = "program.deleted"
    DIGEST_POLICY_CREATED = "digest_policy.created"
    DIGEST_POLICY_CHANGED = "digest_policy.changed"
    DIGEST_POLICY_DELETED = "digest_policy.deleted"
    HOOK_CREATED = "hook.created"
    HOOK_CHANGED = "hook.changed"
    HOOK_ROTATED = "hook.rotated"
    HOOK_DISABLED = "hook.disabled"
    HOOK_ENABLED = "hook.enabled"
    HOOK_DELETED = "hook.deleted"
    HOOK_TESTED = "hook.tested"
    HOOK_RETRIED = "hook.delivery_retried"
    HOOK_REPLAYED = "hook.replayed"
    WINDOW_CLOSED = "digest.closed"
    WINDOW_CANCELLED = "digest.cancelled"
    MAIL_DROPPED = "mail.destination_dropped"
    MAIL_HURRIED = "mail.destination_rescheduled"
    ERASING = "person.erasing"
    ERASED = "person.erased"
    NAMES_ANNOUNCED = "names.announced"
    NAMES_MOVED = "names.moved"
    ACCOUNT_PAUSED = "account.paused"
    ACCOUNT_RESUMED = "account.resumed"
    CREDENTIAL_PAUSED = "credential.paused"
    CREDENTIAL_RESUMED = "credential.resumed"
    RATE_SET = "credential.rate_set"
    BREAKER_CLOSED = "credential.breaker_closed"
    CREDENTIAL_SET = "credential.set"
    ALL_PAUSED = "deployment.paused"
    ALL_RESUMED = "deployment.resumed"
    REDRIVE_BEGUN = "queue.redrive_begun"
    REDRIVE_ENDED = "queue.redrive_ended"


HOURLY: Final = frozenset(
    {
        *(Act.BATCHES_ACCEPTED, Act.MAILS_ACCEPTED, Act.NOTICES_ACCEPTED, Act.EVENTS_ACCEPTED),
        *(Act.READ, Act.EXPORTED, Act.KEY_REFUSED),
    }
)
"""Acts with one entry for each hour, actor and subject."""


@dataclass(frozen=True, slots=True)
class Event:
    """Something that happened.

    Attributes:
        account: the account that it concerns, or EVERYONE; for things of test keys, the namespace of the account's test
            keys.
        at: Unix milliseconds.
        id: of the thing that it happened to; with `at` and `kind` it names the event.
        kind: what happened, such as `job.stopped`.
        actor: id of the API key, what `operator` returns, or SYSTEM.
        data: name of a fact → its value.
        logs: the logs that keep it.

    Raises:
        ValueError: one of the texts has an address in it, or the kind is none.
    """

    account: str
    at: int
    id: str
    kind: str
    actor: str
    data: Mapping[str, str | int]
    logs: tuple[Log, ...] = field(default=tuple(Log), compare=False)

    def __post_init__(self) -> None:
        texts = (self.id, self.actor, *self.data, *(str(value) for value in self.data.values()))
        if any("@" in text for text in texts):
            raise ValueError("an event names no address")
        if _KIND.fullmatch(self.kind) is None:
            raise ValueError(f"{self.kind!r} is no kind of event")

    @property
    def mark(self) -> str:
        """Tells it from others of its moment, kind and thing in an audit log.

        Of acts with one entry for an hour only the actor counts; it is empty where the actor is the subject.
        """
        if self.kind in HOURLY:
            return "" if self.id in self.actor else _hashed(self.actor)
        return _hashed(json.dumps([self.actor, self.pack()]))

    def pack(self) -> str:
        """Serialise `data`: JSON."""
        return json.dumps(dict(self.data), ensure_ascii=False, separators=(",", ":"))


def _hashed(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()[:MARK]


def has_address(text: str) -> bool:
    """Tell whether a text may contain an e-mail address or a phone number."""
    return _ADDRESS.search(text) is not None


MAX_REASON: Final = 100
"""Characters of an operator's reason."""


def checked_reason(text: str) -> str:
    """Return an operator's reason without spaces around it.

    Raises:
        ValueError: it is empty, over `MAX_REASON`, not printable, or names somebody.
    """
    trimmed = text.strip()
    if not trimmed or len(trimmed) > MAX_REASON or not trimmed.isprintable() or has_address(trimmed):
        raise ValueError(f"a reason has 1 to {MAX_REASON} printable characters, and no address or phone number in it")
    return trimmed


def audited(
    account: str, at: Millis, name: str, act: str, actor: str, data: Mapping[str, str | int] | None = None
) -> Event:
    """Return an entry of the audit log only. Raises ValueError if the data holds an address or phone number.

    Args:
        account: the account's id, or EVERYONE.
        name: the id of what changed.
        act: what happened, as in `job.stopped`.
        actor: the API key's id, what `operator` returns, or SYSTEM.
    """
    if any(map(has_address, map(str, (data or {}).values()))):
        raise ValueError("an event names no address")
    return Event(account, at, name, act, actor, data or {}, logs=(Log.AUDIT,))


def accepted(account: str, at: Millis, name: str, act: Act, actor: str, why: str = "") -> Event:
    """Return the one entry of an actor whose requests of a kind are accepted in an hour: `at` is the hour's begin.

    All processes write it to the same place in the log. `data` has the time of the first request that its writer saw.

    Args:
        at: any moment of the hour, Unix milliseconds.
        actor: who asks, as in `audited`.
        why: of a refusal; empty: none.
    """
    first = datetime.fromtimestamp(at / 1000, UTC).isoformat(timespec="milliseconds")
    data: dict[str, str | int] = {"first": first.replace("+00:00", "Z"), **({"why": why} if why else {})}
    return audited(account, at - at % HOUR_MS, name, act, actor, data)


def operator(arn: str) -> str:
    """Return the actor that an operator is, from the ARN of the caller's identity.

    Names of sessions are often addresses, as in IAM Identity Center. The hash of such a part replaces it. CloudTrail's
    own record of the call names the session.
    """
    account, _, resource = arn.partition("::")[2].partition(":")
    parts = [masked(part) for part in resource.split("/")]
    return f"operator:{account}:{'/'.join(parts)}"


def masked(text: str) -> str:
    """Return a text, or its hash if it contains an address or is long: 64 bits, enough to recognise the text."""
    if not has_address(text) and len(text) <= MAX_ID:
        return text
    return f"sha256:{hashlib.sha256(text.lower().encode()).hexdigest()[:16]}"
