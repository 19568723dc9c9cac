"""A call without the headers that a vendor wants is refused, so that a provider which forgets them is found here."""

from http.client import HTTPConnection
from urllib.parse import urlsplit

import pytest

from simulator import Simulator
from simulator.registry import providers
from tests.simulator.conftest import STANDARD


def status(sim: Simulator, name: str, headers: dict[str, str]) -> int:
    """Return what a call is answered that has these headers and no key."""
    url = urlsplit(sim.base_url(name, "bare"))
    connection = HTTPConnection(url.netloc, timeout=20)
    connection.request("POST", f"{url.path}/nothing", b"", headers)
    answer = connection.getresponse()
    answer.read()
    connection.close()
    return answer.status


@pytest.mark.parametrize("name", providers())
def test_each_header_that_a_vendor_wants_is_missed(sim: Simulator, name: str) -> None:
    wanted = {header.decode() for header in providers()[name](None).wants}
    assert wanted, "botocore and every SDK name themselves"
    assert status(sim, name, STANDARD) != 406
    for missing in STANDARD:
        rest = {header: value for header, value in STANDARD.items() if header != missing}
        assert (status(sim, name, rest) == 406) is (missing.lower() in wanted)
