"""Checks of credentials' secrets: each provider's own code is asked, by a call that cannot leave this machine."""

import json
import re
from collections.abc import Iterable, Mapping, Sequence
from difflib import get_close_matches
from typing import Any, Final, NoReturn

from cli.checks import Finding, Level
from shared.contracts import WEBHOOK_PATH, Credential
from shared.domain.channels.lookup import channel_of
from shared.domain.content.content import Content, Mailbox
from shared.domain.jobs.chunks import Recipient
from shared.domain.jobs.outcomes import Rejected
from shared.domain.sealing import MIN_KEY, Keys
from shared.ports import BadSignature, Clock, NotSent, Retriable, Target
from shared.providers import registry
from shared.providers.needs import needs_of
from shared.providers.registry import AwsAccount, AwsKeys, Needs

_NAME: Final = re.compile(r"[a-z][a-z_]{0,30}")
KEYLESS: Final = frozenset({"no_key", "no_topic"})
"""Reasons that a reader of webhooks gives if it refuses every post."""
PAIR: Final = ("access_key_id", "secret_access_key")
"""With both of them a secret signs instead of the sender's role, where a role may sign."""

MAX_NAMED: Final = 5
"""Accounts that a finding names."""
DOOMED: Final = "InvalidRequestException"
"""The code of Secrets Manager's refusal to read a secret that is to be deleted."""


class _Nowhere:
    """A transport whose every request surely did not leave."""

    def request(self, *_: Any, **__: Any) -> NoReturn:
        raise NotSent("nowhere")

    submit = request


def read(credential: Credential, text: str) -> tuple[Mapping[str, str], list[Finding]]:
    """Return a secret's fields and what is wrong with its form; a value is never part of a finding."""
    name = f"secret {credential.id}"
    do = f"posthaste credential set {credential.id} (fields: {', '.join(known(credential))})"
    if not text.strip():
        return {}, [] if needs_of(credential.provider).role_signs else [
            Finding(name, Level.ERROR, "the secret is empty: nothing is sent", do)
        ]
    try:
        fields = json.loads(text)
    except ValueError:
        fields = None
    if not isinstance(fields, dict) or not all(isinstance(value, str) for value in fields.values()):
        return {}, [Finding(name, Level.ERROR, "the secret is not a JSON object of strings: nothing is sent", do)]
    return fields, []


def _half_a_pair(credential: Credential, fields: Mapping[str, str]) -> bool:
    """Tell whether a secret has only one of two fields that make sense together."""
    return needs_of(credential.provider).role_signs and sum(_has(fields, x) for x in PAIR) == 1


def judge(credential: Credential, text: str, url: str, clock: Clock) -> list[Finding]:
    """Judge a credential's secret: its form, whether its sender could call, whether its webhooks would be believed.

    Args:
        text: the secret's value; empty if it has none.
        url: the API's public address, empty if it is not known.
    """
    name = f"secret {credential.id}"
    fields, found = read(credential, text)
    if found:
        return found
    do = f"posthaste credential set {credential.id} (fields: {', '.join(known(credential))})"
    found += [Finding(name, Level.WARNING, says, do) for says in strange(credential, fields)]
    if _half_a_pair(credential, fields):
        says = f"of {' and '.join(PAIR)} it has one: its sender's role signs, and mail leaves this account"
        found.append(Finding(name, Level.ERROR, says, do))
    if lacking := _lacking(credential, fields, url or "https://unknown.invalid", clock):
        says = f"its sender would refuse every message ({lacking})"
        found.append(Finding(name, Level.ERROR, says, do))
    if deaf := _deaf(credential, fields, clock):
        says = f"webhooks of its provider are refused ({deaf}): bounces and complaints stay unknown"
        path = WEBHOOK_PATH.format(provider=credential.provider, credential_id=credential.id)
        found.append(Finding(name, Level.ERROR, says, f"{do}; the provider posts to {url}{path}"))
    return found or [Finding(name, Level.OK, "complete" if fields else "empty, as its sender's role signs")]


def apart(credential: Credential, text: str, own: str) -> list[Finding]:
    """Judge what verifies a credential's webhooks, which is kept apart from what sends.

    Args:
        own: the secret of its webhooks, empty if there is none.
    """
    if verifying(credential, text) == read(credential, own)[0]:
        return []
    says = "its webhooks are verified with an older copy or none: webhooks of its provider may be refused"
    return [Finding(f"secret {credential.id} (webhooks)", Level.ERROR, says, "posthaste credential split")]


