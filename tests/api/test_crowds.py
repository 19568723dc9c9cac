"""A message to more people than a provider takes: another credential of the route carries it, or it is refused."""

from dataclasses import replace
from typing import Any

import pytest

from shared.bootstrap.carrying import message_bounds
from shared.engine.intake.routes import MessageBounds
from simulator.vendors import postmark, resend
from simulator.vendors.aws import ses
from simulator.vendors.mailgun import messages as mailgun
from simulator.vendors.sendgrid import mail as sendgrid
from tests.api.conftest import ADDRESS, Api
from tests.api.senders import build_intake
from tests.api.test_doors import errors, mail, post, taken

NARROW = MessageBounds(people=50)


def bounded(api: Api, **bounds: MessageBounds) -> None:
    """Give the API's providers other bounds."""
    services = api.services
    parts = (api.world.settings, services.intake._senders, services.suppressions, api.world.clock, ADDRESS)
    intake = build_intake(*parts, bounds=lambda provider: bounds.get(provider, MessageBounds()))
    api.services = replace(services, intake=intake)


def people(n: int, first: int = 0) -> list[str]:
    return [f"p{i}@example.org" for i in range(first, first + n)]


def boxes(n: int, first: int = 0) -> list[dict[str, str]]:
    return [{"email": address} for address in people(n, first)]


def test_providers_declare_what_their_vendors_take() -> None:
    assert message_bounds("ses") == MessageBounds(people=ses.MAX_RECIPIENTS)
    assert message_bounds("postmark") == MessageBounds(people=postmark.MAX_PEOPLE)
    assert message_bounds("resend") == MessageBounds(shown=resend.MAX_TO)
    assert message_bounds("sendgrid") == MessageBounds(people=sendgrid.MAX_RECIPIENTS)
    assert message_bounds("mailgun") == MessageBounds(people=mailgun.MAX_RECIPIENTS)
    assert message_bounds("smtp") == message_bounds("test") == MessageBounds()


@pytest.mark.promise(10)
@pytest.mark.parametrize(("cc", "bcc", "field"), [(49, 1, "bcc"), (50, 0, "cc"), (50, 50, "bcc")])
def test_a_batch_that_no_credential_carries_is_refused(api: Api, cc: int, bcc: int, field: str) -> None:
    bounded(api, sendgrid=NARROW, mailgun=NARROW)
    copies: dict[str, Any] = {"cc": people(cc), **({"bcc": people(bcc, cc)} if bcc else {})}
    before = api.stored()
    got = api.batch(["ann@example.org"], **copies)
    assert (got.status, got.code, got.fields) == (422, "too_many_in_message", [field])
    assert f"{1 + cc + bcc} people" in got.json["errors"][0]["message"]
    assert api.stored() == before
    assert api.batch(["ann@example.org"], cc=people(49)).status == 202


@pytest.mark.promise(10)
@pytest.mark.parametrize("narrow", [NARROW, MessageBounds(shown=50)])
def test_a_message_of_the_drop_in_door_that_no_credential_carries_is_refused(api: Api, narrow: MessageBounds) -> None:
    bounded(api, sendgrid=narrow, mailgun=narrow)
    before = api.stored()
    got = post(api, mail({"to": [{"email": "ann@example.org"}]}, {"to": boxes(51)}))
    assert (got.status, [f for f, _ in errors(got)], api.stored()) == (400, ["personalizations.1.to"], before)
    taken(api, mail({"to": boxes(50)}))
    more = post(api, mail({"to": boxes(2), "cc": boxes(50, 2)}))
    assert more.status == (202 if narrow.shown else 400)


@pytest.mark.parametrize("suppressed", [True, False])
def test_only_those_who_get_it_count(api: Api, suppressed: bool) -> None:  # noqa: FBT001
    bounded(api, sendgrid=NARROW, mailgun=NARROW)
    if suppressed:
        assert api.call("PUT", "/suppressions/p0@example.org", {}).status in (200, 201)
    assert post(api, mail({"to": boxes(51)})).status == (202 if suppressed else 400)


@pytest.mark.promise(1)
@pytest.mark.parametrize("door", ["batch", "drop-in"])
def test_a_credential_that_cannot_carry_it_is_left_out_also_for_failover(api: Api, door: str) -> None:
    bounded(api, sendgrid=NARROW)
    small, large = (
        [api.accepted(["ann@example.org"], cc=people(n)) for n in (49, 50)]
        if door == "batch"
        else [taken(api, mail({"to": boxes(n)}, {"to": [{"email": "ann@example.org"}]})) for n in (50, 51)]
    )
    assert api.world.job(small).route == ("one", "two")
    assert api.world.job(large).route == ("two",)
    api.world.settle()
    assert [c for c in api.world.providers["one"].said if 1 + len(c.beside) + len(c.cc) > 50] == []
    got = api.batch(["ann@example.org"], cc=people(50), route=["one"])
    assert got.code == "too_many_in_message"
