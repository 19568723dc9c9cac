"""The doctor's look at secrets and senders: whether only their functions reach the secrets, and who may send."""

from collections.abc import Callable, Iterable, Iterator
from functools import partial
from typing import Final

from cli.checks import Finding, Level, secrets
from cli.doctor.context import Patient
from shared.contracts import (
    Credential,
    addresses_secret_name,
    secret_name,
    unsubscribe_secret_name,
    webhook_secret_name,
)
from shared.providers import checks
from shared.providers.checks import judge_secret

IDENTITIES_MB: Final = 50
"""Megabytes of the table of identities that are read at most: some 200,000 accounts, for a cent."""


def look(patient: Patient) -> Iterator[Finding]:
    """Yield what is wrong with secrets, or that nothing is."""
    if not patient.environment:
        yield Finding("secrets", Level.SKIPPED, "created by the first deploy; then run `posthaste credential set`")
        return
    stage = patient.settings.stage
    for credential in patient.settings.credentials:
        name = secret_name(stage, credential.id)
        judge = partial(judge_secret, credential, url=patient.url, clock=patient.clock)
        yield from _of_secret(patient, f"secret {credential.id}", name, judge)
        text, name = patient.read.get(name, ""), webhook_secret_name(stage, credential.id)
        if secrets.verifying(credential, text):
            apart = partial(secrets.apart, credential, text)
            yield from _of_secret(patient, f"secret {credential.id} (webhooks)", name, apart)
    yield from _of_secret(patient, "secret unsubscribe", unsubscribe_secret_name(stage), lambda x: [secrets.links(x)])


def _of_secret(patient: Patient, check: str, name: str, judge: Callable[[str], Iterable[Finding]]) -> Iterable[Finding]:
    """Judge one secret; that it cannot be read keeps no other."""
    from botocore.exceptions import ClientError  # noqa: PLC0415 - loads botocore

    from cli.checks.unasked import code_of, unasked  # noqa: PLC0415

    try:
        return judge(patient.secret(name))
    except ClientError as error:
        return [secrets.doomed(check, name) if code_of(error) == secrets.DOOMED else unasked(check, error)]


def own_keys(patient: Patient, credential: Credential) -> bool:
    """Tell whether mail leaves another account; that of the deployment, if the secret cannot be read."""
    from botocore.exceptions import ClientError  # noqa: PLC0415 - loads botocore

    try:
        return checks.own_keys(patient.secret(secret_name(patient.settings.stage, credential.id)))
    except ClientError:  # the check of secrets says so
        return False


def identities(patient: Patient) -> list[Finding]:
    """Judge whether accounts, keys and audit logs are in tables of their own."""
    if not patient.environment:
        return [Finding("identities", Level.SKIPPED, "created by the first deploy")]
    accounts = patient.found.accounts(patient.clock)
    if accounts.moved():
        return [Finding("identities", Level.OK, "in tables of their own")]
    if not accounts.list_accounts():
        return [Finding("identities", Level.OK, "no account exists yet")]
    says = "accounts, keys and senders of an older version are still read from the table that functions write"
    return [Finding("identities", Level.WARNING, says, "posthaste account move")]


def hashes(patient: Patient) -> list[Finding]:
    """Judge whether stored hashes of addresses have the deployment's key, which must be there."""
    state = patient.found.names(patient.clock)
    accounts = bool(state.target or patient.found.accounts(patient.clock).list_accounts())
    name = addresses_secret_name(patient.settings.stage)
    return list(_of_secret(patient, "hashes", name, lambda text: [secrets.hashes(state, text, accounts=accounts)]))


def first_accounts(patient: Patient) -> list[Finding]:
    """Judge whether accounts that people made use channels that no operator has opened for them."""
    from shared.adapters.dynamo.accounts.first_accounts import made_by_people  # noqa: PLC0415 - loads botocore

    if not patient.found.homes().identities:
        return []
    made, whole = made_by_people(patient.found.dynamo(patient.clock), IDENTITIES_MB)
    unmarked = [x.id for x in patient.found.accounts(patient.clock).list_accounts() if x.id in made and not x.own]
    return [secrets.first_accounts(unmarked, whole=whole)]
