import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from shared.contracts import ProviderEvent
from shared.domain.jobs.feedback import ProviderEventKind
from shared.ports import BadEvents, Reading
from shared.providers._common import REF_ARG, TO_ARG, digest
from shared.providers.ses.events import CREDENTIAL_ARG, VALIDATION, SesWebhooks, from_topic
from tests.providers.contract import check_reading
from tests.providers.ses_posts import NOW, REF, bounce, delivery, event, iso, post, words
from tests.providers.test_sendgrid_events import JSON

# Events


@pytest.mark.promise(7)
@pytest.mark.parametrize(
    ("said", "word", "at", "code", "detail"),
    [
        (event("Send", send={}), "accepted", 60, "", ""),
        (delivery(), "delivered", 5, "", "250 2.0.0 OK"),
        (
            event(
                "DeliveryDelay",
                deliveryDelay={
                    "delayType": "MailboxFull",
                    "delayedRecipients": [{"emailAddress": "reader@example.com", "status": "4.2.2"}],
                    "timestamp": iso(NOW - 9),
                },
            ),
            "deferred",
            9,
            "4.2.2",
            "",
        ),
        (
            bounce(
                "Permanent", "General", status="5.1.1", diagnosticCode="smtp; 550 5.1.1 <reader@example.com> unknown"
            ),
            "bounced",
            7,
            "5.1.1",
            "smtp; 550 5.1.1 <<address>> unknown",
        ),
        (bounce("Permanent", "NoEmail"), "bounced", 7, "permanent_noemail", ""),
        (bounce("Permanent", "Suppressed"), "bounced", 7, "permanent_suppressed", ""),
        (
            bounce("Permanent", "OnAccountSuppressionList"),
            "bounced",
            7,
            "permanent_onaccountsuppressionlist",
            "",
        ),
        (bounce("Transient", "General", status="4.4.7"), "failed_temporarily", 7, "4.4.7", ""),
        (bounce("Transient", "MailboxFull"), "failed_temporarily", 7, "transient_mailboxfull", ""),
        (bounce("Transient", "ContentRejected", status="5.7.1"), "blocked", 7, "5.7.1", ""),
        (bounce("Transient", "MessageTooLarge"), "blocked", 7, "transient_messagetoolarge", ""),
        (bounce("Transient", "AttachmentRejected"), "blocked", 7, "transient_attachmentrejected", ""),
        (bounce("Undetermined", "Undetermined"), "blocked", 7, "undetermined_undetermined", ""),
        (bounce("Undetermined", "Undetermined", status="4.0.0"), "failed_temporarily", 7, "4.0.0", ""),
        (
            event(
                "Complaint",
                complaint={
                    "complainedRecipients": [{"emailAddress": "reader@example.com"}],
                    "complaintFeedbackType": "abuse",
                    "timestamp": iso(NOW - 8),
                },
            ),
            "complained",
            8,
            "",
            "abuse",
        ),
        (event("Reject", reject={"reason": "Bad content"}), "dropped", 60, "", "Bad content"),
        (
            event("Rendering Failure", failure={"errorMessage": "no name", "templateName": "t"}),
            "dropped",
            60,
            "rendering_failure",
            "no name",
        ),
    ],
)
def test_what_each_event_means(said: Any, word: str, at: int, code: str, detail: str) -> None:
    assert words(said) == [ProviderEvent(REF, word, NOW - at, "0100018f-1-000000", code, detail)]


def test_an_automatic_reply_is_no_failure() -> None:
    """An out-of-office note comes as a transient bounce without a report: the message was delivered."""
    assert [w.word for w in words(bounce("Transient", "General"))] == ["deferred"]


@pytest.mark.parametrize(
    "said",
    [
        event("Open", open={"timestamp": iso(NOW)}),
        event("Click", click={"link": "https://x.example"}),
        event("Subscription", subscription={}),
        event("Complaint", complaint={"complaintFeedbackType": "not-spam", "timestamp": iso(NOW)}),
        {**delivery(), "eventType": "New"},
    ],
)
def test_what_changes_nothing(said: Any) -> None:
    assert words(said) == []


def preference(*statuses: str, **all_of_them: bool) -> Any:
    """A record as AWS publishes it (dg/event-publishing-retrieving-sns-examples, "Subscription record")."""
    topics = [{"topicName": f"Topic{n}", "subscriptionStatus": s} for n, s in enumerate(statuses)]
    old = {"unsubscribeAll": False, "topicSubscriptionStatus": [{"topicName": "T", "subscriptionStatus": "OptIn"}]}
    part = {
        "contactList": "ContactListName",
        "timestamp": iso(NOW - 3),
        "source": "UnsubscribeHeader",
        "newTopicPreferences": {**all_of_them, "topicSubscriptionStatus": topics},
        "oldTopicPreferences": old,
    }
    return event("Subscription", subscription=part)


