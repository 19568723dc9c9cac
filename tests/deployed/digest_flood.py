"""A flood of events on a running local cloud, while providers fail and functions are killed with `kill -9`.

The API, the digest function, which closes windows and makes digests, and the senders die. Providers answer 502 or drop
calls, before or after they took them. Clients post until they have an answer.

In the end each pair of an event and a recipient is in the message of exactly one digest. The recipient's mail names the
event once, by the simulator's own inbox, or the log of the digest's job says why there may be none. No mail names an
event of others.
"""

import argparse
import http.client
import random
import re
import sys
import threading
import time
import uuid
from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import partial
from typing import Any, Final
from urllib.parse import quote

from infra.local.processes import wait_for
from shared.contracts import HANDLERS
from shared.domain.content.content import GROUP
from shared.domain.jobs.chunks import Chunk
from simulator.client import ControlClient
from tests.deployed.api import Api
from tests.deployed.drill import KillsAtAnswers, amounts, judged, killing
from tests.deployed.inside import Inside, running
from tests.deployed.watch import answered

CLIENTS: Final = 4
POST_SECONDS: Final = 180
"""Within which every post has an answer, on a busy machine and with processes that are killed."""
SETTLE_SECONDS: Final = 300
KILL_SECONDS: Final = (2.0, 5.0)
"""Between two kills of the digest function, or of senders: they need time to start in between."""
PLACES: Final = (("sendgrid", "sendgrid-main"), ("mailgun", "mailgun-main"))
"""Providers and credentials of the route."""
TROUBLE: Final[Sequence[Mapping[str, Any]]] = (
    {"mode": "reset", "count": 1},
    {"mode": "500", "status": 502, "probability": 0.05},
    {"mode": "500", "status": 502, "probability": 0.05, "accept": True},
    {"mode": "reset", "probability": 0.03},
    {"mode": "accept_and_drop", "probability": 0.03},
    {"mode": "503", "probability": 0.05},
)
"""What happens to the first of their calls, and to some of the others."""
UNSENT: Final = frozenset({"unknown", "failed", "skipped"})
"""States of messages that may be in no mail."""
LATER: Final = 0.4
"""Seconds up to which a kill of the API waits: it is in the middle of a post then."""
LOST: Final = 0.1
"""Share of the answers that clients do not get: they post once more."""
MAKING_SECONDS: Final = 30
"""So long after the last post the digest function is killed at most: windows are made then."""
PEOPLE: Final = 9
KEYS: Final = ("production", "development", "a/b c")
POLICY: Final = {
    "route": [credential for _, credential in PLACES],
    "from": "Acme jobs <news@example.com>",
    "subject": "{{ count }} events of {{ batch_key }}",
    "template": "<ul>{{ events }}</ul>",
    "line": "<li>[{{ name }}]</li>",
    "window": 4,
    "near": 1,
    "extend": 1,
    "max_age": 8,
    "max_events": 40,
    "max_lines": 1000,
}
_NAMED: Final = re.compile(r"\[(e\d+)\]")


@dataclass(slots=True)
class Flood:
    """What was posted, and what came of it.

    Attributes:
        tag: part of all addresses and keys.
        wanted: recipient → names of the events that they are to be informed of.
        events: how many were posted.
        kills: processes that got the signal, by function.
        repeats: posts that had no answer, one of the 5xx, or one that was lost.
        mails: recipient → names of the events in each of their mails.
        messages: recipient and event → the states of the messages about it, by the logs of the digests' jobs.
        ends: how many pairs had which end.
        windows: as the API shows them in the end.
        post_seconds: until every post was answered.
        seconds: until every window was processed and sent.
        wrong: what breaks a promise.
    """

    tag: str
    wanted: dict[str, set[str]] = field(default_factory=lambda: defaultdict(set))
    events: int = 0
    kills: Counter[str] = field(default_factory=Counter)
    repeats: int = 0
    mails: dict[str, list[list[str]]] = field(default_factory=lambda: defaultdict(list))
    messages: dict[tuple[str, str], list[str]] = field(default_factory=lambda: defaultdict(list))
    ends: Counter[str] = field(default_factory=Counter)
    windows: list[dict[str, Any]] = field(default_factory=list)
    post_seconds: float = 0.0
    seconds: float = 0.0
    wrong: list[str] = field(default_factory=list)

    def text(self) -> str:
        """Return the figures."""
        mails, said = sum(map(len, self.mails.values())), sum(map(len, self.wanted.values()))
        repeats = sum(x["duplicates"] for x in self.windows)
        return (
            f"{self.events} events, {said} with their recipients, in {mails} mails of {len(self.windows)} windows; "
            f"{self.repeats} posts repeated, {repeats} events left out as repeats; {amounts(self.ends)}; "
            f"killed: {dict(self.kills)}; answered after {self.post_seconds:.0f} s, sent after {self.seconds:.0f} s"
        )

    def key(self, name: str) -> str:
        """Return a batch key of this flood."""
        return f"{self.prefix}{name}"

    def person(self, number: int) -> str:
        """Return the address of a recipient of this flood."""
        return f"p{number}+{self.tag}@example.com"

    @property
    def prefix(self) -> str:
        """Of its policy."""
        return f"flood-{self.tag}/"


