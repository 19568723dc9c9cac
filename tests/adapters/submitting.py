"""A mail, and a way to submit it to a server on loopback."""

import pytest

from shared.adapters.smtp.transport import SmtpClient
from shared.domain.content.smtp import Mail, Relay, Reply, Tls
from tests.adapters.servers import Server

MAIL = Mail("news@sender.example", ("ann@example.com",), (b"Subject: x\r\n", b"\r\n.dot\r\nend\r\n"))
WIRE = b"Subject: x\r\n\r\n..dot\r\nend\r\n.\r\n"
SOON = 0.3
"""Seconds that a server is waited for that says nothing more."""

PIPELINING = pytest.mark.parametrize("extensions", ["", "PIPELINING"])


def plain(server: Server) -> Relay:
    return Relay("127.0.0.1", server.port, Tls.NONE)


def submit(client: SmtpClient, server: Server | Relay, mail: Mail = MAIL, seconds: float = 10) -> Reply:
    to = plain(server) if isinstance(server, Server) else server
    return client.submit(to, mail, deadline=client._now() + seconds)
