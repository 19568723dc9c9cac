"""The mails that the benchmarks send, and their recipients: HTML that compresses as mails do, and people with names."""

import random
from pathlib import Path
from typing import Final

from shared.domain.jobs.chunks import Recipient

FIRST_NAMES: Final = ("Maria", "José", "Anna", "Wei", "Fatima", "John", "Olga", "Luca", "Amara", "Noah", "Yuki", "Lena")
LAST_NAMES: Final = (
    "Nowak",
    "García",
    "Schmidt",
    "Li",
    "Haddad",
    "Okafor",
    "Rossi",
    "Sato",
    "Brown",
    "Jansen",
    "Silva",
)


def prose(count: int) -> str:
    """Return `count` bytes of a newsletter's HTML, which compresses as mails do, with a word that can be seen."""
    text = (Path(__file__).parents[2] / "tests/fixtures/newsletter/newsletter.html").read_text(encoding="utf-8")
    plain = "".join(c for c in text if c.isascii())
    seen = "" if count > plain.index("</h1>") else "<p>News</p>"
    return (seen + plain * (count // len(plain) + 1))[:count]


def recipients(count: int, seed: int = 3) -> tuple[Recipient, ...]:
    """Return recipients with a name and a value, as a newsletter has them."""
    source = random.Random(seed)
    out = []
    for i in range(count):
        first, last = source.choice(FIRST_NAMES), source.choice(LAST_NAMES)
        host = source.choice(("example.com", "example.org", "mail.example.net", "post.example.eu"))
        address = f"{first}.{last}{source.randrange(10_000)}.{i}@{host}".lower().encode("ascii", "replace").decode()
        address = address.replace("?", "e")
        out.append(Recipient(address, address, f"{first} {last}"))
    return tuple(out)
