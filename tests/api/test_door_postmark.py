"""The doors for Postmark's clients: what becomes of their messages, and how each is answered."""

from collections.abc import Iterator
from typing import Any

import pytest
from postmarker.core import PostmarkClient
from postmarker.exceptions import ClientError

from shared.domain.accounts import Scope
from shared.domain.content.content import Attachment, Content, Mailbox
from shared.domain.content.personal import personal_of
from shared.domain.namespaces import team_space
from shared.ports import Retriable
from tests.api.conftest import SENDER, Api, Reply
from tests.api.site import pages
from tests.api.team import team_key
from tests.api.test_doors import stored
from tests.api.test_limits import limit

TOKEN = "X-Postmark-Server-Token"
EVIL = "x\r\nBcc: evil@example.org"


def mail(**changes: Any) -> dict[str, Any]:
    whole = {"From": SENDER, "To": "ann@example.org", "Subject": "Hello", "TextBody": "Hi", **changes}
    return {name: value for name, value in whole.items() if value is not None}


def post(api: Api, body: Any, *, key: str | None = None, headers: Any = None, path: str = "/email") -> Reply:
    """Post as Postmark's clients do: with the key in a header of its own."""
    secret = api.key if key is None else key
    return api.call("POST", path, body, key="", headers={**({TOKEN: secret} if secret else {}), **(headers or {})})


def batch(api: Api, *mails: Any, **more: Any) -> Reply:
    return post(api, [*mails], path="/email/batch", **more)


def refusal(got: Reply, status: int = 422) -> tuple[int, str]:
    """Return the code and the text of a refusal; checks that it has Postmark's form."""
    assert (got.status, got.headers["content-type"]) == (status, "application/json")
    assert got.json.keys() == {"ErrorCode", "Message"}
    return got.json["ErrorCode"], got.json["Message"]


def test_the_example_of_the_vendors_documentation_is_one_job_but_for_what_it_tracks(api: Api) -> None:
    """Source: postmarkapp.com/developer/api/email-api, with a header and a sender that may be used here."""
    example = {
        "From": SENDER,
        "To": "receiver@example.com",
        "Cc": "copied@example.com",
        "Bcc": "blank-copied@example.com",
        "Subject": "Test",
        "Tag": "Invitation",
        "HtmlBody": '<b>Hello</b> <img src="cid:image.jpg"/>',
        "TextBody": "Hello",
        "ReplyTo": "reply@example.com",
        "Headers": [{"Name": "X-CUSTOM-HEADER", "Value": "value"}],
        "TrackOpens": True,
        "TrackLinks": "None",
        "Attachments": [
            {"Name": "readme.txt", "Content": "dGVzdCBjb250ZW50", "ContentType": "text/plain"},
            {"Name": "image.jpg", "ContentID": "cid:image.jpg", "Content": "dGVzdA==", "ContentType": "image/jpeg"},
        ],
        "Metadata": {"color": "blue", "client-id": "12345"},
        "MessageStream": "outbound",
    }
    assert refusal(post(api, example)) == (300, "TrackOpens: Opens are not tracked.")
    got = post(api, {**example, "TrackOpens": False})
    assert (got.status, got.headers["location"]) == (200, f"/batches/{got.json['MessageID']}")
    assert got.json | {"MessageID": "", "SubmittedAt": ""} == {
        "To": "receiver@example.com",
        "Cc": "copied@example.com",
        "Bcc": "blank-copied@example.com",
        "SubmittedAt": "",
        "MessageID": "",
        "ErrorCode": 0,
        "Message": "OK",
    }
    assert got.json["SubmittedAt"].endswith("Z")
    job, content, (one,) = stored(api, got.json["MessageID"])
    assert (job.kind, job.name, job.test) == ("batch", "Invitation", False)
    assert content == Content(
        Mailbox(SENDER),
        "Test",
        '<b>Hello</b> <img src="cid:image.jpg"/>',
        "Hello",
        reply_to=Mailbox("reply@example.com"),
        cc=(Mailbox("copied@example.com"),),
        bcc=(Mailbox("blank-copied@example.com"),),
        headers=(("X-CUSTOM-HEADER", "value"),),
        attachments=(
            Attachment("readme.txt", "text/plain", "dGVzdCBjb250ZW50"),
            Attachment("image.jpg", "image/jpeg", "dGVzdA==", "image.jpg"),
        ),
    )
    own = personal_of(one.values)
    assert (own.labels, own.metadata) == (("Invitation",), {"color": "blue", "client-id": "12345"})


