import json
from pathlib import Path

import pytest

from infra.lint import templates
from shared import contracts
from tests.infra.conftest import SENDERS, TABLES, deployment
from tests.infra.synthesis import synthesised
from tests.infra.template import Template, target, text


def test_queues_are_encrypted_and_dead_letters_kept_for_14_days(template: Template) -> None:
    for queue in template.of("SQS::Queue").values():
        assert queue["SqsManagedSseEnabled"] is True
        assert "FifoQueue" not in queue
        if queue["QueueName"].endswith("-dlq"):
            assert queue["MessageRetentionPeriod"] == 14 * 86_400
            assert "RedrivePolicy" not in queue
        else:
            dead = template.resources[target(queue["RedrivePolicy"]["deadLetterTargetArn"])]["Properties"]
            assert dead["QueueName"] == queue["QueueName"].removesuffix("_express") + "-dlq"
            assert queue["RedrivePolicy"]["maxReceiveCount"] == 5


@pytest.mark.promise(3)
def test_a_failed_message_never_vanishes_with_its_batch(template: Template) -> None:
    sources = [x for x in template.sources() if not x[1].startswith("Express")]
    assert len(sources) == 12
    sources = list(template.sources())
    for service, _, source in sources:
        assert source["FunctionResponseTypes"] == ["ReportBatchItemFailures"], service


@pytest.mark.promise(3)
def test_visibility_is_six_times_the_time_out(template: Template) -> None:
    checked = 0
    for service, queue_id, source in template.sources():
        if queue_id in TABLES:
            continue
        seconds = template.functions()[service]["Timeout"] + source.get("MaximumBatchingWindowInSeconds", 0)
        assert template.resources[queue_id]["Properties"]["VisibilityTimeout"] >= 6 * seconds, service
        checked += not queue_id.startswith("Express")
    assert checked == 10


@pytest.mark.promise(3)
def test_polls_are_never_throttled_into_the_dead_letter_queue(template: Template) -> None:
    for service, queue_id, source in template.sources():
        if queue_id in TABLES:
            continue
        concurrency = source["ScalingConfig"]["MaximumConcurrency"]
        assert concurrency >= 2
        reserved = template.functions()[service].get("ReservedConcurrentExecutions")
        assert (reserved is None) == (not service.startswith("send-"))
        if reserved is not None:
            assert concurrency <= reserved


def test_workers_of_each_lane(template: Template) -> None:
    found = {s: template.functions()[s]["ReservedConcurrentExecutions"] for s in SENDERS}
    assert found == {"send-sendgrid-main": 4, "send-big": 6, "send-few": 6, "send-test": 4}
    batches = sorted((s, source["BatchSize"]) for s, _, source in template.sources() if s in SENDERS)
    express = [(f"send-{c.id}", c.group) for c in deployment().credentials] if len(batches) > len(SENDERS) else []
    assert batches == sorted([*((s, 2) for s in SENDERS), *express])


def test_express_queues_are_in_a_stack_of_their_own(folder: Path, aws: Template) -> None:
    """They take nothing of the stack's 500 resources, and no lane moves for them."""
    (file,) = (f for f in templates(folder) if "Express" in f.name)
    nested = Template(json.loads(file.read_text("utf-8")))
    queues = nested.of("SQS::Queue")
    ids = [s.removeprefix("send-") for s in SENDERS]
    assert {q["QueueName"] for q in queues.values()} == {contracts.express_queue_name("dev", x) for x in ids}
    for queue in queues.values():
        assert queue["SqsManagedSseEnabled"] is True
        assert queue["VisibilityTimeout"] == 6 * 120
        dead = text(queue["RedrivePolicy"]["deadLetterTargetArn"])
        assert dead.endswith(":" + queue["QueueName"].removesuffix("_express") + "-dlq")
        assert queue["RedrivePolicy"]["maxReceiveCount"] == 5
    sources = nested.of("Lambda::EventSourceMapping")
    assert {target(s["EventSourceArn"]) for s in sources.values()} == set(queues)
    for source in sources.values():
        assert source["FunctionResponseTypes"] == ["ReportBatchItemFailures"]
    groups = {f"{contracts.express_queue_name('dev', c.id)}": c.group for c in deployment().credentials}
    sizes = {queues[target(s["EventSourceArn"])]["QueueName"]: s["BatchSize"] for s in sources.values()}
    assert sizes == groups
    assert len(set(sizes.values())) > 1
    most = sorted(s["ScalingConfig"]["MaximumConcurrency"] for s in sources.values())
    assert most == [2, 2, 3, 3]
    assert len(nested.of("SQS::QueuePolicy")) == len(queues)
    assert len(nested.resources) == 3 * len(SENDERS)
    assert len(nested.raw["Parameters"]) <= len(SENDERS)
    assert aws.of("CloudFormation::Stack")


@pytest.mark.slow
def test_nothing_is_reserved_when_the_account_has_nothing_to_reserve() -> None:
    template = Template(json.loads(synthesised(deployment(reserved="none")).read_text("utf-8")))
    assert all("ReservedConcurrentExecutions" not in f for f in template.functions().values())
    found = {s: x["ScalingConfig"]["MaximumConcurrency"] for s, _, x in template.sources() if s in SENDERS}
    assert found == {"send-sendgrid-main": 2, "send-big": 3, "send-few": 3, "send-test": 2}
