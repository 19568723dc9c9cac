"""Local parts that SMTP writes in quotes (RFC 5321 4.1.2): `"john doe"@example.com`.

Two Japanese mobile operators gave out addresses with periods in a row, at the beginning and before the @, until 2009.
People still have them and write them without quotes. SMTP has no other form for them than the quoted one.
"""

import re
import unicodedata
from typing import Final

LOOSE_DOMAINS: Final = ("docomo.ne.jp", "ezweb.ne.jp")
"""Whose local parts may have periods anywhere; their subdomains too. The third operator never allowed it."""
IN_TEXT: Final = r'(?:\\"[^"\\]*+\\"|"(?:[^"\\]|\\.)*+")'
"""A regular expression of a quoted local part in a running text, also where the text writes its quotes as `\\"`."""
ENCODED: Final = "What is before the @ is encoded (RFC 2047). Write it as it is."
_WORD: Final = r"[A-Za-z0-9!#$%&'*+\-/=?^_`{|}~\u00a1-\ud7ff\ue000-\U0010ffff]"
_DOT_ATOM: Final = re.compile(rf"{_WORD}+(?:\.{_WORD}+)*")
_DOTTED: Final = re.compile(rf"(?:{_WORD}|\.)+")
_ENCODED: Final = re.compile(r"=\?[^?\s]+\?[bq]\?", re.IGNORECASE)
_QUOTED: Final = re.compile(r'"((?:[^"\\]|\\.)*+)"@(.*)')


def unquoted(spec: str) -> tuple[str, str] | None:
    """Return what is in the quotes of an address's local part, and its domain; None if it has no quoted local part."""
    found = _QUOTED.fullmatch(spec)
    return (re.sub(r"\\(.)", r"\1", found[1]), found[2]) if found else None


def is_quoted(address: str) -> bool:
    """Return whether the local part of a valid address is quoted."""
    return address.startswith('"')


def needs_quotes(content: str) -> bool:
    """Return whether a local part can be written in quotes only: every other one is written without (RFC 5321)."""
    return _DOT_ATOM.fullmatch(content) is None


def is_dotted(local: str) -> bool:
    """Return whether all that is wrong with a local part is where its periods are."""
    return needs_quotes(local) and _DOTTED.fullmatch(local) is not None and local.strip(".") != ""


def may_be_dotted(domain: str) -> bool:
    """Return whether a domain gave out local parts with periods anywhere."""
    return any(f".{domain.lower()}".endswith(f".{known}") for known in LOOSE_DOMAINS)


def is_encoded(content: str) -> bool:
    """Return whether a local part is, or has, an encoded word (RFC 2047): some programs read another address in it."""
    return _ENCODED.search(content) is not None


def quoted(content: str) -> str:
    """Return a local part in quotes, in its only form: quotes and backslashes are escaped, nothing else is."""
    escaped = content.replace("\\", "\\\\").replace('"', '\\"')
    return f'"{escaped}"'


def fault(content: str) -> str:
    """Return why what is in quotes is not accepted, as a sentence; empty if it is.

    An angle bracket or another @ is valid there (RFC 5321), but readers and servers take it for another address.
    """
    faults = (
        (not content.strip(), "There is nothing before the @."),
        (is_encoded(content), ENCODED),
        (re.search("[<>@]", content) is not None, "An @ or an angle bracket in quotes before the @ is not accepted."),
        (not all(map(_is_shown, content)), "The address has a character in quotes that is not accepted."),
    )
    return next((reason for wrong, reason in faults if wrong), "")


def bare(address: str) -> str:
    """Return an address, or its key, without the quotes of its local part, as its owner may write it."""
    found = unquoted(address)
    return "@".join(found) if found else address


def spellings(key: str) -> frozenset[str]:
    """Return an address's key and the other way to write it."""
    return frozenset({key, bare(key)})


def within(address: str) -> str:
    """Return a regular expression of an address in a running text, with and without the quotes of its local part."""
    return rf"(?<![\w.+=-])(?:{'|'.join(map(re.escape, sorted(spellings(address))))})(?![\w-]|\.\w)"


def _is_shown(character: str) -> bool:
    """Return whether a character is a blank, or one that is assigned and visible."""
    return character == " " or unicodedata.category(character)[0] in "LMNPS"