def test_names_with_commas_are_one_address(api: Api) -> None:
    got = post(api, mail(From=f'"Shop, Inc." <{SENDER}>', To='"Sender, jr" <joe@example.org>, ben@example.org'))
    _, content, (joe,) = stored(api, got.json["MessageID"])
    assert (content.sender, joe.address, joe.display) == (
        Mailbox(SENDER, "Shop, Inc."),
        "joe@example.org",
        "Sender, jr",
    )
    assert content.beside == (Mailbox("ben@example.org"),)


@pytest.mark.parametrize(
    ("field", "changes"),
    [
        ("TrackOpens", {"TrackOpens": True}),
        ("TrackLinks", {"TrackLinks": "HtmlOnly"}),
        ("MessageStream", {"MessageStream": "broadcast"}),
        ("InlineCss", {"InlineCss": True}),
        ("To", {"To": ""}),
        ("To", {"To": "nobody"}),
        ("To", {"To": EVIL}),
        ("Cc", {"Cc": "ANN@example.org"}),
        ("From", {"From": EVIL}),
        ("ReplyTo", {"ReplyTo": "a@example.com, b@example.com"}),
        ("Subject", {"Subject": EVIL}),
        ("Subject", {"Subject": None}),
        ("Subject", {"Subject": ""}),
        ("TextBody", {"TextBody": None}),
        ("Headers.Bcc", {"Headers": [{"Name": "Bcc", "Value": "evil@example.org"}]}),
        ("Headers.X-A", {"Headers": [{"Name": "X-A", "Value": EVIL}]}),
        ("Headers.x-a", {"Headers": [{"Name": "X-A", "Value": "1"}, {"Name": "x-a", "Value": "2"}]}),
        ("Attachments.0.Content", {"Attachments": [{"Name": "a", "Content": "Q!==", "ContentType": "a/b"}]}),
        ("Attachments.0.Name", {"Attachments": [{"Name": EVIL, "Content": "QQ==", "ContentType": "a/b"}]}),
        ("Tag", {"Tag": EVIL}),
        ("Metadata", {"Metadata": {"a": "b" * 10_000}}),
        ("Metadata.a", {"Metadata": {"a": 1}}),
    ],
)
@pytest.mark.promise(10)
def test_what_cannot_be_carried_is_refused_and_named(api: Api, field: str, changes: dict[str, Any]) -> None:
    before = api.stored()
    code, said = refusal(post(api, mail(**changes)))
    assert (code, said.partition(":")[0], api.stored()) == (300, field, before)
    assert EVIL not in said


@pytest.mark.parametrize(
    ("status", "code", "changes"),
    [
        (401, 10, {"key": ""}),
        (401, 10, {"key": "POSTMARK_API_TEST"}),
        (422, 402, {"body": "{"}),
        (413, 300, {"body": "x" * (5 * 1024 * 1024 + 1)}),
        (415, 409, {"headers": {"Content-Type": "text/plain"}}),
        (422, 300, {"headers": {"Idempotency-Key": "é"}}),
    ],
)
@pytest.mark.parametrize("path", ["/email", "/email/batch"])
def test_every_refusal_has_the_vendors_form(
    api: Api, path: str, status: int, code: int, changes: dict[str, Any]
) -> None:
    before, more = api.stored(), dict(changes)
    whole = mail() if path == "/email" else [mail()]
    got = post(api, more.pop("body", whole), path=path, **more)
    assert refusal(got, status)[0] == code
    assert api.stored() == before


