"""Messages and a list to begin with, so that newcomers need none of their own to look around."""

from collections.abc import Mapping, Sequence
from typing import Final

from functions.console.pages.campaigns.drafting import Written
from shared.domain.channels.email import EMAIL
from shared.frozen import dataclass


@dataclass(frozen=True, slots=True)
class SampleMessage:
    """A sample.

    Attributes:
        name: of the campaign.
        head: the line above all.
        title: the heading.
        text: paragraphs, as HTML.
        link: text and address of the button.
        why: why the recipient gets it.
        unsubscribe: whether it has a link to unsubscribe: messages that people asked for have none.
    """

    name: str
    subject: str
    head: str
    title: str
    text: str
    link: tuple[str, str]
    why: str
    unsubscribe: bool = True

    @property
    def body(self) -> str:
        """The message, as HTML."""
        words, address = self.link
        leave = '\n  <a href="{{ unsubscribe_url }}" style="color:#4b6043">Unsubscribe</a>' if self.unsubscribe else ""
        return f"""<!doctype html>
<html lang="en">
<body style="margin:0;background:#f2f5f0;font-family:Georgia,serif;color:#22301f">
<div style="max-width:560px;margin:0 auto;padding:32px 24px;background:#ffffff">
  <p style="margin:0 0 24px;font-size:14px;color:#4b6043">{self.head}</p>
  <h1 style="margin:0 0 16px;font-size:28px;line-height:1.2">{self.title}</h1>
  <p style="margin:0 0 16px;font-size:17px;line-height:1.5">{self.text}</p>
  <p style="margin:0 0 32px"><a href="{address}"
  style="display:inline-block;padding:12px 24px;background:#2f6b2f;color:#ffffff;text-decoration:none">{words}</a></p>
  <p style="margin:0;font-size:13px;color:#4b6043">{self.why}{leave}</p>
</div>
</body>
</html>
"""


LETTER: Final = SampleMessage(
    name="The garden letter",
    subject="{{ first_name }}, this is new in our garden",
    head="The garden letter",
    title="Good morning, {{ first_name }}",
    text="The bulbs are in. Your branch in {{ city }} has tulips,\n  crocuses and a few rare lilies, while they last.",
    link=("See\n  the bulbs", "https://example.com/bulbs"),
    why="You get this letter because you are a member.",
)
SAMPLES: Final[Mapping[str, SampleMessage]] = {
    "letter": LETTER,
    "event": SampleMessage(
        name="Open day",
        subject="You are invited: open day in {{ city }}",
        head="The garden",
        title='Dear {{ first_name | default: "friend of the garden" }}, come and see us',
        text="On {{ date }} from ten to five, our branch in {{ city }} is open to everybody.\n"
        "  Bring your questions: our gardeners answer them.",
        link=("Say that you come", "https://example.com/open-day"),
        why="You get this invitation because you are a member.",
    ),
    "reminder": SampleMessage(
        name="Reminder of an appointment",
        subject="Your appointment on {{ date }}",
        head="A reminder",
        title="{{ date }}, {{ city }}",
        text='Hello {{ first_name | default: "there" }},\n  we expect you on {{ date }} in {{ city }}.\n'
        "  If you cannot come, please tell us a day before.",
        link=("Change the appointment", "https://example.com/appointments"),
        why="You get this reminder because you have made an appointment.",
        unsubscribe=False,
    ),
    "receipt": SampleMessage(
        name="Receipt",
        subject="Your receipt of {{ date }}",
        head="A receipt",
        title="Thank you, {{ first_name }}",
        text="We have received {{ amount }} on {{ date }}.<br>\n  Branch: {{ city }}",
        link=("See your order", "https://example.com/orders"),
        why="You get this receipt because you have paid for an order.",
        unsubscribe=False,
    ),
}
"""Samples by the word in the address of their form."""
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


def sample(name: str, senders: Sequence[str]) -> Written:
    """Return a sample as its form has it.

    Args:
        name: of SAMPLES; the letter, if there is none of it.
        senders: domains and addresses that the account may send from.
    """
    found = SAMPLES.get(name, LETTER)
    first = next(iter(senders), "")
    sender = first if "@" in first or not first else f"letter@{first.removeprefix('.')}"
    return Written(
        EMAIL.name,
        name=found.name,
        sender=sender,
        subject=found.subject,
        body=found.body,
        unsubscribe=found.unsubscribe,
    )


def people() -> str:
    """Return the sample list as a CSV file; one of its rows is no address, as in most lists."""
    rows = [
        f"{name.lower().replace('é', 'e')}@example.org,{name},{city},{12 + n} May,€ {24 + n}.00"
        for n, (name, city) in enumerate(PEOPLE)
    ]
    return "\r\n".join(("recipient,first_name,city,date,amount", *rows, "no address,Kim,Lyon,22 May,€ 34.00", ""))
