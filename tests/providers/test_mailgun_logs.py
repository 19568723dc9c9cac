import json
from email.utils import parsedate_to_datetime
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from shared.adapters.clock import SystemClock
from shared.adapters.http.transport import HttpClient
from shared.domain.jobs.outcomes import Absent, Accepted, Finding, Unknown
from shared.ports import AnswerLost, NotSent, Response
from shared.providers._common import REF_ARG
from shared.providers.mailgun.logs import LIMIT, MAX_PAGES
from shared.providers.mailgun.send import Mailgun
from simulator.run import Simulator
from tests.providers.contract import CONTENT, FAR, target
from tests.providers.fakes import NOW, Fixed, insisted
from tests.providers.test_mailgun import SECRET
from tests.providers.test_mailgun_lookup import LOGS_URL, URL, Pages, event, page
from tests.providers.test_sendgrid_events import JSON
from tests.providers.test_vendor_documents import FOLDER, faults, strict

HOUR = 3600.0
NAME = "20260203.1@mg.sender.example"
DOCUMENT = json.loads((FOLDER / "logs" / "mailgun.json").read_text("utf-8"))["operations"]["POST /v1/analytics/logs"]
REF = target(0).ref


def item(variables: Any, name: str = NAME) -> dict[str, Any]:
    """An item in the form that Mailgun documents; `user-variables` is a text of no documented form."""
    return {
        "id": "ncV2XwymRUKbPek_MIM-Gw",
        "event": "accepted",
        "@timestamp": "2026-09-21T13:46:40.123Z",
        "domain": {"name": "mg.sender.example"},
        "recipient": "reader0@example.com",
        "message": {"headers": {"message-id": name}},
        "user-variables": variables,
    }


def logs(*items: Any, following: Any = None) -> Response:
    rest = {"start": "Mon, 21 Sep 2026 12:46:40 -0000", "end": "Mon, 21 Sep 2026 14:46:40 -0000"}
    paging = {} if following is None else {"next": following}
    return Response(200, {}, json.dumps({**rest, "items": items, "pagination": paging}).encode())


def resolve(http: Pages, age: float = HOUR, address: str = "") -> Finding:
    return Mailgun(http, "", SECRET, Fixed()).resolve(CONTENT, target(0, address), at=NOW - age, deadline=NOW + 8)


OURS = item(json.dumps({REF_ARG: REF}))
OTHER = item(json.dumps({REF_ARG: target(1).ref}))


def test_an_attempt_that_the_logs_show_was_taken_and_the_events_are_not_asked() -> None:
    http = Pages(logs(OTHER, OURS))
    assert resolve(http) == Accepted(NAME)
    ((method, url, headers, body),) = http.requests
    assert (method, url) == ("POST", LOGS_URL)
    assert headers["Authorization"].startswith("Basic ")
    asked = json.loads(body)
    assert faults(strict(DOCUMENT["request"]), asked) == []
    assert {term["attribute"]: term["values"][0]["value"] for term in asked["filter"]["AND"]} == {
        "recipient": "reader0@example.com",
        "domain": "mg.sender.example",
    }
    assert parsedate_to_datetime(asked["start"]).timestamp() <= NOW - 2 * HOUR
    assert parsedate_to_datetime(asked["end"]).timestamp() >= NOW


def test_the_answers_here_are_as_the_vendor_documents_them() -> None:
    assert faults(strict(DOCUMENT["answer"]), json.loads(logs(OURS, following="x").body)) == []


@pytest.mark.promise(1)
@pytest.mark.parametrize(
    "answer",
    [
        logs(),
        logs(OTHER),
        logs(item(None), item(""), item("x"), item(7), item([]), item("[" * 100_000), item('{"ref": "x"}')),
        logs(item(f"{REF_ARG}={REF}")),
        Response(200, {}, b"{}"),
        Response(200, {}, b'{"items": [7]}'),
        Response(200, {}, b"[" * 100_000),
        Response(200, {}, b"Mailgun Magnificent API"),
        Response(400, {}, b'{"message": "invalid"}'),
        Response(401, {}, b"Forbidden"),
        Response(403, {}, b"Forbidden"),
        Response(404, {}, b"{}"),
        Response(429, {}, b"{}"),
        Response(500, {}, b""),
        NotSent("connection_refused"),
        AnswerLost("read_timeout"),
    ],
)
def test_logs_that_show_nothing_prove_nothing_and_the_events_decide(answer: Response | Exception) -> None:
    for pages, finding in (
        ([page(event(REF))], Accepted(NAME)),
        ([page()], Absent()),
        ([Response(404, {}, b"{}")], Unknown("http_404")),
    ):
        about_logs = insisted(answer)
        http = Pages(*about_logs, *pages)
        assert resolve(http) == finding
        assert [url.partition("?")[0] for _, url, _, _ in http.requests] == [LOGS_URL] * len(about_logs) + [URL]
    assert resolve(Pages(*about_logs, page()), age=1) == Unknown("too_early")


