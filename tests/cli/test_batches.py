import json
import os
import signal
import subprocess
import sys
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from cli.progress.watch import JobProgress, as_lines, by_the_clock
from tests.cli.fakes import API_KEY, Answer, FakeApi, FakeClock, Run, problem

ACCEPTED = {"batch_id": "b1", "job_id": "b1", "state": "READY", "recipients": 1003, "duplicates": 3, "skipped": 12}
STATES = ("queued", "sending", "sent", "delivered", "failed", "skipped", "unknown")
BODY = {"from": "news@example.com", "to": ["ann@example.org"], "subject": "Grüße", "body": "<p>Hi</p>"}
COMMAND = [sys.executable, "-c", "from cli.main import main; main()"]


def batch(state: str, waiting_for: str | None = None, **counts: int) -> Answer:
    return Answer(
        {
            "batch_id": "b1",
            "state": state,
            "counts": {**dict.fromkeys(STATES, 0), **counts},
            "as_of": "2026-11-20T00:00:00.000Z",
            "waiting_for": waiting_for,
        }
    )


@pytest.fixture
def file(folder: Path) -> str:
    path = folder / "batch.json"
    path.write_text(json.dumps(BODY), encoding="utf-8")
    return str(path)


def test_a_file_is_sent_with_key_and_idempotency_key(run: Run, api: FakeApi, file: str) -> None:
    api.answers(Answer(ACCEPTED, 202))
    done = run("batch", "send", file, "--yes")
    assert done.code == 0
    assert done.out == (
        "batch b1 accepted: 1,003 recipients, 12 skipped, 3 duplicates\nwatch it:  posthaste batch watch b1\n"
    )
    (asked,) = api.asked
    assert (asked.method, asked.path, asked.json) == ("POST", "/batches", BODY)
    assert asked.headers["Authorization"] == f"Bearer {API_KEY}"
    assert asked.headers["Content-Type"] == "application/json"
    assert len(asked.headers["Idempotency-Key"]) >= 24
    assert API_KEY not in done.out + done.err


def test_each_command_has_a_new_key_shown_on_request(run: Run, api: FakeApi, file: str) -> None:
    api.answers(Answer(ACCEPTED, 202))
    first, second = run("batch", "send", file, "--verbose", "--json", "--yes"), run("batch", "send", file, "--yes")
    keys = [asked.headers["Idempotency-Key"] for asked in api.asked]
    assert keys[0] != keys[1]
    assert first.err == f"Idempotency-Key: {keys[0]}\n"
    assert first.json == ACCEPTED
    assert keys[1] not in second.out + second.err


def test_a_body_is_made_from_options(run: Run, api: FakeApi, folder: Path) -> None:
    api.answers(Answer(ACCEPTED, 202))
    (folder / "to.txt").write_bytes("\ufeffann@example.org\r\n\n  Bo <bo@example.org>  \n".encode())
    (folder / "body.html").write_text("<p>Olé</p>\n", encoding="utf-8")
    (folder / "body.txt").write_text("Olé\n", encoding="utf-8")
    words = ["--from", "news@example.com", "--to-file", "to.txt", "--subject", "S", "--html", "body.html"]
    assert run("batch", "send", *words, "--text", "body.txt", "--name", "November", "--yes").code == 0
    assert api.asked[0].json == {
        "from": "news@example.com",
        "to": ["ann@example.org", "Bo <bo@example.org>"],
        "subject": "S",
        "body": "<p>Olé</p>\n",
        "text": "Olé\n",
        "name": "November",
    }
    piped = run("batch", "send", "-", "--yes", input=json.dumps(BODY))
    assert (piped.code, api.asked[1].json) == (0, BODY)


def test_a_batch_has_what_its_owner_calls_it(run: Run, api: FakeApi, folder: Path, file: str) -> None:
    api.answers(Answer(ACCEPTED, 202))
    (folder / "to.txt").write_text("ann@example.org\n")
    words = ["--from", "news@example.com", "--to-file", "to.txt", "--subject", "S", "--text", "to.txt"]
    labels = ["--reference", "order-4711", "--tag", "a", "--tag", "b", "--metadata", "shop=7", "--metadata", "x=y=z"]
    assert run("batch", "send", *words, *labels, "--yes").code == 0
    sent = api.asked[0].json
    assert {name: sent[name] for name in ("reference", "tags", "metadata")} == {
        "reference": "order-4711",
        "tags": ["a", "b"],
        "metadata": {"shop": "7", "x": "y=z"},
    }
    for wrong in ([*words, "--metadata", "shop"], [file, "--tag", "a"]):
        assert run("batch", "send", *wrong, "--yes").code == 2
    assert len(api.asked) == 1


