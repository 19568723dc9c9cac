"""The doors for Resend's clients: what becomes of their messages, and how they are answered."""

from collections.abc import Iterator
from datetime import UTC, datetime
from typing import Any

import pytest
import resend
from resend.exceptions import MissingApiKeyError, ResendError, ValidationError

from shared.domain.accounts import Scope
from shared.domain.content.content import Attachment, Content, Mailbox
from shared.domain.content.personal import personal_of
from shared.engine.lane.compose import Composition
from shared.ports import Retriable
from tests.api.conftest import SENDER, Api, Reply
from tests.api.site import pages
from tests.api.test_doors import stored
from tests.fakes.clock import FakeClock

EVIL = "x\r\nBcc: evil@example.org"
PERMISSIVE = {"x-batch-validation": "permissive"}


def mail(**changes: Any) -> dict[str, Any]:
    given = {name.rstrip("_"): value for name, value in changes.items()}
    whole = {"from": SENDER, "to": "ann@example.org", "subject": "Hello", "text": "Hi", **given}
    return {name: value for name, value in whole.items() if value is not None}


def post(api: Api, body: Any, path: str = "/emails", **more: Any) -> Reply:
    return api.call("POST", path, body, **more)


def batch(api: Api, *mails: Any, **more: Any) -> Reply:
    return post(api, [*mails], "/emails/batch", **more)


def refusal(got: Reply, status: int = 422) -> tuple[str, str]:
    """Return the name and the message of a refusal; checks that it has Resend's form."""
    assert (got.status, got.headers["content-type"]) == (status, "application/json")
    assert got.json.keys() == {"statusCode", "name", "message"}
    assert got.json["statusCode"] == status
    return got.json["name"], got.json["message"]


def test_the_example_of_the_vendors_sdk_is_one_job(api: Api) -> None:
    """Source: resend-python examples/simple_email.py and with_b64_attachments.py, with addresses that differ."""
    got = post(
        api,
        {
            "from": f"Acme <{SENDER}>",
            "to": ["delivered@example.org"],
            "subject": "hi",
            "html": "<strong>hello, world!</strong>",
            "reply_to": "to@example.org",
            "bcc": "blind@example.org",
            "cc": ["copy@example.org"],
            "headers": {"X-Entity-Ref-ID": "123456789"},
            "tags": [{"name": "tag1", "value": "tagvalue1"}, {"name": "tag2", "value": "tagvalue2"}],
            "attachments": [
                {"filename": "invoice.pdf", "content": "QQ=="},
                {"filename": "logo", "content": [65, 66], "content_type": "image/png", "content_id": "logo"},
            ],
        },
    )
    assert (got.status, got.json.keys()) == (200, {"id"})
    job, content, (one,) = stored(api, got.json["id"])
    assert (job.kind, job.test, one.address) == ("batch", False, "delivered@example.org")
    assert content == Content(
        Mailbox(SENDER, "Acme"),
        "hi",
        "<strong>hello, world!</strong>",
        "",
        reply_to=Mailbox("to@example.org"),
        cc=(Mailbox("copy@example.org"),),
        bcc=(Mailbox("blind@example.org"),),
        headers=(("X-Entity-Ref-ID", "123456789"),),
        attachments=(
            Attachment("invoice.pdf", "application/pdf", "QQ=="),
            Attachment("logo", "image/png", "QUI=", "logo"),
        ),
    )
    assert personal_of(one.values).metadata == {"tag1": "tagvalue1", "tag2": "tagvalue2"}


def test_a_later_time_waits_and_words_are_not_guessed(api: Api, clock: FakeClock) -> None:
    later = int(clock.now()) + 3600
    job = api.world.job(post(api, mail(scheduled_at=datetime.fromtimestamp(later, UTC).isoformat())).json["id"])
    assert job.not_before == later * 1000
    assert api.world.job(post(api, mail(scheduled_at="2024-08-05T11:52:01.858Z")).json["id"]).not_before == 0
    for words in ("in 1 min", "tomorrow at 9am", "2027-01-01T09:00:00", "2100-01-01T09:00:00Z"):
        name, said = refusal(post(api, mail(scheduled_at=words)))
        assert (name, said.partition(":")[0]) == ("validation_error", "scheduled_at")


