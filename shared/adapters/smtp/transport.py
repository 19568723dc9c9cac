"""A transport that makes each SMTP transaction exactly once and says truly whether it may have been taken.

```
NotSent           no transaction: refused, dns, tls, a time-out, AUTH that the server does not offer
├── NoTime        the deadline had passed before the first byte
├── Interrupted   the server was lost in the midst of it, before anything of the final dot was written
└── Unfit         the server lacks SMTPUTF8 or 8BITMIME, or allows less bytes
AnswerLost        the final dot was written, wholly or in part, and no reply came: the server may have taken the message
```

Everything else is the server's own answer, a `Reply`. Source: RFC 5321, with STARTTLS (3207), AUTH (4954), PIPELINING
(2920), SIZE (1870), 8BITMIME (6152) and SMTPUTF8 (6531). Why not `smtplib`: docs/adr/0017.

A transaction is never repeated. There is only one second try. If the first command of a transaction finds a used
connection lost, or about to be closed (421), the connection is replaced. Nothing of the message was written then.

Codes (`str(error)`) are stable snake_case; addresses and passwords never appear in them.
"""

import base64
import socket
import ssl
import threading
from collections import deque
from typing import Final

from shared.adapters.http.connect import connect_code, dial
from shared.adapters.smtp.session import Lost, Session, encode
from shared.domain.content.smtp import Mail, Relay, Reply, SmtpStep, Tls, is_path
from shared.domain.content.streams import size_of, whole
from shared.domain.times import Seconds
from shared.ports import AnswerLost, Clock, Interrupted, NoTime, NotSent, Smtp, Unfit

CONNECT_TIMEOUT: Final = 3.0
"""Seconds for DNS, TCP and, if it is there from the first byte, TLS."""
IDLE_SECONDS: Final = 30.0
"""Use no connection again that was idle for longer: servers close theirs after 10 s (Postfix under stress) to 5 min."""
MAX_TRANSACTIONS: Final = 100
"""Of a connection: servers end theirs after 1,000 or so, and a new one finds a new server behind the name."""
MAX_IDLE: Final = 200
"""Idle connections kept per server; as many calls are in flight at most."""
MAX_GROUP: Final = 4096
"""Bytes of commands written before the first reply is read: no send buffer is smaller."""
RSET: Final = "RSET"
_JOIN: Final = 64 * 1024
"""Up to this size a message leaves in one piece; the parts of longer ones are not copied."""
_CLOSING: Final = 421
_GO_ON: Final = 354
_CHALLENGE: Final = 334
_FAILURE: Final = 400
_INTERIM: Final = 300

Command = tuple[SmtpStep, int, str]


class _Stale(Exception):
    """A connection that was used before is of no use any more; nothing of this message was written."""