def test_a_batch_is_of_a_template(run: Run, api: FakeApi, folder: Path, file: str) -> None:
    api.answers(Answer(ACCEPTED, 202))
    (folder / "to.txt").write_text("ann@example.org\n")
    words = ["--template", "t1", "--to-file", "to.txt", "--param", "name=Ann", "--param", "url=a=b"]
    assert run("batch", "send", *words, "--from", "news@example.com", "--yes").code == 0
    mail = {"template_id": "t1", "to": ["ann@example.org"], "params": {"name": "Ann", "url": "a=b"}}
    assert api.asked[0].json == {**mail, "from": "news@example.com"}
    assert run("batch", "send", *words, "--channel", "sms", "--name", "N", "--yes").code == 0
    assert api.asked[1].json == {**mail, "channel": "sms", "name": "N"}
    for wrong in (
        [*words, "--subject", "S"],
        [*words, "--from", "a@example.com", "--channel", "sms"],
        [*words, "--param", "x"],
        ["--template", "t1"],
        [file, "--template", "t1"],
        ["--param", "a=b", "--to-file", "to.txt"],
    ):
        assert run("batch", "send", *wrong, "--yes").code == 2, wrong
    assert len(api.asked) == 2


def test_a_batch_is_shown_with_what_its_owner_calls_it(run: Run, api: FakeApi) -> None:
    labels = {"reference": "order-4711", "tags": ["a", "b"], "metadata": {"shop": "7"}}
    api.answers(Answer({**batch("LOGGED", delivered=1).body, **labels}))
    said = run("batch", "show", "b1").out
    assert "  reference    order-4711\n" in said
    assert "  tags         a, b\n  metadata     shop=7\n" in said


def test_what_cannot_be_sent_is_exit_code_2_and_asks_nothing(run: Run, api: FakeApi, folder: Path, file: str) -> None:
    (folder / "list.json").write_text("[]")
    (folder / "broken.json").write_text("{")
    (folder / "latin.json").write_bytes(b'{"subject": "\xe9"}')
    (folder / "deep.json").write_text("[" * 100_000)
    (folder / "empty.txt").write_text("\n")
    whole = ["--from", "a@example.com", "--subject", "S", "--text", file]
    for words in (
        ["list.json"],
        ["broken.json"],
        ["latin.json"],
        ["deep.json"],
        ["gone.json"],
        [],
        [file, "--subject", "S"],
        whole,
        [*whole, "--to-file", "empty.txt"],
        [*whole, "--to-file", "gone.txt"],
        [file, "--idempotency-key", "x" * 256],
    ):
        done = run("batch", "send", *words, "--yes")
        assert (done.code, done.out, done.err.count("\n")) == (2, "", 1), words
    assert api.asked == []


def test_a_lost_connection_is_repeated_with_the_same_key_and_body(
    run: Run, api: FakeApi, clock: FakeClock, file: str
) -> None:
    api.answers(Answer(drop=True), Answer(drop=True), Answer({"message": "x"}, 503), Answer(ACCEPTED, 202))
    done = run("batch", "send", file, "--json", "--yes")
    assert (done.code, done.json) == (0, ACCEPTED)
    assert len(api.asked) == 4
    assert len({(a.headers["Idempotency-Key"], a.body) for a in api.asked}) == 1
    assert clock.slept == [0.5, 1.0, 2.0]


def test_a_connection_that_stays_lost_says_how_to_repeat_safely(run: Run, api: FakeApi, file: str) -> None:
    api.answers(Answer(drop=True))
    done = run("batch", "send", file, "--yes")
    keys = {asked.headers["Idempotency-Key"] for asked in api.asked}
    assert (done.code, done.out, len(api.asked), len(keys)) == (5, "", 6, 1)
    assert done.err.count("trying again") == 5
    (key,) = keys
    assert f"--idempotency-key {key}" in done.err.splitlines()[-1]
    api.answers(Answer(ACCEPTED, 202))
    assert run("batch", "send", file, "--idempotency-key", key, "--yes").code == 0
    assert api.asked[-1].headers["Idempotency-Key"] == key


