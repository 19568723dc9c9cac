"""A client writes what a provider says into a name, a subject, a body or an address, and the provider quotes it."""

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Final

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from shared.contracts import Credential
from shared.domain.content.content import Content, Mailbox
from shared.domain.content.smtp import Reply, SmtpStep
from shared.domain.jobs.chunks import Recipient
from shared.domain.jobs.outcomes import Outcome, Rejected
from shared.domain.lanes.breaker import BreakerState
from shared.ports import Provider, Response, Target
from shared.providers import registry
from shared.providers.mailgun.send import Mailgun
from shared.providers.registry import Needs
from shared.providers.resend.send import Resend
from shared.providers.sendgrid.send import SendGrid
from shared.providers.smtp.send import SmtpRelay
from tests.engine.failing import breaker
from tests.fakes.world import World, credential
from tests.providers.contract import CHANNELS, target
from tests.providers.fakes import NOW, FakeHttp, Fixed
from tests.providers.relaying import OPEN, FakeSmtp
from tests.providers.ses_calls import ses
from tests.providers.test_aws_sms import ROLE, SECRET
from tests.providers.test_postmark import postmark
from tests.providers.test_twilio import twilio
from tests.tiers import examples

PHRASES: Final = (
    *("relay access denied", "unable to relay", "authentication required", "sending paused", "your account suspended"),
    *("throttled", "rate limit", "slow down", "too fast", "daily message quota", "daily sending quota", "not verified"),
    *("failed the check", "account disabled", "limit exceeded", "try again after", "recipients per request"),
    *("not allowed to send", "large batches", "credits exceeded", "verified sender identity", "domain is not verified"),
    *("only send testing emails", "to field", "from parameter", "limited to 16 kb", "quota exceeded"),
)
"""What opens breakers, throttles credentials or condemns messages when a provider says it."""


UNQUOTED: Final = ("postmark", "resend")
"""They get no quoted address: their adapters refuse it before any call."""


@dataclass(frozen=True)
class Client:
    """What one client writes."""

    local: str = "ann"
    domain: str = "customer.example"
    name: str = "Ann Example"
    subject: str = "Your order today"
    body: str = "It is on its way"

    @property
    def written(self) -> dict[str, str]:
        """Return it as a provider may quote it."""
        return {
            "address": f"{self.local}@{self.domain}",
            "local": self.local,
            "name": self.name,
            "escaped": self.name.replace("\\", "\\\\").replace('"', '\\"'),
            "subject": self.subject,
            "body": self.body,
        }

    def of(self, provider: str) -> "Client":
        """Return the client with an address to which a provider is asked to send."""
        return replace(self, local=self.local.strip('"')) if provider in UNQUOTED else self

    def send(self, provider: Provider, channel: str = "email") -> Outcome:
        """Send to this client's recipient, from their own name."""
        content = Content(Mailbox("news@sender.example", self.name), self.subject, html=self.body, text=self.body)
        address = f"{self.local}@{self.domain}"
        whom = Target(target(0).ref, Recipient(address, address.lower(), display=self.name))
        if channel == "sms":
            whom = target(0, channel="sms")
        (outcome,) = provider.send(content, [whom], deadline=NOW + 5)
        return outcome


PLAIN: Final = Client()
FORMS: Final = (
    "{address}",
    "<{address}>: not accepted",
    "no such user {address}",
    "the address '{address}' was refused",
    '"{name}" <{address}> was refused',
    '"{escaped}" <{address}> was refused',
    "{name} <{address}> was refused",
    'the subject "{subject}" was refused',
    "this subject was refused: {subject}",
    'the body says "{body}", which was refused',
    "refused, see https://help.example/?q={local}",
    "nothing is quoted",
)

phrases = st.sampled_from(PHRASES)


@st.composite
def clients(draw: st.DrawFn) -> Client:
    """Draw a client who writes what providers say."""
    words, host, name, subject, body = (draw(phrases) for _ in range(5))
    joint = draw(st.sampled_from(".-_"))
    local = draw(st.sampled_from([words.replace(" ", joint), f'"{words.replace(" ", joint)}"']))
    around = draw(st.sampled_from(["{}", 'x" {} "y', "{}, Inc", "\\{}\\"]))
    return Client(local, host.replace(" ", "-") + ".example", around.format(name), subject, body)


def everywhere(phrase: str) -> Client:
    """Return the client who writes a phrase wherever they can."""
    local = phrase.replace(" ", ".")
    return Client(local, f"{phrase.replace(' ', '-')}.example", phrase, phrase, phrase)


def sendgrid(status: int) -> Callable[[str], Provider]:
    def answers(text: str) -> Provider:
        body = {"errors": [{"message": text, "field": None, "help": None}]}
        return SendGrid(http(status, body), "", {"api_key": "SG.key"}, Fixed())

    return answers


def mailgun(status: int) -> Callable[[str], Provider]:
    secret = {"api_key": "key", "domain": "mg.sender.example"}
    return lambda text: Mailgun(http(status, {"message": text}), "", secret, Fixed())


def resend(status: int, name: str) -> Callable[[str], Provider]:
    return lambda text: Resend(http(status, {"name": name, "message": text}), "", {"api_key": "re_1"}, Fixed())


