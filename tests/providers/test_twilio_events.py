import base64
import hashlib
import hmac
from typing import Any
from urllib.parse import urlencode

import pytest
from hypothesis import given
from hypothesis import strategies as st
from twilio.request_validator import RequestValidator

from shared.contracts import ProviderEvent, dump_feedback, load_feedback
from shared.domain.jobs.feedback import HARD, SOFT, ProviderEventKind, join, state_of
from shared.domain.jobs.states import Cell
from shared.ports import POSTED_AT, POSTED_TO, BadEvents, BadSignature
from shared.providers.twilio.events import CODES, STATUSES, TwilioWebhooks
from tests.providers.contract import JOB, check_reading

NOW = 1_790_000_000
REF = f"{JOB}-3-17-2"
READER = TwilioWebhooks()
TOKEN, OTHER = "12345", "67890"
SECRET = {"auth_token": TOKEN}
SID = "SM" + "0a" * 16
URL = f"https://api.example/webhooks/twilio/main?ref={REF}"


def fields(status: str = "delivered", **more: str) -> dict[str, str]:
    """A callback in the form Twilio documents it."""
    return {
        "ApiVersion": "2010-04-01",
        "AccountSid": "AC" + "1" * 32,
        "From": "+15005550006",
        "To": "+15550100000",
        "MessageSid": SID,
        "MessageStatus": status,
        "SmsSid": SID,
        "SmsStatus": status,
        **more,
    }


def body(status: str = "delivered", **more: str) -> bytes:
    return urlencode(fields(status, **more)).encode()


def made(url: str, params: dict[str, str], key: str = TOKEN) -> str:
    """A signature, by the book."""
    text = url + "".join(name + params[name] for name in sorted(params))
    return base64.b64encode(hmac.new(key.encode(), text.encode(), hashlib.sha1).digest()).decode()


def headers(params: dict[str, str], url: str = URL, *, signed: str = "", key: str = TOKEN) -> dict[str, str]:
    return {POSTED_TO: url, POSTED_AT: str(NOW), "x-twilio-signature": made(signed or url, params, key)}


def words(post: bytes, url: str = URL) -> list[ProviderEvent]:
    found = READER.words({POSTED_TO: url, POSTED_AT: str(NOW)}, post)
    assert found.events == 1
    assert load_feedback(dump_feedback("main", found.words)) == ("main", found.words)
    return found.words


@pytest.mark.promise(7)
@pytest.mark.parametrize(
    ("status", "code", "word"),
    [
        *((status, "", "accepted") for status in ("accepted", "scheduled", "queued", "sending", "sent")),
        ("delivered", "", "delivered"),
        ("read", "", "delivered"),
        ("canceled", "", "dropped"),
        ("undelivered", "", "blocked"),
        ("failed", "", "dropped"),
        ("undelivered", "30003", "failed_temporarily"),
        ("undelivered", "30004", "blocked"),
        ("undelivered", "30005", "bounced"),
        ("undelivered", "30006", "bounced"),
        ("undelivered", "30007", "blocked"),
        ("undelivered", "30008", "failed_temporarily"),
        ("failed", "30001", "dropped"),
        ("failed", "30002", "dropped"),
        ("failed", "30036", "failed_temporarily"),
        ("undelivered", "30410", "failed_temporarily"),
        ("failed", "21610", "complained"),
        ("failed", "21211", "bounced"),
        ("failed", "21217", "bounced"),
        ("failed", "21614", "bounced"),
        ("failed", "21635", "bounced"),
        ("undelivered", "30034", "blocked"),
        ("failed", "30034", "dropped"),
    ],
)
def test_every_status_and_code_of_the_table(status: str, code: str, word: str) -> None:
    more = {"ErrorCode": code} if code else {}
    assert words(body(status, **more)) == [ProviderEvent(REF, word, NOW, SID, code)]
    assert word in set(ProviderEventKind)


