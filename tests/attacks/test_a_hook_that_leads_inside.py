"""An account makes a webhook whose URL, name or redirect leads to an address inside: metadata, loopback, a private net.

Each URL meets the API's door; each answer of a resolver meets the client that really connects.
"""

from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest

from shared.adapters.http.guarded import GuardedClient
from tests import certificates
from tests.adapters.guarding import NAME, Net, post, unreachable
from tests.adapters.servers import answering, serving
from tests.api.conftest import Api
from tests.domain.hooks.test_addresses import FORBIDDEN, REFUSED
from tests.fakes.shifted import ShiftedClock

PUBLIC = "93.184.215.14"
METADATA = "169.254.169.254"
URL = "https://hooks.example.com/in"
ORDERS = {"events": ["message.sent"]}
CODES = ("url_not_allowed", "validation_failed")
INSIDE = [address for address in FORBIDDEN if address]
"""A resolver that answers nothing is a failure of DNS."""


@pytest.mark.promise(9)
def test_no_url_that_names_a_place_inside_is_stored(api: Api) -> None:
    own = api.call("POST", "/hooks", {**ORDERS, "url": URL}).json["hook_id"]
    for url in REFUSED:
        assert api.call("POST", "/hooks", {**ORDERS, "url": url}).code in CODES, url
        assert api.call("PATCH", f"/hooks/{own}", {"url": url}).code in CODES, url
    listed = api.call("GET", "/hooks").json
    assert [hook["url"] for hook in next(iter(listed.values()))] == [URL]


@pytest.fixture
def named(tmp_path: Path) -> Path:
    return certificates.self_signed(tmp_path, NAME)


Guarded = Callable[[Net], GuardedClient]


@pytest.fixture
def guarded(named: Path) -> Iterator[Guarded]:
    trusted = certificates.trusting(named)
    with ExitStack() as held:

        def make(net: Net) -> GuardedClient:
            client = GuardedClient(ShiftedClock(), resolve=net.resolve, connect=net.connect, context=trusted)
            held.callback(client.close)
            return client

        yield make


@pytest.mark.promise(9)
def test_no_address_inside_is_connected_to_whatever_the_resolver_answers(guarded: Guarded) -> None:
    for address in INSIDE:
        for answers in ([address], [PUBLIC, address], [address, PUBLIC]):
            net = Net(1, answers)
            assert (unreachable(guarded(net)), net.dialled) == ("address_refused", []), answers


@pytest.mark.promise(9)
def test_a_name_that_alternates_is_asked_once_for_each_connection(guarded: Guarded, named: Path) -> None:
    """Rebinding: the address that was checked is the one that is connected to, not a second answer."""
    with serving(
        answering(b"HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n"), context=certificates.serving(named)
    ) as far:
        net = Net(far.port, [PUBLIC], [METADATA], [METADATA])
        assert post(guarded(net)).status == 200
    assert (len(net.asked), net.dialled) == (1, [(PUBLIC, 443)])


@pytest.mark.promise(9)
@pytest.mark.parametrize("status", [301, 302, 303, 307, 308])
@pytest.mark.parametrize(
    "to", [f"http://{METADATA}/latest/", "//127.0.0.1:9001/", "/", "https://[::1]/", f"http://{NAME}/"]
)
def test_a_redirect_is_an_answer_and_no_address(guarded: Guarded, named: Path, status: int, to: str) -> None:
    answer = f"HTTP/1.1 {status} Moved\r\nLocation: {to}\r\nRefresh: 0; url={to}\r\nContent-Length: 0\r\n\r\n"
    with serving(answering(answer.encode()), context=certificates.serving(named)) as far:
        net = Net(far.port, [PUBLIC], [METADATA])
        assert post(guarded(net)).status == status
    assert (net.dialled, len(far.requests)) == ([(PUBLIC, 443)], 1)
