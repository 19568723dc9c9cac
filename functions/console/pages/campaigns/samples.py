"""A message and a list to begin with, so that newcomers need none of their own to look around."""

from collections.abc import Sequence
from typing import Final

from functions.console.pages.campaigns.drafting import Written
from shared.domain.channels.email import EMAIL

SUBJECT: Final = "{{ first_name }}, this is new in our garden"
BODY: Final = """<!doctype html>
<html lang="en">
<body style="margin:0;background:#f2f5f0;font-family:Georgia,serif;color:#22301f">
<div style="max-width:560px;margin:0 auto;padding:32px 24px;background:#ffffff">
  <p style="margin:0 0 24px;font-size:14px;color:#4b6043">The garden letter</p>
  <h1 style="margin:0 0 16px;font-size:28px;line-height:1.2">Good morning, {{ first_name }}</h1>
  <p style="margin:0 0 16px;font-size:17px;line-height:1.5">The bulbs are in. Your branch in {{ city }} has tulips,
  crocuses and a few rare lilies, while they last.</p>
  <p style="margin:0 0 32px"><a href="https://example.com/bulbs"
  style="display:inline-block;padding:12px 24px;background:#2f6b2f;color:#ffffff;text-decoration:none">See
  the bulbs</a></p>
  <p style="margin:0;font-size:13px;color:#4b6043">You get this letter because you are a member.
  <a href="{{ unsubscribe_url }}" style="color:#4b6043">Unsubscribe</a></p>
</div>
</body>
</html>
"""
NAME: Final = "The garden letter"
PEOPLE: Final = (
    ("Ada", "Turin"),
    ("Ben", "Leeds"),
    ("Chloé", "Lyon"),
    ("Dario", "Turin"),
    ("Emre", "Graz"),
    ("Fiona", "Leeds"),
    ("Grace", "Lyon"),
    ("Hana", "Graz"),
    ("Ines", "Turin"),
    ("Jonas", "Graz"),
)
FILE: Final = "sample-list.csv"


def letter(senders: Sequence[str]) -> Written:
    """Return the sample message. `senders`: domains and addresses that the account may send from."""
    first = next(iter(senders), "")
    sender = first if "@" in first or not first else f"letter@{first.removeprefix('.')}"
    return Written(EMAIL.name, name=NAME, sender=sender, subject=SUBJECT, body=BODY)


def people() -> str:
    """Return the sample list as a CSV file; one of its rows is no address, as in most lists."""
    rows = [f"{name.lower().replace('é', 'e')}@example.org,{name},{city}" for name, city in PEOPLE]
    return "\r\n".join(("recipient,first_name,city", *rows, "no address,Kim,Lyon", ""))