def test_only_what_is_about_the_number_or_the_recipients_will_suppresses() -> None:
    hard = {code for code, kind in CODES.items() if kind in HARD}
    assert hard == {"21610", "21211", "21217", "21614", "21635", "30005", "30006"}
    assert set(CODES.values()) <= HARD | SOFT
    assert not HARD & set(STATUSES.values())


@pytest.mark.parametrize("status", ["receiving", "received", "partially_delivered", "new"])
def test_statuses_that_change_nothing(status: str) -> None:
    assert words(body(status)) == []
    assert words(body(status, ErrorCode="30005")) == []


@pytest.mark.parametrize("code", ["0", "", "00000", "x", "30005 ", "٣", "1234567"])
def test_what_is_no_error_code_is_none(code: str) -> None:
    assert words(body("delivered", ErrorCode=code)) == [ProviderEvent(REF, "delivered", NOW, SID)]


def test_an_error_of_a_message_on_its_way_is_not_its_end() -> None:
    assert words(body("sent", ErrorCode="30005")) == [ProviderEvent(REF, "accepted", NOW, SID, "30005")]


@pytest.mark.parametrize(("code", "word"), [("30005", "bounced"), ("30003", "failed_temporarily"), ("99", "blocked")])
def test_a_success_with_an_error_is_none(code: str, word: str) -> None:
    for status in ("delivered", "read"):
        assert words(body(status, ErrorCode=code)) == [ProviderEvent(REF, word, NOW, SID, code)]


@pytest.mark.promise(7)
@pytest.mark.parametrize(("code", "end"), [("30005", Cell.BOUNCED), ("21610", Cell.BOUNCED), ("30003", Cell.DELIVERED)])
def test_the_order_of_segments_changes_nothing(code: str, end: Cell) -> None:
    """A hard word outranks a segment that arrived; after a soft one that segment keeps the text from going twice."""
    posts = [body("sent"), body("undelivered", ErrorCode=code), body("delivered")]
    for order in (posts, posts[::-1], [posts[2], posts[0], posts[1]], [posts[1], posts[2], posts[0]]):
        cell = Cell.CLAIMED
        for post in order:
            (word,) = words(post)
            state = state_of(ProviderEventKind(word.word))
            assert state is not None
            cell = join(cell, 2, state, 2)
        assert cell is end


@pytest.mark.parametrize(
    "query", ["", "?", "?ref=", "?ref=x", f"?ref={JOB}-1-1", f"?x={REF}", "?ref=%ff", f"#ref={REF}"]
)
def test_callbacks_of_other_texts_are_counted_and_left_out(query: str) -> None:
    assert words(body(), URL.partition("?")[0] + query) == []


def test_without_a_time_of_the_post_there_is_none() -> None:
    for untimed in ({POSTED_TO: URL}, {POSTED_TO: URL, POSTED_AT: "x"}):
        assert [w.at for w in READER.words(untimed, body()).words] == [0]


@pytest.mark.parametrize(
    ("fields", "detail"),
    [
        ({}, ""),
        ({"ErrorMessage": "Unknown destination handset"}, "Unknown destination handset"),
        ({"ChannelStatusMessage": "Recipient is not a valid user"}, "Recipient is not a valid user"),
        ({"ErrorMessage": "", "ChannelStatusMessage": "no\r\nuser"}, "no  user"),
        ({"ErrorMessage": "+1 (555) 010-0000, a@b.example: 30005"}, "<number>, <address>: 30005"),
    ],
)
def test_the_words_of_a_failure_are_kept_without_numbers(fields: dict[str, str], detail: str) -> None:
    (word,) = words(body("undelivered", ErrorCode="30005", **fields))
    assert (word.code, word.detail) == ("30005", detail)


@pytest.mark.promise(9)
def test_no_number_is_kept() -> None:
    (word,) = words(body("undelivered", ErrorCode="30005", ErrorMessage="+15550100000 is gone"))
    assert "1555" not in dump_feedback("main", [word]).replace(REF, "")


