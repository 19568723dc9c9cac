"""`{{ name | plain }}`: a value of which no program makes a link. Source: docs/templates.md, "Values of strangers".

Mail programs and phones make links of text that looks like an address: `evil.example`, `http://…`, `ann@evil.example`.
A name of a list can be such a text. A space keeps its parts apart, and is seen: a reader can tell what was written. A
mark that shows nothing would make a text message of UCS-2, and some programs leave it out before they look for links.
"""

import re
from typing import Final

_DOTS: Final = ".\u2024\u3002\uff0e\uff61"
"""The full stop, and the characters that a domain name may have in its place (UTS 46)."""
_DOT: Final = re.compile(rf"(?<=[^\s{_DOTS}])[{_DOTS}](?=\w)(?!(?<=\d.)\d)")
"""A dot before a letter or a digit; one between two digits is of a number."""
_COLON: Final = re.compile(r"(?<=[^\s:\uff1a])[:\uff1a](?=\S)(?!(?<=\d.)\d)")
"""The end of a scheme, as in `http://` and `tel:`; one between two digits is of a time."""
_NUMBERS: Final = re.compile(rf"\d++(?:[{_DOTS}]\d++){{3,}}+")
"""An IPv4 address, or more numbers."""
_ANY_DOT: Final = re.compile(rf"[{_DOTS}]")


def plain(value: str) -> str:
    """Return a value with a space where it could be an address, a URL or a domain; names and numbers stay as they are.

    Linear in its length.
    """
    apart = _NUMBERS.sub(lambda m: _ANY_DOT.sub(lambda dot: f"{dot[0]} ", m[0]), value)
    return _COLON.sub(lambda m: f"{m[0]} ", _DOT.sub(lambda m: f"{m[0]} ", apart))
