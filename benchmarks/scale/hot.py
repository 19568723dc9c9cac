"""The hottest partitions of DynamoDB at the load of the goal: units a second by partition key, counted over moto.

The goal is 100 million messages a day for 10,000 accounts over 100 credentials, both of Zipf sizes. At noon there are
five times as many messages a second as on average. Three of ten are single, each with a POST of its own. A provider
posts each event by itself. Where a partition's units depend on how many messages come together, those that come one
by one are taken, which cost the most.

One partition takes 1,000 write units and 3,000 read units a second (DynamoDB's developer guide, "Best practices for
designing and using partition keys effectively"). The goal is half of both.
"""

import re
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import cache
from typing import Final

from benchmarks.counting import clinic, hooks
from benchmarks.rig import rows
from benchmarks.rig.mail import recipients
from benchmarks.rig.meter import Partition, Tally
from benchmarks.rig.rows import Row, counted, named
from benchmarks.rig.scenarios import BODY, campaign, lane_of, rate_of, warm, words
from benchmarks.rig.world import world
from shared.adapters.dynamo.credentials.lease_hints import SHARDS as NOTE_SHARDS
from shared.adapters.dynamo.credentials.switches import KNOWN
from shared.adapters.dynamo.keys import MINUTE_PARTS
from shared.domain.jobs.job import SHARDS

A_DAY: Final = 100_000_000
PEAK: Final = 5
ACCOUNTS: Final = 10_000
CREDENTIALS: Final = 100
SINGLE: Final = 0.3
"""Share of the messages that are single."""
WRITES: Final = 500.0
READS: Final = 1500.0
"""Units a second that no partition exceeds: half of what one takes."""
LEAST: Final = 25.0
"""Units a second from which on a partition is in the table."""
COUNT: Final = 10
LIST: Final = 5000
CHUNK: Final = 500
DELIVERED_S: Final = 60.0
"""Seconds after which an event about a message comes, on average."""
TRACKED: Final = 500
"""Events of one invocation of the tracker (`TRACK_BATCH` in infra/functions/dispatch.py)."""
LOGGED_S: Final = 1.0
"""Seconds in which the logger's event source fills a batch (`LOG_WINDOW_SECONDS` there)."""
SENDERS: Final = 450
"""Senders at once: those of a hundred credentials, by the functions that the stack makes for them."""
FOLDED: Final = 10
"""Ledgers that the counted fold has."""


def zipf(count: int) -> float:
    """Return the share of the largest of so many, of which the k-th has 1/k of the largest."""
    return 1 / sum(1 / k for k in range(1, count + 1))


@dataclass(frozen=True, slots=True)
class Rates:
    """Messages a second at noon: of everything, of the largest account, and of the busiest credential."""

    everything: float
    account: float
    credential: float

    @classmethod
    def of(cls, share: float, load: float = 1.0) -> "Rates":
        """Return those of a share of the messages, at so many times the load of the goal."""
        every = load * A_DAY / 86_400 * PEAK * share
        return cls(every, every * zipf(ACCOUNTS), every * zipf(CREDENTIALS))


SINGLES: Final = Rates.of(SINGLE)
BULK: Final = Rates.of(1 - SINGLE)


@dataclass(frozen=True, slots=True)
class Kind:
    """A kind of partition.

    Attributes:
        pattern: of its key.
        name: as the table shows it.
        rate: messages a second of the busiest one.
    """

    pattern: str
    name: str
    rate: Callable[[Rates], float]


def _account(x: Rates) -> float:
    return x.account


def _account_shard(x: Rates) -> float:
    return x.account / SHARDS


def _shard(x: Rates) -> float:
    return x.everything / SHARDS


def _part(x: Rates) -> float:
    return x.everything / len(MINUTE_PARTS)


def _listener(x: Rates) -> float:
    return x.account + x.everything / SHARDS


