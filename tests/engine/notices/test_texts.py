"""What a stored template says by text and by call."""

from dataclasses import replace

from shared.domain.campaigns.campaign import Message, StoredTemplate
from shared.domain.campaigns.variants import Variants
from shared.domain.content.content import Speech
from shared.domain.notices.notice import DeliveryMethod
from shared.engine.notices.texts import NoticeText, StoredTexts
from tests.fakes.campaigns import FakeTemplates
from tests.fakes.ledgers import FakeLedgers
from tests.fakes.records import FakeRecords

SMS, IVR = DeliveryMethod.SMS, DeliveryMethod.IVR
MAIL = StoredTemplate("t1", "acc", "reminder", "email", Message("Hi", "<p>Hi</p>"), 1, 1)


def texts(stored: StoredTemplate, namespace: str = "acc", name: str = "t1") -> dict[DeliveryMethod, NoticeText]:
    ledgers = FakeLedgers()
    templates = FakeTemplates(FakeRecords(ledgers), ledgers)
    templates.create(stored, None)
    return dict(StoredTexts(templates)(namespace, name))


def test_an_email_says_nothing_to_a_number() -> None:
    assert texts(MAIL) == {}


def test_variants_speak_beside_it() -> None:
    speech = Speech("en-AU")
    found = texts(replace(MAIL, variants=Variants("Short", "Spoken", speech)))
    assert found == {SMS: NoticeText("Short"), IVR: NoticeText("Spoken", speech)}


def test_a_template_of_sms_is_its_own_text() -> None:
    assert texts(replace(MAIL, channel="sms", message=Message(body="Short"))) == {SMS: NoticeText("Short")}


def test_a_template_of_calls_is_said_in_its_own_way() -> None:
    speech = Speech("en-AU", keys=(("2", "confirmed"),))
    stored = replace(MAIL, channel="voice", message=Message(body="Spoken", speech=speech), variants=Variants("Short"))
    assert texts(stored) == {SMS: NoticeText("Short"), IVR: NoticeText("Spoken", speech)}


def test_another_account_s_template_is_none() -> None:
    sms = replace(MAIL, channel="sms", message=Message(body="Short"))
    assert texts(sms, namespace="acc#TEST") == texts(sms, name="t2") == {}
