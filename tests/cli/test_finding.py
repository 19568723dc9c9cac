"""`posthaste message find`: did Ann get it?"""

from collections.abc import Iterator
from typing import Any

import pytest

from tests.cli import honest
from tests.cli.fakes import Answer, FakeApi, Run
from tests.cli.scripts import AT, JOB
from tests.cli.test_account import attempt


@pytest.fixture(autouse=True)
def real(api: FakeApi) -> Iterator[None]:
    yield
    honest.check(api)


def found(n: int, state: str, **more: Any) -> dict[str, Any]:
    known = {"message": f"0.{n}", "recipient": "ann@example.org", "state": state, "status": "queued", "providers": {}}
    fixed = {"updated_at": AT, "may_duplicate": False, "unacknowledged": False, "tags": [], "metadata": {}}
    names = ("sent_at", "delivered_at", "error", "error_detail", "error_meaning", "reference", "row", "sender")
    of = {"job_id": JOB, "kind": "batch", "channel": "email", "test": False, "accepted_at": AT, "subject": "Order"}
    return {**known, **fixed, **dict.fromkeys(names), **of, "attempts": [attempt(1, AT, "accepted")], **more}


def page(*items: dict[str, Any], cursor: str | None = None) -> Answer:
    return Answer({"items": list(items), "next_cursor": cursor, "searched_to": None})


def test_messages_to_a_person_are_a_table_with_what_refers_to_them(run: Run, api: FakeApi) -> None:
    api.answers(page(found(0, "delivered", reference="4711"), found(1, "failed", error="5.1.1")))
    done = run("message", "find", "ann@example.org")
    first, second = [line.split() for line in done.out.splitlines()[1:]]
    assert first == [AT, "delivered", "ann@example.org", "4711", f"{JOB}/0.0"]
    assert second[:5] == [AT, "failed", "ann@example.org", "Order", f"{JOB}/0.1"]
    assert " ".join(second[5:]) == "the mailbox does not exist (5.1.1)"
    assert api.asked[0].path == "/messages?recipient=ann%40example.org&limit=51"


def test_all_that_is_given_is_asked_for(run: Run, api: FakeApi) -> None:
    api.answers(page())
    done = run(
        *("message", "find", "--reference", "4711", "--tag", "order", "--from", "2026-11-01", "--to", "2026-11-20"),
        *("--state", "failed,unknown", "--credential", "ses-main", "--limit", "5"),
    )
    assert (done.code, done.out) == (0, "")
    assert "no messages" in done.err
    asked = "reference=4711&tag=order&from=2026-11-01&to=2026-11-20&state=failed%2Cunknown&credential=ses-main&limit=6"
    assert api.asked[0].path == f"/messages?{asked}"


def test_an_empty_page_with_a_cursor_is_not_the_end(run: Run, api: FakeApi) -> None:
    api.answers(page(cursor="c1"), page(found(0, "delivered"), found(1, "sent")))
    done = run("message", "find", "ann@example.org", "--limit", "1")
    assert len(done.out.splitlines()) == 2
    assert "there are more than 1: --limit N shows N" in done.err


def test_json_has_all_of_them(run: Run, api: FakeApi) -> None:
    api.answers(page(found(0, "delivered"), cursor="c1"), page(found(1, "sent")))
    assert [x["message"] for x in run("message", "find", "ann@example.org", "--json").lines] == ["0.0", "0.1"]


@pytest.mark.parametrize("words", [(), ("--limit", "3")])
def test_a_search_for_nothing_asks_nothing(run: Run, api: FakeApi, words: tuple[str, ...]) -> None:
    done = run("message", "find", *words)
    assert (done.code, done.err) == (2, "error: name a recipient, or an option to find messages by\n")
    assert api.asked == []