def test_a_stored_template_is_filled_in(api: Api) -> None:
    said = {"from": SENDER, "subject": "Hello {{ name }}", "body": "<p>{{ n }}</p>"}
    name = api.call("POST", "/templates", {"name": "t", "channel": "email", **said}).json["template_id"]
    asked = {"id": name, "variables": {"Name": "Ann", "n": 3}}
    job, content, (one,) = stored(api, post(api, mail(template=asked, subject=None, text=None)).json["id"])
    made = Composition(job, content).of(one).content
    assert isinstance(made, Content)
    assert (made.subject, made.html) == ("Hello Ann", "<p>3</p>")
    assert refusal(post(api, mail(template=asked)))[1].startswith("subject: ")
    assert refusal(post(api, mail(template={"id": "x"}, subject=None, text=None)))[1].startswith("template: ")


@pytest.mark.parametrize(
    ("field", "changes"),
    [
        ("topic_id", {"topic_id": "t"}),
        ("attachments.0.path", {"attachments": [{"path": "https://example.com/a.pdf", "filename": "a.pdf"}]}),
        ("attachments.0", {"attachments": [{"filename": "a.pdf"}]}),
        ("attachments.0.content", {"attachments": [{"filename": "a.pdf", "content": "Q!"}]}),
        ("attachments.0.content.0", {"attachments": [{"filename": "a.pdf", "content": [256]}]}),
        ("attachments.0.filename", {"attachments": [{"filename": EVIL, "content": "QQ=="}]}),
        ("nonsense", {"nonsense": 1}),
        ("to", {"to": []}),
        ("to", {"to": None}),
        ("to.1", {"to": ["a@example.org", EVIL]}),
        ("cc", {"cc": "ann@example.org"}),
        ("from", {"from": EVIL}),
        ("reply_to", {"reply_to": ["a@example.com", "b@example.com"]}),
        ("subject", {"subject": EVIL}),
        ("subject", {"subject": None}),
        ("html", {"text": None}),
        ("headers.Bcc", {"headers": {"Bcc": "evil@example.org"}}),
        ("headers.X-A", {"headers": {"X-A": EVIL}}),
        ("tags", {"tags": [{"name": str(n), "value": "x" * 256} for n in range(50)]}),
        ("template.variables.a ", {"template": {"id": "t", "variables": {"A": 1, "a ": 2}}, "subject": "", "text": ""}),
    ],
)
@pytest.mark.promise(10)
def test_what_cannot_be_carried_is_refused_and_named(api: Api, field: str, changes: dict[str, Any]) -> None:
    before = api.stored()
    name, said = refusal(post(api, mail(**changes)))
    assert (name, said.partition(":")[0], api.stored()) == ("validation_error", field, before)
    assert EVIL not in said


@pytest.mark.parametrize(
    ("status", "name", "changes"),
    [
        (401, "missing_api_key", {"key": ""}),
        (401, "validation_error", {"key": "re_123456789"}),
        (400, "validation_error", {"body": "{"}),
        (400, "invalid_idempotency_key", {"headers": {"Idempotency-Key": "x" * 256}}),
        (413, "validation_error", {"body": "x" * (5 * 1024 * 1024 + 1)}),
        (415, "validation_error", {"headers": {"Content-Type": "text/plain"}}),
    ],
)
@pytest.mark.parametrize("path", ["/emails", "/emails/batch"])
def test_every_refusal_has_the_vendors_form(
    api: Api, path: str, status: int, name: str, changes: dict[str, Any]
) -> None:
    before, more = api.stored(), dict(changes)
    whole = mail() if path == "/emails" else [mail()]
    got = post(api, more.pop("body", whole), path, **more)
    assert refusal(got, status)[0] == name
    assert api.stored() == before


def test_who_may_not_send_is_answered_in_the_vendors_form(api: Api) -> None:
    assert refusal(post(api, mail(), key=api.scoped(Scope.READ)), 403)[0] == "restricted_api_key"
    assert refusal(post(api, mail(from_="ceo@bank.example")), 403)[0] == "validation_error"
    assert refusal(api.call("GET", "/emails"), 405)[0] == "method_not_allowed"
    key = {"Idempotency-Key": "k1"}
    first = post(api, mail(), headers=key)
    assert post(api, mail(), headers=key).json == first.json
    assert refusal(post(api, mail(subject="Other"), headers=key), 409)[0] == "invalid_idempotent_request"


def test_a_suspended_account_is_told_so(api: Api) -> None:
    api.services.accounts.suspend(api.account, by="operator:x")
    assert refusal(post(api, mail()), 403)[0] == "suspended_api_key"
    assert refusal(batch(api, mail()), 403)[0] == "suspended_api_key"


