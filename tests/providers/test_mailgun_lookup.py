import json
from typing import Any
from urllib.parse import parse_qs, urlsplit

import pytest
from hypothesis import given
from hypothesis import strategies as st

from shared.adapters.clock import SystemClock
from shared.adapters.http.transport import HttpClient
from shared.domain.jobs.outcomes import Absent, Accepted, Finding, Unknown
from shared.ports import AnswerLost, NoTime, NotSent, Response
from shared.providers._common import REF_ARG
from shared.providers.mailgun.lookup import LIMIT, MAX_PAGES, RESOLVES_WITHIN, SETTLED
from shared.providers.mailgun.send import Mailgun
from simulator.run import Simulator
from tests.providers.contract import CONTENT, FAR, target
from tests.providers.fakes import NOW, FakeHttp, Fixed, insisted
from tests.providers.test_mailgun import SECRET
from tests.providers.test_sendgrid_events import JSON

HOUR = 3600.0
URL = "https://api.mailgun.net/v3/mg.sender.example/events"
LOGS_URL = "https://api.mailgun.net/v1/analytics/logs"
NEXT = f"{URL}/W3siYSI6IHsiYiI6IF9fMX19-_Q=="


def event(ref: Any, name: str = "accepted", message: str = "20260203.1@mg.sender.example") -> dict[str, Any]:
    """An event in the form Mailgun documents it."""
    return {
        "event": name,
        "id": "ncV2XwymRUKbPek_MIM-Gw",
        "timestamp": NOW - HOUR,
        "recipient": "reader0@example.com",
        "message": {"headers": {"message-id": message}},
        "user-variables": {} if ref is None else {REF_ARG: ref},
    }


def page(*events: Any, following: Any = NEXT) -> Response:
    paging = {"next": following, "previous": NEXT, "first": NEXT, "last": NEXT}
    return Response(200, {}, json.dumps({"items": events, "paging": paging}).encode())


class Pages(FakeHttp):
    """Answers with one page after another."""

    def __init__(self, *pages: Response | Exception) -> None:
        super().__init__(Response(500, {}, b""))
        self.pages = list(pages)

    def request(self, *args: Any, **kwargs: Any) -> Response:
        self.answer = self.pages.pop(0)
        return super().request(*args, **kwargs)


class Events(Pages):
    """Mailgun to a key of one domain, which may read events and no logs."""

    def request(self, method: str, url: str, **kwargs: Any) -> Response:
        if method == "POST" and url == LOGS_URL:
            return Response(403, {}, b"Forbidden")
        return super().request(method, url, **kwargs)


def resolve(http: FakeHttp, age: float = HOUR, address: str = "") -> Finding:
    provider = Mailgun(http, "", SECRET, Fixed())
    return provider.resolve(CONTENT, target(0, address), at=NOW - age, deadline=NOW + 5)


OTHER = event(target(1).ref)
OURS = event(target(0).ref)


def test_the_question_names_recipient_and_time_and_nothing_undocumented() -> None:
    http = Events(page(OURS))
    resolve(http)
    ((method, url, headers, body),) = http.requests
    assert (method, url.partition("?")[0], body) == ("GET", URL, b"")
    assert headers["Authorization"].startswith("Basic ")
    asked = parse_qs(urlsplit(url).query)
    assert set(asked) == {"begin", "end", "limit", "recipient"}
    assert asked["recipient"] == ["reader0@example.com"]
    assert asked["limit"] == [str(LIMIT)]
    assert float(asked["begin"][0]) <= NOW - 2 * HOUR
    assert float(asked["end"][0]) >= NOW


def test_every_spelling_of_an_address_is_asked_for() -> None:
    http = Events(page(OURS))
    resolve(http, address="Ada.B+c@Example.COM")
    asked = parse_qs(urlsplit(http.requests[0][1]).query)["recipient"]
    assert asked == ["Ada.B+c@Example.COM OR Ada.B+c@example.com OR ada.b+c@example.com"]


