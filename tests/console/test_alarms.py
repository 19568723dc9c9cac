"""Alarms that are raised: shown to operators alone, asked for once a minute, and none on the local cloud."""

from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from typing import Any

import pytest
from botocore.exceptions import ClientError, EndpointConnectionError

from shared.adapters.alarms import KEPT, RaisedAlarms
from shared.domain.people import Identity
from shared.ports import Retriable
from tests.console.console import Console
from tests.fakes.clock import FakeClock

PREFIX = "posthaste-dev-"
OLGA = Identity("github", "3", "Olga")
AT = datetime(2026, 9, 21, 12, tzinfo=UTC)


@dataclass
class FakeCloudWatch:
    """A client of CloudWatch: pages of raised alarms."""

    pages: list[dict[str, Any]]
    fault: Exception | None = None
    asked: list[dict[str, Any]] = field(default_factory=list)

    def get_paginator(self, operation: str) -> "FakeCloudWatch":
        assert operation == "describe_alarms"
        return self

    def paginate(self, **asked: Any) -> list[dict[str, Any]]:
        self.asked.append(asked)
        if self.fault is not None:
            raise self.fault
        return self.pages


def raised(name: str, minute: int, says: str = "ConsoleCall at it.") -> dict[str, Any]:
    return {
        "AlarmName": PREFIX + name,
        "AlarmDescription": says,
        "AlarmActions": [f"arn:aws:sns:eu-west-1:123456789012:{PREFIX}alarms"],
        "StateUpdatedTimestamp": AT.replace(minute=minute),
    }


def test_the_newest_are_first_and_cloudwatch_is_asked_once_a_minute(clock: FakeClock) -> None:
    first = {"MetricAlarms": [raised("dead-letters", 1), raised("late", 5)]}
    client = FakeCloudWatch([first, {"MetricAlarms": [], "CompositeAlarms": [raised("all", 3)]}])
    alarms = RaisedAlarms(client, PREFIX, clock)
    assert [x.name for x in alarms.read()] == ["late", "all", "dead-letters"]
    assert alarms.read()[0].since == int(AT.replace(minute=5).timestamp() * 1000)
    (asked,) = client.asked
    assert (asked["AlarmNamePrefix"], asked["StateValue"]) == (PREFIX, "ALARM")
    client.pages = []
    clock.advance(KEPT)
    assert alarms.read() == []


def test_alarms_of_a_stage_whose_name_begins_alike_are_not_shown(clock: FakeClock) -> None:
    topic = f"arn:aws:sns:eu-west-1:123456789012:{PREFIX}"
    theirs = [{**raised("eu-late", 2), "AlarmActions": [f"{topic}eu-alarms"]}, {**raised("x", 2), "AlarmActions": []}]
    alarms = RaisedAlarms(FakeCloudWatch([{"MetricAlarms": [raised("late", 1), *theirs]}]), PREFIX, clock)
    assert [x.name for x in alarms.read()] == ["late"]


@pytest.mark.parametrize(
    "fault",
    [EndpointConnectionError(endpoint_url="x"), ClientError({"Error": {"Code": "Throttling"}}, "DescribeAlarms")],
)
def test_a_fault_of_cloudwatch_is_one_of_the_moment(clock: FakeClock, fault: Exception) -> None:
    client = FakeCloudWatch([{"MetricAlarms": [raised("late", 1)]}], fault)
    alarms = RaisedAlarms(client, PREFIX, clock)
    with pytest.raises(Retriable):
        alarms.read()
    client.fault = None
    assert len(alarms.read()) == 1


@pytest.mark.slow
def test_operators_see_them_and_members_do_not(console: Console, clock: FakeClock) -> None:
    evil = "<script>alert(1)</script>"
    alarms = RaisedAlarms(FakeCloudWatch([{"MetricAlarms": [raised("late", 1, evil)]}]), PREFIX, clock)
    console.services = replace(console.services, use_cases=replace(console.services.use_cases, alarms=alarms))
    console.member()
    assert "alarm" not in console.shown()
    console.sign_in(OLGA)
    for page in (console.shown(), console.get("/credentials").text):
        assert "1 alarm of the deployment" in page
        assert "<b>late</b>" in page
        assert "<script>alert" not in page


@pytest.mark.slow
def test_where_there_is_no_cloudwatch_there_are_no_alarms(console: Console) -> None:
    console.sign_in(OLGA)
    assert "alarm" not in console.shown()


@pytest.mark.slow
def test_a_page_is_shown_without_alarms_that_cannot_be_read(console: Console, clock: FakeClock) -> None:
    client = FakeCloudWatch([], EndpointConnectionError(endpoint_url="x"))
    alarms = RaisedAlarms(client, PREFIX, clock)
    console.services = replace(console.services, use_cases=replace(console.services.use_cases, alarms=alarms))
    console.sign_in(OLGA)
    for page in (console.shown(), console.get("/credentials").text):
        assert "cannot be read just now" in page
