from datetime import UTC, datetime

import pytest

from tests.cli.fakes import Answer, FakeApi, FakeClock, Run, problem
from tests.cli.scripts import CAMPAIGN, job_view, stats


def test_stop_resume_and_retry_are_posted(run: Run, api: FakeApi) -> None:
    api.answers(Answer({"job_id": "b1", "state": "STOPPED"}))
    assert run("batch", "stop", "b1", "--json").json["state"] == "STOPPED"
    api.answers(Answer({"job_id": "b1", "state": "LOGGED"}))
    assert "b1 is done" in run("batch", "stop", "b1").out
    api.answers(Answer({"job_id": "b1", "state": "READY", "messages": 1200}))
    assert "1,200 messages" in run("batch", "resume", "b1", "--yes").out
    assert run("batch", "retry", "b1", "--include", "unknown", "--include", "failed", "--yes", "--json").code == 0
    api.answers(Answer({"job_id": "b1", "state": "LOGGED", "messages": 0}))
    assert "nothing to send" in run("batch", "retry", "b1", "--yes").out
    assert [(a.method, a.path, a.json) for a in api.asked] == [
        ("POST", "/batches/b1/stop", {}),
        ("POST", "/batches/b1/stop", {}),
        ("POST", "/batches/b1/resume", {}),
        ("POST", "/batches/b1/retry", {"include": ["unknown", "failed"]}),
        ("POST", "/batches/b1/retry", {}),
    ]
    assert run("batch", "retry", "b1", "--include", "all").code == 2


def test_stop_is_repeated_when_the_answer_is_lost_but_retry_is_not(run: Run, api: FakeApi) -> None:
    api.answers(Answer(drop=True), Answer({"state": "LOGGED"}))
    assert run("batch", "stop", "b1").code == 0
    api.answers(Answer(drop=True), Answer({"messages": 1}))
    done = run("batch", "retry", "b1", "--yes")
    assert done.code == 5
    assert "may or may not have taken effect" in done.err
    assert len(api.asked) == 3


@pytest.mark.slow
def test_stop_waits_until_the_batch_has_stopped(run: Run, api: FakeApi, clock: FakeClock) -> None:
    ended = Answer({"state": "LOGGED", "counts": {"queued": 1200, "sending": 0, "sent": 8}})
    api.answers(Answer({"state": "STOPPED"}), Answer({"state": "STOPPED"}), ended)
    done = run("batch", "stop", "b1")
    assert done.out == "batch b1 is stopped (1,200 left); to send the rest:  posthaste batch resume b1\n"
    assert "stopping" in done.err
    assert [(a.method, a.path) for a in api.asked] == [
        ("POST", "/batches/b1/stop"),
        ("GET", "/batches/b1"),
        ("GET", "/batches/b1"),
    ]
    api.answers(Answer({"state": "STOPPED"}))
    begun = clock.now()
    assert run("batch", "stop", "b1").out.startswith("batch b1 is stopping")
    assert 300 < clock.now() - begun < 310


@pytest.mark.slow
def test_resume_waits_until_the_batch_has_stopped(run: Run, api: FakeApi, clock: FakeClock) -> None:
    stopping = problem(409, "stopping", "The job is stopping", headers={"Retry-After": "4"})
    api.answers(stopping, stopping, Answer({"state": "READY", "messages": 7}))
    done = run("batch", "resume", "b1", "--yes")
    assert (done.code, len(api.asked)) == (0, 3)
    assert done.err == "the job is being stopped. Waiting until it has stopped\n"
    api.answers(stopping)
    begun = clock.now()
    done = run("batch", "resume", "b1", "--yes")
    assert done.code == 1
    assert "try again in 4 s" in done.err
    assert 300 < clock.now() - begun < 310
    api.answers(problem(409, "expired", "Too late"))
    assert run("batch", "resume", "b1", "--yes").code == 1


def test_a_resume_asks_with_the_number_of_messages_that_are_left(run: Run, api: FakeApi) -> None:
    api.answers(Answer({"state": "LOGGED", "counts": {"queued": 1200, "sending": 1, "sent": 8, "failed": 4}}))
    no = run("batch", "resume", "b1", terminal=True, input="n\n")
    asked = "Send 1,201 messages that are left of batch b1 through the local cloud? [y/N]:"
    assert (no.code, no.err) == (1, f"{asked}nothing was changed; batch b1 is stopped (1,201 left)\n")
    assert [(a.method, a.path) for a in api.asked] == [("GET", "/batches/b1")]
    api.answers(Answer({"state": "LOGGED", "counts": {"queued": 1}}), Answer({"state": "READY", "messages": 1}))
    assert run("batch", "resume", "b1", terminal=True, input="y\n").code == 0


@pytest.mark.parametrize("word", ["resume", "retry"])
def test_the_question_names_the_time_that_a_scheduled_batch_waits_for(
    run: Run, api: FakeApi, clock: FakeClock, word: str
) -> None:
    at = datetime.fromtimestamp(clock.now() + 3600, UTC).isoformat().replace("+00:00", "Z")
    api.answers(Answer({"state": "LOGGED", "counts": {"queued": 2}, "scheduled_at": at}))
    assert f"Scheduled for {at}, not sent before. Send " in run("batch", word, "b1", terminal=True, input="n\n").err
    clock.sleep(3600)
    api.answers(Answer({"state": "LOGGED", "counts": {"queued": 2}, "scheduled_at": at}))
    assert "Scheduled" not in run("batch", word, "b1", terminal=True, input="n\n").err


