"""The third story of the demo: a bad night of `acme`, 400 failures at once, which five people read in eight mails.

The failures of `acme/production` are posted in requests of ten, side by side, each repeated until it is answered. Three
events of `acme/development` follow. Then the windows are closed: their policy would wait for a minute.
"""

import re
import time
import uuid
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from typing import Any, Final

from infra.local import newsletter
from infra.local.cloud import Cloud
from infra.local.console import LocalCloudError, Patience
from simulator.client import ControlClient

FAILURES: Final = 400
POST: Final = 10
"""Events of a request."""
SIDE_BY_SIDE: Final = 4
TRIES: Final = 20
MOST_MAILS: Final = 8
LISTED: Final = 100
"""Events that a mail lists, by the policy's default."""
SENDER: Final = "Acme jobs <jobs@example.com>"
PREFIX: Final = "acme/"
PRODUCTION: Final = "production"
DEVELOPMENT: Final = "development"
REASON: Final = "The database refused the connection."
PAUSE_SECONDS: Final = 0.5
INBOX: Final = 2_000
_TASK: Final = re.compile(r"task: (import-\d+)")
_MORE: Final = re.compile(r"… and ([\d,]+) more")
Mail = dict[str, Any]


@dataclass(frozen=True, slots=True)
class Flood:
    """Events of one run.

    Attributes:
        cloud: where they are posted.
        prefix: of the batch keys, and of the policy.
        people: five addresses of this run.
        events: batch key → its events in the order of their timestamps.
        windows: ids of the windows that the events joined.
    """

    cloud: Cloud
    prefix: str
    people: Sequence[str]
    events: Mapping[str, Sequence[Mapping[str, Any]]]
    windows: set[str] = field(default_factory=set)

    @property
    def single(self) -> int:
        """How many mails there would be with one for each event and recipient."""
        return sum(len(event["recipients"]) for events in self.events.values() for event in events)

    def wanted(self) -> dict[tuple[str, str], list[str]]:
        """Return the tasks that each person reads about, by address and batch key."""
        found: dict[tuple[str, str], list[str]] = {}
        for key, events in self.events.items():
            for event in events:
                for person in event["recipients"]:
                    found.setdefault((person, key), []).append(event["data"]["task"])
        return found


def story(cloud: Cloud, prefix: str = PREFIX) -> Flood:
    """Store a policy, and make up the events of 400 failures and of three tests, for five people of this run.

    Args:
        cloud: where they are to be posted.
        prefix: of the policy and of both batch keys.
    """
    run = uuid.uuid4().hex[:6]
    ann, ben, cleo, dan, eve = people = [f"{name}+{run}@example.org" for name in ("ann", "ben", "cleo", "dan", "eve")]
    policy = {"from": SENDER, "window": 60, "max_age": 300, "timezone": "Europe/Berlin"}
    newsletter.call(cloud, "PUT", f"/digest-policies/{prefix}", policy)
    start = time.time() - FAILURES
    failed, succeeded = f"{prefix}{PRODUCTION}", f"{prefix}{DEVELOPMENT}"
    events: dict[str, list[dict[str, Any]]] = {failed: [], succeeded: []}
    for n in range(FAILURES):
        some = [(cleo, n % 2 == 0), (dan, n % 4 == 0), (eve, n % 10 == 0)]
        to = [ann, ben, *(x for x, also in some if also)]
        event = {"event_type": "task.failed", "recipients": to, "data": {"task": f"import-{n}", "reason": REASON}}
        events[failed].append({**event, "batch_key": failed, "timestamp": start + n, "event_id": f"{run}-{n}"})
    for n, person in enumerate((cleo, dan, eve), FAILURES):
        event = {"event_type": "task.succeeded", "recipients": [person], "data": {"task": f"import-{n}"}}
        events[succeeded].append({**event, "batch_key": succeeded, "timestamp": start + n, "event_id": f"{run}-{n}"})
    return Flood(cloud, prefix, people, events)


