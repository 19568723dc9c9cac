"""Events: what is said, the signature, and lateness, repetition, disorder, loss and retries as configured."""

from collections import Counter
from typing import Any

import pytest
from sendgrid.helpers.eventwebhook import EventWebhook

from simulator import ControlError, Simulator
from tests.simulator.conftest import CREDENTIAL, PROVIDER, Send, Target, mail, post

SIGNATURE = "x-twilio-email-event-webhook-signature"
TIMESTAMP = "x-twilio-email-event-webhook-timestamp"


def configure(sim: Simulator, **changes: Any) -> None:
    sim.control.webhooks(PROVIDER, CREDENTIAL, **changes)


def counters(sim: Simulator) -> dict[str, int]:
    found: dict[str, int] = sim.control.webhooks(PROVIDER, CREDENTIAL)["counters"]
    return found


def test_events_say_what_the_vendor_says(sim: Simulator, send: Send, target: Target) -> None:
    configure(sim, url=target.url)

    message_id = send(mail("ada@example.com")).headers["x-message-id"]
    flushed = sim.control.flush()

    assert flushed["delivered"] == 2
    assert flushed["pending"] == 0
    processed, delivered = target.events()
    assert [processed["event"], delivered["event"]] == ["processed", "delivered"]
    for event in (processed, delivered):
        assert event["email"] == "ada@example.com"
        assert event["ref"] == "job-1-0-1"
        assert event["sg_message_id"].startswith(f"{message_id}.filter")
        assert message_id in event["smtp-id"]
        assert isinstance(event["timestamp"], int)
    assert processed["sg_event_id"] != delivered["sg_event_id"]


def test_the_vendors_sdk_verifies_the_signature_and_refuses_another_body(
    sim: Simulator, send: Send, target: Target
) -> None:
    configure(sim, url=target.url)
    send(mail("ädä@example.com", "bob@example.com"))
    sim.control.flush()
    verifier = EventWebhook(sim.control.keys(PROVIDER)["webhook_public_key"])

    assert target.posts
    for got in target.posts:
        body, signature, timestamp = got.body.decode(), got.headers[SIGNATURE], got.headers[TIMESTAMP]
        assert verifier.verify_signature(body, signature, timestamp)
        assert not verifier.verify_signature(body.replace("delivered", "bounce"), signature, timestamp + "0")
        assert not verifier.verify_signature(body + " ", signature, timestamp)
        assert not verifier.verify_signature(body, signature, str(int(timestamp) + 1))


@pytest.mark.parametrize(
    ("recipient", "events"),
    [
        ("someone@example.com", ["processed", "delivered"]),
        ("bounce@example.com", ["processed", "bounce"]),
        ("Bounce+7@example.com", ["processed", "bounce"]),
        ("bouncer@example.com", ["processed", "delivered"]),
        ("blocked+7@example.com", ["processed", "bounce"]),
        ("drop+7@example.com", ["dropped"]),
        ("defer+7@example.com", ["processed", "deferred", "delivered"]),
        ("expire+7@example.com", ["processed", "deferred", "bounce"]),
        ("spam+7@example.com", ["processed", "delivered", "spamreport"]),
        ("silent+7@example.com", []),
    ],
)
def test_the_local_part_decides_what_becomes_of_a_message(
    sim: Simulator, send: Send, target: Target, recipient: str, events: list[str]
) -> None:
    configure(sim, url=target.url)
    send(mail(recipient))
    sim.control.flush()

    assert [e["event"] for e in target.events()] == events
    types = {"bounce": "bounce", "blocked": "blocked", "expire": "blocked"}
    last = target.events()[-1] if events else {}
    assert last.get("type") == types.get(recipient.partition("@")[0].partition("+")[0].lower())


def test_a_mix_and_own_behaviours_apply_and_unknown_ones_are_refused(
    sim: Simulator, send: Send, target: Target
) -> None:
    configure(sim, url=target.url, mix={"bounce": 0.25})
    send(mail(*(f"a{i}@example.com" for i in range(400))))
    sim.control.flush()

    bounced = Counter(e["event"] for e in target.events())["bounce"]
    assert 70 <= bounced <= 130
    with pytest.raises(ControlError, match="no behaviour explode"):
        configure(sim, mix={"explode": 1})


def run(sim: Simulator, send: Send, target: Target, **changes: Any) -> list[tuple[str, str]]:
    """Send 200 recipients in one call and return the words that came, in order of arrival."""
    sim.control.reset()
    target.posts.clear()
    configure(sim, url=target.url, batch_events=5000, batch_ms=10, parallel=1, **changes)
    send(mail(*(f"a{i}@example.com" for i in range(200))))
    sim.control.flush(now=True)
    return target.words()


def test_duplicates_come_as_often_as_configured(sim: Simulator, send: Send, target: Target) -> None:
    counts = Counter(run(sim, send, target, duplicate=0.3))

    assert len(counts) == 400
    assert 80 <= sum(n == 2 for n in counts.values()) <= 160
    assert set(counts.values()) == {1, 2}
    ids = Counter(e["sg_event_id"] for e in target.events())
    assert len(ids) == 400


def test_duplicates_may_carry_ids_of_their_own(sim: Simulator, send: Send, target: Target) -> None:
    run(sim, send, target, duplicate=1, duplicate_new_id=True)

    assert len({e["sg_event_id"] for e in target.events()}) == 800
    configure(sim, duplicate_new_id=False)