def test_who_may_not_send_is_answered_in_the_vendors_form(api: Api) -> None:
    assert refusal(post(api, mail(), key=api.scoped(Scope.READ)), 403)[0] == 10
    assert refusal(post(api, mail(From="ceo@bank.example")))[0] == 400
    assert api.call("PUT", "/suppressions/ann@example.org", {}).status in (200, 201)
    assert refusal(post(api, mail())) == (406, "To: ann@example.org: suppressed since 2026-09-21: added by hand.")
    assert (
        refusal(post(api, mail(), key=""), 401)[1]
        == "Send a valid API key of this deployment as X-Postmark-Server-Token."
    )
    assert refusal(api.call("GET", "/email"), 405)[0] == 300


def test_a_suspended_account_is_told_so(api: Api) -> None:
    api.services.accounts.suspend(api.account, by="operator:x")
    assert refusal(post(api, mail()), 403)[0] == 413
    assert refusal(batch(api, mail(), mail()), 403)[0] == 413


def test_a_test_key_sends_to_no_provider(api: Api) -> None:
    job = api.world.job(post(api, mail(), key=api.test_key()).json["MessageID"])
    assert (job.test, job.route) == (True, ("test",))


@pytest.mark.promise(13)
def test_a_batch_answers_each_message_in_order(api: Api) -> None:
    assert api.call("PUT", "/suppressions/gone@example.org", {}).status in (200, 201)
    got = batch(
        api,
        mail(Subject="one"),
        mail(To="gone@example.org"),
        "no message",
        mail(Subject="two", HtmlBody="<p>2</p>"),
        mail(TrackOpens=True),
        mail(Nonsense=1),
        mail(From="ceo@bank.example"),
    )
    assert (got.status, [x["ErrorCode"] for x in got.json]) == (200, [0, 406, 300, 0, 300, 300, 400])
    assert got.json[4] == {"ErrorCode": 300, "Message": "TrackOpens: Opens are not tracked."}
    one, two = (stored(api, got.json[n]["MessageID"]) for n in (0, 3))
    assert [(x[1].subject, x[1].html, x[2][0].address) for x in (one, two)] == [
        ("one", "", "ann@example.org"),
        ("two", "<p>2</p>", "ann@example.org"),
    ]
    api.world.jobs += [one[0].id, two[0].id]
    api.world.settle()
    assert [t.address for t in api.world.oracle.taken] == ["ann@example.org"] * 2


@pytest.mark.promise(13)
def test_a_team_key_sends_to_guests_alone(api: Api) -> None:
    key = team_key(api, "ann@example.org")
    mails = [mail(To="ben@example.org, ann@example.org", Cc="cleo@example.org"), mail(To="ben@example.org")]
    got = batch(api, *mails, key=key)
    assert [x["ErrorCode"] for x in got.json] == [0, 406]
    job, content, recipients = stored(api, got.json[0]["MessageID"])
    assert (job.account, content.beside, content.cc) == (team_space(api.account), (), ())
    skipped = {"ann@example.org": "", "ben@example.org": "not_a_guest", "cleo@example.org": "not_a_guest"}
    assert {r.address: r.skip for r in recipients} == skipped


@pytest.mark.promise(6)
def test_a_limit_of_the_day_counts_each_message_of_a_batch(api: Api) -> None:
    limit(api, email=2)
    got = batch(api, mail(), mail(), mail())
    assert sorted(x["ErrorCode"] for x in got.json) == [0, 0, 429]
    assert "2 e-mails a day" in next(x["Message"] for x in got.json if x["ErrorCode"])
    got = post(api, mail())
    assert refusal(got, 429)[0] == 429
    assert int(got.headers["retry-after"]) >= 1


def test_a_batch_has_a_size(api: Api) -> None:
    before = api.stored()
    assert refusal(batch(api, *[mail()] * 501)) == (410, "A request has at most 500 messages.")
    assert refusal(batch(api))[0] == 300
    assert refusal(post(api, mail(), path="/email/batch"))[0] == 300
    assert api.stored() == before


