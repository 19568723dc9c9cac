from tests.cli.fakes import Answer, FakeApi, FakeClock, Run, problem


def test_stop_resume_and_retry_are_posted(run: Run, api: FakeApi) -> None:
    api.answers(Answer({"job_id": "b1", "state": "STOPPED"}))
    assert run("batch", "stop", "b1", "--json").json["state"] == "STOPPED"
    api.answers(Answer({"job_id": "b1", "state": "LOGGED"}))
    assert "b1 is done" in run("batch", "stop", "b1").out
    api.answers(Answer({"job_id": "b1", "state": "READY", "messages": 1200}))
    assert "1,200 messages" in run("batch", "resume", "b1").out
    assert run("batch", "retry", "b1", "--include", "unknown", "--include", "failed", "--yes", "--json").code == 0
    api.answers(Answer({"job_id": "b1", "state": "LOGGED", "messages": 0}))
    assert "nothing to send" in run("batch", "retry", "b1").out
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
    done = run("batch", "retry", "b1")
    assert done.code == 5
    assert "may or may not have taken effect" in done.err
    assert len(api.asked) == 3


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


def test_resume_waits_until_the_batch_has_stopped(run: Run, api: FakeApi, clock: FakeClock) -> None:
    stopping = problem(409, "stopping", "The job is stopping", headers={"Retry-After": "4"})
    api.answers(stopping, stopping, Answer({"state": "READY", "messages": 7}))
    done = run("batch", "resume", "b1")
    assert (done.code, len(api.asked)) == (0, 3)
    assert done.err == "the job is being stopped. Waiting until it has stopped\n"
    api.answers(stopping)
    begun = clock.now()
    done = run("batch", "resume", "b1")
    assert done.code == 1
    assert "try again in 4 s" in done.err
    assert 300 < clock.now() - begun < 310
    api.answers(problem(409, "expired", "Too late"))
    assert run("batch", "resume", "b1").code == 1
