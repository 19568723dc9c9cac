"""What the API under test has of senders, recipients and DNS."""

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import boto3

from shared.adapters.dynamo.accounts.claims import DynamoClaims
from shared.adapters.dynamo.accounts.made_identities import DynamoOwnedIdentities
from shared.adapters.dynamo.client import Dynamo
from shared.adapters.dynamo.recipients.guests import Guests
from shared.adapters.dynamo.recipients.texts import DynamoTexts
from shared.bootstrap.carrying import message_bounds
from shared.contracts import Settings
from shared.domain.identities import OwnedIdentity
from shared.engine.intake.intake import Intake
from shared.engine.intake.proven import Proofs, ProvenSenders
from shared.engine.intake.routes import MessageBounds
from shared.ports import Clock, Senders, SuppressionList
from tests.fakes.dns import FakeDns
from tests.fakes.identities import FakeIdentities, signing_service
from tests.fakes.links import FakeLinks


def account_parts(functions: Dynamo, records: str, clock: Clock) -> dict[str, Any]:
    """Return the services of that name."""
    dns = FakeDns()
    made = DynamoOwnedIdentities(functions, records, clock)
    service = signing_service([], made, clock)
    return {
        "guests": Guests(functions, records, clock),
        "claims": DynamoClaims(functions, records, clock),
        "dns": lambda: dns,
        "identities": lambda: service,
        "texts": DynamoTexts(functions, records=records),
        "links": FakeLinks(),
    }


def proven(granted: Senders, parts: dict[str, Any], clock: Clock) -> Senders:
    """Return who may send as whom."""
    return ProvenSenders(
        granted=granted, proofs=Proofs(claims=parts["claims"], dns=parts["dns"], clock=clock), clock=clock
    )


def build_intake(
    settings: Settings,
    senders: Senders,
    unwanted: SuppressionList,
    clock: Clock,
    address: str,
    bounds: Callable[[str], MessageBounds] = message_bounds,
) -> Intake:
    """Return what decides about requests. `bounds`: how many people each provider takes."""
    return Intake(settings=settings, senders=senders, unwanted=unwanted, clock=clock, address=address, bounds=bounds)


def signs(api: Any) -> FakeIdentities:
    """Give an API a provider that signs for domains, and return what it knows."""
    provider, clock = FakeIdentities(), api.world.clock
    functions = Dynamo(api.client, sleep=clock.sleep, homes=api.tables.alone)
    service = signing_service([provider], DynamoOwnedIdentities(functions, api.tables.records, clock), clock)
    api.services = replace(api.services, identities=lambda: service)
    return provider


def claimed(api: Any) -> tuple[str, ...]:
    """Return the name of a domain that an API's account claims, and whose DNS names the account."""
    assert api.call("POST", "/senders", {"domain": "news.example.net"}).status == 201
    api.services.dns().records["_posthaste.news.example.net"] = [f"posthaste-account={api.account}"]
    return ("news.example.net",)


def made_known(api: Any) -> tuple[str, ...]:
    """Return the name of a domain that a deployment made known to a provider, and that no account uses."""
    made = OwnedIdentity("ses", "eu-west-1", "news.example.net", api.account)
    boto3.client("sesv2", made.region).create_email_identity(EmailIdentity=made.domain)
    DynamoOwnedIdentities(Dynamo(api.client), api.tables.records, api.world.clock).add(made)
    return (made.domain,)
