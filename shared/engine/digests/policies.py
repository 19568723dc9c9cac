"""Digest policies: what their owners may set, and each change as a new version."""

import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import field, replace
from typing import Any, Final

from shared.contracts import Settings
from shared.domain.audit import Act, audited, masked
from shared.domain.channels.channel import Channel
from shared.domain.channels.lookup import channel_of
from shared.domain.content.content import Mailbox
from shared.domain.content.templates import UNSUBSCRIBE_URL, InvalidTemplateError, Template, TemplateKind
from shared.domain.digests import rendering
from shared.domain.digests.policy import MAX_PACKED, DigestPolicy, faults
from shared.domain.hours.zones import is_zone
from shared.domain.namespaces import namespace
from shared.engine.intake import routes
from shared.engine.intake.addresses import address_of, check_sender, mailbox, misleading
from shared.engine.intake.declined import Decline, FieldFault, as_value, invalid
from shared.engine.intake.message import check_seen
from shared.engine.intake.opened import check_open
from shared.frozen import dataclass
from shared.ports import Clock, Idempotency, Mismatch, Replay, Retriable, Senders
from shared.ports.digests import DigestPolicies

TRIES: Final = 5
"""Versions that others make meanwhile."""
MAX_PREFIX: Final = 200
"""Characters of a prefix, and its bytes in UTF-8: links to unsubscribe hold it."""
MAX_TEMPLATE: Final = 100_000
"""Characters of the HTML, and of the text: mailbox providers cut a mail at about this length."""
MAX_LINE: Final = 4_000
"""Characters of a line's template."""
PREVIEW: Final = "/preview"
_CONTROL: Final = re.compile(r"[\x00-\x1f\x7f-\x9f\ud800-\udfff]")
_IN_SUBJECT: Final = rendering.FRAME - {rendering.EVENTS, rendering.TYPES, UNSUBSCRIBE_URL}


@dataclass(frozen=True, slots=True)
class PolicyDraft:
    """A policy as its owner wrote it.

    Attributes:
        account: whose it is; `test`: of its test keys.
        prefix: what the batch keys begin with.
        sender: From, with or without a name; None: none was given.
        route: ids of credentials; None: the deployment's.
        settings: the other fields of `DigestPolicy`: name → value.
    """

    account: str
    test: bool
    prefix: str
    sender: str | None = None
    route: Sequence[str] | None = None
    settings: dict[str, Any] = field(default_factory=dict)


class PolicyService:
    """Checks and changes digest policies. Its methods return a `Declined` where they refuse."""

    def __init__(self, *, policies: DigestPolicies, senders: Senders, settings: Settings, clock: Clock) -> None:
        self._policies = policies
        self._senders = senders
        self._settings = settings
        self._clock = clock

    @as_value
    def save(
        self, draft: PolicyDraft, *, by: str, record: Callable[[DigestPolicy], Idempotency | None]
    ) -> DigestPolicy | Replay | Mismatch:
        """Store a policy as a whole, as its first or next version.

        Args:
            record: returns the client's idempotency record of the policy that is stored.

        Returns:
            The stored policy, or what an earlier request with the same idempotency key was answered.
        """
        checked = self._checked(draft)
        for _ in range(TRIES):
            old = self._policies.get(checked.namespace, checked.prefix)
            now = self._now()
            live = old if old is not None and not old.deleted else None
            version = old.version + 1 if old is not None else 1
            new = replace(checked, version=version, created_at=live.created_at if live else now, saved_at=now)
            act = Act.DIGEST_POLICY_CHANGED if live else Act.DIGEST_POLICY_CREATED
            found = self._write(old, new, record(new), act, by)
            if isinstance(found, Replay | Mismatch):
                return found
            if found:
                return new
        raise Retriable("digest policy: busy")

    @as_value
    def delete(self, namespace_: str, prefix: str, *, by: str) -> DigestPolicy:
        """Delete a policy. Open windows keep the version that they were opened with."""
        for _ in range(TRIES):
            old = self._policies.get(namespace_, prefix)
            if old is None or old.deleted:
                raise Decline("not_found")
            new = replace(old, deleted=True, version=old.version + 1, saved_at=self._now())
            if self._write(old, new, None, Act.DIGEST_POLICY_DELETED, by):
                return new
        raise Retriable("digest policy: busy")

    def _write(
        self, old: DigestPolicy | None, new: DigestPolicy, key: Idempotency | None, act: Act, by: str
    ) -> Replay | Mismatch | bool:
        data: dict[str, str | int] = {"version": new.version, "channel": new.channel}
        event = audited(new.namespace, new.saved_at, masked(new.prefix), act, by, data)
        found = self._policies.save(old, new, key, event=event)
        return found if isinstance(found, Replay | Mismatch) else found is not None

    def _checked(self, draft: PolicyDraft) -> DigestPolicy:
        _check_prefix(draft.prefix)
        bare = DigestPolicy(namespace(draft.account, test=draft.test), draft.prefix, 0, 0, 0, **draft.settings)
        by = channel_of(bare.channel)
        if by.speaks:
            raise invalid("channel", "A digest is read. Choose another channel.")
        for name, sentence in faults(bare):
            raise invalid(name, sentence)
        if not is_zone(bare.timezone):
            raise invalid("timezone", "There is no such time zone in the IANA data base.")
        if bare.hours is not None and bare.hours.by_recipient:
            raise invalid("hours.zone", "Events tell no zone of their recipients. Name a zone.")
        _check_parts(bare, by)
        _check_templates(bare, by)
        sender = self._sender(draft, by)
        routes.credentials_for(draft.account, draft.route, bare.channel, self._settings, test=draft.test)
        made = replace(bare, sender=sender, route=tuple(draft.route or ()))
        if len(made.pack()) > MAX_PACKED:
            raise invalid("template", f"The texts are too large: compressed they may have {MAX_PACKED:,} bytes.")
        return made

    def _sender(self, draft: PolicyDraft, by: Channel) -> Mailbox | None:
        if self._senders.suspended(draft.account):
            raise Decline("account_suspended")
        check_open(self._senders, draft.account, by.name, test=draft.test)
        if not by.names_sender:
            if draft.sender is not None:
                raise invalid("from", f"{by.noun} comes from its credential's own sender.")
            return None
        if draft.sender is None:
            raise invalid("from", f"{by.noun} needs a sender.")
        sender = address_of("from", draft.sender)
        account = namespace(draft.account, test=draft.test)
        check_sender(self._senders, account, sender, "from")
        said = misleading(self._senders, account, sender)
        if said:
            raise invalid("from", said)
        return mailbox(sender)

    def _now(self) -> int:
        return int(self._clock.now() * 1000)


