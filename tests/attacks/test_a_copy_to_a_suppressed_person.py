"""A message waits, and somebody who is to get a copy of it is suppressed meanwhile: no copy goes to them.

The oracle is what the provider was called with.
"""

from typing import Any

import pytest

from shared.domain.hooks.fields import iso
from tests.api.conftest import Api
from tests.api.test_doors import mail, taken

ANN, BEN, CLEO = "ann@example.org", "ben@example.org", "cleo@example.org"
HOUR = 3600


def reached(api: Api) -> set[str]:
    """Have everything sent an hour later, and return all whom a provider was given, also as copies."""
    api.world.clock.advance(HOUR)
    api.world.settle()
    said = [content for provider in api.world.providers.values() for content in provider.said]
    copies = {box.address for c in said for box in (*c.beside, *c.cc, *c.bcc)}
    return {t.address for t in api.world.oracle.taken} | copies


def suppress(api: Api, *addresses: str) -> None:
    for address in addresses:
        assert api.call("PUT", f"/suppressions/{address}", {}).status in (200, 201)


def in_an_hour(api: Api) -> dict[str, Any]:
    return {"send_at": int(api.world.clock.now()) + HOUR}


@pytest.mark.promise(11)
@pytest.mark.parametrize("field", ["cc", "bcc"])
def test_a_batch_s_copy_to_a_person_who_is_suppressed_meanwhile_is_left_out(api: Api, field: str) -> None:
    later = iso(api.world.clock.ms + 1000 * HOUR)
    api.accepted([ANN], scheduled_at=later, **{field: [BEN, "Cleo@Example.org"]})
    suppress(api, CLEO)
    assert reached(api) == {ANN, BEN}


@pytest.mark.slow
@pytest.mark.promise(11)
@pytest.mark.parametrize("gone", [[BEN], [CLEO], [BEN, CLEO, "dora@example.org"]])
@pytest.mark.parametrize("messages", [1, 2])
def test_a_message_of_several_people_leaves_out_those_suppressed_meanwhile(
    api: Api, gone: list[str], messages: int
) -> None:
    shared: dict[str, Any] = {
        "to": [{"email": ANN}, {"email": BEN}],
        "cc": [{"email": CLEO}],
        "bcc": [{"email": "dora@example.org"}],
    }
    other: dict[str, Any] = {"to": [{"email": "emil@example.org"}], "subject": "Another"}
    taken(api, mail(*[shared, other][:messages], **in_an_hour(api)))
    suppress(api, *gone)
    everybody = {ANN, BEN, CLEO, "dora@example.org", *(["emil@example.org"] if messages == 2 else [])}
    assert reached(api) == everybody - set(gone)


@pytest.mark.slow
@pytest.mark.promise(11)
def test_a_message_whose_recipient_is_suppressed_meanwhile_reaches_no_copy_either(api: Api) -> None:
    job = taken(api, mail({"to": [{"email": ANN}, {"email": BEN}]}, **in_an_hour(api)))
    suppress(api, ANN)
    assert reached(api) == set()
    (line,) = api.call("GET", f"/batches/{job}/logs").json["items"]
    assert (line["recipient"], line["state"], line["error"]) == (ANN, "skipped", "suppressed")