@pytest.mark.parametrize(
    "address", ['"a b"@x.example', "a(b)@x.example", "ä@x.example", "a@münchen.example", "-a@x.example", "a OR b@x.y"]
)
def test_an_address_that_is_more_than_a_word_is_not_asked_about(address: str) -> None:
    http = Events()
    assert resolve(http, address=address) == Unknown("cannot_look_up")
    assert http.requests == []


@pytest.mark.parametrize("name", ["accepted", "delivered", "failed", "rejected", "opened", "something-new"])
def test_any_event_about_the_attempt_says_that_it_was_taken(name: str) -> None:
    found = Accepted("20260203.1@mg.sender.example")
    assert resolve(Events(page(OTHER, event(target(0).ref, name)))) == found
    assert resolve(Events(page(event(target(0).ref, name, "<20260203.1@mg.sender.example>")))) == found
    assert resolve(Events(page(event(target(0).ref, name))), age=1) == found


@pytest.mark.promise(1)
def test_absence_is_proof_only_when_events_have_settled() -> None:
    for age, finding in ((SETTLED, Absent()), (SETTLED - 1, Unknown("too_early")), (0, Unknown("too_early"))):
        assert resolve(Events(page()), age) == finding
        assert resolve(Events(page(OTHER, event(target(0, attempt=2).ref), event(None)), page()), age) == finding
    assert SETTLED > 1800
    assert resolve(Events(page()), RESOLVES_WITHIN) == Absent()
    assert resolve(Events(), RESOLVES_WITHIN + 1) == Unknown("too_late")


def test_pages_are_followed_to_an_empty_one() -> None:
    http = Events(page(OTHER), page(OTHER), page(OURS))
    assert resolve(http) == Accepted("20260203.1@mg.sender.example")
    assert [url for _, url, _, _ in http.requests[1:]] == [NEXT] * 2
    assert resolve(Events(page(OTHER), page(OTHER), page())) == Absent()


def test_pages_are_bounded() -> None:
    http = Events(*[page(OTHER)] * (MAX_PAGES + 1))
    assert resolve(http) == Unknown("too_many_events")
    assert len(http.requests) == MAX_PAGES


@pytest.mark.promise(9)
@pytest.mark.parametrize(
    "following", ["https://evil.example/v3/x/events/abc", "http://api.mailgun.net:1/v3/mg.sender.example/events/abc"]
)
def test_the_key_goes_to_no_other_place_than_the_base_url(following: str) -> None:
    http = Events(page(OTHER, following=following), page())
    assert resolve(http) == Absent()
    assert http.requests[1][1] == f"{URL}/abc"


@pytest.mark.parametrize("following", [None, 7, "", "x", f"{URL}?page=2", f"{URL}/a/b", f"{URL}/a b", f"{URL}/ä"])
def test_a_next_page_that_cannot_be_followed_proves_nothing(following: Any) -> None:
    assert resolve(Events(page(OTHER, following=following))) == Unknown("malformed_answer")
    assert resolve(Events(page(following=following))) == Absent()


@pytest.mark.promise(1)
@pytest.mark.parametrize("value", ["%recipient.ref%", "", 7, [], {}, "x", target(0).ref.upper()])
def test_an_event_of_ours_that_cannot_be_read_proves_nothing(value: Any) -> None:
    assert resolve(Events(page(event(value)), page())) == Unknown("unreadable_event")


@pytest.mark.parametrize(
    ("answer", "reason"),
    [
        (Response(401, {}, b"Forbidden"), "http_401"),
        (Response(403, {}, b""), "http_403"),
        (Response(404, {}, b'{"message":"Domain not found"}'), "http_404"),
        (Response(429, {"retry-after": "7"}, b"{}"), "http_429"),
        (Response(500, {}, b""), "http_500"),
        (Response(503, {}, b'{"message":"x"}'), "http_503"),
        (Response(301, {"location": "https://elsewhere"}, b""), "http_301"),
        (Response(204, {}, b""), "malformed_answer"),
        (Response(200, {}, b"Mailgun Magnificent API"), "malformed_answer"),
        (Response(200, {}, b"{}"), "malformed_answer"),
        (Response(200, {}, b'{"items":{}}'), "malformed_answer"),
        (Response(200, {}, b'{"items":[7]}'), "malformed_answer"),
        (Response(200, {}, b"[]"), "malformed_answer"),
        (Response(200, {}, b"[" * 100_000), "malformed_answer"),
        (NotSent("connection_refused"), "connection_refused"),
        (NoTime("deadline"), "no_time"),
        (AnswerLost("read_timeout"), "read_timeout"),
    ],
)
def test_what_befalls_the_question_says_nothing_of_the_attempt(answer: Response | Exception, reason: str) -> None:
    assert resolve(Events(*insisted(answer))) == Unknown(reason)
    assert resolve(Events(page(OTHER), *insisted(answer))) == Unknown(reason)


