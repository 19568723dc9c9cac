"""Senders: what operators have granted, and domains that the account proves to be its own by a DNS record."""

from collections.abc import Mapping
from typing import Annotated, Any, Final, Literal

from pydantic import BeforeValidator, Field

from functions.api.call import Call
from shared.domain import senders as rules
from shared.domain.accounts import Scope, sender_of
from shared.domain.identities import DomainIdentity, IdentityState
from shared.domain.namespaces import KeyKind
from shared.domain.senders import CheckState, SenderClaim
from shared.engine.intake.sender_checks import sender_checks
from shared.ports import DnsUnanswered
from shared.web.http import Answer
from shared.web.inputs import Input
from shared.web.problems import Problem, invalid, missing
from shared.web.routing import Nothing, Route, section
from shared.web.views import TextOrNull, Time, View, at

State = Literal["granted", "proven", "pending"]


class NewSender(Input):
    """A domain that the account claims."""

    domain: str = Field(min_length=3, max_length=253, examples=["news.example.com"])


class DnsRecord(View):
    """A DNS record that the domain's owner publishes."""

    type: Literal["TXT"]
    name: str
    value: str


class CheckView(View):
    """A finding about the DNS of a domain."""

    name: str = Field(description="`spf`, `dkim` or `dmarc`.")
    state: CheckState = Field(description="`unknown`: DNS did not answer.")
    found: TextOrNull
    advice: TextOrNull = Field(description="The next step, null if there is none.")


class SigningRecord(View):
    """A DNS record by which a provider signs for the domain."""

    type: Literal["CNAME"]
    name: str
    value: str


def _signing(records: Mapping[str, str]) -> list[SigningRecord]:
    return [SigningRecord(type="CNAME", name=name, value=value) for name, value in records.items()]


class IdentityView(View):
    """The domain at a provider that signs its mail with DKIM."""

    provider: str
    region: str
    state: IdentityState = Field(
        description="The provider signs mail at `success`. At `none` it does not know the domain. At `pending` it "
        "looks for the records. At `failed` it found none and looks no more. At `refused` no more domains are made "
        "known to it. At `unknown` it did not answer."
    )
    records: Annotated[list[SigningRecord], BeforeValidator(_signing)] = Field(
        description="To publish, and to leave in place."
    )
    made_here: bool = Field(
        validation_alias="ours", description="Whether Posthaste made the domain known there, rather than an operator."
    )
    covered_by: TextOrNull = Field(description="A domain above it by which the provider signs, null if there is none.")
    advice: TextOrNull = Field(description="The next step, null if there is none.")


class SenderView(View):
    """An address or a domain that the account sends from."""

    sender: str
    state: State = Field(
        description="`granted` by an operator, or `proven` by the record. If `pending`, only test keys send from it."
    )
    record: DnsRecord | None = Field(description="The record that proves the domain; null for what is granted.")
    created_at: Time | None
    proven_at: Time | None = Field(description="When the record was last found by a call of `verify`.")


class SenderList(View):
    """All senders of an account."""

    items: list[SenderView]
    next_cursor: None = Field(None, description="Always null: all senders are in one answer.")


class CheckedSender(SenderView):
    """A sender, with what DNS says of its domain now."""

    checks: list[CheckView]
    identities: list[IdentityView] = Field(
        description="The domain at each provider that signs for it. None while it is `pending`, and where no declared "
        "provider makes its own records."
    )


class SenderRemoved(View):
    """The claim is given up."""

    domain: str
    removed: Literal[True]


def _account(call: Call[Any, Any], *kinds: KeyKind) -> str:
    if call.key.kind not in kinds:
        raise Problem("live_key_needed")
    return call.key.account


def _domain(text: str, field: str = "domain") -> str:
    """Return a domain in the form it is compared; Problem for what is none."""
    try:
        found = sender_of(text)
    except ValueError:
        raise invalid(field, "Not a domain, such as news.example.com.") from None
    if "@" in found or "." not in found:
        raise invalid(field, "Give a domain, such as news.example.com, without an address.")
    return found


def _fields(claim: SenderClaim, account: str) -> dict[str, Any]:
    record = DnsRecord(type="TXT", name=rules.record_name(claim.domain), value=rules.record_value(account))
    state: State = "proven" if claim.proven_at else "pending"
    times = {"created_at": at(claim.created_at), "proven_at": at(claim.proven_at)}
    return {"sender": claim.domain, "state": state, "record": record, **times}


def _granted(sender: str) -> dict[str, Any]:
    return {"sender": sender, "state": "granted", "record": None, "created_at": None, "proven_at": None}


def pages(call: Call[Nothing, Nothing]) -> Answer:
    """Return all senders: granted ones, then claims."""
    account = _account(call, KeyKind.LIVE, KeyKind.TEAM)
    granted = call.services.accounts.list_senders(account)
    claims = [x for x in call.services.claims.list(account) if x.domain not in granted]
    items = [*map(_granted, granted), *(_fields(x, account) for x in claims)]
    return SenderList(items=[SenderView(**x) for x in items], next_cursor=None).answer()


