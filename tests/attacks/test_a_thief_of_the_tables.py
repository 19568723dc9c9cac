"""A thief has a copy of all tables, and tries all phone numbers to learn whose hashes are in them.

Then: the plain SHA-256 of an address outlived the person, in suppressions and in the audit log. Numbers are few enough
to try all of them.
"""

import base64
import hashlib
from collections.abc import Iterator
from typing import Any
from urllib.parse import quote

import pytest

from shared.adapters.dynamo.client import Dynamo
from shared.adapters.dynamo.erasure.erasing import Eraser
from shared.domain.audit import SYSTEM, Log
from tests.api.conftest import Api, build_api
from tests.fakes.clock import FakeClock
from tests.fakes.keyed_names import FIRST

NUMBERS = [f"+141555501{i:02d}" for i in range(100)]
VICTIM = NUMBERS[42]


def guesses(number: str) -> Iterator[str]:
    """Yield what a thief without the key can make of a number: hashes, whole and cut, in all usual writings."""
    yield number
    for name in ("sha256", "sha1", "md5", "blake2b", "sha512"):
        digest = hashlib.new(name, number.encode()).digest()
        yield digest.hex()[:16]
        yield base64.b64encode(digest).decode()[:16]
        yield base64.urlsafe_b64encode(digest).decode()[:16]
        yield str(int.from_bytes(digest[:8]))


def known(api: Api) -> list[str]:
    """Return the numbers that the thief recognises."""
    stolen = str(api.stored())
    assert FIRST not in stolen, "the key is elsewhere"
    return [number for number in NUMBERS if any(guess in stolen for guess in guesses(number))]


def leave_traces(api: Api) -> None:
    """Let a person be suppressed, stopped, invited and uninvited, and then erased."""
    assert api.call("PUT", f"/suppressions/{quote(VICTIM)}", {"reason": "asked"}).status == 200
    stop = {"reason": "stopped", "reach": "sms"}
    api.services.suppressions.put(api.account, VICTIM, stop["reason"])
    assert api.services.guests.add(api.account, VICTIM) is not None
    assert api.services.guests.remove(api.account, VICTIM)
    names = api.services.guests._db.names
    eraser = Eraser(
        Dynamo(api.client, homes=api.tables.homes, names=names),
        api.tables.records,
        lambda: None,
        "no-bucket",
        key=VICTIM,
    )
    eraser.lists([api.account])
    assert eraser.report.erased


@pytest.mark.promise(9)
def test_a_thief_of_the_tables_cannot_confirm_a_number_by_trying(moto_dynamo: Any, clock: FakeClock) -> None:
    api = build_api(moto_dynamo, clock, keyed=True)
    leave_traces(api)
    assert known(api) == []
    assert api.services.suppressions.check(api.account, [VICTIM]), "and the person is still not written to"
    subjects = {x.id for x in api.services.journal.since(api.account, Log.AUDIT, 0) if x.actor != SYSTEM}
    assert any(x.startswith("hmac:") for x in subjects)


def test_before_there_was_a_key_the_number_was_found(moto_dynamo: Any, clock: FakeClock) -> None:
    api = build_api(moto_dynamo, clock)
    leave_traces(api)
    assert known(api) == [VICTIM]
