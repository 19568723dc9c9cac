"""The fire drill: each alarm of the template fires when what it is for happens, alone, and is quiet again afterwards.

Our own figures are what the real handlers told over a world in memory; AWS's are datapoints of its metrics. An hour is
replayed minute by minute: a healthy one, and for each alarm one in which something is wrong.
"""

import json
from collections.abc import Callable
from typing import Any

import pytest

from functions.api.access.refused import FIGURES, count
from infra.monitoring.alarms import SINGLES_LATE_MS
from shared.contracts import DueKind
from shared.domain.accounts import KeyRefusal
from shared.domain.jobs.outcomes import Rejected, Throttled, Unknown
from shared.engine.walks.stuck_jobs import STUCK_AFTER_MS
from tests.fakes.faults import Crash, When
from tests.fakes.world import INVOCATION, LEASE_MARGIN
from tests.infra.template import Template, target, text
from tests.monitoring.cloudwatch import Alarm, Key, Series
from tests.monitoring.conftest import RATE, STAGE, Document, Functions, alarms_of, template_of

pytestmark = pytest.mark.slow
MINUTE = 60.0
EVERY_MINUTE = ("sweep", "hooks")
"""Services that report each minute, whether anything is sent or not."""
HOURS = 8
"""Looked at by the drill: the longest an alarm looks back are six hours, and two more for missing data."""
NOW = HOURS * 3600.0
HEALTHY: dict[tuple[str, str], float] = {
    ("AWS/SQS", "ApproximateAgeOfOldestMessage"): 20,
    ("AWS/SQS", "NumberOfMessagesDeleted"): 30,
    ("AWS/SQS", "ApproximateNumberOfMessagesVisible"): 0,
    ("AWS/Lambda", "Errors"): 0,
    ("AWS/Lambda", "Throttles"): 0,
    ("AWS/Lambda", "IteratorAge"): 900,
    ("AWS/ApiGateway", "5xx"): 0,
}
"""What AWS's metrics show each minute of a healthy hour."""


class Hours:
    """Eight hours of a deployment: healthy, but for what a test changes."""

    def __init__(self, alarms: dict[str, Alarm], healthy: list[Document]) -> None:
        self.keys = sorted({key for alarm in alarms.values() for key in alarm.metrics()}, key=str)
        self.healthy = healthy
        self.series = Series()

    def pass_by(
        self,
        start: float,
        end: float,
        *,
        told: Callable[[Document], bool] = lambda _: True,
        more: list[Document] | None = None,
        shown: dict[tuple[str, str, str], float] | None = None,
    ) -> None:
        """Let the minutes from start to end pass.

        Args:
            start: seconds.
            end: seconds.
            told: which of the healthy lines are told.
            more: what else is told each minute.
            shown: (metric, name of queue or function, or nothing) → what AWS shows of it instead.
        """
        at = start
        while at < end:
            for document in [d for d in self.healthy if told(d)] + (more or []):
                self.series.read(document, at)
            for namespace, name, dimensions in self.keys:
                if namespace != "Posthaste":
                    whose = next(iter(dict(dimensions).values()))
                    found = [v for (n, part, _), v in (shown or {}).items() if n == name and part in whose]
                    value = found[0] if found else HEALTHY[namespace, name]
                    self.series.put(namespace, name, dict(dimensions), at, value)
            at += MINUTE


@pytest.fixture
def hours(alarms: dict[str, Alarm], healthy: list[Document]) -> Hours:
    return Hours(alarms, healthy)


def firing(alarms: dict[str, Alarm], series: Series, now: float = NOW) -> set[str]:
    return {name for name, alarm in alarms.items() if alarm.fires(series, now)}


def test_healthy_hours_are_quiet(alarms: dict[str, Alarm], hours: Hours) -> None:
    hours.pass_by(0, NOW)
    for now in range(int(NOW) - 3600, int(NOW) + 1, 300):
        assert firing(alarms, hours.series, now) == set()


