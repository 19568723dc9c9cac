"""Senders of accounts: addresses and domains that operators grant, and domains that providers know."""

from collections.abc import Mapping
from typing import Final

from pydantic import Field

from functions.operate.accounts import NO_SENDER, AccountBody, AccountQuery, owner_of, resolve
from functions.operate.call import Call, OperateBody, OperateQuery, OperateView, route
from functions.operate.services import OperateServices
from shared.domain.identities import signs_for
from shared.web.http import Answer
from shared.web.problems import Problem, invalid
from shared.web.routing import Nothing


class SenderChange(AccountBody):
    """An address or a domain that an account may send from."""

    sender: str = Field(max_length=400)


class IdentitiesQuery(OperateQuery):
    """Which domains. `account`: only those made for it, by its id or name."""

    account: str = Field("", max_length=200)


class IdentityPlace(OperateBody):
    """A domain that Posthaste has made known to a provider, in one of its regions."""

    domain: str = Field(max_length=255)
    provider: str = Field(max_length=64)
    region: str = Field(max_length=64)


class AccountSender(OperateView):
    """A sender of an account, as it is stored."""

    account_id: str
    sender: str


class AccountSenders(OperateView):
    """All that an account may send from."""

    account_id: str
    items: list[str]


class IdentityRow(OperateView):
    """A domain that Posthaste has made known to a provider. `used_by`: the accounts whose mail it is needed for."""

    domain: str
    provider: str
    region: str
    made_at: int
    made_for: str
    used_by: list[str]


class IdentityRows(OperateView):
    """Domains, in their order."""

    items: list[IdentityRow]


class Forgotten(OperateView):
    """A domain that is no longer noted as made known."""

    domain: str
    forgotten: bool


def list_senders(call: Call[AccountQuery, Nothing]) -> Answer:
    """Return what an account may send from."""
    whose = resolve(call.services, call.query.account)
    return AccountSenders(account_id=whose, items=call.services.accounts.list_senders(whose)).answer()


def add_sender(call: Call[Nothing, SenderChange]) -> Answer:
    """Allow an account to send from an address or a domain."""
    whose = owner_of(call)
    try:
        stored = call.services.accounts.add_sender(whose, call.body.sender, by=call.key.id)
    except ValueError:
        raise _no_sender() from None
    return AccountSender(account_id=whose, sender=stored).answer()


def remove_sender(call: Call[Nothing, SenderChange]) -> Answer:
    """Disallow a sender."""
    whose = owner_of(call)
    try:
        removed = call.services.accounts.remove_sender(whose, call.body.sender, by=call.key.id)
    except ValueError:
        raise _no_sender() from None
    if not removed:
        raise Problem("not_found", f"{whose} has no such sender: see `posthaste sender list {whose}`.")
    return AccountSender(account_id=whose, sender=call.body.sender).answer()


def list_identities(call: Call[IdentitiesQuery, Nothing]) -> Answer:
    """Return the domains that Posthaste has made known to providers, with the accounts that use them."""
    services = call.services
    of = call.query.account and resolve(services, call.query.account)
    senders = _senders(services)
    rows = [
        IdentityRow(
            domain=x.domain,
            provider=x.provider,
            region=x.region,
            made_at=x.made_at,
            made_for=x.account,
            used_by=_users(senders, x.domain),
        )
        for x in services.owned_identities.list()
        if of in ("", x.account)
    ]
    return IdentityRows(items=rows).answer()


def forget_identity(call: Call[Nothing, IdentityPlace]) -> Answer:
    """Note that a provider no longer knows a domain. The operator has had it removed there."""
    body, made = call.body, call.services.owned_identities
    for x in made.list():
        if (x.domain, x.provider, x.region) == (body.domain, body.provider, body.region):
            made.forget(x)
            return Forgotten(domain=x.domain, forgotten=True).answer()
    return Forgotten(domain=body.domain, forgotten=False).answer()


def _senders(services: OperateServices) -> Mapping[str, list[str]]:
    """Return what each account may send from or claims: what operators granted, and its domains."""
    accounts = services.accounts
    return {
        a.id: [*accounts.list_senders(a.id), *(c.domain for c in services.claims.list(a.id))]
        for a in accounts.list_accounts()
    }


def _users(senders: Mapping[str, list[str]], domain: str) -> list[str]:
    """Return the accounts whose mail a domain is needed for, also that from domains below it."""
    return [account for account, those in senders.items() if any(signs_for(domain, x) for x in those)]


def _no_sender() -> Problem:
    return invalid("sender", f"A{NO_SENDER[1:]}")


ROUTES: Final = (
    route("GET", "/senders", "What an account may send from", list_senders, AccountSenders, "not_found"),
    route("POST", "/senders/add", "Allow a sender", add_sender, AccountSender, "not_found"),
    route("POST", "/senders/remove", "Disallow a sender", remove_sender, AccountSender, "not_found"),
    route("GET", "/senders/identities", "Domains that providers know", list_identities, IdentityRows, "not_found"),
    route("POST", "/senders/identities/forget", "Note that a provider forgot one", forget_identity, Forgotten),
)
