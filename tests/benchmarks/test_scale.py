"""The modelled DynamoDB refuses and counts as it should, and a short scene of the simulated day keeps what it must."""

import json
from collections.abc import Callable
from dataclasses import fields as fields_of
from dataclasses import replace
from typing import Any

import pytest
from botocore.exceptions import ClientError

from benchmarks.scale import __main__ as command
from benchmarks.scale import bounds, goals, hot
from benchmarks.scale.cloud import Busy, Function, Processor, QuickLane
from benchmarks.scale.day import Run
from benchmarks.scale.hot import PEAK
from benchmarks.scale.page import Shown, chart, markdown
from benchmarks.scale.scenes import DAY, NIGHT, Scene
from benchmarks.scale.table import READS, WRITES, ModelDynamo
from tests.fakes.clock import FakeClock

KEY = {"pk": {"S": "one"}, "sk": {"S": "1"}}


@pytest.fixture
def clock() -> FakeClock:
    return FakeClock()


@pytest.fixture
def dynamo(clock: FakeClock) -> ModelDynamo:
    return ModelDynamo(clock, records="records")


def code(call: Callable[..., Any], **asked: Any) -> str:
    with pytest.raises(ClientError) as error:
        call(**asked)
    return error.value.response["Error"]["Code"]


def test_a_partition_takes_a_thousand_units_a_second(dynamo: ModelDynamo, clock: FakeClock) -> None:
    large = {**KEY, "data": {"B": b"x" * 300 * 1024}}
    for n in range(3):
        dynamo.put_item(TableName="records", Item={**large, "sk": {"S": str(n)}})
    assert code(dynamo.put_item, TableName="records", Item=large) == "ProvisionedThroughputExceededException"
    dynamo.put_item(TableName="records", Item={**large, "pk": {"S": "other"}})
    assert dynamo.used.throttled == {("records", "one"): 1}
    clock.advance(1)
    dynamo.put_item(TableName="records", Item=large)
    assert dynamo.used.writes == 5 * 301
    assert dynamo.used.busiest["records", "one"][0] == pytest.approx(3 * 301)
    assert (WRITES, READS) == (1000, 3000)


def test_reads_have_a_limit_of_their_own(dynamo: ModelDynamo) -> None:
    dynamo.put_item(TableName="records", Item={**KEY, "data": {"B": b"x" * 399 * 1024}})
    wanted: dict[str, Any] = {"TableName": "records", "Key": KEY, "ConsistentRead": True}
    assert sum(len(dynamo.get_item(**wanted)) for _ in range(29)) == 29
    assert dynamo.used.worst(reading=True) == pytest.approx(29 * 100)
    assert code(lambda: [dynamo.get_item(**wanted) for _ in range(9)]) == "ProvisionedThroughputExceededException"


def test_a_transaction_is_made_whole_or_not_and_says_why(dynamo: ModelDynamo) -> None:
    dynamo.put_item(TableName="ops", Item=KEY)
    new = {"Put": {"TableName": "records", "Item": KEY}}
    there = {"Put": {"TableName": "ops", "Item": KEY, "ConditionExpression": "attribute_not_exists(pk)"}}
    with pytest.raises(ClientError) as error:
        dynamo.transact_write_items(TransactItems=[new, there])
    answer: Any = error.value.response
    assert [x["Code"] for x in answer["CancellationReasons"]] == ["None", "ConditionalCheckFailed"]
    assert dynamo.get_item(TableName="records", Key=KEY) == {}
    before = dynamo.used.writes
    dynamo.transact_write_items(TransactItems=[new])
    assert dynamo.used.writes - before == 2
    assert dynamo.peek("records", KEY) == KEY


def test_entries_of_the_index_follow_their_items(dynamo: ModelDynamo) -> None:
    item = {**KEY, "open_pk": {"S": "slot"}, "open_sk": {"S": "2"}}
    asked: dict[str, Any] = {
        "TableName": "records",
        "IndexName": "open",
        "KeyConditionExpression": "open_pk = :pk AND open_sk < :end",
        "ExpressionAttributeValues": {":pk": {"S": "slot"}, ":end": {"S": "5"}},
    }
    dynamo.put_item(TableName="records", Item=item)
    assert dynamo.used.writes == 2
    assert dynamo.query(**asked)["Items"] == [item]
    dynamo.update_item(TableName="records", Key=KEY, UpdateExpression="REMOVE open_pk, open_sk")
    assert dynamo.query(**asked)["Items"] == []