def verifying(credential: Credential, text: str) -> Mapping[str, str]:
    """Return those fields of a credential's secret that verify its webhooks."""
    return registry.verifying(credential.provider, read(credential, text)[0])


def known(credential: Credential) -> list[str]:
    """Return the names of the fields that a credential's secret may have."""
    return [f.name for f in registry.secret_fields(credential.provider)]


def strange(credential: Credential, fields: Iterable[str]) -> list[str]:
    """Return a sentence about each field that the provider does not have, with the name that was probably meant.

    A name is shown only if it looks like one: a secret may have been typed in its place.
    """
    names = known(credential)
    out = []
    for field in sorted(set(fields) - set(names)):
        near = get_close_matches(field, names, n=1)
        shown = f"`{field}`" if _NAME.fullmatch(field) else "with a name that is not one"
        out.append(f"it has an unknown field {shown}" + (f": did you mean `{near[0]}`?" if near else ""))
    return out


def doomed(check: str, name: str) -> Finding:
    """Judge a secret that somebody has marked for deletion: no one can read it, not even its sender."""
    says = "the secret is marked for deletion and cannot be read: its function fails"
    return Finding(check, Level.ERROR, says, f"aws secretsmanager restore-secret --secret-id {name}")


def own_keys(text: str) -> bool:
    """Tell whether a secret has access keys of AWS, which may be those of another account."""
    try:
        fields = json.loads(text or "{}")
        return all(_has(fields, x) for x in PAIR)
    except (ValueError, AttributeError):
        return False


def _has(fields: Mapping[str, Any], name: str) -> bool:
    return bool(str(fields.get(name, "")).strip())


def links(text: str) -> Finding:
    """Judge the secret that signs unsubscription links."""
    name = "secret unsubscribe"
    try:
        fields = json.loads(text or "{}")
        Keys(fields.get("current", ""), tuple(fields.get("previous", "").split()))
    except (ValueError, AttributeError, TypeError):
        says = f"it has no `current` of {MIN_KEY} characters, or is malformed: unsubscribe links do not work"
        return Finding(name, Level.ERROR, says, "put the key back, or make one (docs/unsubscribe.md)")
    return Finding(name, Level.OK, "complete")


def _lacking(credential: Credential, fields: Mapping[str, str], url: str, clock: Clock) -> str:
    """Return the code by which the sender would refuse everything, or an empty string."""
    nowhere: Any = _Nowhere()
    needs = Needs(
        http=nowhere,
        clock=clock,
        secret=fields,
        base_url=credential.base_url,
        smtp=nowhere,
        credential=credential,
        aws=AwsAccount(credential.region or "us-east-1", lambda: AwsKeys("unused", "unused")),
        public_url=url,
    )
    channel = channel_of(credential.channel)
    content = Content(sender=Mailbox("news@example.com"), subject="x" if channel.needs_subject else "", text="x")
    target = Target(f"{'0' * 26}-0-0-1", Recipient(channel.example, channel.example))
    (outcome,) = registry.provider(credential.provider)(needs).send(content, [target], deadline=clock.now() + 1)
    return outcome.code if isinstance(outcome, Rejected) and outcome.provider_down else ""


def _deaf(credential: Credential, fields: Mapping[str, str], clock: Clock) -> str:
    """Return why posts of the provider would not be believed, or an empty string; events by a topic need no secret."""
    if needs_of(credential.provider).topic and not credential.region:
        return ""
    try:
        registry.webhooks(credential.provider).verify({}, b"{}", fields, clock.now())
    except KeyError:
        return ""  # it has none
    except BadSignature as error:
        return str(error) if str(error) in KEYLESS else ""
    except Retriable:
        return ""
    return ""


def first_accounts(unmarked: Sequence[str], *, whole: bool) -> Finding:
    """Judge the accounts that people made before such accounts were marked: they use every channel.

    Args:
        whole: whether all accounts were checked.
    """
    name = "first accounts"
    if unmarked:
        says = (
            f"{len(unmarked)} that people made may send texts and calls that no operator opened: they are older than "
            f"this rule: {', '.join(unmarked[:MAX_NAMED])}"
        )
        return Finding(name, Level.WARNING, says, f"posthaste account suspend {unmarked[0]}, if it is not trusted")
    if not whole:
        return Finding(name, Level.SKIPPED, "there are too many accounts to look at all")
    return Finding(name, Level.OK, "none may send texts and calls that no operator opened")