def test_429_waits_as_long_as_it_says(run: Run, api: FakeApi, clock: FakeClock, file: str) -> None:
    later = "Mon, 21 Sep 2026 14:13:30 GMT"  # three seconds after the first wait
    api.answers(
        Answer({}, 429, {"Retry-After": "7"}),
        Answer({}, 429, {"Retry-After": later}),
        Answer({}, 429, {"Retry-After": "soon"}),
        Answer({}, 429, {"Retry-After": f"Mon, 21 Sep {'9' * 20} 14:13:30 GMT"}),
        Answer(ACCEPTED, 202),
    )
    done = run("batch", "send", file, "--yes")
    assert done.code == 0
    assert clock.slept == [7.0, 3.0, 2.0, 4.0]
    assert len({asked.headers["Idempotency-Key"] for asked in api.asked}) == 1
    assert "trying again in 7 s" in done.err


def test_429_is_not_waited_for_without_end(run: Run, api: FakeApi, clock: FakeClock, file: str) -> None:
    api.answers(problem(429, "too_many_requests", "Slow down", headers={"Retry-After": "3600"}))
    done = run("batch", "send", file, "--yes")
    assert (done.code, clock.slept, len(api.asked)) == (1, [], 1)
    assert "in 3600 s" in done.err
    api.answers(Answer({}, 429, {"Retry-After": "1"}))
    assert run("batch", "send", file, "--yes").code == 1
    assert len(clock.slept) == 5


@pytest.mark.parametrize(
    ("answer", "code", "said"),
    [
        (problem(401, "unauthorized", f"No key {API_KEY}"), 4, "check POSTHASTE_API_KEY"),
        (problem(403, "forbidden", "The key lacks the scope"), 4, "scope"),
        (problem(404, "not_found", "No batch b1."), 3, "No batch b1.\n  code: not_found\n"),
        (problem(409, "conflict", "Busy"), 1, "code: conflict"),
        (problem(422, "from_not_allowed", "No.", errors=[{"message": "No."}]), 1, "No.\n  code: from_not_allowed\n"),
        (Answer({"message": "Request Too Long"}, 413), 1, "Request Too Long"),
        (Answer(raw=b"<html>", status=404), 3, "HTTP 404\n  check POSTHASTE_URL"),
        (Answer(raw=b"<html>welcome"), 1, "check POSTHASTE_URL"),
        (Answer([]), 1, "check POSTHASTE_URL"),
        (Answer({}, 302, {"Location": "http://127.0.0.1:1/"}), 1, "check POSTHASTE_URL"),
        (Answer({}, 500), 1, "the server failed"),
        (Answer({}, 504), 5, "temporarily unavailable"),
    ],
)
def test_each_refusal_has_its_code_and_its_advice(
    run: Run, api: FakeApi, file: str, answer: Answer, code: int, said: str
) -> None:
    api.answers(answer)
    done = run("batch", "send", file, "--yes")
    _, mark, error = f"\n{done.err}".rpartition("\nerror: ")
    assert (done.code, done.out, bool(mark)) == (code, "", True)
    assert said in error
    assert API_KEY not in done.err


def test_the_first_faults_of_a_refused_body_are_named(run: Run, api: FakeApi, file: str) -> None:
    faults = [{"field": f"to.{i}", "message": "bad\x1b[2J"} for i in range(5)]
    api.answers(problem(422, "invalid_request", "The body is wrong", errors=faults))
    done = run("batch", "send", file, "--yes")
    assert "to.0: bad" in done.err
    assert "and 2 more" in done.err
    assert "\x1b" not in done.err
    assert done.err.splitlines()[0] == "error: The body is wrong"
    assert [line[:2] for line in done.err.splitlines()[1:]] == ["  "] * 5