def test_a_hiccup_refuses_some_calls(clock: FakeClock) -> None:
    bad = ModelDynamo(clock, records="records", trouble=lambda _now: True)
    refused = 0
    for _ in range(200):
        try:
            bad.get_item(TableName="records", Key=KEY)
        except ClientError:
            refused += 1
    assert 30 < refused == bad.used.failed < 90


def test_containers_start_cold_and_are_used_again(clock: FakeClock) -> None:
    function = Function(clock, 2, cold=1.0)

    def work() -> None:
        with function.invocation():
            clock.sleep(0.5)

    clock.run(work, work, work)
    assert (function.invocations, function.starts, function.highest) == (3, 2, 2)
    assert function.throttled > 0
    assert function.billed == pytest.approx(2 * 1.5 + 0.5)
    clock.advance(3600)
    work()
    assert function.starts == 3


def test_a_processor_does_one_thing_after_the_other_and_waiting_is_billed_once(clock: FakeClock) -> None:
    processor, busy, begun = Processor(clock), Busy(clock), clock.now()

    def work() -> None:
        with busy.doing():
            processor.use(1)
            clock.sleep(0.5)

    clock.run(work, work)
    assert clock.now() - begun == busy.seconds == pytest.approx(2.5)


def test_a_quick_lane_keeps_its_queues_apart(clock: FakeClock) -> None:
    lane = QuickLane(clock)
    lane.send(["bulk"])
    lane.send(["small", "later"], express=True, delay=0)
    assert (lane.depth(express=True).waiting, lane.depth(express=False).waiting) == (2, 1)
    message = lane.receive(express=True)
    assert message is not None
    assert message.body == "small"
    lane.restore(message, clock.now())
    found = [m for m in (lane.receive() for _ in range(4)) if m is not None]
    assert sorted(m.body for m in found) == ["bulk", "later", "small"]
    for m in found:
        lane.delete(m)
    assert lane.is_empty()


def test_the_scenes_are_those_of_the_goal() -> None:
    busiest = DAY["busiest"]
    assert busiest.messages(1) == pytest.approx(100e6 / 86_400 * 5 * 0.1928, rel=0.001)
    assert DAY["night"].messages(1) == pytest.approx(busiest.messages(1) * NIGHT / PEAK)
    assert DAY["hour"].down == {90: (300, 3900)}
    assert DAY["hiccup"].hiccup == (60, 360)


@pytest.mark.slow
@pytest.mark.promise(2)
@pytest.mark.promise(3)
def test_a_short_scene_sends_each_message_once_within_its_rates_although_a_provider_fails() -> None:
    scene = Scene("short", "Two credentials, one of which fails.", (60, 61), PEAK, 40, down={60: (10, 25)})
    found = Run(scene).run()
    assert (found.twice, found.left) == (0, 0)
    assert found.worst <= 100
    assert found.messages > 300
    waits = sum(map(len, found.waits.values()))
    assert found.messages / 2 < waits < found.messages, "those of the first quarter are left out"
    assert found.quantile("single", 0.95) < 10, "the provider fails for fifteen seconds"
    assert sum(found.throttled.values()) == 0
    assert found.swept[0] == found.swept[1] > 0
    assert 0 < found.busiest[0] <= hot.WRITES
    assert 0 < found.busiest[1] <= hot.READS
    assert 1 < found.cost < 30
    expected, heard, _ = found.heard
    assert expected == heard > 10, "one account in ten hears of its messages"
    assert found.quantile("webhook", 0.95) < 20
    shown = Shown.of(found)
    assert Shown(**json.loads(json.dumps(shown.document()))).document() == json.loads(json.dumps(shown.document()))
    assert shown.name in markdown([shown])
    assert chart(shown).count("\n") > 3


@pytest.mark.slow
@pytest.mark.promise(3)
def test_no_partition_gets_more_than_half_of_what_it_takes_in_seconds_of_noon_at_the_busiest_credential() -> None:
    """Its workers begin at once: that is when most of them note their leases, and guess wrongly."""
    found = Run(DAY["busiest"].part(0.1)).run()
    assert found.messages > 4000
    assert (found.twice, found.left) == (0, 0)
    assert sum(found.throttled.values()) == 0
    assert found.busiest[0] <= hot.WRITES
    assert found.busiest[1] <= hot.READS