def test_reordering_turns_as_many_messages_as_configured(sim: Simulator, send: Send, target: Target) -> None:
    words = run(sim, send, target, reorder=0.3)

    place = {word: i for i, word in enumerate(words)}
    turned = sum(place[f"a{i}@example.com", "delivered"] < place[f"a{i}@example.com", "processed"] for i in range(200))
    assert 35 <= turned <= 85
    times = {(e["email"], e["event"]): e["timestamp"] for e in target.events()}
    assert all(times[f"a{i}@example.com", "processed"] <= times[f"a{i}@example.com", "delivered"] for i in range(200))


def test_losses_are_as_many_as_configured(sim: Simulator, send: Send, target: Target) -> None:
    before = counters(sim)["lost"]
    words = run(sim, send, target, loss=0.3)

    lost = counters(sim)["lost"] - before
    assert 80 <= lost <= 160
    assert len(words) == 400 - lost


@pytest.mark.slow
def test_a_seed_replays_and_another_one_does_not(target: Target) -> None:
    def play(seed: str) -> list[tuple[str, str]]:
        with Simulator(seed=seed) as sim:
            return run(
                sim,
                lambda body: post(sim.base_url(PROVIDER, CREDENTIAL), body),
                target,
                duplicate=0.2,
                reorder=0.2,
                loss=0.2,
                mix={"bounce": 0.2},
            )

    first = Counter(play("one"))
    assert Counter(play("one")) == first
    assert Counter(play("two")) != first


def test_a_delay_holds_events_back_until_a_flush_that_does_not_wait(sim: Simulator, send: Send, target: Target) -> None:
    configure(sim, url=target.url, delay={"kind": "exponential", "ms": 3_600_000})
    send(mail("ada@example.com"))

    assert sim.control.flush(timeout_s=0.05) == {**sim.control.flush(timeout_s=0), "pending": 2}
    assert target.posts == []
    assert sim.control.flush(now=True)["pending"] == 0
    assert target.words() == [("ada@example.com", "processed"), ("ada@example.com", "delivered")]


def test_a_uniform_delay_stays_in_its_bounds(sim: Simulator, send: Send, target: Target) -> None:
    configure(sim, url=target.url, delay={"kind": "uniform", "ms": 100_000, "spread_ms": 50_000})
    send(mail(*(f"defer+{i}@example.com" for i in range(100))))
    sent_at = sim.control.log()[0]["at"]
    sim.control.flush(now=True)

    waits = [e["timestamp"] - sent_at for e in target.events() if e["event"] == "processed"]
    assert len(waits) == 100
    assert 49 <= min(waits) < 65
    assert 135 < max(waits) <= 150


def test_events_are_posted_in_batches(sim: Simulator, send: Send, target: Target) -> None:
    configure(sim, url=target.url, batch_events=64, batch_ms=50)
    send(mail(*(f"a{i}@example.com" for i in range(100))))
    sim.control.flush()

    sizes = [len(p.events()) for p in target.posts]
    assert sum(sizes) == 200
    assert max(sizes) == 64
    assert len(sizes) <= 6


def test_anything_but_a_2xx_is_tried_again_and_given_up_in_the_end(sim: Simulator, send: Send, target: Target) -> None:
    configure(sim, url=target.url, retry_ms=1, attempts=4)
    before = counters(sim)
    target.statuses += [500, 404, 302]
    send(mail("drop@example.com"))
    sim.control.flush()

    assert target.words() == [("drop@example.com", "dropped")]
    assert counters(sim)["retries"] - before["retries"] == 3

    target.statuses += [503] * 4
    send(mail("drop@example.com"))
    assert sim.control.flush()["delivered"] == 0
    assert counters(sim)["failed"] - before["failed"] == 1
    assert len(target.posts) == 1
    configure(sim, retry_ms=100, attempts=8)


def test_a_target_that_is_not_there_is_tried_again_until_it_is(sim: Simulator, send: Send, target: Target) -> None:
    configure(sim, url="http://127.0.0.1:9/hook", retry_ms=3_600_000, retry_cap_ms=3_600_000)
    send(mail("drop@example.com"))
    assert sim.control.flush(timeout_s=0.2)["pending"] == 1
    sim.control.reset()
    assert sim.control.flush()["pending"] == 0
    configure(sim, retry_ms=100, retry_cap_ms=5_000)


def test_without_a_target_events_are_counted_as_discarded(sim: Simulator, send: Send) -> None:
    before = counters(sim)["discarded"]
    send(mail("ada@example.com"))

    assert sim.control.flush()["pending"] == 0
    assert counters(sim)["discarded"] - before == 2


def test_paused_events_wait(sim: Simulator, send: Send, target: Target) -> None:
    configure(sim, url=target.url, paused=True)
    send(mail("ada@example.com"))
    assert sim.control.flush(timeout_s=0.1)["pending"] == 2
    assert target.posts == []
    configure(sim, paused=False)
    assert sim.control.flush()["pending"] == 0
    assert len(target.words()) == 2


def test_the_template_gives_each_credential_a_target(target: Target) -> None:
    with Simulator(webhook_url_template=target.url + "/{provider}/{credential_id}") as sim:
        assert sim.control.webhooks(PROVIDER, "eu")["url"] == f"{target.url}/sendgrid/eu"


@pytest.mark.parametrize("url", ["ftp://127.0.0.1/", "hook", "http://"])
def test_a_target_that_is_not_http_is_refused(sim: Simulator, url: str) -> None:
    with pytest.raises(ControlError, match="400"):
        configure(sim, url=url)