def test_hours_without_mail_are_quiet(alarms: dict[str, Alarm], hours: Hours) -> None:
    """CloudWatch has no datapoints of queues and functions that nobody uses; the sweeper runs all the same."""
    at = 0.0
    while at < NOW:
        for document in hours.healthy:
            if document["service"] in EVERY_MINUTE:
                hours.series.read(document, at)
        at += MINUTE
    assert firing(alarms, hours.series) == set()


# What is wrong → what each minute tells then, beside or instead of what is healthy

Wrong = Callable[[Functions], dict[str, Any]]


def _dead_provider(functions: Functions) -> dict[str, Any]:
    functions.world.providers["acme-one"].answer = Rejected("unauthorized", permanent=False, provider_down=True)
    functions.world.accept(9, route=("acme-one",))
    return {"more": functions.send()}


def _lost_answers(functions: Functions) -> dict[str, Any]:
    for i in range(0, 100, 10):
        functions.world.providers["acme-one"].script(f"r{i}@example.com", [Unknown("timeout")])
    functions.world.accept(100, route=("acme-one",))
    return {"more": functions.send(), "told": lambda d: d["service"] != "send"}


def _too_fast(functions: Functions) -> dict[str, Any]:
    """No sender does this (promise 2): what one tells of 500 messages is told again and again."""
    functions.world.accept(500, route=("acme-one",))
    told = functions.send()
    assert 1.15 * RATE * MINUTE < 21 * 500
    return {"more": told * 21 + _acknowledged(functions) * 21}


def _acknowledged(functions: Functions) -> list[Document]:
    world = functions.world
    job = world.jobs[-1]
    return functions.track("acme-one", [world.word(job, i, "delivered") for i in range(500)])


def _stuck(functions: Functions) -> dict[str, Any]:
    world = functions.world
    world.accept(30, route=("acme-one",))
    for queue in world.lanes.values():
        queue.lose()
    world.clock.advance(STUCK_AFTER_MS / 1000 + 1)
    return {"more": functions.sweep()}


def _late_singles(functions: Functions) -> dict[str, Any]:
    world = functions.world
    world.accept(1, route=("acme-one",))
    world.clock.advance(SINGLES_LATE_MS / 1000 + 1)
    return {"more": functions.sweep()}


def _crashed(functions: Functions) -> list[Document]:
    """A sender dies in its call, and the sweeper takes its lease over."""
    world = functions.world
    world.accept(3, route=("acme-one",))
    world.tap.arm_at("records.put_detail", When.AFTER)
    with pytest.raises(Crash):
        world.send("acme-one")
    for queue in world.lanes.values():
        queue.lose()
    world.clock.advance(INVOCATION + LEASE_MARGIN + 1)
    return functions.sweep()


def _forged(functions: Functions) -> dict[str, Any]:
    return {"more": functions.webhook(signature=False) * 2}


def _failing_sweeper(functions: Functions) -> dict[str, Any]:
    def fails(_deadline: float) -> None:
        raise RuntimeError("the store is away")

    functions.world.sweeper.sweep = fails  # type: ignore[method-assign,assignment]
    with pytest.raises(RuntimeError):
        functions.sweep()
    assert functions.heard() == []
    return {"told": lambda d: d["service"] != "sweep"}


def _failing_notices(functions: Functions) -> dict[str, Any]:
    def fails(_deadline: float) -> None:
        raise RuntimeError("the store is away")

    functions.deployment.noticing.sweeper.sweep = fails
    with pytest.raises(RuntimeError):
        functions.notices()
    return {"told": lambda d: d["service"] != "notices", "more": functions.overdue(DueKind.NOTICES)}


def _failing_digests(functions: Functions) -> dict[str, Any]:
    def fails(_deadline: float) -> None:
        raise RuntimeError("the store is away")

    functions.deployment.digesting.sweeper.sweep = fails
    assert functions.digest() == []
    return {"told": lambda d: d["service"] != "digest", "more": functions.overdue(DueKind.DIGESTS)}


def _failing_hooks(functions: Functions) -> dict[str, Any]:
    def fails(*, stop_at: float) -> int:
        raise RuntimeError(f"the store is away, until {stop_at}")

    functions.deployment.hooking.calls.wake = fails
    with pytest.raises(RuntimeError):
        functions.hooks()
    return {"told": lambda d: d["service"] != "hooks"}


