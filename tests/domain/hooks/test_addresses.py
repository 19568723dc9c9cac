"""Which URLs and addresses may be called, against every trick of spelling that is known."""

import ipaddress
import string
from urllib.parse import urlsplit

import pytest
from hypothesis import given
from hypothesis import strategies as st

from shared.domain.hooks.addresses import (
    MAX_URL,
    PORTS,
    HookPlace,
    UrlRefused,
    check_url,
    may_call,
    may_call_all,
    parse_url,
)

ALLOWED = {
    "https://example.com": HookPlace("example.com", 443, True, "/", "example.com"),
    "https://Example.COM:443/a/b?c=d&e=%2f": HookPlace("example.com", 443, True, "/a/b?c=d&e=%2f", "example.com"),
    "HTTPS://hooks.example.com:8443?x": HookPlace("hooks.example.com", 8443, True, "/?x", "hooks.example.com:8443"),
    "https://xn--bcher-kva.example/": HookPlace("xn--bcher-kva.example", 443, True, "/", "xn--bcher-kva.example"),
    "https://1.2.example.c0m/@x:y": HookPlace("1.2.example.c0m", 443, True, "/@x:y", "1.2.example.c0m"),
}
REFUSED = (
    "http://example.com",
    "ftp://example.com",
    "https:example.com",
    "https:/example.com",
    "https:///example.com",
    "https://",
    "https:///",
    "//example.com",
    "example.com",
    "file:///etc/passwd",
    "gopher://example.com",
    "javascript:alert(1)",
    "https://example.com:80",
    "https://example.com:0",
    "https://example.com:99999",
    "https://example.com:",
    "https://example.com:44\uff13",
    "https://example.com:+443",
    "https://localhost",
    "https://localhost:8443/",
    "http://localhost:3000",
    "http://127.0.0.1",
    "https://127.0.0.1",
    "https://127.1",
    "https://2130706433",
    "https://0x7f000001",
    "https://0x7f.0.0.1",
    "https://0X7F.1",
    "https://0177.0.0.1",
    "https://017700000001",
    "https://1.1.1.1",
    "https://1.1.1.1.",
    "https://169.254.169.254/latest/meta-data",
    "https://example.0x",
    "https://[::1]",
    "https://[::ffff:127.0.0.1]",
    "https://[2606:4700::1111]",
    "https://[fe80::1%25eth0]/",
    "https://[::1].example.com",
    "https://user@example.com",
    "https://user:password@example.com",
    "https://@example.com",
    "https://example.com@127.0.0.1",
    "https://example.com:443@127.0.0.1/",
    "https://example.com\\@127.0.0.1",
    "https://127.0.0.1\\.example.com",
    "https://example.com#@127.0.0.1",
    "https://example.com/#",
    "https://example.com/a b",
    "https://example.com/\r\nHost: x",
    "https://example.com\t",
    " https://example.com",
    "https://example.com/é",
    "https://bücher.example",
    "https://①②⑦.⓪.⓪.①",
    "https://127。0。0。1",
    "https://example。com",
    "https://ex%61mple.com",
    "https://%31%32%37.0.0.1",
    "https://example..com",
    "https://.example.com",
    "https://example.com.",
    "https://-a.example.com",
    "https://a_b.example.com",
    "https://" + "a" * 64 + ".example.com",
    "https://" + "a." * 130 + "com",
    "https://example.com/" + "a" * MAX_URL,
    "",
)
LOCAL = {
    "http://localhost:3000/hooks": HookPlace("localhost", 3000, False, "/hooks", "localhost:3000"),
    "http://127.0.0.1": HookPlace("127.0.0.1", 80, False, "/", "127.0.0.1"),
    "http://[::1]:9/": HookPlace("::1", 9, False, "/", "[::1]:9"),
}
FORBIDDEN = (
    "0.0.0.0",  # noqa: S104
    "0.1.2.3",
    "10.0.0.1",
    "100.64.0.1",
    "100.127.255.255",
    "100.100.100.200",
    "127.0.0.1",
    "127.255.255.254",
    "169.254.169.254",
    "169.254.170.2",
    "172.16.0.1",
    "172.31.255.255",
    "192.0.0.1",
    "192.0.0.192",
    "192.0.2.1",
    "192.88.99.1",
    "192.168.1.1",
    "198.18.0.1",
    "198.51.100.1",
    "203.0.113.1",
    "224.0.0.1",
    "239.255.255.255",
    "240.0.0.1",
    "255.255.255.255",
    "::",
    "::1",
    "::127.0.0.1",
    "::8.8.8.8",
    "::ffff:127.0.0.1",
    "::ffff:7f00:1",
    "::ffff:169.254.169.254",
    "::ffff:0:127.0.0.1",
    "64:ff9b::10.0.0.1",
    "64:ff9b::a9fe:a9fe",
    "64:ff9b:1::8.8.8.8",
    "100::1",
    "2001::1",
    "2001:0:4136:e378:8000:63bf:3fff:fdd2",
    "2001:10::1",
    "2001:20::1",
    "2001:db8::1",
    "2002:7f00:1::",
    "2002:a9fe:a9fe::1",
    "2002:c0a8:101::",
    "2606:4700::5efe:7f00:1",
    "2606:4700::200:5efe:a9fe:a9fe",
    "3fff::1",
    "4000::1",
    "5f00::1",
    "fc00::1",
    "fd00:ec2::254",
    "fe80::1",
    "fe80::1%eth0",
    "2606:4700::1%eth0",
    "fec0::1",
    "ff02::1",
    "",
    "example.com",
    "127.1",
    "0177.0.0.1",
    "2130706433",
)
PUBLIC = (
    "1.1.1.1",
    "8.8.8.8",
    "9.255.255.255",
    "11.0.0.0",
    "100.63.255.255",
    "100.128.0.0",
    "172.15.255.255",
    "172.32.0.0",
    "192.167.255.255",
    "192.169.0.0",
    "223.255.255.255",
    "2606:4700::1111",
    "2a00:1450:4001::5efe",
    "::ffff:8.8.8.8",
    "64:ff9b::8.8.8.8",
    "2002:808:808::1",
)