KINDS: Final = (
    Kind(r"A#account#STATS#\d\d", "`A#account#STATS#shard`", _account_shard),
    Kind(r"A#account#SUP", "`A#account#SUP`", _account),
    Kind(r"A#account", "`A#account`", _account),
    Kind(r"I#account", "`I#account`", _account),
    Kind(r"account#\w+", "`account#kind`", _account),
    Kind(r"P#[\w-]+", "`P#credential`", lambda x: x.credential),
    Kind(r"P#[\w-]+#HINTS#\d", "`P#credential#HINTS#shard`", lambda x: x.credential / NOTE_SHARDS),
    Kind(r"SYS", "`SYS`", lambda x: x.everything),
    Kind(r"HS#\d\d", "`HS#shard`", _listener),
    Kind(r"shared#(RUN|READY)#\d+", "`shared#RUN#shard`", _shard),
    Kind(r"J#job", "`J#job`", _account),
    Kind(r"J#minute#part", "`J#minute#part`", _part),
    Kind(r"HW#hook", "`HW#endpoint`", _account),
    Kind(r"HQ#hook", "`HQ#endpoint`", _account),
    Kind(r"HL#hook", "`HL#endpoint`", _account),
    Kind(r"HE#hook", "`HE#endpoint`", _account),
    Kind(r"HN#account", "`HN#account`", _account),
    Kind(r"hooks#\d+", "`hooks#shard`", _account),
    Kind(r"due#\d+", "`due#shard`", _account),
    Kind(r"Y#notifier", "`Y#notifier`", _account),
    Kind(r"Y#notifier#UPDATES#\d+", "`Y#notifier#UPDATES#day`", _account),
)
"""Those that many messages share. A message's own items, a chunk's details and a notice have no rate."""
_IDS: Final = (
    (r"acc_[a-z0-9]{12}", "account"),
    (r"hook_[a-z0-9]+", "hook"),
    (rf"Y#{clinic.NAME}", "Y#notifier"),
    (r"J#[a-z0-9]{26}u?", "J#job"),
    (r"J#\d+#[a-z0-9]", "J#minute#part"),
)


@dataclass(slots=True)
class Heat:
    """Units a second of the busiest partition of a kind. `by`: case → write and read units."""

    writes: float = 0.0
    reads: float = 0.0
    by: dict[str, tuple[float, float]] = field(default_factory=dict)

    def add(self, case: str, writes: float, reads: float) -> None:
        """Add those of another case: the same partition gets both."""
        self.writes, self.reads = self.writes + writes, self.reads + reads
        self.by[case] = writes, reads

    @property
    def times(self) -> float:
        """How many times the load of the goal it takes until DynamoDB refuses."""
        return min(2 * WRITES / self.writes if self.writes else 1e9, 2 * READS / self.reads if self.reads else 1e9)


Found = dict[tuple[str, str], Heat]
"""Table or index, and kind of partition → its heat."""


@dataclass(frozen=True, slots=True)
class Case:
    """Units of some messages. `own`: a job is one message's own, and no partition that others share."""

    name: str
    tally: Tally
    messages: int
    rates: Rates
    own: bool = True


def kind_of(partition: str) -> Kind | None:
    """Return the kind of a partition; None for one that belongs to a single thing of a moment."""
    for pattern, name in _IDS:
        partition = re.sub(pattern, name, partition)
    return next((x for x in KINDS if re.fullmatch(x.pattern, partition)), None)


def heats(cases: list[Case]) -> Found:
    """Return the heat of each kind of partition that many messages share."""
    out: Found = {}
    for case in cases:
        for (table, name), (rate, writes, reads) in _units(case).items():
            out.setdefault((table, name), Heat()).add(case.name, writes * rate, reads * rate)
    return out


def _units(case: Case) -> Mapping[tuple[str, str], tuple[float, float, float]]:
    """Return the rate of each kind's busiest partition, and its write and read units for a message."""
    sums: dict[tuple[str, str], tuple[float, float, float]] = {}
    for which, units in enumerate((case.tally.written_at, case.tally.read_at)):
        for (table, partition), amount in units.items():
            kind = kind_of(partition)
            if kind is None or (case.own and kind.pattern == "J#job"):
                continue
            rate, *both = sums.get((table, kind.name), (kind.rate(case.rates), 0.0, 0.0))
            both[which] += amount / case.messages
            sums[table, kind.name] = rate, both[0], both[1]
    return sums


def _singles() -> Case:
    """Single messages with an `Idempotency-Key`, each by itself, from the POST until its event is folded."""
    with world(rate=1500, spread=False) as w:
        from functions.api import services  # noqa: PLC0415 - as of functions

        process = services.build(w.deployment)

        def run(count: int, name: str) -> None:
            for i in range(count):
                headers = {"idempotency-key": f"{name}-{i}"}
                job = w.post(recipients(1), BODY, process=lambda: process, headers=headers)
                w.send(1)
                w.log(1)
                w.track(lane_of(w, job), [words(job, 0, range(1))])
                w.log(1)

        run(1, "warm")
        w.take()
        run(COUNT, "key")
        return Case("single messages", w.take(), COUNT, SINGLES)


