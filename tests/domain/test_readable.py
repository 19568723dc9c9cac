"""Internationalised domains: people see what they wrote, and what no registry gives stays as it is stored."""

import pytest

from shared.domain.recipients.addresses import Address, parse
from shared.domain.recipients.readable import readable


@pytest.mark.parametrize(
    "domain", ["straße.example", "bücher.example.org", "пример.example", "例え.テスト", "a.ßb.example"]
)
def test_an_address_is_shown_as_it_was_written(domain: str) -> None:
    stored = parse(f"ann@{domain}")
    assert isinstance(stored, Address)
    assert stored.address.isascii()
    assert readable(stored.address) == f"ann@{domain}"
    assert readable(stored.address.partition("@")[2]) == domain
    assert readable(f"Ann <{stored.address}>") == f"Ann <ann@{domain}>"


@pytest.mark.parametrize(
    "text",
    [
        "",
        "ann@example.org",
        "+14155550100",
        "xn--",
        "ann@xn--.example",
        "ann@xn--a.example",
        "ann@xn--zzzzzzzz99999.example",
        "ann@xn--scriptalert-0z8h.example",
        f"ann@xn--{'a' * 300}.example",
    ],
)
def test_what_is_no_internationalised_domain_stays(text: str) -> None:
    assert readable(text) == text
