"""The second story of the demo: fifty notices of a clinic in Sydney, by text and by call, with their updates checked.

The clinic's reasonable hours are the whole day, so that the demo works at any time. Some notices wait for two months:
the clinic moves five of them to today and cancels five. Two have expired, and one has no valid number. One phone is
busy twice. The function that begins runs is invoked at once, where its schedule would take a minute.

In the demo, the time of notices is compressed (`fast`): a day takes six seconds. So the busy phone is called again on
the next day, and on the day after. A notice to a phone without an answer expires. On a cloud with the machine's time,
the clinic asks for each further call, and no such notice is there.
"""

import base64
import json
import random
import time
import urllib.error
import uuid
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Any, Final
from zoneinfo import ZoneInfo

from infra.local import deploy, newsletter
from infra.local.accounts import ZONE
from infra.local.cloud import NOTICE_CLOCK, Cloud
from infra.local.console import LocalCloudError, Patience
from infra.local.deploy import PHONES
from infra.local.emulator import direct
from shared import contracts
from simulator.client import ControlClient

SPEED: Final = 14_400
"""Compressed time: a day in six seconds."""
NOTICES: Final = 50
MOVED: Final = 5
CANCELED: Final = 5
EXPIRED: Final = 2
INVALID: Final = 1
PAUSE_SECONDS: Final = 0.5
LATER: Final = 60
"""Days from today: longer than the demo takes in compressed time."""
BUSY: Final = "third"
"""The simulator's behaviour of a phone that answers at the third call."""
NEVER: Final = "busy"
"""That of a phone that never answers."""
END: Final = "29991231235959"
"""A range of updates ends by itself a few seconds ago."""
HOUR: Final = 3_600
FINAL: Final = ("SUCCESS", "PERM_FAIL", "CANCELED")
Record = dict[str, Any]


@dataclass(frozen=True, slots=True)
class Clinic:
    """A notifier that was made for this run.

    Attributes:
        cloud: where it is.
        name: its user name.
        password: the password of that user.
        template_id: what its notices say.
        since: when it was made: updates are read from here on.
    """

    cloud: Cloud
    name: str
    password: str
    template_id: str
    since: datetime

    def call(self, method: str, path: str, body: Any = None) -> Any:
        """Call the API as the notifier, by HTTP Basic, and return the JSON.

        Args:
            body: sent as JSON; None for no body.

        Raises:
            LocalCloudError: an answer that is not 2xx, with the problem's text.
        """
        pair = base64.b64encode(f"{self.name}:{self.password}".encode()).decode()
        wanted = {"Authorization": f"Basic {pair}"}
        try:
            address = f"{self.cloud.api}{path}"
            with direct(address, timeout=newsletter.API_SECONDS, body=body, method=method, headers=wanted) as answer:
                return json.load(answer)
        except urllib.error.HTTPError as error:
            raise LocalCloudError(f"{method} {path}: {error.code} {error.read().decode(errors='replace')}") from error

    def put(self, records: Sequence[Record]) -> None:
        """Upload records."""
        received = self.call("PUT", "/messages", list(records))["received"]
        if received != len(records):
            raise LocalCloudError(f"{len(records)} records were uploaded, {received} received")

    def updates(self) -> list[Record]:
        """Return all updates that are readable by now; the last seconds are not among them."""
        found: list[Record] = self.call("GET", f"/message_updates/{self.since:%Y%m%d%H%M%S}-{END}")
        return found

    def day(self, days: int) -> str:
        """Return the clinic's date so many days from today."""
        return f"{_now(self.cloud) + timedelta(days=days):%Y-%m-%d}"

    @property
    def hurries(self) -> bool:
        """Whether days pass in seconds."""
        return NOTICE_CLOCK in self.cloud.env


@dataclass(frozen=True, slots=True)
class Story:
    """The notices of one clinic.

    Attributes:
        clinic: whose they are.
        records: what was uploaded first, by id.
        wanted: the last status of each, by id.
        busy: the id of the notice whose phone is busy twice.
        unanswered: the id of the notice that expires after some calls; empty if there is none.
        started: Unix seconds.
    """

    clinic: Clinic
    records: Mapping[str, Record]
    wanted: Mapping[str, str]
    busy: str
    unanswered: str = ""
    started: float = field(default_factory=time.time)