@pytest.mark.slow
@pytest.mark.promise(2)
def test_notices_digests_and_finished_mails_are_sent_once_each_and_in_time() -> None:
    found = Run(DAY["products"].part(0.1)).run()
    assert (found.twice, found.left) == (0, 0)
    assert found.worst <= 100
    for kind in ("single", "bulk", "notice", "digest", "mail", "webhook"):
        assert len(found.waits[kind]) > 20, kind
    assert found.waits["notice"][0] >= 0, "none before its minute"
    assert found.waits["digest"][0] >= 0, "none before the end of its window"
    assert all(x.met for x in goals.goals({"products": Shown.of(found)}))


@pytest.mark.slow
@pytest.mark.promise(3)
def test_a_quota_of_a_day_is_used_up_and_not_exceeded_and_the_rest_goes_to_the_other() -> None:
    found = Run(DAY["quota"].part(0.1)).run()
    assert (found.twice, found.left) == (0, 0)
    assert 95 < found.quota <= 100


@pytest.mark.slow
def test_a_million_messages_cost_about_as_much_at_a_hundredth_of_the_load() -> None:
    shown = {name: Shown.of(Run(DAY[name].part(0.1)).run()) for name in ("load-1", "load-10", "load-100")}
    assert {x.heard[0] == x.heard[1] > 100 for x in shown.values()} == {True}
    found = goals.goals(shown)
    assert [x.name for x in found if not x.met] == []
    assert found[-1].name.startswith("dollars a million")
    dear = replace(shown["load-1"], dollars={"DynamoDB": 1.2 * shown["load-100"].cost})
    assert not goals.goals({**shown, "load-1": dear})[-1].met


def scene(**changes: Any) -> Shown:
    """Return what a scene shows in which all is as it should be."""
    fields: dict[str, Any] = {x.name: 0 for x in fields_of(Shown)}
    fields |= {"name": "noon", "about": "", "trouble": (), "waits": {"single": (0.1, 0.2, 0.3)}, "samples": ()}
    fields |= {"swept": (3, 3), "busiest": (500.0, 1500.0), "heard": (5, 5, 0), "written": {"records": 3.0}}
    return Shown(**{**fields, "worst": 100.0, "quota": 100.0, "dollars": {"DynamoDB": 5.0}, **changes})


@pytest.mark.parametrize(
    "changes",
    [
        {"twice": 1},
        {"left": 1},
        {"worst": 100.1},
        {"quota": 100.1},
        {"heard": (5, 4, 0)},
        {"swept": (3, 2)},
        {"throttled": 1},
        {"busiest": (500.5, 0.0)},
        {"busiest": (0.0, 1500.5)},
        {"waits": {"single": (0.1, 1.2, 1.3)}},
        {"waits": {"single": (0.1, 0.2, 2.3)}},
    ],
)
def test_the_command_fails_if_one_goal_is_missed(
    changes: dict[str, Any], monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr("sys.argv", ["scale", "--scenes", "noon"])
    for shown, code, missed in ((scene(), 0, 0), (scene(**changes), 1, 1)):
        monkeypatch.setattr(command, "run", lambda *_, made=shown: {"noon": made})
        assert command.main() == code
        assert capsys.readouterr().out.count("**not**") == missed


def test_what_a_larger_load_meets_is_in_order_and_named() -> None:
    job = hot.Heat(writes=400.0, reads=100.0)
    system = hot.Heat(reads=2000.0)
    found = bounds.bounds({("ops", "`J#job`"): job, ("records", "`SYS`"): system}, {"records": 4.0})
    at = {x.name: x.at for x in found}
    assert at["partition `J#job` of `ops`"] == pytest.approx(250)
    assert at["partition `SYS` of `records`"] == pytest.approx(150)
    assert at["table `records`"] == pytest.approx(10 * at["table `records`, new"])
    assert list(at.values()) == sorted(at.values())
    assert at["Lambda"] > 100, "a hundred million messages a day have room"
    text = bounds.markdown(found)
    assert text.index("`SYS`") < text.index("`J#job`")
    assert "two lists instead of one" in text


@pytest.mark.slow
def test_a_scene_is_the_same_each_time() -> None:
    scene = Scene("same", "", (90,), PEAK, 15)
    one, other = (Shown.of(Run(scene, seed=3).run()) for _ in range(2))
    assert one == other
