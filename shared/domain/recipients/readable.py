"""Internationalised domains as people write them: `straße.example` is stored and sent as `xn--strae-oqa.example`."""

import re
from typing import Final

_PUNYCODE: Final = re.compile(r"(?<![\w.-])(?:[a-z0-9-]+\.)*xn--[a-z0-9-]+(?:\.[a-z0-9-]+)*", re.IGNORECASE)


def readable(text: str) -> str:
    """Return a text with each internationalised domain in it as people write it (IDNA 2008, RFC 5891).

    Letters of one script can look like those of another. So also show the text as it is stored. A name that no registry
    may give stays as it is.

    Args:
        text: an address, a domain, or a name with an address.
    """
    return _PUNYCODE.sub(lambda found: _decoded(found[0]), text) if "xn--" in text.lower() else text


def _decoded(domain: str) -> str:
    import idna  # noqa: PLC0415 - its tables take 10 ms, and few addresses need them

    try:
        return idna.decode(domain)
    except idna.IDNAError:
        return domain
