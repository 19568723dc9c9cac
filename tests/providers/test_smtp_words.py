"""What the words of a transport and of a server mean to the SMTP relay."""

from dataclasses import replace

import pytest

from shared.adapters.clock import SystemClock
from shared.adapters.http.transport import HttpClient
from shared.adapters.smtp.transport import SmtpClient
from shared.bootstrap import Deployment
from shared.bootstrap.sending import SendingLane
from shared.contracts import ENV_SETTINGS, Credential, Settings
from shared.domain.content.smtp import Reply, SmtpStep
from shared.domain.jobs.outcomes import Accepted, NotStarted, Outcome, Rejected, Throttled, Unknown
from shared.ports import AnswerLost, Interrupted, NoTime, NotSent, Unfit
from shared.providers import registry
from shared.providers.registry import Needs
from shared.providers.smtp.send import PAUSE, UNAUTHORIZED, SmtpRelay, judged, queue_id
from tests.providers.contract import CONTENT, target
from tests.providers.fakes import NOW, Fixed
from tests.providers.relay import RelayServer
from tests.providers.relaying import SECRET, FakeSmtp, send

SAID_DENIED = Rejected("relay_denied", permanent=False, provider_down=True, by_text=True)
SAID_DISABLED = Rejected("account_disabled", permanent=False, provider_down=True, by_text=True)
SAID_QUOTA = Rejected("quota_exceeded", permanent=False, provider_down=True, by_text=True)

# What a transport and a reply mean, without a server


@pytest.mark.parametrize(
    ("error", "expected"),
    [
        (NoTime("deadline"), NotStarted()),
        (NotSent("dns"), Rejected("dns", permanent=False)),
        (NotSent("auth_not_offered"), Rejected("auth_not_offered", permanent=False, provider_down=True)),
        (NotSent("auth_needs_tls"), Rejected("auth_needs_tls", permanent=False, provider_down=True)),
        (NotSent("starttls_not_offered"), Rejected("starttls_not_offered", permanent=False, provider_down=True)),
        (Interrupted("read_timeout"), Rejected("read_timeout", permanent=False)),
        (Unfit("too_large"), Rejected("too_large", permanent=True)),
        (AnswerLost("read_timeout"), Unknown("read_timeout")),
    ],
)
def test_what_the_transport_says(error: Exception, expected: Outcome) -> None:
    through = SmtpRelay(FakeSmtp(error), "smtp://relay.example", SECRET, Fixed())
    assert through.send(CONTENT, [target(0)], deadline=NOW) == [expected]


@pytest.mark.parametrize(
    ("step", "code", "text", "expected"),
    [
        (SmtpStep.EHLO, 550, "5.7.1 who are you", Rejected("5.7.1", permanent=False, provider_down=True)),
        (SmtpStep.STARTTLS, 454, "4.7.0 TLS not available", Rejected("4.7.0", permanent=False)),
        (SmtpStep.AUTH, 535, "5.7.8 Error: authentication failed", Rejected("unauthorized", False, provider_down=True)),
        (SmtpStep.AUTH, 454, "4.7.0 Temporary authentication failure", Rejected("4.7.0", permanent=False)),
        (SmtpStep.AUTH, 421, "4.7.0 Too many login attempts, try again in 5 minutes", Throttled(300)),
        (SmtpStep.MAIL, 530, "5.7.0 Must issue a STARTTLS command first", Rejected("unauthorized", False, True)),
        (SmtpStep.MAIL, 530, "5.5.1 who", Rejected("unauthorized", permanent=False, provider_down=True)),
        (SmtpStep.MAIL, 552, "5.3.4 Message size exceeds fixed limit", Rejected("too_large", permanent=True)),
        (SmtpStep.MAIL, 450, "4.7.1 slow down, in 90s", Throttled(90)),
        (SmtpStep.MAIL, 550, "5.4.5 Daily sending quota exceeded", SAID_QUOTA),
        (SmtpStep.RCPT, 550, "no such user", Rejected("smtp_550", permanent=True)),
        (SmtpStep.RCPT, 554, "no", Rejected("smtp_554", permanent=True)),
        (SmtpStep.RCPT, 503, "bad sequence", Rejected("smtp_503", permanent=False)),
        (SmtpStep.RCPT, 503, "5.5.1 bad sequence", Rejected("5.5.1", permanent=False)),
        (SmtpStep.RCPT, 450, "later", Rejected("smtp_450", permanent=False, about_message=True)),
        (SmtpStep.RCPT, 451, "later", Rejected("smtp_451", permanent=False)),
        (SmtpStep.RCPT, 450, "4.7.1 Greylisted, in 300s", Rejected("4.7.1", permanent=False, about_message=True)),
        (
            SmtpStep.RCPT,
            452,
            "4.2.2 over quota, too many mails",
            Rejected("4.2.2", permanent=False, about_message=True),
        ),
        (SmtpStep.RCPT, 550, "5.2.1 this account is disabled", Rejected("5.2.1", permanent=True)),
        (SmtpStep.RCPT, 550, "5.4.1 Recipient address rejected: Access denied", Rejected("5.4.1", permanent=True)),
        (SmtpStep.RCPT, 550, "4.1.1 a class that is not the code's", Rejected("smtp_550", permanent=True)),
        (SmtpStep.RCPT, 550, "relaying to x is prohibited", SAID_DENIED),
        (SmtpStep.RCPT, 550, "5.7.1 Unable to relay", SAID_DENIED),
        (SmtpStep.RCPT, 553, "5.6.7 non-ASCII addresses not permitted", Rejected("5.6.7", permanent=True)),
        (SmtpStep.END, 554, "Message rejected", Rejected("smtp_554", permanent=False, about_message=True)),
        (
            SmtpStep.END,
            554,
            "Sending paused for this account.",
            Rejected("account_disabled", False, provider_down=True, by_text=True),
        ),
        (SmtpStep.END, 552, "too big", Rejected("too_large", permanent=True)),
        (SmtpStep.END, 451, "4.7.1 grey", Rejected("4.7.1", permanent=False, about_message=True)),
        (SmtpStep.END, 432, "4.3.2 Concurrent connections limit exceeded", Throttled(PAUSE)),
        (SmtpStep.END, 421, "closing", Rejected("smtp_421", permanent=False)),
        (
            SmtpStep.END,
            554,
            "5.2.0 STOREDRV.Submission.Exception:SubmissionQuotaExceededException",
            SAID_QUOTA,
        ),
    ],
)
def test_what_a_refusal_means(step: SmtpStep, code: int, text: str, expected: Outcome) -> None:
    assert judged(Reply(step, code, text), text) == expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("2.0.0 Ok: queued as 4XyZ1k2Rz3", "4XyZ1k2Rz3"),
        ("2.0.0 Ok: queued as <4XyZ1k2Rz3>", "4XyZ1k2Rz3"),
        ("OK id=1rABCD-000001-XX", "1rABCD-000001-XX"),
        (
            "2.6.0 <a-b@c.example> [InternalId=12345, Hostname=X.example] 1500 bytes in 0.1, 9 KB/sec Queued mail",
            "12345",
        ),
        ("2.0.0 47ABCxyz123456 Message accepted for delivery", "47ABCxyz123456"),
        ("Ok 0102018f0a1b2c3d-aaaa-bbbb-000000", "0102018f0a1b2c3d-aaaa-bbbb-000000"),
        ("ok 1700000000 qp 12345", "12345"),
        ("OK", ""),
        ("2.0.0 Ok", ""),
        ("Great success", ""),
        ("queued as " + "x" * 101, ""),
    ],
)
def test_the_queue_id(text: str, expected: str) -> None:
    assert queue_id(text) == expected