@pytest.mark.promise(10)
def test_one_message_that_is_not_valid_stops_a_strict_batch(api: Api) -> None:
    before = api.stored()
    name, said = refusal(batch(api, mail(), mail(to=[]), mail(subject=None)))
    assert (name, said) == ("validation_error", "1.to: At least one address is needed.")
    assert refusal(batch(api, mail(), {"from": SENDER}))[1].startswith("1.to: ")
    assert refusal(batch(api, *[mail()] * 101))[1] == "A request has at most 100 messages."
    assert refusal(batch(api))[0] == "validation_error"
    assert api.stored() == before


def test_a_batch_answers_with_all_ids(api: Api) -> None:
    got = batch(api, mail(subject="one"), mail(subject="two", to=["ben@example.org"]))
    assert (got.status, got.json.keys()) == (200, {"data"})
    jobs = [stored(api, x["id"]) for x in got.json["data"]]
    assert [(x[1].subject, x[2][0].address) for x in jobs] == [("one", "ann@example.org"), ("two", "ben@example.org")]


def test_a_permissive_batch_names_what_is_not_taken(api: Api) -> None:
    got = batch(api, mail(to=[]), mail(subject="two"), headers=PERMISSIVE)
    assert got.json["errors"] == [{"index": 0, "message": "to: At least one address is needed."}]
    (one,) = got.json["data"]
    assert stored(api, one["id"])[1].subject == "two"


@pytest.mark.promise(1)
def test_a_strict_batch_that_breaks_off_says_what_was_taken_and_is_finished_by_its_key(
    api: Api, monkeypatch: pytest.MonkeyPatch
) -> None:
    accept = type(api.services.acceptor).accept
    failed: list[int] = []

    def fails_once(self: Any, request: Any) -> Any:
        if request.content.subject == "two" and not failed:
            failed.append(1)
            raise Retriable
        return accept(self, request)

    monkeypatch.setattr(type(api.services.acceptor), "accept", fails_once)
    mails, key = [mail(subject=name) for name in ("one", "two", "three")], {"Idempotency-Key": "k"}
    name, said = refusal(batch(api, *mails, headers=key), 503)
    assert name == "application_error"
    assert said.endswith("These were taken, by place: 0, 2. Repeat the request with its Idempotency-Key.")
    taken = {job["job_id"] for job in api.call("GET", "/batches").json["items"]}
    got = batch(api, *mails, headers=key)
    assert taken < {x["id"] for x in got.json["data"]}
    assert len(api.call("GET", "/batches").json["items"]) == 3
    assert refusal(batch(api, mail(), headers=key), 409)[0] == "invalid_idempotent_request"


# The vendor's own SDK


@pytest.fixture
def url(api: Api, monkeypatch: pytest.MonkeyPatch) -> Iterator[str]:
    with pages(api) as address:
        monkeypatch.setattr(resend, "api_url", address)
        monkeypatch.setattr(resend, "api_key", api.key)
        yield address


@pytest.mark.usefixtures("url")
def test_the_sdk_sends_and_reads_the_answers(api: Api) -> None:
    params: Any = mail(attachments=[{"filename": "a.txt", "content": list(b"Hi")}])
    first = resend.Emails.send(params, {"idempotency_key": "k"})
    assert resend.Emails.send(params, {"idempotency_key": "k"})["id"] == first["id"]
    assert stored(api, first["id"])[1].attachments == (Attachment("a.txt", "text/plain", "SGk="),)
    many: Any = [mail(), mail(to=[])]
    with pytest.raises(ValidationError, match=r"1\.to: At least one address is needed\."):
        resend.Batch.send(many)
    got = resend.Batch.send(many, {"batch_validation": "permissive"})
    assert (len(got["data"]), [x["index"] for x in got["errors"]]) == (1, [1])


@pytest.mark.usefixtures("url")
def test_the_sdk_is_told_what_is_wrong(monkeypatch: pytest.MonkeyPatch) -> None:
    params: Any = mail(topic_id="t")
    with pytest.raises(ValidationError, match="topic_id: There are no topics"):
        resend.Emails.send(params)
    monkeypatch.setattr(resend, "api_key", "re_wrong")
    with pytest.raises(ResendError, match="Send a valid API key") as found:
        resend.Emails.send(params)
    assert not isinstance(found.value, MissingApiKeyError)
