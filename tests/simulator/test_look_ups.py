"""A vendor's look-ups cost what they find, not what was ever accepted: the simulator is one process for all lanes."""

import json

import pytest

from simulator.log import AcceptedRows, Log, Row
from simulator.model import Content, Context, Message, Request
from simulator.vendors.sendgrid.logs import PATH, answer

RECIPIENTS = 100


def accept(log: Log, count: int, credential: str = "main") -> None:
    """Accept calls of one message each, to so many recipients in turn."""
    for n in range(count):
        to = f"a{n % RECIPIENTS}@example.com"
        message = Message(to, "to", f"ref-{n}", "Hello", f"id-{n}", 0, Content("", "", "", (), 0), {}, {})
        log.accept(log.call(float(n), "sendgrid", credential), [message])


def context(log: Log) -> Context:
    """Return what SendGrid may know of a call long after everything was accepted."""
    return Context("main", frozenset("k"), "id", 1e6, AcceptedRows(log, "sendgrid", "main"), {})


def search(log: Log, query: str) -> list[dict[str, str]]:
    """Return what SendGrid's Email Logs find."""
    body = json.dumps({"query": query, "limit": 1000}).encode()
    found: list[dict[str, str]] = json.loads(
        answer(Request("POST", PATH, b"", [], body, len(body)), context(log)).body
    )["messages"]
    return found


@pytest.mark.slow
def test_a_look_up_shows_only_the_lines_of_its_recipients(monkeypatch: pytest.MonkeyPatch) -> None:
    log = Log()
    accept(log, 1000)
    accept(log, 1000, "other")
    shown = 0
    line = Row.line

    def counted(row: Row) -> dict[str, object]:
        nonlocal shown
        shown += 1
        return line(row)

    monkeypatch.setattr(Row, "line", counted)
    found = search(log, 'to_email = "a7@example.com" AND subject = "Hello"')
    assert len(found) == shown == 10
    assert all(message["to_email"] == "a7@example.com" for message in found)
    whole = answer(Request("GET", f"{PATH}/{found[0]['sg_message_id']}", b"", [], b"", 0), context(log))
    assert json.loads(whole.body)["custom_args"] == {"posthaste_ref": "ref-907"}
    assert shown == 11
    assert answer(Request("GET", f"{PATH}/id-7.recvd-simulator-9.0", b"", [], b"", 0), context(log)).status == 404
    assert len(search(log, "")) == 1000


def test_what_is_accepted_after_a_look_up_is_found_by_the_next_until_the_log_is_cleared() -> None:
    log = Log()
    query = 'to_email = "a0@example.com"'
    assert search(log, query) == []
    accept(log, 1)
    assert len(search(log, query)) == 1
    log.clear()
    assert search(log, query) == []
    accept(log, 1)
    assert len(search(log, query)) == 1