@pytest.mark.promise(1)
def test_a_repeated_batch_sends_what_was_not_taken_and_nothing_twice(api: Api, monkeypatch: pytest.MonkeyPatch) -> None:
    """Then: the store failed at the second of three messages, and the client repeated all of them."""
    accept = type(api.services.acceptor).accept
    failed: list[int] = []

    def fails_once(self: Any, request: Any) -> Any:
        if request.content.subject == "two" and not failed:
            failed.append(1)
            raise Retriable
        return accept(self, request)

    monkeypatch.setattr(type(api.services.acceptor), "accept", fails_once)
    mails = [mail(Subject=name) for name in ("one", "two", "three")]
    first = batch(api, *mails, headers={"Idempotency-Key": "k"})
    assert [x["ErrorCode"] for x in first.json] == [0, 100, 0]
    # What was valid then need not be any more: who was sent to is answered as before.
    again = batch(api, *mails, headers={"Idempotency-Key": "k"})
    assert [x["ErrorCode"] for x in again.json] == [0, 0, 0]
    assert [again.json[n]["MessageID"] for n in (0, 2)] == [first.json[n]["MessageID"] for n in (0, 2)]
    assert "idempotency-replayed" not in again.headers
    assert api.call("PUT", "/suppressions/ann@example.org", {}).status in (200, 201)
    third = batch(api, *mails, headers={"Idempotency-Key": "k"})
    assert (third.json, third.headers["idempotency-replayed"]) == (again.json, "true")
    api.world.jobs += [x["MessageID"] for x in again.json]
    before = api.stored()
    other = batch(api, mail(To="b@example.org"), headers={"Idempotency-Key": "k"})
    assert refusal(other)[0] == 300
    assert api.stored() == before


@pytest.mark.promise(1)
def test_a_key_of_another_batch_changes_nothing(api: Api) -> None:
    """The first message of the other batch is at a place that was refused before, so its own key is free."""
    key = {"Idempotency-Key": "k"}
    first = batch(api, mail(TrackOpens=True), mail(), headers=key)
    assert [x["ErrorCode"] for x in first.json] == [300, 0]
    before = api.stored()
    assert refusal(batch(api, mail(Subject="Other"), mail(), headers=key))[0] == 300
    assert api.stored() == before


def test_a_repeated_key_gets_the_first_answer(api: Api) -> None:
    key = {"Idempotency-Key": "k1"}
    first, again = post(api, mail(), headers=key), post(api, mail(), headers=key)
    assert (again.json, again.headers["idempotency-replayed"]) == (first.json, "true")
    assert refusal(post(api, mail(Subject="Other"), headers=key))[0] == 300


# The vendor's own SDK


@pytest.fixture
def client(api: Api) -> Iterator[PostmarkClient]:
    with pages(api) as address:
        yield PostmarkClient(server_token=api.key, root_api_url=address)


def test_the_sdk_sends_and_reads_the_answers(api: Api, client: PostmarkClient) -> None:
    got = client.emails.send(
        From=SENDER,
        To=["ann@example.org", "ben@example.org"],
        Subject="Hello",
        HtmlBody="<p>Hi</p>",
        Headers={"X-One": "1"},
        Metadata={"order": "7"},
        Attachments=[("a.txt", "QQ==", "text/plain"), ("b.png", "QUI=", "image/png", "cid:logo")],
    )
    assert (got["ErrorCode"], got["To"]) == (0, "ann@example.org, ben@example.org")
    _, content, _ = stored(api, got["MessageID"])
    assert (content.headers, content.attachments[1].content_id) == ((("X-One", "1"),), "logo")
    many = client.emails.send_batch(mail(), mail(To="ben@example.org", Subject="Two"), mail(To="nobody"))
    assert [x["ErrorCode"] for x in many] == [0, 0, 300]


def test_the_sdk_is_told_what_is_wrong(api: Api, client: PostmarkClient) -> None:
    with pytest.raises(ClientError, match=r"\[300\] TrackOpens: Opens are not tracked\."):
        client.emails.send(From=SENDER, To="ann@example.org", Subject="x", TextBody="x", TrackOpens=True)
    client.server_token = "wrong"
    with pytest.raises(ClientError, match=r"\[10\] Send a valid API key"):
        client.emails.send(From=SENDER, To="ann@example.org", Subject="x", TextBody="x")