@pytest.mark.parametrize("variables", [json.dumps({REF_ARG: REF, "x": 1}), {REF_ARG: REF}])
def test_the_values_are_read_as_an_object_and_as_its_json(variables: Any) -> None:
    assert resolve(Pages(logs(item(variables, f"<{NAME}>")))) == Accepted(NAME)


def test_pages_are_followed_by_their_token_and_bounded() -> None:
    http = Pages(logs(OTHER, following="a"), logs(OTHER, following="b"), logs(OURS))
    assert resolve(http) == Accepted(NAME)
    assert [json.loads(body)["pagination"].get("token") for _, _, _, body in http.requests] == [None, "a", "b"]
    http = Pages(*(logs(OTHER, following=f"{n}") for n in range(MAX_PAGES)), page())
    assert resolve(http) == Absent()
    assert len(http.requests) == MAX_PAGES + 1
    assert resolve(Pages(logs(OTHER, following="a"), logs(OTHER, following="a"), page())) == Absent()


def test_every_spelling_of_an_address_is_asked_for_by_itself() -> None:
    http = Pages(logs(), logs(), logs(OURS))
    assert resolve(http, address="Ada.B+c@Example.COM") == Accepted(NAME)
    asked = [json.loads(body)["filter"]["AND"][0]["values"] for _, _, _, body in http.requests]
    assert [values[0]["value"] for values in asked] == [
        "Ada.B+c@Example.COM",
        "Ada.B+c@example.com",
        "ada.b+c@example.com",
    ]


def test_half_of_the_time_is_left_for_the_events() -> None:
    deadlines: list[float] = []

    class Timed(Pages):
        def request(self, *args: Any, **kwargs: Any) -> Response:
            deadlines.append(kwargs["deadline"])
            return super().request(*args, **kwargs)

    resolve(Timed(AnswerLost("read_timeout"), logs(), page()))
    assert deadlines == [NOW + 4, NOW + 4, NOW + 8]


class Wild(Pages):
    """Says the same of every question about logs, and has no events."""

    def request(self, method: str, *args: Any, **kwargs: Any) -> Response:
        self.pages = [self.pages[0]] * 2 if method == "POST" else [page()]
        return super().request(method, *args, **kwargs)


@pytest.mark.promise(10)
@given(st.lists(st.fixed_dictionaries({}, optional={"message": JSON, "user-variables": JSON}), max_size=5), JSON)
def test_no_answer_breaks_the_look_up(items: list[Any], following: Any) -> None:
    assert resolve(Wild(logs(*items, following=following))) == Absent()
    named = [{**each, "user-variables": {REF_ARG: REF}} for each in items]
    assert isinstance(resolve(Wild(logs(*named, following=following))), Accepted if named else Absent)


# Against the simulator's wire format


@pytest.mark.slow
def test_attempts_are_found_in_the_simulators_logs_behind_several_pages(simulator: Simulator, http: HttpClient) -> None:
    clock = SystemClock()
    keys = simulator.control.keys("mailgun")
    provider = Mailgun(http, simulator.base_url("mailgun", "logs"), {"api_key": keys.pop("keys")[0], **keys}, clock)
    for n in range(LIMIT + 5):
        provider.send(CONTENT, [target(n, "Often@example.com")], deadline=clock.now() + FAR)
    before = {call["n"] for call in simulator.control.calls("mailgun", "logs")}
    for n in (0, LIMIT + 4):
        found = provider.resolve(
            CONTENT, target(n, "Often@example.com"), at=clock.now() - HOUR, deadline=clock.now() + FAR
        )
        assert isinstance(found, Accepted)
    asked = [call for call in simulator.control.calls("mailgun", "logs") if call["n"] not in before]
    assert [call["status"] for call in asked] == [200, 200, 200], "the logs, and their second page"
