"""Checks of AWS End User Messaging: whether the account left the sandbox, and a trial of each credential.

A trial is a request with `DryRun`: AWS checks it as any other, and sends and charges nothing. It goes to a number of
AWS's own simulator (sms-voice/latest/userguide, test-phone-numbers), so it has no person's number even then.
"""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final

from shared.contracts import Credential
from shared.domain.content.content import Content, Mailbox
from shared.domain.jobs.chunks import Recipient
from shared.ports import Target
from shared.providers.aws_sms.form import VOICE, RequestForm
from shared.providers.aws_sms.send import COUNTRY, ERRORS, REASONS
from shared.providers.checks import Examined, Finding, Inspection, Level

CLIENT: Final = "pinpoint-sms-voice-v2"
CONSOLE: Final = "in the console of AWS End User Messaging"
TABLE: Final = "docs/providers/aws-sms.md"
SIMULATED: Final[Mapping[str, str]] = {
    "+32": "+32460213922",
    "+33": "+33755512501",
    "+358": "+3584573979110",
    "+372": "+37282720792",
    "+420": "+420790542286",
    "+43": "+43676800442031",
    "+45": "+4525919410",
    "+56": "+56229140630",
    "+61": "+61455944038",
    "+852": "+85257048426",
}
"""Calling code → the simulator's number there that takes every message. No code begins with another."""
ELSEWHERE: Final = "+14254147755"
"""The simulator's number in the United States."""
UNVERIFIED: Final = "DESTINATION_PHONE_NUMBER_NOT_VERIFIED"
FORBIDDEN: Final = "AccessDeniedException"


def simulated(identity: str) -> str:
    """Return the simulator's number in the country of a number. `identity`: any; what is no number has no country."""
    return next((to for code, to in SIMULATED.items() if identity.startswith(code)), ELSEWHERE)


def tier(answer: Mapping[str, Any], region: str) -> Finding:
    """Judge an account by `describe_account_attributes`.

    Args:
        region: as in `eu-central-1`.
    """
    name = f"aws-sms {region}"
    tiers = [x.get("Value") for x in answer.get("AccountAttributes", []) if x.get("Name") == "ACCOUNT_TIER"]
    if "SANDBOX" in tiers:
        says = "the account is in the sandbox: only verified numbers get messages"
        return Finding(name, Level.ERROR, says, f"request production access {CONSOLE}")
    return Finding(name, Level.OK, "in production")


def refusal(credential: str, operation: str, code: str, reason: str) -> Finding | None:
    """Judge why AWS refused a trial; None if that says nothing about the credential.

    Args:
        code: the name of AWS's error.
        reason: its `Reason`; empty: it has none.
    """
    name, why = f"aws-sms {credential}", reason or code
    rule = REASONS.get(reason, ERRORS.get(code))
    if code == FORBIDDEN and reason not in REASONS:
        says = f"not checked: your identity may not call {operation} ({code})"
        return Finding(name, Level.WARNING, says, "use one that may")
    if rule is None:
        return None
    if reason == UNVERIFIED:
        says = "the account is in the sandbox for this channel: only verified numbers get messages"
        return Finding(name, Level.ERROR, says, f"request production access {CONSOLE}")
    if rule.provider_down:
        says = f"AWS refuses each of its messages ({why})"
        return Finding(name, Level.ERROR, says, f"check its identity, secret, limits and account {CONSOLE} ({TABLE})")
    if rule == COUNTRY:
        says = f"not known: it does not send to the country of AWS's test number ({why})"
        return Finding(name, Level.SKIPPED, says)
    says = f"AWS refuses a message to its own test number ({why})"
    return Finding(name, Level.WARNING, says, f"check its secret and what the account blocks ({TABLE})")


# What asks AWS


def _accounts(seen: Examined, credentials: Sequence[Credential]) -> Iterator[Finding]:
    """Look at the account in each region that credentials send through."""
    for region in sorted({c.region or seen.region for c in credentials if not _elsewhere(seen, c)}):
        yield tier(seen.client(CLIENT, region).describe_account_attributes(), region)


def _trials(seen: Examined, credentials: Sequence[Credential]) -> Iterator[Finding]:
    """Try each credential as its sender would send."""
    for c in credentials:
        name = f"aws-sms {c.id}"
        form = RequestForm.of(c, seen.secret(c))
        if _elsewhere(seen, c):
            yield Finding(name, Level.SKIPPED, "its secret has keys of another AWS account: check there")
        elif form.missing(c.region or seen.region):
            yield Finding(name, Level.SKIPPED, "not tried: its secret is not complete")
        else:
            yield _trial(seen.client(CLIENT, c.region or seen.region), form, simulated(c.number or form.identity))


def _trial(client: Any, form: RequestForm, to: str) -> Finding:
    """Make one request that AWS only checks. `to`: the number that it names."""
    name = f"aws-sms {form.credential}"
    content = Content(Mailbox(""), "", text="Test")
    fields = form.fields(content, Target("", Recipient(to, to)), now=0.0)
    if not isinstance(fields, dict):
        return Finding(name, Level.SKIPPED, "not tried: nothing would be sent")
    del fields["Context"]  # no message of ours: no event is to name one
    try:
        (client.send_voice_message if form.operation == VOICE else client.send_text_message)(**fields, DryRun=True)
    except client.exceptions.ClientError as error:
        answer = error.response
        code, reason = answer.get("Error", {}).get("Code", ""), answer.get("Reason", "")
        found = refusal(form.credential, form.operation, code, reason)
        if found is None:
            raise
        return found
    return Finding(name, Level.OK, "AWS accepts a trial of its messages")


def _elsewhere(seen: Examined, credential: Credential) -> bool:
    """Check whether a credential sends through another AWS account than the deployment's."""
    return seen.is_deployed and seen.has_own_keys(credential)


LOOKS: Final[Mapping[str, Inspection]] = {"aws-sms": _accounts, "aws-sms trial": _trials}
