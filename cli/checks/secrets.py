"""Checks of the doctor that are about secrets, and about accounts that people made."""

import json
from collections.abc import Mapping, Sequence
from typing import Final

from cli.checks import Finding, Level
from shared.contracts import Credential
from shared.domain.recipients.address_names import PLAIN, NameKeys, NamesState
from shared.domain.sealing import MIN_KEY, Keys
from shared.providers import registry
from shared.providers.checks import read_secret

MAX_NAMED: Final = 5
"""Accounts that a finding names."""
DOOMED: Final = "InvalidRequestException"
"""The code of Secrets Manager's refusal to read a secret that is to be deleted."""
REHASH: Final = "posthaste rehash"
LOST: Final = "put the keys back (docs/incidents.md)"


def apart(credential: Credential, text: str, own: str) -> list[Finding]:
    """Judge what verifies a credential's webhooks, which is kept apart from what sends.

    Args:
        own: the secret of its webhooks, empty if there is none.
    """
    if verifying(credential, text) == read_secret(credential, own)[0]:
        return []
    says = "its webhooks are verified with an older copy or none: webhooks of its provider may be refused"
    return [Finding(f"secret {credential.id} (webhooks)", Level.ERROR, says, "posthaste credential split")]


def verifying(credential: Credential, text: str) -> Mapping[str, str]:
    """Return those fields of a credential's secret that verify its webhooks."""
    return registry.verifying(credential.provider, read_secret(credential, text)[0])


def doomed(check: str, name: str) -> Finding:
    """Judge a secret that somebody has marked for deletion: no one can read it, not even its sender."""
    says = "the secret is marked for deletion and cannot be read: its function fails"
    return Finding(check, Level.ERROR, says, f"aws secretsmanager restore-secret --secret-id {name}")


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


def hashes(state: NamesState, text: str, *, accounts: bool) -> Finding:
    """Judge how hashes of addresses are keyed.

    Args:
        text: the secret with their keys.
        accounts: whether there are accounts.
    """
    name = "hashes"
    try:
        fields = json.loads(text or "{}")
        found = NameKeys((*reversed(fields.get("previous", "").split()), fields["current"]))
    except (ValueError, AttributeError, TypeError, KeyError):
        return Finding(name, Level.ERROR, "the secret of addresses has no key, or too short a one", LOST)
    if found.checks[: len(state.checks)] != state.checks:
        says = "the secret has not the keys that stored hashes of addresses were made by: nothing is sent"
        return Finding(name, Level.ERROR, says, LOST)
    if not state.settled:
        return Finding(name, Level.WARNING, "the move of hashes of addresses to a key has not ended", REHASH)
    if not accounts:
        return Finding(name, Level.OK, "no account exists yet")
    if state.target == PLAIN:
        says = "stored hashes of addresses have no key: a thief of the table could try all phone numbers"
        return Finding(name, Level.WARNING, says, REHASH)
    if state.target < len(found.keys):
        return Finding(name, Level.WARNING, "stored hashes of addresses have not the latest key", REHASH)
    return Finding(name, Level.OK, "keyed")


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
