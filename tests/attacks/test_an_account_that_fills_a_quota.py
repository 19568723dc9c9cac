"""An account claims, verifies and gives up the names below one wildcard TXT record, in a loop.

A provider has room for some thousands of domains, of all accounts together. The oracle is what the provider made.
"""

import pytest

from shared.domain.identities import MAX_MADE
from shared.domain.senders import record_name, record_value
from tests.api.conftest import Api
from tests.api.senders import signs


def prove(api: Api, domain: str) -> str:
    """Claim, verify and give up a domain; return its state at the provider."""
    api.services.dns().records[record_name(domain)] = [record_value(api.account)]  # type: ignore[attr-defined]
    assert api.call("POST", "/senders", {"domain": domain}).status in (200, 201)
    (found,) = api.call("POST", f"/senders/{domain}/verify").json["identities"]
    assert api.call("DELETE", f"/senders/{domain}").status == 200
    return str(found["state"])


@pytest.mark.slow
@pytest.mark.promise(9)
def test_an_account_has_a_bounded_number_of_domains_made_known_with_those_it_gave_up(api: Api) -> None:
    provider = signs(api)
    states = [prove(api, f"n{i}.example.net") for i in range(MAX_MADE + 3)]
    assert states == ["pending"] * MAX_MADE + ["refused"] * 3
    assert len(provider.known) == MAX_MADE
    assert prove(api, "n0.example.net") == "pending", "what is known already is no further one"
    del provider.known["n1.example.net"]
    assert prove(api, "n1.example.net") == "pending", "what is made again does not count twice"