def test_an_unreachable_address_is_exit_code_5_at_once(
    run: Run, clock: FakeClock, file: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("POSTHASTE_URL", "http://127.0.0.1:1")
    monkeypatch.setenv("POSTHASTE_API_KEY", API_KEY)
    done = run("batch", "send", file, "--yes")
    assert (done.code, clock.slept) == (5, [])
    assert "posthaste local up" in done.err


def test_watching_prints_one_json_line_per_change_until_logged(run: Run, api: FakeApi, clock: FakeClock) -> None:
    api.answers(
        batch("READY", "scheduled", queued=3),
        batch("READY", "scheduled", queued=3),
        batch("SENDING", queued=1, sending=2),
        Answer(drop=True),
        batch("SENT", sent=2, failed=1),
        batch("LOGGED", delivered=2, failed=1),
    )
    done = run("batch", "watch", "b1", "--json")
    assert done.code == 0
    assert [line["state"] for line in done.lines] == ["READY", "SENDING", "SENT", "LOGGED"]
    assert all(sum(line["counts"].values()) == 3 for line in done.lines)
    assert done.lines[0]["waiting_for"] == "scheduled"
    assert {asked.path for asked in api.asked} == {"/batches/b1"}
    assert set(clock.slept) == {0.5}


@pytest.mark.slow
def test_long_watching_asks_less_often(run: Run, api: FakeApi, clock: FakeClock) -> None:
    api.answers(*[batch("SENDING", sending=1)] * 70, batch("LOGGED", sent=1))
    assert run("batch", "watch", "b1").code == 0
    assert clock.slept == [0.5] * 60 + [2.0] * 10


def test_watching_prints_a_line_per_change_into_a_pipe_and_bars_on_a_terminal(run: Run, api: FakeApi) -> None:
    script = [batch("SENDING", queued=1500, sending=200), batch("LOGGED", delivered=1690, failed=10)]
    api.answers(*script)
    assert run("batch", "watch", "b1").out == (
        "sending   queued 1,500  sending 200\ndone      delivered 1,690  failed 10\n"
    )
    api.answers(*script)
    shown = run("batch", "watch", "b1", terminal=True).out
    assert "done  1,700 messages" in shown
    assert "━" in shown
    assert "1,690" in shown


@pytest.mark.parametrize("terminal", [True, False])
def test_ctrl_c_ends_the_watching_alone(run: Run, api: FakeApi, clock: FakeClock, terminal: bool) -> None:  # noqa: FBT001
    def interrupt(n: int) -> None:
        if n == 2:
            raise KeyboardInterrupt

    clock.on_sleep = interrupt
    api.answers(batch("SENDING", sending=1))
    done = run("batch", "watch", "b1", terminal=terminal)
    assert done.code == 130
    assert "the job continues" in done.err
    assert {asked.method for asked in api.asked} == {"GET"}
    assert len(api.asked) == 2


@pytest.mark.slow
def test_the_real_command_ends_in_order_on_ctrl_c(api: FakeApi) -> None:
    api.answers(batch("SENDING", sending=1))
    heeding = [*COMMAND[:-1], f"import signal; signal.signal(signal.SIGINT, signal.default_int_handler); {COMMAND[-1]}"]
    with subprocess.Popen(  # who runs tests in the background has it ignore Ctrl-C, and all its children
        [*heeding, "batch", "watch", "b1"], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    ) as child:
        assert api.heard.acquire(timeout=30)
        assert api.heard.acquire(timeout=30)
        child.send_signal(signal.SIGINT)
        out, err = child.communicate(timeout=30)
    assert child.returncode == 130
    assert out == "sending   sending 1\n"
    assert err == "no longer watching; the job continues. To watch again: posthaste batch watch b1\n"


def test_a_batch_that_is_not_there_ends_the_watching(run: Run, api: FakeApi) -> None:
    api.answers(problem(404, "not_found", "No such batch"))
    assert run("batch", "watch", "b1").code == 3
    api.answers(Answer({"items": []}))
    assert run("batch", "watch", "b1").code == 1


def test_a_batch_is_sent_only_after_yes(run: Run, api: FakeApi, file: str) -> None:
    for words in ((), ("--json",)):
        done = run("batch", "send", file, *words)
        assert (done.code, done.out, "add --yes" in done.err) == (2, "", True)
    no = run("batch", "send", file, terminal=True, input="n\n")
    assert (no.code, no.err) == (1, "Send 1 message from the local cloud? [y/N]:nothing was changed\n")
    assert api.asked == []
    api.answers(Answer(ACCEPTED, 202))
    assert run("batch", "send", file, terminal=True, input="y\n").code == 0


def test_messages_of_unknown_outcome_are_sent_again_only_after_yes(run: Run, api: FakeApi) -> None:
    done = run("batch", "retry", "b1", "--include", "unknown")
    assert (done.code, "add --yes" in done.err) == (2, True)
    assert api.asked == []
    api.answers(Answer({"state": "LOGGED", "counts": {"unknown": 1}}))
    no = run("batch", "retry", "b1", "--include", "unknown", terminal=True, input="n\n")
    assert (no.code, "Some people can get batch b1 twice" in no.err) == (1, True)
    assert [x.method for x in api.asked] == ["GET"]


def test_sending_and_watching_in_one(run: Run, api: FakeApi, file: str) -> None:
    api.answers(Answer(ACCEPTED, 202), batch("LOGGED", delivered=1003))
    done = run("batch", "send", file, "--watch", "--json", "--yes")
    assert [line["state"] for line in done.lines] == ["READY", "LOGGED"]


def line(n: int, state: str = "delivered", **more: Any) -> dict[str, Any]:
    tried = {"sendgrid": True, "mailgun": False}
    known = {"message": f"0.{n}", "recipient": f"u{n}@example.org", "state": state, "providers": tried}
    return {**known, "attempts": [{"n": 0}], "error": None, "may_duplicate": False, **more}


def test_logs_follow_the_cursor_also_through_an_empty_page(run: Run, api: FakeApi) -> None:
    api.answers(
        Answer({"items": [line(0)], "next_cursor": "c/1"}),
        Answer({"items": [], "next_cursor": "c2"}),
        Answer({"items": [line(1, "failed", error="550")], "next_cursor": None}),
    )
    words = ("--state", "delivered", "--state", "failed", "--status", "failed", "--recipient", "u+1@example.org")
    done = run("batch", "logs", "b1", *words, "--json")
    assert done.lines == [line(0), line(1, "failed", error="550")]
    assert [asked.path for asked in api.asked] == [
        f"/batches/b1/logs?limit=1000&state=delivered%2Cfailed&status=failed&recipient=u%2B1%40example.org{cursor}"
        for cursor in ("", "&cursor=c%2F1", "&cursor=c2")
    ]


def test_logs_for_people_have_one_header_and_nothing_that_steers_a_terminal(run: Run, api: FakeApi) -> None:
    api.answers(
        Answer({"items": [line(0)], "next_cursor": "c"}),
        Answer({"items": [line(1, "failed", error="\x1b[31m550", may_duplicate=True)], "next_cursor": None}),
    )
    out = run("batch", "logs", "b1").out
    assert out.count("recipient") == 1
    assert "may have arrived twice" in out
    assert "sendgrid" in out
    assert "mailgun" not in out
    assert "\x1b" not in out
    api.answers(Answer({"items": [], "next_cursor": None}))
    none = run("batch", "logs", "b1", "--state", "unknown")
    assert (none.code, none.out, none.err) == (0, "", "no such messages\n")
    assert run("batch", "logs", "b1", "--state", "bogus").code == 2


def test_an_id_stays_one_part_of_the_path(run: Run, api: FakeApi) -> None:
    api.answers(batch("LOGGED"))
    assert run("batch", "watch", "../jobs?x").code == 0
    assert api.asked[0].path == "/batches/..%2Fjobs%3Fx"
    assert run("batch", "watch", "..").code == 2


@pytest.mark.slow
def test_the_reader_of_a_pipe_may_leave(api: FakeApi) -> None:
    api.answers(Answer({"items": [line(n) for n in range(1000)], "next_cursor": "again"}))
    read, write = os.pipe()
    os.close(read)
    with subprocess.Popen([*COMMAND, "batch", "logs", "b1", "--json"], stdout=write, stderr=subprocess.PIPE) as child:
        os.close(write)
        _, err = child.communicate(timeout=30)
    assert child.returncode == 1
    assert b"Traceback" not in err


def test_an_end_is_shown_by_the_users_clock(capsys: pytest.CaptureFixture[str]) -> None:
    then = datetime(2026, 11, 20, 13, 5, 9).astimezone()
    moment = then.astimezone(UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")
    assert by_the_clock(moment, then.timestamp() - 60) == "13:05:09"
    assert by_the_clock(moment, then.timestamp() - 86_400) == "2026-11-20 13:05"
    assert by_the_clock("soon", 0) == "soon"
    clock = FakeClock()
    clock.time = then.timestamp() - 60
    as_lines(clock)(JobProgress("SENDING", {"queued": 1}, eta=moment))
    assert capsys.readouterr().out == "sending   queued 1  (ends about 13:05:09)\n"