@pytest.mark.parametrize("url", ALLOWED)
@pytest.mark.parametrize("local", [False, True])
def test_a_public_https_url_is_allowed(url: str, *, local: bool) -> None:
    assert parse_url(url, local=local) == ALLOWED[url]
    assert check_url(url, local=local) == ""


@pytest.mark.parametrize("url", REFUSED)
def test_every_other_url_is_refused_with_a_sentence(url: str) -> None:
    assert check_url(url, local=False).endswith((".", "`."))


@pytest.mark.parametrize("url", LOCAL)
def test_only_the_local_cloud_may_call_its_own_machine(url: str) -> None:
    assert parse_url(url, local=True) == LOCAL[url]
    with pytest.raises(UrlRefused):
        parse_url(url, local=False)


@pytest.mark.parametrize("url", ["http://example.com", "http://127.0.0.2", "https://localhost", "http://localhost:0"])
def test_the_local_cloud_may_call_nothing_else_by_http(url: str) -> None:
    assert check_url(url, local=True)


@pytest.mark.parametrize("address", FORBIDDEN)
def test_an_address_that_is_not_public_is_refused(address: str) -> None:
    assert not may_call(address)
    assert not may_call_all(["1.1.1.1", address])


@pytest.mark.parametrize("address", PUBLIC)
def test_a_public_address_may_be_called(address: str) -> None:
    assert may_call(address)


def test_a_name_without_addresses_may_not_be_called() -> None:
    assert not may_call_all([])


@pytest.mark.parametrize("address", ["127.0.0.1", "::1"])
def test_loopback_may_be_called_locally(address: str) -> None:
    assert may_call(address, local=True)
    assert not may_call("10.0.0.1", local=True)
    assert not may_call(f"::ffff:{address}", local=True)


@given(st.ip_addresses())
def test_what_may_be_called_is_global_for_python(
    address: ipaddress.IPv4Address | ipaddress.IPv6Address,
) -> None:
    if may_call(str(address)):
        mapped = address.ipv4_mapped if isinstance(address, ipaddress.IPv6Address) else None
        sixtofour = address.sixtofour if isinstance(address, ipaddress.IPv6Address) else None
        seen = mapped or sixtofour or address
        assert seen.is_global
        assert not seen.is_multicast


@given(st.ip_addresses(v=4))
def test_each_form_of_an_ipv4_address_is_judged_alike(address: ipaddress.IPv4Address) -> None:
    n = int(address)
    expected = may_call(str(address))
    assert may_call(f"::ffff:{address}") is expected
    assert may_call(str(ipaddress.IPv6Address((0x64FF9B << 96) | n))) is expected
    assert may_call(str(ipaddress.IPv6Address((0x2002 << 112) | (n << 80)))) is expected


ALPHABET = string.ascii_letters + string.digits + ".:/@#?[]%\\-_ \t\r\n0x。é\0"


@given(tail=st.text(ALPHABET, max_size=40), local=st.booleans())
def test_what_is_allowed_means_the_same_to_another_parser(tail: str, *, local: bool) -> None:
    url = f"https://{tail}"
    try:
        place = parse_url(url, local=local)
    except UrlRefused:
        return
    parts = urlsplit(url)
    assert parts.hostname == place.host
    assert (parts.port or 443) == place.port
    assert place.port in PORTS
    assert (parts.username, parts.password, parts.fragment) == (None, None, "")
    assert place.target.isascii()
    assert not set(place.target + place.header) & set("\r\n \t\0\\")