def _campaign() -> tuple[Case, Case]:
    """A list that is sent; and an event about each message, in a post of its own."""
    with world(rate=rate_of(200)) as w:
        warm(w)
        job, sent = campaign(w, LIST)
        w.take()
        chunks = range(LIST // CHUNK)
        for lane in sorted({lane_of(w, job, n) for n in chunks}):
            w.take()
            mine = [n for n in chunks if lane_of(w, job, n) == lane]
            w.take()
            w.track(lane, [words(job, n, range(1)) for n in mine])
        joined = w.take()
        w.log(FOLDED)
        folded = w.take()
    return (
        Case("campaigns", sent, LIST, BULK, own=False),
        Case("their events", _events(joined, folded, len(chunks)), 1, BULK, own=False),
    )


def _events(joined: Tally, folded: Tally, ledgers: int) -> Tally:
    """Return what an event costs, of those of one large job that come together.

    A tracker gets so many events about it as are its share of all. They are about the chunks that were sent in the last
    minute. Those of one chunk share its write, and those of a second share its fold.

    Args:
        joined: the join of so many `ledgers`, counted.
        folded: the fold of the same, counted.
    """
    rate, every = BULK.account, BULK.everything + SINGLES.everything
    chunks = max(1.0, rate * DELIVERED_S / CHUNK)
    together = TRACKED * rate / every
    writes = chunks * (1 - (1 - 1 / chunks) ** together) / together
    folds = min(chunks / (rate * LOGGED_S), writes)
    out = Tally()
    for source, share in ((joined, writes / ledgers), (folded, folds / ledgers)):
        for into, units in ((out.written_at, source.written_at), (out.read_at, source.read_at)):
            for partition, amount in units.items():
                into[partition] += amount * share
    return out


@cache
def measured() -> Found:
    """Return the heat of each kind of partition."""
    heard, _ = hooks.shared(batch=True)
    unheard, _ = hooks.shared(batch=None)
    added = Tally(written_at=heard.written_at - unheard.written_at, read_at=heard.read_at - unheard.read_at)
    with clinic.clinic() as c:
        noticed, *_ = clinic.delivered(c, *clinic.PAYLOADS)
    found = heats(
        [
            _singles(),
            *_campaign(),
            Case("their webhooks", added, hooks.ROUNDS * hooks.TOGETHER, SINGLES),
            Case("notices", _alone(noticed), sum(clinic.PAYLOADS), SINGLES),
        ]
    )
    found["records", "`SYS`"] = Heat()  # by time, not by messages: its figure is that of each sender
    found["records", "`SYS`"].add("senders", 0.0, SENDERS / KNOWN)
    return found


def _alone(tally: Tally) -> Tally:
    """Return what only notices touch: their accounts and credentials are those of the single messages."""
    return Tally(written_at=Counter(dict(_noticed(tally.written_at))), read_at=Counter(dict(_noticed(tally.read_at))))


def _noticed(units: Mapping[Partition, int]) -> Iterator[tuple[Partition, int]]:
    for (table, partition), amount in units.items():
        if partition.startswith(("Y#", "due#")):
            yield (table, partition), amount


def measure() -> list[Row]:
    """Return the units a second of the hottest partitions at the load of the goal."""
    found = measured().values()
    return [
        counted(named(rows.HOTTEST, "write units a second"), max(x.writes for x in found), WRITES, "WRU"),
        counted(named(rows.HOTTEST, "read units a second"), max(x.reads for x in found), READS, "RRU"),
    ]


def markdown() -> str:
    """Return the table of docs/scale.md."""
    heads = ("table or index", "partition", "write units/s", "read units/s", "most of it from", "refused at load")
    head = [f"| {' | '.join(heads)} |", "|---" * len(heads) + "|"]
    shown = sorted(measured().items(), key=lambda x: x[1].times)
    return "\n".join([*head, *(_line(*place, x) for place, x in shown if max(x.writes, x.reads) >= LEAST)])


def _line(table: str, name: str, heat: Heat) -> str:
    case = max(heat.by, key=lambda x: max(heat.by[x][0] / WRITES, heat.by[x][1] / READS))
    cells = (f"`{table}`", name, f"{heat.writes:,.0f}", f"{heat.reads:,.0f}", case, f"{heat.times:.1f}")
    return f"| {' | '.join(cells)} |"
