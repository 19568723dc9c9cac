import pytest

from shared.domain.access.networks import MAX_NETWORKS, allows, network_of, networks_of, site


@pytest.mark.parametrize(
    ("text", "stored"),
    [
        ("192.0.2.0/24", "192.0.2.0/24"),
        (" 192.0.2.7 ", "192.0.2.7/32"),
        ("2001:DB8:0::/48", "2001:db8::/48"),
        ("2001:db8::1", "2001:db8::1/128"),
    ],
)
def test_a_network_has_one_form(text: str, stored: str) -> None:
    assert network_of(text) == stored


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("192.0.2.7/24", "write 192.0.2.0/24"),
        ("0.0.0.0/0", "every address"),
        ("::/0", "every address"),
        ("::ffff:192.0.2.0/120", "write an IPv4 network"),
        ("192.0.2", "no network"),
        ("192.0.2.0/33", "no network"),
        ("office", "no network"),
        ("", "no network"),
        ("192.0.2.0/24, 198.51.100.0/24", "no network"),
    ],
)
def test_what_is_no_network_is_refused_with_the_reason(text: str, said: str) -> None:
    with pytest.raises(ValueError, match=said):
        network_of(text)


def test_networks_are_sorted_once_each_and_bounded() -> None:
    assert networks_of(["198.51.100.7", "192.0.2.0/24", "198.51.100.7/32"]) == ("192.0.2.0/24", "198.51.100.7/32")
    many = [f"10.0.{i}.0/24" for i in range(MAX_NETWORKS)]
    assert len(networks_of(many)) == MAX_NETWORKS
    with pytest.raises(ValueError, match=f"at most {MAX_NETWORKS}"):
        networks_of([*many, "10.1.0.0/24"])


@pytest.mark.parametrize("source", ["", "somewhere", "192.0.2.7, 203.0.113.9"])
def test_an_address_that_cannot_be_read_is_in_no_network(source: str) -> None:
    assert not allows(("192.0.2.0/24",), source)
    assert allows((), source)
    assert site(source) == ""


@pytest.mark.parametrize(
    ("source", "kept"),
    [
        ("203.0.113.77", "203.0.113.0/24"),
        ("::ffff:203.0.113.77", "203.0.113.0/24"),
        ("2001:db8:1:2:3::4", "2001:db8:1::/48"),
    ],
)
def test_of_an_address_the_site_is_kept(source: str, kept: str) -> None:
    assert site(source) == kept