class _Poster:
    """Clients that post until they have an answer, and kill the API while others post.

    Args:
        api: the cloud's.
        flood: what is posted.
        kills: of the API.
        rng: what is lost.
    """

    def __init__(self, api: Api, flood: Flood, kills: KillsAtAnswers, rng: random.Random) -> None:
        self._rng = rng
        self._api = api
        self._flood = flood
        self._kills = kills
        self._lock = threading.Lock()
        self._ended = threading.Event()

    def post_all(self, requests: Sequence[Sequence[Mapping[str, Any]]]) -> None:
        """Post all requests, several at once."""
        with ThreadPoolExecutor(CLIENTS) as pool:
            try:
                for done in [pool.submit(self._post, x) for x in requests]:
                    done.result()
            finally:
                self._ended.set()

    def _post(self, events: Sequence[Mapping[str, Any]]) -> None:
        """Post events of one request, again and again until they are accepted."""
        if not wait_for(partial(self._is_answered, events), POST_SECONDS, pause=0.2):
            self._flood.wrong.append("a post had no answer in time")

    def _is_answered(self, events: Sequence[Mapping[str, Any]]) -> bool:
        """Post events once; tell whether their client has a final answer."""
        try:
            answer = self._api.call("POST", "/events", list(events))
        except (OSError, http.client.HTTPException):
            return self._repeats()
        if answer.status == 202:
            accepted = sum(x["accepted"] for x in answer.body["items"])
            if accepted != len(events):
                self._flood.wrong.append(f"{accepted} of {len(events)} events accepted")
            self._kills.answered(self._ended)
            return self._rng.random() >= LOST or self._repeats()
        if answer.status < 500 and answer.status != 429:
            self._flood.wrong.append(f"a post was refused: {answer}")
            return True
        return self._repeats()

    def _repeats(self) -> bool:
        """Note that a post has to be repeated; return that it has no final answer."""
        with self._lock:
            self._flood.repeats += 1
        return False


def run(inside: Inside, api: Api, control: ControlClient, *, events: int, kills: int, seed: int) -> Flood:
    """Post events, kill meanwhile, wait until every window is made and sent, and read all mails and logs.

    Args:
        inside: the cloud.
        api: its API, with a key that may set policies.
        control: the simulator's.
        events: how many.
        kills: of the API while clients post, of the digest function, and of senders.
        seed: of events and kills.
    """
    rng = random.Random(seed)  # noqa: S311 - what happens
    flood = Flood(uuid.uuid4().hex[:8])
    answer = api.call("PUT", f"/digest-policies/{quote(flood.prefix)}", POLICY)
    assert answer.status in (200, 201), answer
    answer = api.call("PUT", f"/suppressions/{quote(flood.person(0), safe='')}", {"reason": "manual"})
    assert answer.status in (200, 201, 204), answer
    requests = list(_requests(flood, rng, events))
    kill = partial(_kill, inside, flood)
    poster = _Poster(api, flood, KillsAtAnswers(len(requests), ["api"] * kills, rng, LATER, kill), rng)
    settled = answered(lambda: _settled(inside, api, flood))
    began = time.monotonic()
    times = [random.Random(rng.random()) for _ in range(2)]  # noqa: S311 - as above
    strike = partial(_kill_sender, inside, flood, times[1])
    with (
        _troubled(control),
        killing(partial(kill, "digest"), kills, times[0], KILL_SECONDS) as killed,
        killing(strike, kills, times[1], KILL_SECONDS) as others_killed,
    ):
        poster.post_all(requests)
        flood.post_seconds = time.monotonic() - began
        killed.wait(MAKING_SECONDS)
        others_killed.wait(MAKING_SECONDS)
    if not wait_for(settled, SETTLE_SECONDS, pause=1):
        flood.wrong.append(f"not all is processed and sent: {flood.windows}")
    flood.seconds = time.monotonic() - began
    _read(control, flood)
    _trace(inside, api, flood)
    _judge(flood)
    return flood


@contextmanager
def _troubled(control: ControlClient) -> Iterator[None]:
    """Have the providers answer some calls badly."""
    for place in PLACES:
        control.faults(*place, rules=list(TROUBLE))
    try:
        yield
    finally:
        for place in PLACES:
            control.faults(*place)


def _kill_sender(inside: Inside, flood: Flood, rng: random.Random) -> bool:
    """Kill the senders of one lane; tell whether there were some."""
    killed = inside.kill(rng.choice(PLACES)[1])
    flood.kills["senders"] += killed
    return killed > 0


