"""Opening a connection by a moment in time, what to call its failure, and how long there is until a moment."""

import socket
import ssl
from collections.abc import Callable

from shared.domain.times import Seconds


def dial(
    host: str, port: int, until: Seconds, now: Callable[[], float], secure: Callable[[socket.socket], socket.socket]
) -> socket.socket:
    """Connect to the first of a host's addresses that answers.

    DNS look-ups are the system resolver's and cannot be cut short; the time is checked again after them.

    Args:
        port: of the server.
        until: Unix seconds by which name, TCP and TLS must be done.
        now: the clock of `until`.
        secure: wraps the socket in TLS, or returns it as it is.

    Raises:
        OSError: what the last address failed with; see `connect_code`.
        UnicodeError: a label that no DNS name can have.
    """
    found = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)
    failure: OSError = TimeoutError()
    for n, (family, kind, protocol, _, address) in enumerate(found):
        left = until - now()
        if left <= 0:
            break
        sock = socket.socket(family, kind, protocol)
        try:
            sock.settimeout(left / (len(found) - n))  # a dead address leaves time for the next
            sock.connect(address)
            sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            sock.settimeout(max(0.001, until - now()))
            return secure(sock)
        except OSError as error:
            sock.close()
            failure = error
    raise failure


def connect_code(error: OSError | UnicodeError) -> str:
    """Return the stable snake_case code of a failure to connect."""
    if isinstance(error, TimeoutError):
        return "connect_timeout"
    if isinstance(error, ssl.SSLError):
        return "tls"
    if isinstance(error, (socket.gaierror, UnicodeError)):
        return "dns"
    if isinstance(error, ConnectionRefusedError):
        return "connection_refused"
    if isinstance(error, ConnectionError):
        return "connection_closed"
    return "unreachable"


def time_left(until: Seconds, now: Callable[[], float]) -> float:
    """Return the seconds until a moment, more than zero; TimeoutError if it has passed."""
    left = until - now()
    if left <= 0:
        raise TimeoutError
    return left
