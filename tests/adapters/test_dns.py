"""Look-ups in DNS, against a resolver of the test's own."""

import socket
import threading
from collections.abc import Iterator
from typing import Final

import dns.message
import dns.rcode
import dns.rrset
import pytest

from shared.adapters import dns as adapter
from shared.adapters.dns import DnsResolver
from shared.ports import DnsUnanswered

RECORDS: Final = {
    "_posthaste.example.com.": ['"posthaste-account=acc_1"', '"two " "parts"'],
    "s1._domainkey.example.com.": ['"v=DKIM1; p=x"'],
}
BROKEN: Final = "broken.example.com."


class Server:
    """Answers TXT questions over UDP. `silent`: it takes them and says nothing."""

    def __init__(self) -> None:
        self.silent = False
        self._socket = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        self._socket.bind(("127.0.0.1", 0))
        self._thread = threading.Thread(target=self._serve, daemon=True)
        self._thread.start()

    @property
    def address(self) -> str:
        host, port = self._socket.getsockname()
        return f"{host}:{port}"

    def close(self) -> None:
        with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as last:
            last.sendto(b"", self._socket.getsockname())
        self._thread.join()
        self._socket.close()

    def _serve(self) -> None:
        while True:
            data, whence = self._socket.recvfrom(4096)
            if not data:
                return
            if not self.silent:
                self._socket.sendto(self._answer(dns.message.from_wire(data)).to_wire(), whence)

    def _answer(self, asked: dns.message.Message) -> dns.message.Message:
        answer = dns.message.make_response(asked)
        name = asked.question[0].name.to_text().lower()
        if name in RECORDS:
            answer.answer.append(dns.rrset.from_text(name, 60, "IN", "TXT", *RECORDS[name]))
        elif name == BROKEN:
            answer.set_rcode(dns.rcode.SERVFAIL)
        elif not any(known.endswith(f".{name}") for known in RECORDS):
            answer.set_rcode(dns.rcode.NXDOMAIN)
        return answer


@pytest.fixture
def server() -> Iterator[Server]:
    made = Server()
    yield made
    made.close()


def test_the_texts_of_a_name_are_read_with_their_parts_joined(server: Server) -> None:
    found = DnsResolver(server.address).texts("_posthaste.example.com")
    assert sorted(found) == ["posthaste-account=acc_1", "two parts"]


def test_a_name_without_texts_has_none(server: Server) -> None:
    resolver = DnsResolver(server.address)
    assert resolver.texts("example.com") == resolver.texts("none.example.org") == []


def test_a_name_exists_if_there_is_one_below_it(server: Server) -> None:
    resolver = DnsResolver(server.address)
    assert resolver.exists("_domainkey.example.com")
    assert resolver.exists("_posthaste.example.com")
    assert not resolver.exists("_domainkey.example.org")


def test_a_fault_is_no_answer(server: Server) -> None:
    resolver = DnsResolver(server.address)
    for ask in (resolver.texts, resolver.exists):
        with pytest.raises(DnsUnanswered):
            ask("broken.example.com")


def test_silence_is_no_answer(server: Server, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(adapter, "PATIENCE", 0.2)
    server.silent = True
    with pytest.raises(DnsUnanswered):
        DnsResolver(server.address).texts("_posthaste.example.com")