def test_a_resume_of_a_campaign_names_the_times_of_its_stopped_lists(run: Run, api: FakeApi, clock: FakeClock) -> None:
    times = [datetime.fromtimestamp(clock.now() + 3600 * n, UTC).isoformat() for n in range(4)]
    states = ("LOGGED", "LOGGED", "STOPPED", "READY")
    jobs = [job_view(state, queued=1) | {"scheduled_at": at} for state, at in zip(states, times, strict=True)]
    api.answers(Answer({**stats("LOGGED", queued=3).body, "jobs": jobs}))
    asked = run("campaign", "resume", CAMPAIGN, terminal=True, input="n\n").err
    assert f"Scheduled for {times[1]} and {times[2]}, not sent before. Send 3 messages" in asked


@pytest.mark.parametrize(
    ("include", "asked"),
    [
        ((), "Send up to 1,204 messages of batch b1 again"),
        (("unsent",), "Send up to 1,200 messages of batch b1 again"),
        (("failed",), "Send up to 1,204 messages of batch b1 again"),
        (("unknown", "unknown"), "Some people can get batch b1 twice. Send up to 1,202 messages of batch b1 again"),
    ],
)
def test_a_retry_asks_with_the_most_that_it_can_send(
    run: Run, api: FakeApi, include: tuple[str, ...], asked: str
) -> None:
    counts = {"queued": 1200, "sent": 8, "failed": 4, "unknown": 2}
    api.answers(Answer({"state": "SENDING", "counts": counts}))
    words = [word for name in include for word in ("--include", name)]
    no = run("batch", "retry", "b1", *words, terminal=True, input="n\n")
    rest = "nothing was changed; batch b1 is sending\n"
    assert (no.code, no.err) == (1, f"{asked} through the local cloud? [y/N]:{rest}")
    assert [(a.method, a.path) for a in api.asked] == [("GET", "/batches/b1")]


def test_ctrl_c_at_a_question_says_what_goes_on(run: Run, api: FakeApi) -> None:
    api.answers(Answer({"state": "SENDING", "counts": {"queued": 1200}}))
    done = run("batch", "retry", "b1", terminal=True, input="")
    assert (done.code, done.err.splitlines()[1:]) == (130, ["nothing was changed; batch b1 is sending"])


SCHEDULED, NEXT = (datetime.fromtimestamp(FakeClock().now() + hours * 3600, UTC).isoformat() for hours in (1, 2))


def waiting(**more: object) -> Answer:
    counts = {"queued": 1200, "sending": 0, "sent": 0}
    known = {"state": "READY", "waiting_for": "scheduled", "scheduled_at": SCHEDULED, "counts": counts}
    return Answer({**known, **more})


def test_another_time_names_the_old_one_the_new_one_and_how_many(run: Run, api: FakeApi) -> None:
    api.answers(waiting(), waiting(scheduled_at=NEXT))
    done = run("batch", "reschedule", "b1", "--at", NEXT, terminal=True, input="y\n")
    asked = f"Send 1,200 messages of batch b1 at {NEXT}, instead of at {SCHEDULED}, through"
    assert (done.code, asked in done.err) == (0, True)
    assert done.out.endswith(f"batch b1 is sent at {NEXT}\n")
    assert [(a.method, a.path, a.json) for a in api.asked if a.method == "POST"] == [
        ("POST", "/batches/b1/reschedule", {"scheduled_at": NEXT, "instead_of": SCHEDULED})
    ]


def test_what_is_to_be_sent_now_is_asked_about_or_not(run: Run, api: FakeApi) -> None:
    api.answers(Answer({**stats("READY").body, "jobs": [waiting().body]}))
    done = run("campaign", "reschedule", CAMPAIGN, "--now", terminal=True, input="n\n")
    assert (done.code, f"of campaign {CAMPAIGN} now, instead of at {SCHEDULED}" in done.err) == (1, True)
    assert [a.method for a in api.asked] == ["GET"]
    api.answers(Answer({"campaign_id": CAMPAIGN, "jobs": [{"state": "ENQUEUED", "waiting_for": "rate"}]}))
    done = run("campaign", "reschedule", CAMPAIGN, "--now", "--yes")
    assert done.out == f"campaign {CAMPAIGN} is sent now; posthaste campaign watch {CAMPAIGN}\n"
    assert api.asked[-1].json == {"scheduled_at": None}


def test_what_does_not_wait_is_not_asked_about(run: Run, api: FakeApi) -> None:
    api.answers(Answer({"state": "SENDING", "waiting_for": "hours", "counts": {"queued": 3}}))
    done = run("batch", "reschedule", "b1", "--now", terminal=True, input="y\n")
    assert (done.code != 0, "does not wait for its time" in done.err) == (True, True)
    assert [a.method for a in api.asked] == ["GET"]


@pytest.mark.parametrize("words", [(), ("--now", "--at", NEXT), ("--at", "tomorrow")])
def test_one_time_is_named(run: Run, api: FakeApi, words: tuple[str, ...]) -> None:
    assert run("batch", "reschedule", "b1", *words, "--yes").code == 2
    assert api.asked == []