def _check_prefix(prefix: str) -> None:
    if not prefix or len(prefix) > MAX_PREFIX or _CONTROL.search(prefix) or len(prefix.encode()) > MAX_PREFIX:
        raise invalid("prefix", f"A prefix has 1 to {MAX_PREFIX} characters in one line, and as many bytes at most.")
    if prefix.endswith(PREVIEW):
        raise invalid("prefix", f"A prefix does not end in {PREVIEW}.")


def _check_parts(policy: DigestPolicy, by: Channel) -> None:
    if not by.rich:
        for name in ("subject", "template", "line"):
            if getattr(policy, name):
                raise invalid(name, f"{by.noun} has only `text` and `line_text`.")
    if policy.unsubscribe and not by.offers_links:
        raise invalid("unsubscribe", f"{by.noun} carries no link to unsubscribe.")
    for name, most in (("template", MAX_TEMPLATE), ("text", MAX_TEMPLATE), ("line", MAX_LINE), ("line_text", MAX_LINE)):
        if len(getattr(policy, name)) > most:
            raise invalid(name, f"This field must have at most {most:,} characters.")


def _check_templates(policy: DigestPolicy, by: Channel) -> None:
    found = list(_template_faults(policy, by))
    if found:
        raise Decline("invalid_template", *found)


def _template_faults(policy: DigestPolicy, by: Channel) -> Iterator[FieldFault]:
    frame = rendering.FRAME if policy.unsubscribe else rendering.FRAME - {UNSUBSCRIBE_URL}
    kinds = {
        "subject": (TemplateKind.SUBJECT, _IN_SUBJECT),
        "template": (TemplateKind.HTML, frame),
        "text": (by.text_kind, frame),
        "line": (TemplateKind.HTML, None),
        "line_text": (by.text_kind, None),
    }
    for name, (kind, allowed) in kinds.items():
        try:
            template = Template.parse(getattr(policy, name), kind)
        except InvalidTemplateError as error:
            for f in error.faults:
                yield FieldFault(name, f.message, f.code.value, f.offset, f.line, f.column)
            continue
        yield from _name_faults(name, template, allowed)
        if template.text:
            check_seen(template, name)


def _name_faults(name: str, template: Template, allowed: frozenset[str] | None) -> Iterator[FieldFault]:
    """Yield placeholders that a digest as a whole has no value for. `allowed`: None: those of an event, any."""
    if allowed is None:
        return
    for variable in template.variables:
        if variable not in allowed:
            known = ", ".join(sorted(allowed))
            yield FieldFault(name, f"There is no value {variable} here. There are: {known}.", "unknown_name")
    for block in (rendering.EVENTS, rendering.TYPES):
        if template.count(block) > 1:
            yield FieldFault(name, f"Name {block} once at the most.", "named_twice")