@pytest.mark.parametrize(
    ("said", "word"),
    [
        (preference("OptOut", unsubscribeAll=True), "unsubscribed"),
        (preference(unsubscribeAll=True), "unsubscribed"),
        (preference("OptIn", "OptOut", unsubscribeAll=False), "unsubscribed"),
        (preference("OptIn", unsubscribeAll=False), "resubscribed"),
    ],
)
def test_what_a_recipient_prefers(said: Any, word: str) -> None:
    assert words(said) == [ProviderEvent(REF, word, NOW - 3, "0100018f-1-000000")]


def test_a_bounce_of_an_unsubscribed_recipient_is_a_drop() -> None:
    (word,) = words(bounce("Permanent", "UnsubscribedRecipient"))
    assert (word.word, word.code) == ("dropped", "unsubscribed")


@pytest.mark.parametrize("tags", [{}, {REF_ARG: "x", CREDENTIAL_ARG: "a"}, {"other": REF}])
def test_what_is_not_ours(tags: dict[str, str]) -> None:
    body = post(event("Send", tags, send={}))
    assert SesWebhooks().words({}, body) == Reading(1, [])
    assert from_topic(body.decode())[1] == []


def test_a_notification_of_an_identity_has_no_tags_and_is_not_ours() -> None:
    said = delivery()
    said["notificationType"] = said.pop("eventType")
    assert SesWebhooks().words({}, post(said)).words == []


def test_words_about_copies_are_secondary() -> None:
    tags = {REF_ARG: REF, CREDENTIAL_ARG: "ses-main", TO_ARG: digest(REF, "Reader@example.com")}
    both = ["cc@example.com", "reader@example.com"]
    people = [{"emailAddress": a, "status": "5.1.1"} for a in both]
    part = {"bounceType": "Permanent", "bounceSubType": "General", "bouncedRecipients": people, "timestamp": iso(NOW)}
    assert [(w.word, w.secondary) for w in words(event("Bounce", tags, bounce=part))] == [
        ("bounced", True),
        ("bounced", False),
    ]
    alone = event("Delivery", tags, delivery={"recipients": both[:1], "timestamp": iso(NOW)})
    assert [w.secondary for w in words(alone)] == [True]
    assert [w.secondary for w in words(event("Send", tags, send={}))] == [False]
    assert [w.secondary for w in words(event("Reject", tags, reject={}))] == [False]


def test_one_word_if_there_is_one_recipient() -> None:
    assert len(words(delivery(recipients=["a@example.com", "b@example.com"]))) == 1


def test_an_event_without_a_time_gets_the_notification_s() -> None:
    said = event("Send", send={})
    del said["mail"]["timestamp"]
    assert [w.at for w in words(said)] == [NOW]


def test_what_ses_says_when_a_destination_is_made() -> None:
    body = post(Message=VALIDATION)
    assert SesWebhooks().words({}, body) == Reading(1, [])
    assert from_topic(body.decode()) == ("", [])


@pytest.mark.parametrize(
    "body",
    [b"", b"[]", b"{}", b"[" * 100_000, b'{"Type": "Notification"}', post(Message="hello"), post(Message="[]")],
)
def test_a_body_that_makes_no_sense(body: bytes) -> None:
    with pytest.raises(BadEvents):
        SesWebhooks().words({}, body)
    with pytest.raises(BadEvents):
        from_topic(body.decode())


@pytest.mark.promise(10)
@given(JSON)
def test_whatever_is_posted(value: Any) -> None:
    odd = {"eventType": "Bounce", "bounce": value, "mail": value}
    for body in (json.dumps(value).encode(), post(value, Signature=""), post(odd, Signature="")):
        check_reading(SesWebhooks(), body)


@pytest.mark.promise(10)
@given(
    JSON, st.sampled_from(["Send", "Delivery", "DeliveryDelay", "Bounce", "Complaint", "Reject", "Rendering Failure"])
)
def test_whatever_stands_in_an_event_of_ours(value: Any, kind: str) -> None:
    parts = ("delivery", "deliveryDelay", "bounce", "complaint", "reject", "failure")
    lists = ("recipients", "delayedRecipients", "bouncedRecipients", "complainedRecipients")
    found: list[Any] = [value, dict.fromkeys(lists, value), {name: [value, value] for name in lists}]
    for part in found:
        body = post(event(kind, None, **dict.fromkeys(parts, part)), Signature="")
        check_reading(SesWebhooks(), body)
        for word in SesWebhooks().words({}, body).words:
            assert word.word in set(ProviderEventKind)
            assert word.ref == REF