@pytest.mark.parametrize("lost", [AnswerLost("read_timeout"), Response(502, {}, b"")])
def test_a_question_without_an_answer_is_asked_again(lost: Response | Exception) -> None:
    assert resolve(Events(lost, lost, page(OTHER), lost, page())) == Absent()


@pytest.mark.parametrize(
    ("changes", "code"),
    [({"api_key": ""}, "no_api_key"), ({"domain": "mg"}, "no_domain"), ({"domain": ""}, "no_domain")],
)
def test_without_a_usable_key_and_domain_no_request_is_made(changes: dict[str, str], code: str) -> None:
    http = Events()
    provider = Mailgun(http, "", {**SECRET, **changes}, Fixed())
    assert provider.resolve(CONTENT, target(0), at=NOW - HOUR, deadline=NOW + 5) == Unknown(code)
    assert http.requests == []


EVENTS = st.fixed_dictionaries(
    {}, optional={"event": JSON, "message": JSON | st.fixed_dictionaries({"headers": JSON}), "user-variables": JSON}
)


@pytest.mark.promise(10)
@given(st.lists(EVENTS, min_size=1), JSON)
def test_no_answer_breaks_the_look_up(events: list[Any], following: Any) -> None:
    assert resolve(Events(page(*events, following=following), page())) in (
        *(Absent(), Unknown("malformed_answer"), Unknown("unreadable_event")),
    )
    named = [{**e, "user-variables": {REF_ARG: target(0).ref}} for e in events]
    assert isinstance(resolve(Events(page(*named))), Accepted)


# Against the simulator's wire format


def test_each_recipient_of_a_call_is_found_by_its_own_ref(simulator: Simulator, http: HttpClient) -> None:
    clock = SystemClock()
    keys = simulator.control.keys("mailgun")
    secret = {"api_key": keys.pop("keys")[0], **keys}
    provider = Mailgun(http, simulator.base_url("mailgun", "lookup"), secret, clock)
    targets = [target(n, f"Reader{n}@Example.com") for n in range(30)]
    (sent,) = set(provider.send(CONTENT, targets, deadline=clock.now() + FAR))
    at = clock.now() - HOUR
    for one in targets:
        assert provider.resolve(CONTENT, one, at=at, deadline=clock.now() + FAR) == sent
    for n in range(3):  # the same people, an attempt and a message later
        for other in (target(n, f"Reader{n}@Example.com", attempt=2), target(100 + n, f"Reader{n}@Example.com")):
            assert provider.resolve(CONTENT, other, at=at, deadline=clock.now() + FAR) == Absent()
            assert provider.resolve(CONTENT, other, at=clock.now(), deadline=clock.now() + FAR) == Unknown("too_early")


@pytest.mark.slow
def test_an_attempt_is_found_behind_several_pages(simulator: Simulator, http: HttpClient) -> None:
    clock = SystemClock()
    keys = simulator.control.keys("mailgun")
    secret = {"api_key": keys.pop("keys")[0], **keys}
    provider = Mailgun(http, simulator.base_url("mailgun", "often"), secret, clock)
    for n in range(LIMIT + 5):
        provider.send(CONTENT, [target(n, "often@example.com")], deadline=clock.now() + FAR)
    for n, finding in ((LIMIT + 4, Accepted), (LIMIT + 5, Absent)):
        found = provider.resolve(
            CONTENT, target(n, "often@example.com"), at=clock.now() - HOUR, deadline=clock.now() + FAR
        )
        assert isinstance(found, finding)