class SmtpClient(Smtp):
    """A pool of connections with their AUTH done, the latest used first. Safe for any number of threads.

    Args:
        clock: by which deadlines are judged.
        connect_timeout: seconds for DNS and TCP.
        context: TLS settings; the default verifies certificates and names.
    """

    def __init__(
        self, clock: Clock, *, connect_timeout: float = CONNECT_TIMEOUT, context: ssl.SSLContext | None = None
    ) -> None:
        self._now = clock.now
        self._connect_timeout = connect_timeout
        self._context = context
        self._lock = threading.Lock()
        self._idle: dict[Relay, deque[Session]] = {}

    def submit(self, relay: Relay, mail: Mail, *, deadline: Seconds) -> Reply:
        """Make one transaction and return the reply that decided it.

        Raises:
            NoTime, NotSent, Interrupted, Unfit, AnswerLost: see the module's docstring.
            ValueError: an address cannot be written; nothing was sent.
        """
        for address in (*filter(None, (mail.sender,)), *mail.recipients):
            if not is_path(address):
                raise ValueError("an address must be one word without angle brackets, but for what is in quotes")
        session = self._reuse(relay)
        if session is not None:
            try:
                return self._transact(relay, session, mail, deadline)
            except _Stale:
                pass  # replaced by a new one: the message is still unknown to the server
        opened = self._open(relay, deadline)
        return opened if isinstance(opened, Reply) else self._transact(relay, opened, mail, deadline)

    def greet(self, relay: Relay, *, deadline: Seconds) -> Reply | None:
        """Make a connection that is ready for a transaction, and keep it. See `ports.Smtp`."""
        opened = self._open(relay, deadline)
        if isinstance(opened, Reply):
            return opened
        self._keep(relay, opened)
        return None

    def close(self) -> None:
        """Close all idle connections; the client can be used afterwards."""
        with self._lock:
            pools, self._idle = list(self._idle.values()), {}
        for pool in pools:
            for session in pool:
                session.close(politely=True)

    # Connections

    def _reuse(self, relay: Relay) -> Session | None:
        while True:
            with self._lock:
                pool = self._idle.get(relay)
                session = pool.pop() if pool else None
            if session is None:
                return None
            fresh = self._now() - session.idle_since <= IDLE_SECONDS
            if fresh and session.is_quiet():
                return session
            session.close(politely=not fresh)

    def _keep(self, relay: Relay, session: Session) -> None:
        session.idle_since = self._now()
        over: list[Session] = []
        with self._lock:
            for pool in self._idle.values():
                while pool and session.idle_since - pool[0].idle_since > IDLE_SECONDS:
                    over.append(pool.popleft())
            pool = self._idle.setdefault(relay, deque())
            full = session.used >= MAX_TRANSACTIONS or len(pool) >= MAX_IDLE
            (over if full else pool).append(session)
        for old in over:
            old.close(politely=True)

    def _open(self, relay: Relay, deadline: Seconds) -> Session | Reply:
        """Connect and introduce ourselves; the server's refusal, if it refuses. Every failure is NotSent."""
        now = self._now()
        if now >= deadline:
            raise NoTime("deadline")
        try:
            sock = dial(
                relay.host,
                relay.port,
                min(deadline, now + self._connect_timeout),
                self._now,
                lambda s: self._tls().wrap_socket(s, server_hostname=relay.host) if relay.tls is Tls.IMPLICIT else s,
            )
        except (OSError, UnicodeError) as error:
            if isinstance(error, TimeoutError) and self._now() >= deadline:
                raise NoTime("deadline") from None
            raise NotSent(connect_code(error)) from None
        return self._introduced(relay, sock, deadline)

    def _introduced(self, relay: Relay, sock: socket.socket, until: Seconds) -> Session | Reply:
        session = Session(sock, self._now)
        ready = False
        try:
            refused = self._introduce(session, relay, until)
            ready = refused is None
        except Lost as error:
            raise NotSent(str(error)) from None
        except OSError:  # not even its address is there any more
            raise NotSent("connection_reset") from None
        finally:
            if not ready:
                session.close()
        return refused or session

    def _introduce(self, session: Session, relay: Relay, until: Seconds) -> Reply | None:
        """Go through greeting, EHLO, STARTTLS and AUTH; the reply that ended it, None if the server is ready."""
        code, lines = session.reply(until)
        refused = _refusal(SmtpStep.GREETING, code, lines) or _ehlo(session, until)
        if refused:
            return refused
        if relay.tls is Tls.STARTTLS:
            if "STARTTLS" not in session.extensions:
                raise NotSent("starttls_not_offered")
            refused = _refusal(SmtpStep.STARTTLS, *session.command("STARTTLS", until))
            if refused:
                return refused
            session.secure(self._tls(), relay.host, until)
            refused = _ehlo(session, until)  # what was offered before may come from somebody in between
            if refused:
                return refused
        return _login(session, relay, until) if relay.username else None

    def _tls(self) -> ssl.SSLContext:
        with self._lock:
            if self._context is None:
                self._context = ssl.create_default_context()
            return self._context

    # Transactions

    def _transact(self, relay: Relay, session: Session, mail: Mail, deadline: Seconds) -> Reply:
        """Make the transaction; the connection is always kept or closed."""
        keep = True  # as yet nothing is written
        try:
            if self._now() >= deadline:
                raise NoTime("deadline")
            size = size_of(mail.data)
            if unfit := _unfit(session, mail, size):
                raise Unfit(unfit)
            keep = False
            reply = _envelope(session, _commands(session, mail, size), deadline)
            session.used += 1
            session.dirty = reply is not None
            if reply is None:
                reply = self._message(session, mail, deadline)
                session.dirty = reply.step is SmtpStep.DATA
            keep = reply.code != _CLOSING
        except Lost as error:
            raise Interrupted(str(error)) from None
        finally:
            if keep:
                self._keep(relay, session)
            else:
                session.close()
        return reply

    def _message(self, session: Session, mail: Mail, until: Seconds) -> Reply:
        """Write the message, its end apart: before that is written no server takes a message (RFC 5321 4.1.1.4)."""
        code, lines = session.command("DATA", until)
        if code >= _FAILURE:
            return _reply(SmtpStep.DATA, code, lines)
        if code != _GO_ON:
            raise Lost("malformed_reply")
        at_line = True
        for part in (whole(mail.data),) if size_of(mail.data) <= _JOIN else mail.data:
            session.write(_doubled(part, at_line=at_line), until)
            at_line = part.endswith(b"\n")
        if self._now() >= until:
            raise Lost("write_timeout")
        try:
            session.write(b".\r\n", until)
            code, lines = session.reply(until)
        except Lost as error:
            raise AnswerLost(str(error)) from None
        if _INTERIM <= code < _FAILURE:
            raise AnswerLost("malformed_reply")
        return _reply(SmtpStep.END, code, lines)


def _reply(step: SmtpStep, code: int, lines: list[str]) -> Reply:
    return Reply(step, code, " ".join(lines))