@pytest.mark.parametrize(
    "post",
    [
        b"",
        b"{}",
        b"x",
        b"MessageSid=SM1",
        b"MessageStatus=sent",
        b"MessageSid=&MessageStatus=sent",
        b"&".join([b"a=1"] * 300),
        b"\xff=1",
    ],
)
def test_a_body_that_is_not_a_callback(post: bytes) -> None:
    with pytest.raises(BadEvents):
        READER.words({POSTED_TO: URL}, post)
    with pytest.raises(BadSignature, match="unsigned"):
        READER.verify({POSTED_TO: URL}, post, SECRET, NOW)


# Signatures


def test_the_vendors_own_example() -> None:
    """From "Validating requests" of Twilio's documentation."""
    params = {
        "CallSid": "CA1234567890ABCDE",
        "Caller": "+12349013030",
        "Digits": "1234",
        "From": "+12349013030",
        "To": "+18005551212",
    }
    given = {
        POSTED_TO: "https://mycompany.com/myapp.php?foo=1&bar=2",
        "x-twilio-signature": "0/KCTR6DLpKmkAf8muzZqo1nDgQ=",
    }
    READER.verify(given, urlencode(params).encode(), {"auth_token": "12345"}, NOW)


ORIGINS = (
    "https://api.example",
    "https://api.example:443",
    "http://127.0.0.1:8080",
    "http://127.0.0.1",
    "https://h:8443",
)


@pytest.mark.parametrize("posted", ORIGINS)
@pytest.mark.parametrize("signed", ORIGINS)
@pytest.mark.parametrize("empty", [False, True])
def test_the_vendors_package_verifies_what_we_verify(posted: str, signed: str, *, empty: bool) -> None:
    rest = f"/webhooks/twilio/main?ref={REF}"
    params = fields(Body="Grüße &=+\U0001f600", ErrorMessage="" if empty else "x y", Z="", a="1")
    post, signature = urlencode(params).encode(), RequestValidator(TOKEN).compute_signature(signed + rest, params)
    given = {POSTED_TO: posted + rest, "x-twilio-signature": signature}
    assert signature == made(signed + rest, params)
    if RequestValidator(TOKEN).validate(posted + rest, params, signature):
        READER.verify(given, post, SECRET, NOW)
    else:
        with pytest.raises(BadSignature, match="wrong_signature"):
            READER.verify(given, post, SECRET, NOW)


def test_a_standard_port_may_be_signed_or_not() -> None:
    params = fields()
    for posted, signed in (("", ":443"), (":443", "")):
        rest = "/webhooks/twilio/main?ref=x"
        given = headers(params, f"https://api.example{posted}{rest}", signed=f"https://api.example{signed}{rest}")
        READER.verify(given, body(), SECRET, NOW)


def test_repeated_fields_are_signed_by_value() -> None:
    class Many(dict[str, list[str]]):
        def getlist(self, name: str) -> list[str]:
            return self[name]

    params = Many(MessageSid=[SID], MediaUrl=["b", "a", "b"], MessageStatus=["sent"])
    signature = RequestValidator(TOKEN).compute_signature(URL, params)
    READER.verify(
        {POSTED_TO: URL, "x-twilio-signature": signature}, urlencode(params, doseq=True).encode(), SECRET, NOW
    )


@pytest.mark.promise(10)
@pytest.mark.parametrize(
    "change",
    [
        {POSTED_TO: URL + "0"},
        {POSTED_TO: URL.replace("https", "http")},
        {POSTED_TO: URL.replace("main", "other")},
        {POSTED_TO: URL.replace("example", "test")},
        {"x-twilio-signature": made(URL, fields(), OTHER)},
        {"x-twilio-signature": made(URL, fields("sent"))},
        {"x-twilio-signature": made(URL, fields())[4:]},
    ],
)
def test_what_is_signed_otherwise_is_refused(change: dict[str, str]) -> None:
    given = {**headers(fields()), **change}
    READER.verify(headers(fields()), body(), SECRET, NOW)
    validator = RequestValidator(TOKEN)
    assert not validator.validate(given[POSTED_TO], fields(), given["x-twilio-signature"])
    with pytest.raises(BadSignature, match="wrong_signature"):
        READER.verify(given, body(), SECRET, NOW)


