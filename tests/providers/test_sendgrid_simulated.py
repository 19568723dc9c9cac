"""Against the simulator's wire format: what only a far side can tell."""

import json

from shared.adapters.clock import SystemClock
from shared.adapters.http.transport import HttpClient
from shared.domain.jobs.outcomes import Accepted, NotTogether, Rejected
from shared.providers.sendgrid.events import SendGridWebhooks
from shared.providers.sendgrid.send import SendGrid
from simulator.run import Simulator
from tests.providers.contract import CONTENT, FAR, target


def test_one_bad_address_in_a_call_of_many(simulator: Simulator, http: HttpClient) -> None:
    clock = SystemClock()
    provider = SendGrid(http, simulator.base_url("sendgrid", "mixed"), {"api_key": "SG.simulator"}, clock)
    targets = [target(0), target(1, "no-address"), target(2)]
    outcomes = provider.send(CONTENT, targets, deadline=clock.now() + FAR)
    again = NotTogether("batch_refused")
    assert outcomes == [again, Rejected("invalid_recipient", permanent=True), again]
    assert simulator.control.log("sendgrid", "mixed") == []
    rest = provider.send(CONTENT, [targets[0], targets[2]], deadline=clock.now() + FAR)
    log = simulator.control.log("sendgrid", "mixed")
    assert [(line["ref"], Accepted(line["message_id"])) for line in log] == [
        (targets[0].ref, rest[0]),
        (targets[2].ref, rest[1]),
    ]


def test_the_readers_ids_are_those_of_the_call(simulator: Simulator, http: HttpClient) -> None:
    """What the webhook calls a message is what the send call called it."""
    clock = SystemClock()
    provider = SendGrid(http, simulator.base_url("sendgrid", "ids"), {"api_key": "SG.simulator"}, clock)
    (outcome,) = provider.send(CONTENT, [target(0)], deadline=clock.now() + FAR)
    assert isinstance(outcome, Accepted)
    event = {"posthaste_ref": target(0).ref, "event": "processed", "timestamp": 1, "sg_message_id": f"{outcome.id}.x.0"}
    (word,) = SendGridWebhooks().words({}, json.dumps([event]).encode()).words
    assert word.id == outcome.id


def test_a_request_that_is_not_for_this_url(simulator: Simulator, http: HttpClient) -> None:
    clock = SystemClock()
    provider = SendGrid(http, simulator.base_url("sendgrid", "x") + "/v3", {"api_key": "SG.simulator"}, clock)
    (outcome,) = provider.send(CONTENT, [target(0)], deadline=clock.now() + FAR)
    assert outcome == Rejected("http_404", permanent=False, provider_down=True)
