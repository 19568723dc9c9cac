"""Finished messages as they occur, and odd ones: what goes in comes out at the far end, byte for byte."""

import random
from importlib.util import find_spec
from pathlib import Path

from shared.domain.content.content import Content, Finished, Mailbox
from shared.domain.mails.message import MessageFacts, check, normalised

HEADER = b"From: Ann <ann@sender.example>\r\nTo: a list <list@sender.example>\r\nSubject: Hello\r\n"
MIME = b"MIME-Version: 1.0\r\n"

ODD = {
    "no body": HEADER,
    "empty body": HEADER + b"\r\n",
    "blank lines only": HEADER + b"\r\n\r\n\r\n\r\n",
    "lone dots": HEADER + b"\r\n.\r\n..\r\n.\r\n...\r\n.x\r\n.\r\n",
    "a dot that ends it": HEADER + b"\r\ntext\r\n.\r\n",
    "longest lines": HEADER + b"\r\n" + b"x" * 998 + b"\r\n." + b"y" * 996 + b"\r\n",
    "trailing spaces": HEADER + b"\r\n  a  \r\n\t\r\n \r\n",
    "From in the text": HEADER + b"\r\nFrom the start\r\n>From quoted\r\n",
    "folded oddly": b"Subject:\r\n\thello\r\n  \t there\r\nFROM:ann@sender.example\r\nx-empty:\r\n\r\nx\r\n",
    "repeated fields": b"Received: one\r\n" * 20 + HEADER + b"X-A: 1\r\nX-A: 2\r\n\r\nx\r\n",
    "signed": b"DKIM-Signature: v=1; a=rsa-sha256; d=sender.example; s=k;\r\n h=from:to;\r\n b=AbC/d+E=\r\n"
    + HEADER
    + b"\r\nx\r\n",
    "encoded words": b"Subject: =?iso-8859-1?q?=E4=20?= =?utf-8?B?w6Q=?=\r\nFrom: ann@sender.example\r\n\r\nx\r\n",
    "nested": HEADER
    + MIME
    + b'Content-Type: multipart/mixed; boundary="one"\r\n\r\npreamble\r\n--one\r\n'
    + b'Content-Type: multipart/alternative;\r\n boundary="one.two"\r\n\r\n--one.two\r\n\r\nplain\r\n--one.two\r\n'
    + b"Content-Type: text/html\r\n\r\n<p>.</p>\r\n--one.two--\r\n--one\r\nContent-Type: message/rfc822\r\n\r\n"
    + HEADER
    + b"\r\ninner\r\n--one\r\nContent-Type: application/pdf\r\nContent-Transfer-Encoding: base64\r\n\r\n"
    + b"JVBERi0xLjQ=\r\n--one--\r\nepilogue\r\n",
    "boundary like dots": HEADER + MIME + b"Content-Type: multipart/mixed; boundary=.\r\n\r\n--.\r\n\r\n.\r\n--.--\r\n",
}
EIGHT_BIT = {
    "8-bit text": HEADER + MIME + "Content-Type: text/plain; charset=utf-8\r\n\r\nGrüße\r\n.ü\r\n".encode(),
    "8-bit without a type": HEADER + b"\r\n\xe4\xf6\xfc\r\n",
}
UTF8 = {
    "header in UTF-8": "From: Jörg <ann@sender.example>\r\nSubject: Grüße\r\n\r\nx\r\n".encode(),
    "local part in UTF-8": "From: jörg@sender.example\r\n\r\nx\r\n".encode(),
}


def _library() -> dict[str, bytes]:
    """Return the messages of the standard library's own tests that are messages; none where they are not installed."""
    spec = find_spec("test")
    folder = Path(spec.origin).parent / "test_email" / "data" if spec and spec.origin else Path("-")
    found = {path.name: b"".join(normalised([path.read_bytes()])) for path in sorted(folder.glob("msg_*.txt"))}
    return {name: data for name, data in found.items() if isinstance(check([data]), MessageFacts) and data.isascii()}


def _generated(count: int = 40) -> dict[str, bytes]:
    """Return bodies of whatever makes servers stumble: dots, line ends and long lines in every order."""
    rng = random.Random(11)  # noqa: S311 - the same each time
    pieces = [b".", b"..", b"\r\n", b"\r\n.", b"\r\n\r\n", b" ", b"\t", b"-", b"--", b"x" * 70, b"=?", b"From ", b"a:"]
    return {
        f"generated {n}": HEADER + b"\r\n" + b"".join(rng.choices(pieces, k=rng.randrange(1, 60))) for n in range(count)
    }


SEVEN_BIT = {**ODD, **_library(), **_generated()}
CORPUS = {**SEVEN_BIT, **EIGHT_BIT, **UTF8}


def complete(data: bytes) -> bytes:
    """Return a message as servers store it: with the empty line after its header, and an end of its last line."""
    data = data if data.endswith(b"\r\n") else data + b"\r\n"
    return data if b"\r\n\r\n" in data or data.startswith(b"\r\n") else data + b"\r\n"


def content(data: bytes = b"", mail_from: str = "bounces@sender.example") -> Content:
    """Return the content of a mail as it is accepted."""
    finished = Finished(mail_from, "contents/m", "etag", len(data))
    return Content(Mailbox("ann@sender.example", "Ann"), "Hello", finished=finished)
