import subprocess
import sys

import pytest

from shared.adapters.clock import SystemClock
from shared.adapters.http.transport import HttpClient
from shared.providers import registry
from shared.providers.aws_sms.events import AwsSmsWebhooks
from shared.providers.aws_sms.send import AwsSms
from shared.providers.mailgun.events import MailgunWebhooks
from shared.providers.mailgun.send import Mailgun
from shared.providers.postmark.events import PostmarkWebhooks
from shared.providers.postmark.send import Postmark
from shared.providers.registry import Needs
from shared.providers.resend.events import ResendWebhooks
from shared.providers.resend.send import Resend
from shared.providers.sendgrid.events import SendGridWebhooks
from shared.providers.sendgrid.send import SendGrid
from shared.providers.ses.events import SesWebhooks
from shared.providers.ses.send import Ses
from shared.providers.twilio.events import TwilioWebhooks
from shared.providers.twilio.send import Twilio


@pytest.mark.parametrize(
    ("name", "sends", "reads"),
    [
        ("sendgrid", SendGrid, SendGridWebhooks),
        ("mailgun", Mailgun, MailgunWebhooks),
        ("postmark", Postmark, PostmarkWebhooks),
        ("resend", Resend, ResendWebhooks),
        ("ses", Ses, SesWebhooks),
        ("twilio", Twilio, TwilioWebhooks),
        ("aws-sms", AwsSms, AwsSmsWebhooks),
    ],
)
def test_a_provider_is_found_by_its_name(name: str, sends: type, reads: type) -> None:
    clock = SystemClock()
    made = registry.provider(name)(Needs(HttpClient(clock), clock, {"api_key": "k"}))
    assert isinstance(made, sends)
    assert made.name == name
    assert isinstance(registry.webhooks(name), reads)


@pytest.mark.parametrize(
    "name",
    [
        "",
        "nothing",
        "resend_events",
        "mailgun_lookup",
        "twilio_events",
        "Sendgrid",
        "../x",
        "registry",
        "_common",
        "sendgrid.x",
        "os",
        "sendgrid_",
        "é",
    ],
)
def test_an_unknown_name(name: str) -> None:
    with pytest.raises(KeyError):
        registry.provider(name)
    with pytest.raises(KeyError):
        registry.webhooks(name)


def test_the_test_provider_has_no_webhooks() -> None:
    with pytest.raises(KeyError):
        registry.webhooks("test")


def test_the_test_provider_needs_the_feedback_queue() -> None:
    clock = SystemClock()
    with pytest.raises(ValueError, match="feedback"):
        registry.provider("test")(Needs(HttpClient(clock), clock, {}))


@pytest.mark.slow
def test_only_what_is_asked_for_is_loaded() -> None:
    code = (
        "import sys; from shared.providers import registry; registry.provider('test');"
        "print(sorted(m for m in sys.modules if m.startswith('shared.providers.') or m == 'cryptography'))"
    )
    found = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout
    wanted = ("needs", "registry", "test", "test.needs", "test.send")
    assert found.strip() == str([f"shared.providers.{name}" for name in wanted])