def _late_digest(functions: Functions) -> dict[str, Any]:
    return {"more": functions.late()}


def _late_mail(functions: Functions) -> dict[str, Any]:
    return {"more": functions.late_mail()}


def _too_much_to_sweep(functions: Functions) -> dict[str, Any]:
    world = functions.world
    world.tap.delay = lambda: world.clock.advance(MINUTE)
    told = functions.sweep()
    world.tap.delay = lambda: None
    return {"more": told}


def _unread(functions: Functions) -> dict[str, Any]:
    return {"more": functions.ingest()}


def _shows(metric: str, part: str, value: float, **others: float) -> Wrong:
    shown = {(metric, part, ""): value} | {(name, part, ""): v for name, v in others.items()}
    return lambda _: {"shown": shown}


def _refused(*reasons: KeyRefusal) -> Wrong:
    def told(functions: Functions) -> dict[str, Any]:
        for reason in reasons:
            count(STAGE, reason)
        return {"more": functions.heard()}

    return told


DRILL: dict[str, tuple[float, Wrong]] = {
    "lane-stalled-1": (
        20,
        _shows("ApproximateAgeOfOldestMessage", "Laneacmeone", 1500, NumberOfMessagesDeleted=0),
    ),
    "feedback-age": (20, _shows("ApproximateAgeOfOldestMessage", "FeedbackWorkQueue", 2000)),
    "queue-age-1": (20, _shows("ApproximateAgeOfOldestMessage", "SchedulesWorkQueue", 2000)),
    "dead-letters-1": (5, _shows("ApproximateNumberOfMessagesVisible", "FeedbackWorkDead", 1)),
    "breaker-open-1": (5, _dead_provider),
    "unknown-share-email-sendgrid": (15, _lost_answers),
    "above-rate-email-sendgrid": (15, _too_fast),
    "unacknowledged-email-sendgrid": (180, lambda _: {"told": lambda d: d["service"] != "track"}),
    "bad-webhooks-1": (45, _forged),
    "sweeper-silent": (5, _failing_sweeper),
    "notices-silent": (10, _failing_notices),
    "digests-silent": (10, _failing_digests),
    "hooks-silent": (10, _failing_hooks),
    "hooks-late": (20, _shows("ApproximateAgeOfOldestMessage", "Hooks", 2000)),
    "digests-late": (5, _late_digest),
    "mails-late": (5, _late_mail),
    "sweep-incomplete": (5, _too_much_to_sweep),
    "jobs-stuck": (20, _stuck),
    "singles-late": (5, _late_singles),
    "ingest-failures": (10, _unread),
    "errors-functions-1": (15, _shows("Errors", "DispatchTrack", 1)),
    "throttles-functions-1": (15, _shows("Throttles", "DispatchTrack", 1)),
    "errors-senders-1": (15, _shows("Errors", "Laneacmeone", 1)),
    "throttles-senders-1": (15, _shows("Throttles", "Laneacmeone", 1)),
    "stream-lag": (15, _shows("IteratorAge", "DispatchLog", 120_000)),
    "api-errors": (15, _shows("5xx", "", 3)),
    "keys-elsewhere": (15, _refused(KeyRefusal.NETWORK)),
    "keys-refused": (30, _refused(KeyRefusal.WRONG, KeyRefusal.WRONG, KeyRefusal.REVOKED, *[KeyRefusal.EXPIRED] * 5)),
    "keys-busy": (30, _refused(*[KeyRefusal.LIMITED] * 30)),
    "limits-used-up": (15, lambda functions: {"more": functions.limit(100, default=True)}),
}
"""Alarm → minutes after which it has fired, and what is wrong."""
SAME = {
    "unknown-share-email-mailgun": "unknown-share-email-sendgrid",
    "above-rate-email-mailgun": "above-rate-email-sendgrid",
    "unacknowledged-email-mailgun": "unacknowledged-email-sendgrid",
}
"""Alarms that differ from another's in the provider alone."""


def test_every_alarm_is_drilled(alarms: dict[str, Alarm]) -> None:
    assert set(alarms) == {*DRILL, *SAME, *_further_groups(alarms)}