def _refusal(step: SmtpStep, code: int, lines: list[str], recipient: int = 0) -> Reply | None:
    """Return the reply if it refuses; Lost if it makes no sense here."""
    if _INTERIM <= code < _FAILURE:
        raise Lost("malformed_reply")
    return Reply(step, code, " ".join(lines), recipient) if code >= _FAILURE else None


def _ehlo(session: Session, until: Seconds) -> Reply | None:
    code, lines = session.command(f"EHLO {session.own_name}", until)
    session.extensions = {}
    for line in lines[1:]:
        name, *words = line.upper().replace("=", " ", 1).split() or [""]  # old servers say AUTH=LOGIN
        session.extensions.setdefault(name, []).extend(words)
    return _refusal(SmtpStep.EHLO, code, lines)


def _login(session: Session, relay: Relay, until: Seconds) -> Reply | None:
    """Do AUTH (RFC 4954) by PLAIN (RFC 4616) or LOGIN; the refusal, if there is one."""
    if not (session.is_tls or session.is_loopback):
        raise NotSent("auth_needs_tls")
    offered = session.extensions.get("AUTH", [])
    if "PLAIN" in offered:
        start, words = "AUTH PLAIN", [f"\0{relay.username}\0{relay.password}"]
        code, lines = session.command(f"{start} {_encoded(words[0])}", until)
    elif "LOGIN" in offered:
        words = [relay.username, relay.password]
        code, lines = session.command("AUTH LOGIN", until)
    else:
        raise NotSent("auth_not_offered")
    for word in words:
        if code != _CHALLENGE:
            break
        code, lines = session.command(_encoded(word), until)
    return _refusal(SmtpStep.AUTH, code, lines)


def _encoded(text: str) -> str:
    return base64.b64encode(text.encode("utf-8", "replace")).decode()


def _doubled(part: bytes, *, at_line: bool) -> bytes:
    """Return a part of a message with the dots doubled that begin its lines. `at_line`: it begins with a line."""
    doubled = part.replace(b"\n.", b"\n..") if b"\n." in part else part
    return b"." + doubled if at_line and part.startswith(b".") else doubled


def _unfit(session: Session, mail: Mail, size: int) -> str:
    """Return why the server cannot take this very message; empty if it can."""
    if mail.utf8 and "SMTPUTF8" not in session.extensions:
        return "smtputf8_not_offered"
    if mail.eight_bit and "8BITMIME" not in session.extensions:
        return "eight_bit_not_offered"
    limit = session.extensions.get("SIZE", [""])[:1] or [""]
    return "too_large" if limit[0].isdecimal() and 0 < int(limit[0]) < size else ""


def _commands(session: Session, mail: Mail, size: int) -> list[Command]:
    """Return what tells the server the envelope: RSET if a transaction was left open, MAIL, and RCPT for each."""
    options = f" SIZE={size}" if "SIZE" in session.extensions else ""
    options += " BODY=8BITMIME" if mail.utf8 or mail.eight_bit else ""
    options += " SMTPUTF8" if mail.utf8 else ""
    commands: list[Command] = [(SmtpStep.MAIL, 0, RSET)] if session.dirty else []
    commands.append((SmtpStep.MAIL, 0, f"MAIL FROM:<{mail.sender}>{options}"))
    commands += [(SmtpStep.RCPT, n, f"RCPT TO:<{address}>") for n, address in enumerate(mail.recipients)]
    return commands


def _envelope(session: Session, commands: list[Command], until: Seconds) -> Reply | None:
    """Tell the envelope, in one go if the server allows it; the first refusal, None if there is none.

    Raises:
        _Stale: a connection that was used before is lost, or about to be closed.
        Lost: a new connection is lost, or one is lost later.
    """
    together, writes = _writes(session, commands)
    refused: Reply | None = None
    for n, (step, recipient, line) in enumerate(commands):
        exchange = _first_exchange if n == 0 and session.used > 0 else _exchange
        code, texts = exchange(session, writes[n], line, until)
        refused = refused or _refusal(step, code, texts, recipient)
        if refused and (not together or code == _CLOSING):
            return refused
    return refused


def _writes(session: Session, commands: list[Command]) -> tuple[bool, list[bytes]]:
    """Return whether all commands are written before the first reply is read, and what is written before each reply."""
    lines = [encode(line) for _, _, line in commands]
    group = b"".join(lines)
    if "PIPELINING" in session.extensions and len(group) <= MAX_GROUP:
        return True, [group] + [b""] * (len(lines) - 1)
    return False, lines


def _exchange(session: Session, data: bytes, _line: str, until: Seconds) -> tuple[int, list[str]]:
    if data:
        session.write(data, until)
    return session.reply(until)


def _first_exchange(session: Session, data: bytes, line: str, until: Seconds) -> tuple[int, list[str]]:
    """Exchange the first command on a connection that was used before; _Stale if it is lost or about to be closed."""
    try:
        code, texts = _exchange(session, data, line, until)
    except Lost:
        raise _Stale from None
    if code == _CLOSING or (line == RSET and code >= _FAILURE):
        raise _Stale
    return code, texts
