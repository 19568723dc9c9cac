"""The arguments of MAIL and RCPT: a path, and the parameters that clients add (RFC 5321, 1870, 3461, 4954, 6152, 6531).

Clients add more than the relay offers. A parameter that changes nothing here is checked and left out. That is the
identity of AUTH=, and the wishes of RET=, ENVID= and ORCPT= about notifications, which the API makes. NOTIFY= is
applied only to failures: success and delay are never notified. Any other parameter is refused.
"""

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Final

_PATH: Final = re.compile(
    r'[ \t]*(?:<[ \t]*((?:"(?:[^"\\]|\\.)*+"|[^"<>\s])*+)[ \t]*>|([^\s<>]++))(?=[ \t]|$)(.*)', re.DOTALL
)
_ROUTE: Final = re.compile(r"@[^:\s]*:")
"""Of hosts that a mail should pass: obsolete, and ignored (RFC 5321, Appendix C)."""
_XTEXT: Final = r"(?:[!-*,-<>-~]|\+[0-9A-F]{2})"
_UTF8: Final = r"(?:[^\x00-\x20\x7f])"
MAIL: Final[Mapping[str, re.Pattern[str]]] = {
    "SIZE": re.compile(r"=[0-9]{1,20}"),
    "BODY": re.compile(r"=(?:7BIT|8BITMIME)", re.IGNORECASE),
    "SMTPUTF8": re.compile(""),
    "AUTH": re.compile(rf"=(?:<>|{_XTEXT}{{1,500}})"),
    "RET": re.compile(r"=(?:FULL|HDRS)", re.IGNORECASE),
    "ENVID": re.compile(rf"={_XTEXT}{{1,100}}"),
}
"""Name of a parameter → its value with the equals sign."""
RCPT: Final[Mapping[str, re.Pattern[str]]] = {
    "NOTIFY": re.compile(r"=(?:NEVER|(?:SUCCESS|FAILURE|DELAY)(?:,(?:SUCCESS|FAILURE|DELAY)){0,2})", re.IGNORECASE),
    "ORCPT": re.compile(rf"=[A-Za-z0-9.-]{{1,64}};{_UTF8}{{1,500}}"),
}


@dataclass(frozen=True, slots=True)
class EnvelopePath:
    """A path of an envelope.

    Attributes:
        address: as the client wrote it; empty for `<>`.
        size: bytes of the mail as announced; 0: not announced.
        is_silent: the client wants no notification if this recipient is not reached (RFC 3461 4.1).
    """

    address: str
    size: int = 0
    is_silent: bool = False


@dataclass(frozen=True, slots=True)
class EnvelopeFault:
    """Why an argument is refused. `reply`: of SMTP."""

    reply: str


def path_of(keyword: str, text: str | None, known: Mapping[str, re.Pattern[str]]) -> EnvelopePath | EnvelopeFault:
    """Read an argument.

    Args:
        text: after the command; None: nothing was.
        known: the parameters that the command may have.
    """
    word, colon, rest = (text or "").partition(":")
    found = _PATH.fullmatch(rest) if colon and word.strip().upper() == keyword else None
    if found is None:
        return EnvelopeFault(f"501 5.5.4 Syntax: {keyword}:<address>")
    given = found[1] if found[1] is not None else found[2]
    address = _ROUTE.sub("", given, count=1) if given[:1] == "@" else given
    return _judged(address, found[3].split(), known)


def _judged(address: str, given: Iterable[str], known: Mapping[str, re.Pattern[str]]) -> EnvelopePath | EnvelopeFault:
    seen: dict[str, str] = {}
    for parameter in given:
        name, equals, value = parameter.partition("=")
        name = name.upper()
        form = known.get(name)
        if form is None:
            return EnvelopeFault("555 5.5.4 a parameter is not recognized")
        if name in seen or form.fullmatch(equals + value) is None:
            return EnvelopeFault(f"501 5.5.4 the parameter {name} is not valid")
        seen[name] = value.upper()
    silent = "FAILURE" not in seen.get("NOTIFY", "FAILURE")
    return EnvelopePath(address, int(seen.get("SIZE", 0)), silent)