def _further_groups(alarms: dict[str, Alarm]) -> set[str]:
    """Return the second and further groups of alarms that are drilled by their first."""
    return {n for n in alarms if n.rpartition("-")[2].isdigit() and f"{n.rpartition('-')[0]}-1" in DRILL} - set(DRILL)


@pytest.mark.parametrize("name", DRILL)
def test_it_fires_alone_and_ends(name: str, alarms: dict[str, Alarm], hours: Hours, functions: Functions) -> None:
    minutes, wrong = DRILL[name]
    begins = NOW - minutes * MINUTE
    hours.pass_by(0, begins)
    assert firing(alarms, hours.series, begins) == set()
    hours.pass_by(begins, NOW, **wrong(functions))
    assert firing(alarms, hours.series) == {name}
    hours.pass_by(NOW, NOW + 8 * 3600)
    assert firing(alarms, hours.series, NOW + 8 * 3600) == set()


@pytest.mark.parametrize(("name", "like"), SAME.items())
def test_those_of_other_providers_are_the_same(name: str, like: str, alarms: dict[str, Alarm]) -> None:
    """But for the declared rate, by which the slots are divided."""
    here, there = (str(alarms[n].properties) for n in (name, like))
    same = here.replace("mailgun", "sendgrid").replace(f"{900 * 10.0:.4f}", f"{900 * RATE:.4f}")
    assert same == there


@pytest.mark.parametrize("kind", DueKind)
def test_work_that_is_overdue_and_served_is_no_alarm(
    kind: DueKind, alarms: dict[str, Alarm], hours: Hours, functions: Functions
) -> None:
    """A window that cannot be made is tried again and again: `digests-late` is about it."""
    hours.pass_by(0, NOW, more=functions.overdue(kind))
    assert firing(alarms, hours.series) == set()


def test_a_long_queue_that_is_worked_on_is_no_alarm(alarms: dict[str, Alarm], hours: Hours) -> None:
    """A million recipients at one a second wait for days."""
    hours.pass_by(0, NOW, shown={("ApproximateAgeOfOldestMessage", "Lane", ""): 90_000})
    assert firing(alarms, hours.series) == set()


def test_a_campaign_that_begins_just_before_the_hour_is_no_alarm(alarms: dict[str, Alarm], hours: Hours) -> None:
    """The words about its last messages come in the next hour."""
    hours.pass_by(0, NOW - 3660, told=lambda d: d["service"] in EVERY_MINUTE)
    hours.pass_by(NOW - 3660, NOW - 3600, told=lambda d: d["service"] != "track")
    assert alarms["unacknowledged-email-sendgrid"].value(hours.series, NOW - 7200, NOW - 3600) == 100.0
    hours.pass_by(NOW - 3600, NOW)
    assert firing(alarms, hours.series) == set()


def test_an_unreported_campaign_is_followed_for_two_hours(alarms: dict[str, Alarm], hours: Hours) -> None:
    hours.pass_by(0, NOW - 5 * 3600, told=lambda d: d["service"] in EVERY_MINUTE)
    hours.pass_by(NOW - 5 * 3600, NOW - 3 * 3600, told=lambda d: d["service"] != "track")
    hours.pass_by(NOW - 3 * 3600, NOW, told=lambda d: d["service"] in EVERY_MINUTE)
    assert firing(alarms, hours.series) == {"unacknowledged-email-sendgrid"}


def test_a_stranger_among_many_good_posts_is_no_alarm(
    alarms: dict[str, Alarm], hours: Hours, functions: Functions
) -> None:
    """Thirty in a quarter of an hour among six thousand: every provider's words are still heard."""
    (good,) = [x for x in functions.webhook() if "Posts" in x]
    hours.pass_by(0, NOW, more=[dict(good, Posts=[400.0]), *_forged(functions)["more"]])
    assert firing(alarms, hours.series) == set()


