"""A client hides its own address behind a name that is another's, or behind fields that name another sender.

Then: `From: =?utf-8?q?=3Cceo=40bank=2Eexample=3E?= <own>` was sent, and `Sender:` and `Resent-From:` of any domain.
"""

from collections.abc import Callable
from typing import Any
from urllib.parse import urlencode

import pytest

from shared.domain.recipients.reader import EmailReader, RecipientFault
from tests.api.conftest import SENDER, Api
from tests.api.test_apart import SAID
from tests.api.test_mails import raw

NAMES = [
    "ceo@bank.example",
    "<ceo@bank.example>",
    "The CEO (ceo@bank.example)",
    "ceo@bank.example via Acme",
    '\\"ceo\\"@bank.example',
    "[ceo]@bank.example",
    "CEO\uff20BANK.EXAMPLE",
    "ceo@bank\u3002example",
    "ceo\u200b@\u2060bank.example",
    "ceo@b\u00e4nk.example",
    "moc.elpmaxe\u202eknab\u202c",
    "\u2066Chief\u2069",
]
GOOD = [
    "Acme",
    "News @ Acme",
    "news@example.com",
    "support@mail.example.com",
    "\u05d0\u05d1\u200f",
    "@acme",
    "Dr. A. B",
]


def quoted(name: str) -> str:
    return f'"{name}" <{SENDER}>'


def of_mail(api: Api, name: str) -> Any:
    return raw(api, f'From: "{name}" <{SENDER}>\r\n\r\nHello\r\n'.encode())


def of_encoded_mail(api: Api, name: str) -> Any:
    word = "".join(f"={x:02X}" for x in name.encode())
    return raw(api, f"From: =?utf-8?q?{word}?= <{SENDER}>\r\n\r\nHello\r\n".encode())


def of_commented_mail(api: Api, name: str) -> Any:
    return raw(api, f"From: {SENDER} ({name.replace('(', '').replace(')', '')})\r\n\r\nHello\r\n".encode())


DOORS: dict[str, Callable[[Api, str], Any]] = {
    "batch": lambda api, name: api.batch(from_=quoted(name)),
    "post": lambda api, name: api.call(
        "POST",
        "/v3/mail/send",
        {
            "from": {"email": SENDER, "name": name},
            "personalizations": [{"to": [{"email": "a@example.org"}]}],
            "subject": "Hello",
            "content": [{"type": "text/plain", "value": "Hello!"}],
        },
    ),
    "template": lambda api, name: api.call(
        "POST", "/templates", {"name": "x", "channel": "email", **SAID, "from": quoted(name)}
    ),
    "campaign": lambda api, name: api.call(
        "POST", "/campaigns", {"name": "x", "channel": "email", "template": {**SAID, "from": quoted(name)}}
    ),
    "digest policy": lambda api, name: api.call("PUT", "/digest-policies/acme", {"from": quoted(name)}),
    "mail": of_mail,
    "encoded mail": of_encoded_mail,
    "commented mail": of_commented_mail,
}


@pytest.mark.parametrize("door", DOORS.values(), ids=list(DOORS))
@pytest.mark.parametrize("name", NAMES)
def test_a_name_that_misleads_is_refused_at_each_door(api: Api, door: Callable[[Api, str], Any], name: str) -> None:
    got = door(api, name)
    assert got.status in (400, 422), got.text
    assert "name has" in got.text


@pytest.mark.parametrize("door", DOORS.values(), ids=list(DOORS))
@pytest.mark.parametrize("name", GOOD)
def test_a_name_of_one_s_own_passes_each_door(api: Api, door: Callable[[Api, str], Any], name: str) -> None:
    got = door(api, name)
    assert got.status in (200, 201, 202), got.text


@pytest.mark.parametrize("field", ["Sender", "Resent-From", "Resent-Sender", "SENDER"])
def test_a_field_that_names_another_sender_is_refused(api: Api, field: str) -> None:
    head = f"From: {SENDER}\r\n{field}: "
    assert raw(api, f"{head}<ceo@bank.example>\r\n\r\nHello\r\n".encode()).code == "from_not_allowed"
    assert raw(api, f"{head}Chief <{SENDER}>, ceo@bank.example\r\n\r\n".encode()).code == "from_not_allowed"
    assert raw(api, f'{head}"ceo@bank.example" <{SENDER}>\r\n\r\n'.encode()).code == "invalid_mail"
    assert raw(api, f"{head}ceo@bank.example <{SENDER}>\r\n\r\n".encode()).code == "invalid_mail"
    assert raw(api, f"{head}Chief <{SENDER}>\r\n\r\n".encode()).status == 202


def test_an_address_that_the_account_may_send_from_is_a_good_name(api: Api) -> None:
    api.call("POST", "/templates", {"name": "x", "channel": "email", **SAID})
    api.services.accounts.add_sender(api.account, "other.example")
    assert api.batch(from_=quoted("ceo@other.example")).status == 202


@pytest.mark.parametrize(
    "path",
    [
        "SRS0=Xy4=K2=dest.example=ann@example.com",
        "bounces+ann=dest.example@example.com",
        "b" * 200 + "@example.com",
        '"john..doe"@example.com',
        '"john doe"@example.com',
        "<>",
        "",
    ],
)
def test_a_return_path_that_programs_make_is_taken(api: Api, path: str) -> None:
    api.services.accounts.add_sender(api.account, "example.com")
    got = raw(api, query=[("mail_from", urlencode({"": path})[1:]), ("rcpt_to", "ann@example.org")])
    assert got.status == 202, got.text
    assert api.call("GET", f"/mails/{got.json['mail_id']}").json["mail_from"] == path.replace("<>", "")


@pytest.mark.parametrize(
    ("path", "code"),
    [
        ('"ceo@bank.example"@other.example', "from_not_allowed"),
        ("SRS0=x=y=example.com=ann@bank.example", "from_not_allowed"),
        ('"a<b"@example.com', "validation_failed"),
        ("a..b@example.com", "validation_failed"),
        ("b" * 250 + "@example.com", "validation_failed"),
        ("a@b@example.com", "validation_failed"),
        ("root@localhost", "validation_failed"),
    ],
)
def test_a_return_path_of_another_or_of_none_is_refused(api: Api, path: str, code: str) -> None:
    api.services.accounts.add_sender(api.account, "example.com")
    got = raw(api, query=[("mail_from", urlencode({"": path})[1:]), ("rcpt_to", "ann@example.org")])
    assert got.code == code


@pytest.mark.parametrize(
    "sender",
    [
        "=?utf-8?q?ceo=40bank.example?=@example.com",
        "=?UTF-8?B?Y2VvQGJhbmsuZXhhbXBsZQ==?=@example.com",
        '"=?utf-8?q?ceo=40bank.example?= x"@example.com',
        "a.=?utf-8?q?ceo=40bank.example=3E?=@example.com",
    ],
)
def test_a_local_part_in_which_programs_read_another_address_is_refused(api: Api, sender: str) -> None:
    assert api.batch(from_=sender).code == "validation_failed"
    assert raw(api, f"From: {sender}\r\n\r\nHello\r\n".encode()).status == 422
    assert api.batch(from_=SENDER, to=[sender]).code == "no_valid_recipient"
    lists = EmailReader()
    assert not isinstance(lists.read(SENDER), RecipientFault)
    assert isinstance(lists.read(sender), RecipientFault)