def _kill(inside: Inside, flood: Flood, function: str) -> bool:
    """Kill a function's processes; tell whether there were some."""
    killed = inside.kill_function(function)
    flood.kills[function] += killed
    return killed > 0


def _requests(flood: Flood, rng: random.Random, count: int) -> Iterator[list[dict[str, Any]]]:
    """Yield requests of one to ten events, all of which have ids."""
    left = count
    while left:
        size = min(left, rng.randrange(1, 11))
        yield [_event(flood, rng) for _ in range(size)]
        left -= size


def _event(flood: Flood, rng: random.Random) -> dict[str, Any]:
    name, flood.events = f"e{flood.events}", flood.events + 1
    people = rng.sample(range(PEOPLE), rng.randrange(1, 5))
    recipients = [flood.person(i) for i in people]
    for address in recipients:
        flood.wanted[address].add(name)
    return {
        "event_type": rng.choice(("task_failed", "task_succeeded")),
        "batch_key": flood.key(rng.choice(KEYS)),
        "recipients": recipients,
        "data": {"name": name},
        "event_id": f"{flood.tag}-{name}",
        "urgent": rng.random() < 0.03,
    }


def _settled(inside: Inside, api: Api, flood: Flood) -> bool:
    """Tell whether every window is processed and every job logged; have the digest function look, as every minute."""
    inside.functions.invoke(FunctionName=inside.names[HANDLERS["digest"]], Payload=b"{}")
    found = [x for x in api.items("/digests") if x["batch_key"].startswith(flood.prefix)]
    for name in KEYS:
        of_key = api.get(f"/digests?limit=1000&batch_key={quote(flood.key(name), safe='')}")["items"]
        if {x["window_id"] for x in of_key} != {x["window_id"] for x in found if x["batch_key"] == flood.key(name)}:
            return False  # the list of all windows is a moment old
    flood.windows = found
    if not found or any(x["state"] != "processed" for x in found):
        return False
    jobs = [api.get(f"/jobs/{x['job_id']}") for x in found if x["job_id"]]
    return all(x["state"] == "LOGGED" for x in jobs)


def _read(control: ControlClient, flood: Flood) -> None:
    """Read all mails of the flood from the simulator's inbox."""
    for line in control.json("GET", "/inbox.json?limit=10000")["messages"]:
        if flood.tag in line["to"]:
            mail = control.json("GET", f"/inbox/{line['seq']}.json")
            flood.mails[line["to"]].append(_NAMED.findall(mail["html"]))


def _trace(inside: Inside, api: Api, flood: Flood) -> None:
    """Note each event of each message, as the digest's job is stored, with the message's state as clients read it."""
    for job in [x["job_id"] for x in flood.windows if x["job_id"]]:
        content, chunks = inside.records.content(job), dict[int, Chunk | None]()
        assert content is not None
        assert content.digest is not None
        names = [_NAMED.findall(line)[0] for line in content.digest.html]
        for line in api.items(f"/jobs/{job}/logs"):
            number, index = map(int, line["message"].split("."))
            if number not in chunks:
                chunks[number] = inside.records.chunk(job, number)
            chunk = chunks[number]
            assert chunk is not None
            for n in content.digest.groups[int(chunk.recipients[index].values[GROUP])]:
                flood.messages[line["recipient"], names[n]].append(line["state"])


def _judge(flood: Flood) -> None:
    tell = flood.wrong.append
    for address, wanted in flood.wanted.items():
        times = Counter(name for mail in flood.mails[address] for name in mail)
        if twice := [name for name, n in times.items() if n > 1]:
            tell(f"{address}: events in two mails, or twice in one: {twice}")
        for name in sorted(wanted):
            said = flood.messages[address, name]
            flood.ends["in a mail" if times[name] else ", ".join(said)] += 1
            if len(said) != 1:
                tell(f"{address}: {name} is in {len(said)} digests")
            elif not times[name] and said[0] not in UNSENT:
                tell(f"{address}: {name} is in no mail, and its message is {said[0]}")
        if others := times.keys() - wanted:
            tell(f"{address}: events of others: {sorted(others)}")
    if strangers := flood.mails.keys() - flood.wanted.keys():
        tell(f"mails to people without an event: {sorted(strangers)}")
    collected = sum(x["events"] for x in flood.windows)
    duplicates = sum(x["duplicates"] for x in flood.windows)
    if collected - duplicates != flood.events:
        tell(f"{collected} events in windows, {duplicates} of them repeats, of {flood.events} posted")


def main() -> int:
    """Run a flood on the local cloud that is up, and report; 1 if a promise was broken."""
    parser = argparse.ArgumentParser(prog="python -m tests.deployed.digest_flood")
    parser.add_argument("--events", type=int, default=5_000)
    parser.add_argument("--kills", type=int, default=8, help="of the API, of the digest function, and of senders")
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args()
    return judged(lambda: run(*running(), events=options.events, kills=options.kills, seed=options.seed))


if __name__ == "__main__":
    sys.exit(main())