def amazon(status: int, name: str) -> Callable[[str], Provider]:
    return lambda text: ses(http(status, {"message": text}, {"x-amzn-errortype": name}))


def texts(status: int, code: int) -> Callable[[str], Provider]:
    return lambda text: twilio(http(status, {"code": code, "message": text, "status": status}))


def relay(code: int, step: SmtpStep, status: str = "") -> Callable[[str], Provider]:
    return lambda text: SmtpRelay(FakeSmtp(Reply(step, code, status + text)), "smtp://relay.example", OPEN, Fixed())


def http(status: int, body: object, headers: Mapping[str, str] | None = None) -> FakeHttp:
    return FakeHttp(Response(status, headers or {}, json.dumps(body, ensure_ascii=False).encode()))


def posted(status: int, code: int) -> Callable[[str], Provider]:
    return lambda text: postmark(http(status, {"ErrorCode": code, "Message": text}))


def end_user(status: int, name: str) -> Callable[[str], Provider]:
    lane = Credential("aws-main", "aws-sms", "sms", 10)

    def answers(text: str) -> Provider:
        said = http(status, {"__type": f"com.amazonaws.smsvoice#{name}", "Message": text})
        return registry.provider("aws-sms")(Needs(said, Fixed(), SECRET, credential=lane, aws=ROLE))

    return answers


PROVIDERS: Final[Mapping[str, tuple[Callable[[str], Provider], ...]]] = {
    "sendgrid": tuple(sendgrid(s) for s in (400, 401, 403, 413, 429, 500, 503)),
    "mailgun": tuple(mailgun(s) for s in (400, 401, 403, 420, 429, 500, 503)),
    "resend": tuple(resend(s, n) for s, n in ((400, "validation_error"), (422, "validation_error"), (403, "x"))),
    "ses": tuple(
        amazon(s, n)
        for s, n in ((400, "MessageRejected"), (400, "BadRequestException"), (429, "TooManyRequestsException"))
    ),
    "postmark": tuple(
        posted(s, c) for s, c in ((401, 10), (422, 300), (422, 400), (422, 406), (422, 999), (429, 0), (500, 0))
    ),
    "aws-sms": tuple(
        end_user(s, n)
        for s, n in (
            (400, "ValidationException"),
            (400, "ConflictException"),
            (400, "AccessDeniedException"),
            (402, "ServiceQuotaExceededException"),
            (429, "ThrottlingException"),
            (500, "InternalServerException"),
        )
    ),
    "twilio": tuple(texts(s, c) for s, c in ((400, 21211), (400, 21999), (401, 20003), (429, 20429))),
    "smtp": tuple(
        relay(code, step, status)
        for step, code, status in (
            (SmtpStep.MAIL, 451, "4.7.1 "),
            (SmtpStep.MAIL, 550, ""),
            (SmtpStep.RCPT, 450, ""),
            (SmtpStep.RCPT, 550, "5.7.1 "),
            (SmtpStep.END, 554, "5.6.0 "),
        )
    ),
}


def test_every_provider_is_attacked() -> None:
    folder = Path(registry.__file__).parent
    with_replies = {
        x.parent.name.replace("_", "-") for x in folder.glob("*/send.py") if "PROVIDER: Final" in x.read_text("utf-8")
    }
    assert set(PROVIDERS) == with_replies - {"test"}


@pytest.mark.promise(6)
@pytest.mark.parametrize("name", sorted(PROVIDERS))
@settings(max_examples=examples(15))
@example(client=everywhere("domain is not verified"))
@example(client=Client(body="domain is not verified"))
@example(client=everywhere("relay access denied"))
@example(client=everywhere("daily message quota"))
@given(client=clients())
def test_nothing_that_a_client_writes_changes_what_a_reply_means(name: str, client: Client) -> None:
    channel, client = CHANNELS.get(name, "email"), client.of(name)
    for answers in PROVIDERS[name]:
        for form in FORMS:
            plain = PLAIN.send(answers(form.format(**PLAIN.written)), channel)
            found = client.send(answers(form.format(**client.written)), channel)
            assert found == plain, (form.format(**client.written), form)


@pytest.mark.parametrize("name", sorted(PROVIDERS))
@settings(max_examples=examples(30))
@given(client=clients(), said=phrases)
def test_what_a_provider_says_itself_is_heard_whatever_a_client_writes(name: str, client: Client, said: str) -> None:
    channel, client = CHANNELS.get(name, "email"), client.of(name)
    for answers in PROVIDERS[name]:
        assert client.send(answers(said), channel) == PLAIN.send(answers(said), channel)


@pytest.mark.promise(6)
def test_one_accounts_error_texts_stop_no_other_account() -> None:
    """A provider quotes in a way that is not foreseen: it takes a message of a second account to believe it."""
    world = World(credential("one", 100))
    attack = world.accept(1)
    world.providers["one"].answer = Rejected("relay_denied", permanent=False, provider_down=True, by_text=True)
    world.send("one")
    world.providers["one"].answer = None
    others = world.accept(20)
    world.run(seconds=1)
    assert breaker(world).state is BreakerState.CLOSED
    assert breaker(world).version == 0
    assert world.counts(others.id) == {"sent": 20}
    world.run()
    assert world.counts(attack.id) == {"sent": 1}