def clinic(cloud: Cloud, hours: tuple[int, int] = (0, 24)) -> Clinic:
    """Make a notifier in Sydney, and a template that it sends by text and by call."""
    since = _now(cloud) - timedelta(seconds=1)
    name = f"clinic-{uuid.uuid4().hex[:12]}"
    body = {"name": name, "timezone": ZONE, "country": "AU", "reasonable_hours": {"from": hours[0], "to": hours[1]}}
    made = newsletter.call(cloud, "POST", "/notifiers", body)
    saying = {
        "name": "Reminder",
        "channel": "sms",
        "body": "Dear {{ first_name }}, the clinic expects you tomorrow.",
        "voice": {"say": "Hello {{ first_name }}. The clinic expects you tomorrow.", "language": "en-AU"},
    }
    template = newsletter.call(cloud, "POST", "/templates", saying)["template_id"]
    return Clinic(cloud, name, made["password"], template, since)


def begin(cloud: Cloud) -> Story:
    """Upload fifty notices, then five moves and five cancellations."""
    found = clinic(cloud)
    base = 491_570_000 + random.randrange(1_000) * 100  # noqa: S311 - numbers of this run, no secrets
    records = {f"N-{n:02}": record(found, n, base + n) for n in range(NOTICES)}
    names = list(records)
    moved, rest = names[:MOVED], names[MOVED:]
    canceled, rest = rest[:CANCELED], rest[CANCELED:]
    expired, rest = rest[:EXPIRED], rest[EXPIRED:]
    invalid, rest = rest[:INVALID], rest[INVALID:]
    busy, other = [name for name in rest if records[name]["delivery_method"] == "IVR"][:2]
    unanswered = [other] if found.hurries else []
    _change(records, (*moved, *canceled), delivery_date=found.day(LATER), delivery_expires=found.day(2 * LATER))
    _change(records, expired, delivery_date=found.day(-2), delivery_expires=found.day(0))
    _change(records, invalid, phone_number="0491")
    _change(records, unanswered, delivery_expires=found.day(4))
    wanted = dict.fromkeys(names, "SUCCESS") | dict.fromkeys(canceled, "CANCELED")
    wanted |= dict.fromkeys((*expired, *invalid, *unanswered), "PERM_FAIL")
    behave(cloud, {_number(records[busy]): BUSY} | {_number(records[x]): NEVER for x in unanswered})
    story = Story(found, records, wanted, busy, "".join(unanswered))
    found.put(list(records.values()))
    found.put([{**records[name], "action": "MESSAGE_UPDATE", "delivery_date": found.day(0)} for name in moved])
    found.put([{"id": name, "action": "MESSAGE_CANCEL"} for name in canceled])
    return story


def _change(records: Mapping[str, Record], names: Sequence[str], **fields: str) -> None:
    """Change the same fields of several records."""
    for name in names:
        records[name].update(fields)


def record(found: Clinic, n: int, number: int) -> Record:
    """Return a record of a notice for today, by text or by call in turn.

    Args:
        n: the notice's place in the list, from 0.
        number: of the phone, without the country code and the leading 0.
    """
    return {
        "id": f"N-{n:02}",
        "action": "MESSAGE_NEW",
        "first_name": f"Ann {n}",
        "phone_number": f"0{number}",
        "template_id": found.template_id,
        "delivery_method": "IVR" if n % 2 else "SMS",
        "delivery_date": found.day(0),
        "delivery_expires": found.day(LATER),
    }


def watch(story: Story) -> list[Record]:
    """Have runs begin until every notice has the status that it should have; return all updates.

    Where a day takes a day, a notice whose phone was busy is uploaded again as an update: the staff asks for a call.

    Raises:
        LocalCloudError: no update has come for `PATIENCE_SECONDS`.
    """
    patience = Patience()
    again = 0
    run = runner(story.clinic.cloud, "notices")
    while True:
        run()
        found = story.clinic.updates()
        failures = [x for x in found if x["id"] == story.busy and x["status"] == "TEMP_FAIL"]
        if len(failures) > again and not story.clinic.hurries:
            again = len(failures)
            asked = {"action": "MESSAGE_UPDATE", "first_name": f"Ann, again {again}"}
            story.clinic.put([{**story.records[story.busy], **asked}])
        if not faults(story, found):
            return found
        if patience.over(len(found)):
            raise LocalCloudError("the notices are not finished:\n  " + "\n  ".join(faults(story, found)))
        time.sleep(PAUSE_SECONDS)