def read(call: Call[Nothing, Nothing]) -> Answer:
    """Return a sender with what DNS says now."""
    account = _account(call, KeyKind.LIVE, KeyKind.TEAM)
    domain = _domain(call.path["domain"])
    claim = call.services.claims.get(account, domain)
    if domain in call.services.accounts.list_senders(account):
        fields = _granted(domain)
    elif claim is not None:
        fields = _fields(claim, account)
    else:
        raise missing("sender", domain)
    pending = fields["state"] == "pending"
    return _checked(call, fields, [] if pending else call.services.identities().shown(account, domain))


def _checked(call: Call[Any, Any], fields: dict[str, Any], identities: list[DomainIdentity]) -> Answer:
    checks = [CheckView.model_validate(x) for x in sender_checks(call.services.dns(), fields["sender"])]
    return CheckedSender(**fields, checks=checks, identities=[*map(IdentityView.model_validate, identities)]).answer()


def create(call: Call[Nothing, NewSender]) -> Answer:
    """Claim a domain; repeating it changes nothing."""
    account, domain = _account(call, KeyKind.LIVE), _domain(call.body.domain)
    claim = call.services.claims.add(account, domain, by=call.key.id)
    if claim is None:
        raise Problem("too_many_domains")
    return SenderView(**_fields(claim, account)).answer(201, {"Location": f"/senders/{domain}"})


def verify(call: Call[Nothing, Nothing]) -> Answer:
    """Look for the record of a claim, and have providers sign for a domain that is proven."""
    account, domain = _account(call, KeyKind.LIVE), _domain(call.path["domain"])
    claim = call.services.claims.get(account, domain)
    if claim is None:
        raise missing("sender", domain)
    try:
        texts = call.services.dns().texts(rules.record_name(domain))
    except DnsUnanswered:
        raise Problem("dns_unanswered") from None
    if not rules.proves(texts, account):
        record = f"{rules.record_name(domain)} TXT {rules.record_value(account)}"
        said = f"It has {len(texts)} other TXT records." if texts else "It has no TXT record."
        raise Problem("not_proven", f"DNS does not show the record {record}. {said} A new record can take an hour.")
    proven = call.services.claims.prove(account, claim, by=call.key.id)
    identities = call.services.identities().ensure(account, domain)
    granted = domain in call.services.accounts.list_senders(account)
    return _checked(call, _granted(domain) if granted else _fields(proven, account), identities)


def delete(call: Call[Nothing, Nothing]) -> Answer:
    """Give up a claim. Providers still know its domain. Only operators remove it there."""
    account, domain = _account(call, KeyKind.LIVE), _domain(call.path["domain"])
    if call.services.claims.remove(account, domain, by=call.key.id):
        return SenderRemoved(domain=domain, removed=True).answer()
    if domain in call.services.accounts.list_senders(account):
        raise Problem("granted_sender")
    raise missing("sender", domain)


ROUTES: Final = section(
    "Senders",
    Route(
        method="GET",
        path="/senders",
        name="listSenders",
        summary="Addresses and domains that the account sends from",
        scope=Scope.READ,
        handler=pages,
        answers={200: SenderList},
        problems=("live_key_needed",),
    ),
    Route(
        method="POST",
        path="/senders",
        name="createSender",
        summary="Claim a domain",
        description="Returns the TXT record to publish. Until DNS shows it, only test keys send from the domain. The "
        "record stays in place: without it the account may no longer send. Needs a live key.",
        scope=Scope.ADMIN,
        handler=create,
        answers={201: SenderView},
        problems=("too_many_domains", "live_key_needed"),
    ),
    Route(
        method="GET",
        path="/senders/{domain}",
        name="getSender",
        summary="A domain, with its SPF, DKIM and DMARC, and what providers say",
        scope=Scope.READ,
        handler=read,
        answers={200: CheckedSender},
        problems=("not_found", "live_key_needed"),
    ),
    Route(
        method="POST",
        path="/senders/{domain}/verify",
        name="verifySender",
        summary="Look for the record that proves a domain",
        description="The account may send from the domain as soon as DNS shows the record, also without this call. A "
        "provider that signs with DKIM records of its own is asked to sign for the domain: `identities` has the CNAME "
        "records to publish.",
        scope=Scope.ADMIN,
        handler=verify,
        answers={200: CheckedSender},
        problems=("not_found", "not_proven", "dns_unanswered", "live_key_needed"),
    ),
    Route(
        method="DELETE",
        path="/senders/{domain}",
        name="deleteSender",
        summary="Give up a domain",
        scope=Scope.ADMIN,
        handler=delete,
        answers={200: SenderRemoved},
        problems=("not_found", "granted_sender", "live_key_needed"),
    ),
)