def test_one_dead_worker_is_no_alarm_where_thousands_are_sent(alarms: dict[str, Alarm], hours: Hours) -> None:
    """A timeout now and then is what networks do."""
    hours.pass_by(0, NOW)
    one = dict(hours.healthy[0], Unknown=[4.0], Accepted=[1.0])
    one["_aws"] = {
        "CloudWatchMetrics": [
            {
                "Namespace": "Posthaste",
                "Dimensions": [["stage", "service", "channel", "provider"]],
                "Metrics": [{"Name": "Unknown"}, {"Name": "Accepted"}],
            }
        ]
    }
    hours.series.read(one, NOW - 60)
    assert firing(alarms, hours.series) == set()


def _all_that_is_told(functions: Functions, healthy: list[Document]) -> set[Key]:
    """Return every series that the functions write in good and in bad minutes."""
    world = functions.world
    world.providers["acme-one"].script("r0@example.com", [Rejected("no", permanent=True)])
    world.providers["acme-one"].script("r1@example.com", [Throttled(60)])
    world.accept(2, route=("acme-one",))
    world.pacer.tat["acme-one"] = round((world.clock.now() + 7200) * 1e6)  # type: ignore[attr-defined]
    told = healthy + functions.send()
    world.clock.advance(61)  # the provider asked all to wait
    told += _crashed(functions) + functions.webhook(signature=False) + functions.ingest()
    told += functions.late() + functions.late_mail() + functions.call()
    told += functions.overdue(DueKind.DIGESTS) + functions.overdue(DueKind.NOTICES)
    told += _refused(*FIGURES)(functions)["more"] + functions.limit(100, default=True)
    for wrong in (_lost_answers, _stuck, _late_singles, _dead_provider):
        for queue in world.lanes.values():
            queue.lose()  # each is about its own pointer: those of what was wrong before come in any order
        told += wrong(functions)["more"]
    series = Series()
    for document in told:
        series.read(document, 0.0)
    return set(series.points)


def test_the_alarms_read_what_the_functions_write(
    alarms: dict[str, Alarm], functions: Functions, healthy: list[Document]
) -> None:
    """Under any other name or dimension CloudWatch has no data, which is no alarm."""
    read = {key for alarm in alarms.values() for key in alarm.metrics() if key[0] == "Posthaste"}
    assert {dict(dimensions)["stage"] for _, _, dimensions in read} == {STAGE}
    ours = {key for key in read if ("provider", "mailgun") not in key[2]}
    assert len(ours) >= 12
    assert ours <= _all_that_is_told(functions, healthy)


def test_limits_that_operators_set_for_an_account_and_those_that_are_near_are_no_alarm(functions: Functions) -> None:
    for share, default in ((80, True), (80, False), (100, False)):
        (told,) = functions.limit(share, default=default)
        assert told["LimitsReached"] == [1]
        assert "DefaultLimitsUsedUp" not in told


def test_a_stage_that_is_down_is_heard_beside_one_that_runs(alarms: dict[str, Alarm], hours: Hours) -> None:
    """The other stage's sweeper is no sign of life of this one."""
    hours.pass_by(0, NOW)
    assert firing(alarms, hours.series) == set()
    other = alarms_of(template_of("prod"), "prod")
    assert other.keys() == alarms.keys()
    assert firing(other, hours.series) == {"sweeper-silent", "hooks-silent"}


def test_the_dashboard_shows_what_the_functions_tell(
    stack: Template, functions: Functions, healthy: list[Document]
) -> None:
    """Names and dimensions alike: CloudWatch takes any, and shows an empty graph."""
    (board,) = stack.of("CloudWatch::Dashboard").values()
    widgets = json.loads(text(board["DashboardBody"]))["widgets"]
    rows = [row for w in widgets for row in w["properties"].get("metrics", []) if row[0] == "Posthaste"]
    shown = {(row[0], row[1], frozenset(zip(row[2:-1:2], row[3:-1:2], strict=True))) for row in rows}
    assert {x for x in shown if ("provider", "mailgun") not in x[2]} <= _all_that_is_told(functions, healthy)
    assert len(shown) > 12


def test_every_metric_of_aws_names_what_the_template_has(alarms: dict[str, Alarm], stack: Template) -> None:
    for alarm in alarms.values():
        for namespace, _, dimensions in alarm.metrics():
            if namespace != "Posthaste":
                ((_, whose),) = dimensions
                assert target({"Ref": whose.strip("<>").partition(".")[0]}) in stack.resources