def faults(story: Story, updates: Sequence[Record]) -> list[str]:
    """Return what is wrong with the updates and with the providers' log, in words; empty if all is as it should be."""
    wrong = _wrong_ends(story, updates)
    reached = [x for x in story.wanted if story.wanted[x] == "SUCCESS"]
    times = handed_over(story)
    expected = {_number(story.records[x]): 3 if x == story.busy else 1 for x in reached}
    if story.unanswered:
        expected[_number(story.records[story.unanswered])] = _failures(story.unanswered, updates)
    if not wrong and times != Counter(expected):
        wrong.append(f"the providers were called for {sum(times.values())} messages, not {sum(expected.values())}")
    return wrong


def _wrong_ends(story: Story, updates: Sequence[Record]) -> list[str]:
    """Return which notices do not have the one final status that they should have, in words."""
    finals: dict[str, list[str]] = {name: [] for name in story.wanted}
    for update in updates:
        if update["status"] in FINAL:
            finals[update["id"]].append(update["status"])
    return [
        f"{name}: {story.wanted[name]} once expected, found {', '.join(found) or 'nothing'}"
        for name, found in finals.items()
        if found != [story.wanted[name]]
    ]


def _failures(name: str, updates: Sequence[Record]) -> int:
    """Return how many calls for a notice have failed."""
    return sum(1 for x in updates if (x["id"], x["status"]) == (name, "TEMP_FAIL"))


def handed_over(story: Story) -> Counter[str]:
    """Return how often each number was handed to a provider."""
    cloud = story.clinic.cloud
    mine = {_number(x) for x in story.records.values()}
    log = ControlClient(cloud.env["SIMULATOR_URL"]).log(since=story.started - 1)
    return Counter(row["recipient"] for row in log if row["recipient"] in mine)


def summary(story: Story, updates: Sequence[Record]) -> str:
    """Return in words what the updates say."""
    said = Counter((x["status"], x["error"] or "") for x in updates)
    counts = ", ".join(f"{n} {status}{f' {error}' if error else ''}" for (status, error), n in sorted(said.items()))
    by = Counter(x["delivery_method"] for x in story.records.values() if story.wanted[x["id"]] == "SUCCESS")
    calls = _failures(story.unanswered, updates)
    lost = f", one expired after {calls} calls that nobody answered" if story.unanswered else ""
    return (
        f"{NOTICES} notices of a notifier in Sydney: {by['SMS']} delivered by text, {by['IVR']} by call, one at "
        f"its third call{lost}; {MOVED} moved to today, {CANCELED} canceled, {EXPIRED + INVALID} expired or invalid\n"
        f"updates: {counts}"
    )


def behave(cloud: Cloud, phones: Mapping[str, str]) -> None:
    """Choose what simulated phones do.

    Args:
        cloud: whose simulator has the phones.
        phones: number, E.164, to its behaviour as the simulator names it.
    """
    control = ControlClient(cloud.env["SIMULATOR_URL"])
    for credential in json.loads(PHONES.read_text(encoding="utf-8")):
        known = control.webhooks(credential["provider"], credential["id"])["behaviours"]
        control.webhooks(credential["provider"], credential["id"], behaviours={**known, **phones})


def fast() -> str:
    """Return the setting of a cloud whose notices have compressed time, from the last full hour on."""
    return f"{int(time.time()) // HOUR * HOUR}x{SPEED}"


def runner(cloud: Cloud, function: str) -> Callable[[], None]:
    """Return what runs a function now that a schedule starts each minute; it raises LocalCloudError if that fails."""
    port = int(cloud.env["AWS_ENDPOINT_URL"].rpartition(":")[2])
    functions = deploy.client("lambda", port)
    found = [
        name
        for stack in deploy.stacks(cloud.paths, port)
        for name, x in stack.of_type("AWS::Lambda::Function")
        if x.get("Handler") == contracts.HANDLERS[function]
    ]

    def run() -> None:
        done = functions.invoke(FunctionName=found[0], Payload=b"{}")
        if "FunctionError" in done:
            raise LocalCloudError(f"{function}: {done['Payload'].read().decode(errors='replace')[:500]}")

    return run


def _number(record: Record) -> str:
    """Return the number of a record, E.164."""
    return "+61" + str(record["phone_number"])[1:]


def _now(cloud: Cloud) -> datetime:
    """Return the clinic's time."""
    since, _, speed = cloud.env.get(NOTICE_CLOCK, "0x1").partition("x")
    return datetime.fromtimestamp(contracts.compressed(time.time(), int(since), int(speed)), ZoneInfo(ZONE))