@pytest.mark.parametrize("change", [{"MessageStatus": "sent"}, {"ErrorCode": "30005"}, {"To": ""}, {"X": ""}])
def test_no_field_can_be_changed_or_added(change: dict[str, str]) -> None:
    with pytest.raises(BadSignature, match="wrong_signature"):
        READER.verify(headers(fields()), urlencode({**fields(), **change}).encode(), SECRET, NOW)


def test_several_tokens_while_they_are_rotated() -> None:
    both = {"auth_token": f"{OTHER}, {TOKEN},"}
    for key in (TOKEN, OTHER):
        READER.verify(headers(fields(), key=key), body(), both, NOW)
    with pytest.raises(BadSignature, match="wrong_signature"):
        READER.verify(headers(fields(), key=OTHER), body(), SECRET, NOW)


def test_the_secret_may_say_where_twilio_posts() -> None:
    own = "https://proxy.example/in"
    secret = {**SECRET, "webhook_url": own}
    READER.verify(headers(fields(), signed=f"{own}?ref={REF}"), body(), secret, NOW)
    READER.verify(headers(fields(), URL.partition("?")[0], signed=own), body(), secret, NOW)
    with pytest.raises(BadSignature, match="wrong_signature"):
        READER.verify(headers(fields()), body(), secret, NOW)


@pytest.mark.parametrize("token", ["", " , "])
def test_without_a_token_nothing_is_believed(token: str) -> None:
    for secret in ({"auth_token": token}, {}):
        with pytest.raises(BadSignature, match="no_key"):
            READER.verify(headers(fields(), key=token.strip()), body(), secret, NOW)


@pytest.mark.parametrize(
    ("name", "value"),
    [
        *(("x-twilio-signature", value) for value in (None, "", "é", "!!", "a", "\ud800")),
        *((POSTED_TO, value) for value in (None, "", "/x", "ftp://a/b", "https://", "https://a:x/b", "\ud800")),
    ],
)
def test_headers_that_are_missing_or_malformed(name: str, value: str | None) -> None:
    given = {k: v for k, v in {**headers(fields()), name: value}.items() if v is not None}
    with pytest.raises(BadSignature, match="unsigned"):
        READER.verify(given, body(), SECRET, NOW)


# Anything at all

FORMS = st.dictionaries(
    st.sampled_from(["MessageSid", "MessageStatus", "ErrorCode", "SmsStatus", "To"]) | st.text(),
    st.sampled_from([*STATUSES, *CODES, SID]) | st.text(),
).map(lambda form: urlencode(form, errors="replace").encode())


@pytest.mark.promise(10)
@given(st.binary() | FORMS, st.just(URL) | st.text(), st.just(str(NOW)) | st.text())
def test_no_body_breaks_the_reader(post: bytes, url: str, at: str) -> None:
    check_reading(READER, post, {POSTED_TO: url, POSTED_AT: at})


@pytest.mark.promise(10)
@given(st.binary() | FORMS, st.dictionaries(st.sampled_from(list(headers({}))), st.text()), st.text())
def test_no_header_breaks_the_verifier(post: bytes, given_headers: dict[str, Any], key: str) -> None:
    for secret in (SECRET, {"auth_token": key, "webhook_url": key}):
        with pytest.raises(BadSignature):
            READER.verify(given_headers, post, secret, NOW)
        with pytest.raises(BadSignature):
            READER.verify({**headers({}), **given_headers, "x-twilio-signature": "AAAA"}, post, secret, NOW)
