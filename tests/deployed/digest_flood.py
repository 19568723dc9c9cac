"""A flood of events on a running local cloud, while providers fail and functions are killed with `kill -9`.

The API, the digest function, which closes windows and makes digests, and the senders die. Providers answer 502 or drop
calls, before or after they took them. Clients post until they have an answer.

In the end each pair of an event and a recipient is in the message of exactly one digest. The recipient's mail names the
event once, by the simulator's own inbox, or the log of the digest's job says why there may be none. No mail names an
event of others.
"""

import http.client
import json
import re
import threading
from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from typing import Any, Final
from urllib.parse import quote

from infra.local.processes import wait_for
from shared.contracts import HANDLERS, DueKind, DueMinute
from shared.domain.content.content import GROUP
from shared.domain.jobs.chunks import Chunk
from tests.deployed.drill import Drill, KillsAtAnswers, Report, Running, killing, troubled

CLIENTS: Final = 4
POST_SECONDS: Final = 180
"""Within which every post has an answer, on a busy machine and with processes that are killed."""
SETTLE_SECONDS: Final = 300
AIM_SECONDS: Final = 60
"""Within which the API has a process to kill, on a busy machine."""
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


class Flood(Drill):
    """Clients that post, what is killed meanwhile, and what came of it.

    Args:
        running: the cloud; its key may set policies.
        seed: of events and kills.
        events: how many.
        kills: of the API while clients post, of the digest function, and of senders.
    """

    def __init__(self, running: Running, seed: int, *, events: int, kills: int) -> None:
        super().__init__(running, seed)
        self.prefix = f"flood-{self.tag}/"
        self.wanted: dict[str, set[str]] = defaultdict(set)
        """Recipient → names of the events that they are to be informed of."""
        self.mails: dict[str, list[list[str]]] = defaultdict(list)
        """Recipient → names of the events in each of their mails."""
        self.messages: dict[tuple[str, str], list[str]] = defaultdict(list)
        """Recipient and event → states of the messages about it, by the logs of the digests' jobs."""
        self.windows: list[dict[str, Any]] = []
        """As the API shows them in the end."""
        self._events = 0
        self.report.figures["events"] = events
        self._kills = kills
        self._requests = list(self._drawn(events))
        victims = ["api"] * kills
        self._struck = KillsAtAnswers(len(self._requests), victims, self.rng, LATER, self._kill_soon)
        self._lock = threading.Lock()
        self._ended = threading.Event()

    def run(self) -> None:
        """Post, kill meanwhile, wait until every window is made and sent, and read all mails and logs."""
        answer = self.api.call("PUT", f"/digest-policies/{quote(self.prefix)}", POLICY)
        assert answer.status in (200, 201), answer
        answer = self.api.call("PUT", f"/suppressions/{quote(self._person(0), safe='')}", {"reason": "manual"})
        assert answer.status in (200, 201, 204), answer
        with (
            troubled(self.control, PLACES, rules=list(TROUBLE)),
            killing(partial(self.kill_function, "digest"), self._kills, self.rng, KILL_SECONDS) as killed,
            killing(self._kill_sender, self._kills, self.rng, KILL_SECONDS) as others_killed,
        ):
            self._post_all()
            answered = self.passed()
            killed.wait(MAKING_SECONDS)
            others_killed.wait(MAKING_SECONDS)
        if not self.until(self._settled, SETTLE_SECONDS, "not all is processed and sent"):
            self.report.wrong.append(f"the windows are {self.windows}")
        sent = self.passed()
        self._read()
        self._trace()
        ends = self._judge()
        said, mails = sum(map(len, self.wanted.values())), sum(map(len, self.mails.values()))
        self.report.check(f"{mails} mails for {said} pairs: that is no digest", holds=mails < said / 2)
        repeats = sum(x["duplicates"] for x in self.windows)
        self.report.figures |= {"mails": mails, "windows": len(self.windows)}
        self.report.figures |= {"events with their recipients": said, "events left out as repeats": repeats, **ends}
        self.report.figures |= {"s until every answer": answered, "s until all was sent": sent}

    def _drawn(self, count: int) -> Iterator[list[dict[str, Any]]]:
        """Yield requests of one to ten events, all of which have ids."""
        left = count
        while left:
            size = min(left, self.rng.randrange(1, 11))
            yield [self._event() for _ in range(size)]
            left -= size

    def _event(self) -> dict[str, Any]:
        name, self._events = f"e{self._events}", self._events + 1
        people = self.rng.sample(range(PEOPLE), self.rng.randrange(1, 5))
        recipients = [self._person(i) for i in people]
        for address in recipients:
            self.wanted[address].add(name)
        return {
            "event_type": self.rng.choice(("task_failed", "task_succeeded")),
            "batch_key": f"{self.prefix}{self.rng.choice(KEYS)}",
            "recipients": recipients,
            "data": {"name": name},
            "event_id": f"{self.tag}-{name}",
            "urgent": self.rng.random() < 0.03,
        }

    def _person(self, number: int) -> str:
        return f"p{number}+{self.tag}@example.com"

    # The clients

    def _post_all(self) -> None:
        """Post all requests, several at once."""
        with ThreadPoolExecutor(CLIENTS) as pool:
            try:
                for done in [pool.submit(self._post, x) for x in self._requests]:
                    done.result()
            finally:
                self._ended.set()

    def _post(self, events: Sequence[Mapping[str, Any]]) -> None:
        """Post events of one request, again and again until they are accepted."""
        if not wait_for(partial(self._is_answered, events), POST_SECONDS, pause=0.2):
            self.report.wrong.append("a post had no answer in time")

    def _is_answered(self, events: Sequence[Mapping[str, Any]]) -> bool:
        """Post events once; tell whether their client has a final answer."""
        try:
            answer = self.api.call("POST", "/events", list(events))
        except (OSError, http.client.HTTPException):
            return self._repeats()
        if answer.status == 202:
            accepted = sum(x["accepted"] for x in answer.body["items"])
            self.report.check(f"{accepted} of {len(events)} events accepted", holds=accepted == len(events))
            self._struck.answered(self._ended)
            return self.rng.random() >= LOST or self._repeats()
        if answer.status < 500 and answer.status != 429:
            self.report.wrong.append(f"a post was refused: {answer}")
            return True
        return self._repeats()

    def _repeats(self) -> bool:
        """Note that a post has to be repeated; return that it has no final answer."""
        with self._lock:
            self.report.add("posts repeated")
        return False

    # What goes wrong

    def _kill_soon(self, function: str) -> None:
        """Kill a function as soon as it has a process."""
        wait_for(partial(self.kill_function, function), AIM_SECONDS, pause=0.1)

    def _kill_sender(self) -> bool:
        """Kill the senders of one lane; tell whether there were some."""
        return self.kill("senders", self.inside.kill(self.rng.choice(PLACES)[1]))

    # What came of it

    def _settled(self) -> bool:
        """Tell whether all windows are processed and all jobs logged; look for overdue windows, as a sweep has done."""
        overdue = {"Records": [{"messageId": "overdue", "body": DueMinute(DueKind.DIGESTS).dumps()}]}
        name = self.inside.names[HANDLERS["digest"]]
        self.inside.functions.invoke(FunctionName=name, Payload=json.dumps(overdue).encode())
        found = [x for x in self.api.items("/digests") if x["batch_key"].startswith(self.prefix)]
        for key in [f"{self.prefix}{name}" for name in KEYS]:
            of_key = self.api.get(f"/digests?limit=1000&batch_key={quote(key, safe='')}")["items"]
            if {x["window_id"] for x in of_key} != {x["window_id"] for x in found if x["batch_key"] == key}:
                return False  # the list of all windows is a moment old
        self.windows = found
        if not found or any(x["state"] != "processed" for x in found):
            return False
        return all(self.api.get(f"/jobs/{x['job_id']}")["state"] == "LOGGED" for x in found if x["job_id"])

    def _read(self) -> None:
        """Read all mails of the flood from the simulator's inbox."""
        for line in self.control.json("GET", "/inbox.json?limit=10000")["messages"]:
            if self.tag in line["to"]:
                mail = self.control.json("GET", f"/inbox/{line['seq']}.json")
                self.mails[line["to"]].append(_NAMED.findall(mail["html"]))

    def _trace(self) -> None:
        """Note each event of each message, as the digest's job is stored, with its state as clients read it."""
        for job in [x["job_id"] for x in self.windows if x["job_id"]]:
            content, chunks = self.inside.records.content(job), dict[int, Chunk | None]()
            assert content is not None
            assert content.digest is not None
            names = [_NAMED.findall(line)[0] for line in content.digest.html]
            for line in self.api.items(f"/jobs/{job}/logs"):
                number, index = map(int, line["message"].split("."))
                if number not in chunks:
                    chunks[number] = self.inside.records.chunk(job, number)
                chunk = chunks[number]
                assert chunk is not None
                for n in content.digest.groups[int(chunk.recipients[index].values[GROUP])]:
                    self.messages[line["recipient"], names[n]].append(line["state"])

    def _judge(self) -> Counter[str]:
        """Compare mails, messages and events; return how many pairs had which end."""
        tell, ends = self.report.wrong.append, Counter[str]()
        for address, wanted in self.wanted.items():
            times = Counter(name for mail in self.mails[address] for name in mail)
            if twice := [name for name, n in times.items() if n > 1]:
                tell(f"{address}: events in two mails, or twice in one: {twice}")
            for name in sorted(wanted):
                said = self.messages[address, name]
                ends["in a mail" if times[name] else ", ".join(said)] += 1
                if len(said) != 1:
                    tell(f"{address}: {name} is in {len(said)} digests")
                elif not times[name] and said[0] not in UNSENT:
                    tell(f"{address}: {name} is in no mail, and its message is {said[0]}")
            if others := times.keys() - wanted:
                tell(f"{address}: events of others: {sorted(others)}")
        if strangers := self.mails.keys() - self.wanted.keys():
            tell(f"mails to people without an event: {sorted(strangers)}")
        collected = sum(x["events"] for x in self.windows)
        duplicates = sum(x["duplicates"] for x in self.windows)
        if collected - duplicates != self._events:
            tell(f"{collected} events in windows, {duplicates} of them repeats, of {self._events} posted")
        return ends


def run(running: Running, seed: int, *, events: int, kills: int) -> Report:
    """Post so many events, kill meanwhile, and account for each pair of an event and a recipient."""
    flood = Flood(running, seed, events=events, kills=kills)
    flood.run()
    return flood.report
