"""The second story of the demo: fifty notices of a clinic in Sydney, by text and by call, with their updates checked.

The clinic's reasonable hours are the whole day, so that the demo works at any time. Some notices wait until tomorrow:
the clinic moves five of them to today and cancels five. Two have expired, and one has no valid number. One phone is
busy twice, and the clinic asks for another call each time. The function that begins runs is invoked at once, where its
schedule would take a minute.
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
from infra.local.cloud import Cloud
from infra.local.console import LocalCloudError
from infra.local.deploy import PHONES
from infra.local.emulator import direct
from shared import contracts
from simulator.client import ControlClient

NOTICES: Final = 50
MOVED: Final = 5
CANCELED: Final = 5
EXPIRED: Final = 2
INVALID: Final = 1
WATCH_SECONDS: Final = 90.0
PAUSE_SECONDS: Final = 0.5
BUSY: Final = "third"
"""The simulator's behaviour of a phone that answers at the third call."""
FINAL: Final = ("SUCCESS", "PERM_FAIL", "CANCELED")
Record = dict[str, Any]


@dataclass(frozen=True, slots=True)
class Clinic:
    """A notifier that was made for this run.

    Attributes:
        cloud: where it is.
        name: its user name.
        password: that goes with it.
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
            method: the HTTP method.
            path: with its query.
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
        """Return all updates that may be read by now; the last seconds are not among them."""
        until = datetime.now(ZoneInfo(ZONE)) + timedelta(minutes=1)
        found: list[Record] = self.call("GET", f"/message_updates/{self.since:%Y%m%d%H%M%S}-{until:%Y%m%d%H%M%S}")
        return found


@dataclass(frozen=True, slots=True)
class Story:
    """The notices of one clinic.

    Attributes:
        clinic: whose they are.
        records: what was uploaded first, by id.
        wanted: the last status of each, by id.
        busy: the id of the notice whose phone is busy twice.
        started: Unix seconds.
    """

    clinic: Clinic
    records: Mapping[str, Record]
    wanted: Mapping[str, str]
    busy: str
    started: float = field(default_factory=time.time)


def clinic(cloud: Cloud, hours: tuple[int, int] = (0, 24)) -> Clinic:
    """Make a notifier in Sydney, and a template that it sends by text and by call."""
    since = datetime.now(ZoneInfo(ZONE)) - timedelta(seconds=1)
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
    for name in (*moved, *canceled):
        records[name]["delivery_date"] = _day(1)
    for name in expired:
        records[name] |= {"delivery_date": _day(-2), "delivery_expires": _day(0)}
    for name in invalid:
        records[name]["phone_number"] = "0491"
    busy = next(name for name in rest if records[name]["delivery_method"] == "IVR")
    wanted = dict.fromkeys(names, "SUCCESS")
    wanted |= dict.fromkeys(canceled, "CANCELED") | dict.fromkeys((*expired, *invalid), "PERM_FAIL")
    behave(cloud, "+61" + str(records[busy]["phone_number"])[1:], BUSY)
    story = Story(found, records, wanted, busy)
    found.put(list(records.values()))
    found.put([{**records[name], "action": "MESSAGE_UPDATE", "delivery_date": _day(0)} for name in moved])
    found.put([{"id": name, "action": "MESSAGE_CANCEL"} for name in canceled])
    return story


def record(found: Clinic, n: int, number: int) -> Record:
    """Return a record of a notice for today, by text or by call in turn.

    Args:
        found: the clinic.
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
        "delivery_date": _day(0),
    }


def watch(story: Story) -> list[Record]:
    """Have runs begin until every notice has the status that it should have; return all updates.

    A notice whose phone was busy is uploaded again as an update, which the clinic's staff would do.

    Raises:
        LocalCloudError: that takes over `WATCH_SECONDS`.
    """
    end = time.monotonic() + WATCH_SECONDS
    again = 0
    run = runner(story.clinic.cloud, "notices")
    while True:
        run()
        found = story.clinic.updates()
        failures = [x for x in found if x["id"] == story.busy and x["status"] == "TEMP_FAIL"]
        if len(failures) > again:
            again = len(failures)
            asked = {"action": "MESSAGE_UPDATE", "first_name": f"Ann, again {again}"}
            story.clinic.put([{**story.records[story.busy], **asked}])
        if not faults(story, found):
            return found
        if time.monotonic() > end:
            raise LocalCloudError("the notices are not finished:\n  " + "\n  ".join(faults(story, found)))
        time.sleep(PAUSE_SECONDS)


def faults(story: Story, updates: Sequence[Record]) -> list[str]:
    """Return what is wrong with the updates and with the providers' log, in words; empty if all is as it should be."""
    finals: dict[str, list[str]] = {name: [] for name in story.wanted}
    for update in updates:
        if update["status"] in FINAL:
            finals[update["id"]].append(update["status"])
    wrong = [
        f"{name}: {story.wanted[name]} once expected, found {', '.join(found) or 'nothing'}"
        for name, found in finals.items()
        if found != [story.wanted[name]]
    ]
    reached = [x for x in story.wanted if story.wanted[x] == "SUCCESS"]
    times = handed_over(story)
    expected = {"+61" + str(story.records[x]["phone_number"])[1:]: 3 if x == story.busy else 1 for x in reached}
    if not wrong and times != expected:
        wrong.append(f"the providers were called for {sum(times.values())} messages, not {sum(expected.values())}")
    return wrong


def handed_over(story: Story) -> Counter[str]:
    """Return how often each number was handed to a provider."""
    cloud = story.clinic.cloud
    mine = {"+61" + str(x["phone_number"])[1:] for x in story.records.values()}
    log = ControlClient(cloud.env["SIMULATOR_URL"]).log(since=story.started - 1)
    return Counter(row["recipient"] for row in log if row["recipient"] in mine)


def summary(story: Story, updates: Sequence[Record]) -> str:
    """Return in words what the updates say."""
    said = Counter((x["status"], x["error"] or "") for x in updates)
    counts = ", ".join(f"{n} {status}{f' {error}' if error else ''}" for (status, error), n in sorted(said.items()))
    by = Counter(x["delivery_method"] for x in story.records.values() if story.wanted[x["id"]] == "SUCCESS")
    return (
        f"{NOTICES} notices of a notifier in Sydney: {by['SMS']} delivered by text, {by['IVR']} by call, one at "
        f"its third call; {MOVED} moved to today, {CANCELED} canceled, {EXPIRED + INVALID} expired or invalid\n"
        f"updates: {counts}"
    )


def behave(cloud: Cloud, number: str, behaviour: str) -> None:
    """Choose what a simulated phone does.

    Args:
        cloud: whose simulator has the phone.
        number: the phone's, E.164.
        behaviour: as the simulator names it.
    """
    control = ControlClient(cloud.env["SIMULATOR_URL"])
    for phone in json.loads(PHONES.read_text(encoding="utf-8")):
        known = control.webhooks(phone["provider"], phone["id"])["behaviours"]
        control.webhooks(phone["provider"], phone["id"], behaviours={**known, number: behaviour})


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


def _day(days: int) -> str:
    """Return the clinic's date so many days from today."""
    return f"{datetime.now(ZoneInfo(ZONE)) + timedelta(days=days):%Y-%m-%d}"
