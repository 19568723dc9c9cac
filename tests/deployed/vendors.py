"""Every simulated vendor takes messages and answers 500 or 504 in its own words; none of them may go out twice.

Who is answered so depends on the recipient alone, so that a run does not depend on luck for it.
"""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, Final

from simulator.client import ControlClient
from simulator.model import Mode
from tests.deployed.api import Api
from tests.deployed.owner import Owner

STATUSES: Final = (500, 504)
EACH: Final = 3
"""Messages by every vendor for each of these."""
LANES: Final = {
    "aws-sms": "aws-texts",
    "mailgun": "mailgun-main",
    "postmark": "postmark-main",
    "resend": "resend-main",
    "sendgrid": "rate-10",
    "ses": "ses-main",
    "twilio": "campaign-sms",
}
SMS: Final = frozenset({"aws-sms", "twilio"})


def people(vendor: str, status: int, tag: str) -> list[str]:
    """Return the recipients that a vendor answers with a status. `tag`: part of every address of a run."""
    if vendor in SMS:
        return [f"+491512{status}{n:04}" for n in range(EACH)]
    return [f"broken-{status}.{n}+{tag}@example.com" for n in range(EACH)]


@contextmanager
def breaking(control: ControlClient, tag: str) -> Iterator[None]:
    """Have every vendor take its messages of `people` and answer that it broke."""
    for vendor, lane in LANES.items():
        control.faults(vendor, lane, rules=[_rule(people(vendor, status, tag), status) for status in STATUSES])
    try:
        yield
    finally:
        for vendor, lane in LANES.items():
            control.faults(vendor, lane)


def _rule(recipients: Sequence[str], status: int) -> Mapping[str, Any]:
    """Return a fault that ends after as many calls as there are messages: a vendor that is asked again answers then."""
    first, last = recipients[0], recipients[-1]
    at = next(i for i, (a, b) in enumerate(zip(first, last, strict=True)) if a != b)
    pattern = f"{first[:at]}?{first[at + 1 :]}"
    return {"mode": "500", "status": status, "accept": True, "own": True, "recipients": pattern, "count": EACH}


@dataclass(frozen=True, slots=True)
class Sent:
    """A job, its recipients, and the path of its log."""

    job: str
    recipients: Sequence[str]
    log: str


def post(api: Api, tag: str) -> list[Sent]:
    """Send a message to all of `people`."""
    jobs: list[Sent] = []
    for vendor, lane in LANES.items():
        if vendor in SMS:
            everybody = [to for status in STATUSES for to in people(vendor, status, tag)]
            jobs.append(_campaign(api, lane, everybody))
            continue
        for status in STATUSES:
            to = people(vendor, status, tag)
            job = api.post(to, lane)
            jobs.append(Sent(job, to, f"/batches/{job}/logs"))
    return jobs


def _campaign(api: Api, lane: str, numbers: Sequence[str]) -> Sent:
    owner = Owner(api, lane, {"body": "Hello"}, channel="sms")
    with TemporaryDirectory() as folder:
        file = Path(folder) / "numbers.csv"
        file.write_text("\n".join(("recipient", *numbers)), encoding="utf-8")
        found = owner.read(owner.upload(file))
    assert (found["state"], found["accepted"]) == ("ready", len(numbers)), found
    return Sent(owner.send(), numbers, f"/campaigns/{owner.id}/messages")


def answered(control: ControlClient, since: float) -> Counter[tuple[str, int]]:
    """Return (vendor, status) → calls whose messages were taken and that were answered so in the vendor's own words."""
    return Counter(
        (call["provider"], call["status"])
        for call in control.calls(since=since)
        if call["fault"] == Mode.GATEWAY and call["status"] in STATUSES and call["accepted"]
    )