def test_without_a_queue_id_our_message_id_is_the_id() -> None:
    through = SmtpRelay(FakeSmtp(Reply(SmtpStep.END, 250, "thanks")), "smtp://relay.example", SECRET, Fixed())
    one = target(0)
    assert through.send(CONTENT, [one], deadline=NOW) == [Accepted(f"{one.ref}@sender.example")]


def test_it_is_found_by_its_name_and_needs_its_transport(transport: SmtpClient) -> None:
    clock = SystemClock()
    needs = Needs(HttpClient(clock), clock, SECRET, "smtp://relay.example", smtp=transport)
    made = registry.provider("smtp")(needs)
    assert (made.name, made.per_call, made.has_feedback) == ("smtp", 1, False)
    with pytest.raises(ValueError, match="transport"):
        registry.provider("smtp")(replace(needs, smtp=None))
    with pytest.raises(KeyError):
        registry.webhooks("smtp")


@pytest.mark.promise(1)
def test_a_lane_relays_and_keeps_its_connections_when_the_secret_changes() -> None:
    with RelayServer(auth=True) as server:
        declared = Credential("relay", "smtp", "email", 10, f"smtp+plain://127.0.0.1:{server.port}")
        settings = Settings("test", (declared,), {"email": (declared.id,)})
        served = SendingLane(Deployment({ENV_SETTINGS: settings.dumps()}), declared)
        for n, secret in enumerate([SECRET, {**SECRET, "password": "wrong"}, SECRET]):
            made = served._provider(secret)
            assert isinstance(made, SmtpRelay)
            outcome = send(made, target(n))
            assert outcome == (Accepted(f"4F{n // 2 + 1}") if secret == SECRET else UNAUTHORIZED)
        assert (server.connections, len(server.deliveries)) == (2, 2)
        assert served._smtp is not None
        served._smtp.close()


@pytest.mark.parametrize(
    ("text", "detail"),
    [
        ("5.1.1 <reader0@example.com>: Recipient unknown", "550 5.1.1 <recipient>: Recipient unknown"),
        ("5.1.1 READER0@example.com is unknown", "550 5.1.1 <recipient> is unknown"),
        ("no joreader0@example.com, other@x.example", "550 no <address>, <address>"),
        ("no\r\nmore\x00 words\u2028here", "550 no more words here"),
        ("x" * 1_000, "550 " + "x" * 196),
    ],
)
def test_a_refusal_has_the_server_s_words(text: str, detail: str) -> None:
    through = SmtpRelay(FakeSmtp(Reply(SmtpStep.RCPT, 550, text)), "smtp://relay.example", SECRET, Fixed())
    outcome = send(through)
    assert isinstance(outcome, Rejected)
    assert outcome.detail == detail