def post(flood: Flood) -> None:
    """Post all events, in requests of ten, four at a time."""
    posts = [events[i : i + POST] for events in flood.events.values() for i in range(0, len(events), POST)]
    with ThreadPoolExecutor(SIDE_BY_SIDE) as pool:
        for answer in pool.map(lambda events: _posted(flood.cloud, events), posts):
            flood.windows.update(piece["window_id"] for piece in answer["items"])


def _posted(cloud: Cloud, events: Sequence[Mapping[str, Any]]) -> Any:
    """Post events until they are answered: their ids keep each in one digest."""
    for n in range(TRIES):
        try:
            return newsletter.call(cloud, "POST", "/events", list(events))
        except (LocalCloudError, OSError) as fault:
            if n == TRIES - 1:
                raise LocalCloudError(f"events are not taken: {fault}") from fault
            time.sleep(PAUSE_SECONDS)
    raise AssertionError("the last try returns or raises")


def close(flood: Flood) -> None:
    """Close the windows, so that their digests are made now."""
    for window in flood.windows:
        newsletter.call(flood.cloud, "POST", f"/digests/{window}/close", {})


def watch(flood: Flood) -> list[Mail]:
    """Wait until every person has what they should have, and return the mails.

    Raises:
        LocalCloudError: no mail has come for `PATIENCE_SECONDS`.
    """
    patience = Patience()
    while True:
        found = mails(flood)
        wrong = faults(flood, found)
        if not wrong:
            return found
        if patience.over(len(found)):
            raise LocalCloudError("the digests are not as they should be:\n  " + "\n  ".join(wrong))
        time.sleep(PAUSE_SECONDS)


def mails(flood: Flood) -> list[Mail]:
    """Return the mails to the five people, as the page of the inbox shows them, oldest first."""
    control = ControlClient(flood.cloud.env["SIMULATOR_URL"])
    shown = control.json("GET", f"/inbox.json?limit={INBOX}")["messages"]
    mine = [x["seq"] for x in shown if x["to"] in flood.people]
    return [control.json("GET", f"/inbox/{seq}.json") for seq in sorted(mine)]


def faults(flood: Flood, found: Sequence[Mail]) -> list[str]:
    """Return what is wrong with the mails, in words; empty if each person has exactly theirs."""
    wrong = [f"there are {len(found)} mails, not {MOST_MAILS} at the most"] if len(found) > MOST_MAILS else []
    read: dict[tuple[str, str], list[Mail]] = {}
    for mail in found:
        read.setdefault((mail["to"], str(mail["subject"]).partition(":")[0]), []).append(mail)
    wanted = flood.wanted()
    wrong += [
        f"{person} has a mail about {key}, and should have none" for person, key in sorted(set(read) - set(wanted))
    ]
    for (person, key), tasks in wanted.items():
        got = read.get((person, key), [])
        if len(got) != 1:
            wrong.append(f"{person} has {len(got)} mails about {key}, not one")
        elif not _lists(got[0], tasks):
            wrong.append(f"{person}'s mail about {key} does not list exactly their events")
    return wrong


def _lists(mail: Mail, tasks: Sequence[str]) -> bool:
    """Return whether both parts of a mail list these tasks in this order, and count those that find no room."""
    more = len(tasks) - LISTED
    counted = [f"{more:,}"] if more > 0 else []
    return all(
        _TASK.findall(mail[part]) == list(tasks[:LISTED]) and _MORE.findall(mail[part]) == counted
        for part in ("html", "text")
    )


def summary(flood: Flood, found: Sequence[Mail]) -> str:
    """Return the results of the events in words."""
    events = sum(map(len, flood.events.values()))
    return (
        f"{events} events for {len(flood.people)} people became {len(found)} mails instead of {flood.single:,}; "
        "each person reads exactly theirs"
    )


def delivered(cloud: Cloud) -> str:
    """Post the events, close the windows, and check the mails; return the results of the events in words.

    Raises:
        LocalCloudError: a person does not have exactly their events.
    """
    flood = story(cloud)
    post(flood)
    close(flood)
    return summary(flood, watch(flood))
