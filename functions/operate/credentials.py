"""Secrets of credentials: which fields they have, and how one is stored. None can be read here.

A secret comes as one text: neither its values nor its names are parts of the body that a problem could name.
"""

import json
from collections.abc import Mapping
from typing import TYPE_CHECKING, Final

from pydantic import Field, SecretStr

from functions.operate.call import Call, OperateBody, OperateView, route
from shared.contracts import Credential
from shared.domain.audit import EVERYONE, Act, audited
from shared.lazy import lazy
from shared.web.http import Answer
from shared.web.problems import Problem, invalid
from shared.web.routing import Nothing

if TYPE_CHECKING:
    from shared.providers import checks, registry
else:
    checks, registry = lazy("shared.providers", "checks", "registry")

MAX_SECRET: Final = 65_536
"""Bytes, the limit of Secrets Manager."""


class SecretPart(OperateView):
    """A field of a secret. `about`: what it is, for the person who types it."""

    name: str
    about: str
    required: bool


class SecretForm(OperateView):
    """The fields of a credential's secret."""

    credential_id: str
    provider: str
    fields: list[SecretPart]


class SecretChange(OperateBody):
    """A credential's new secret.

    Attributes:
        secret: a JSON object of non-empty texts, as text.
        force: store it even if it cannot work.
        request: a random id. A repeat of the request has the same one.
    """

    secret: SecretStr
    force: bool = False
    request: str = Field(pattern="^[0-9a-f]{32}$")


class SecretFault(OperateView):
    """Why a secret cannot work, or not all of it."""

    level: str
    says: str


class SecretResult(OperateView):
    """Whether a secret is stored, with how many fields. With faults it is not."""

    stored: bool
    fields: int
    faults: list[SecretFault]


def secret_form(call: Call[Nothing, Nothing]) -> Answer:
    """Return the fields that a credential's secret may have."""
    credential = _declared(call)
    fields = [SecretPart.model_validate(x) for x in registry.secret_fields(credential.provider)]
    return SecretForm(credential_id=credential.id, provider=credential.provider, fields=fields).answer()


def set_secret(call: Call[Nothing, SecretChange]) -> Answer:
    """Store a credential's secret unless it cannot work. Senders use it within five minutes."""
    credential, body = _declared(call), call.body
    fields = _fields(body.secret.get_secret_value())
    text = _text(fields)
    bad = (checks.Level.ERROR, checks.Level.WARNING)
    judged = [] if body.force else checks.judge_secret(credential, text, "", call.services.clock)
    faults = [SecretFault(level=x.level, says=x.says) for x in judged if x.level in bad]
    if not faults:
        _store(call, credential, fields)
    return SecretResult(stored=not faults, fields=len(fields), faults=faults).answer()


def _store(call: Call[Nothing, SecretChange], credential: Credential, fields: Mapping[str, str]) -> None:
    """Store a secret, and what verifies webhooks also apart. The entry of the audit log is first: none is set without.

    Raises:
        Problem: not_found: somebody has deleted the secret.
    """
    services, request = call.services, call.body.request
    try:
        services.secret_store.key(credential.id)
    except KeyError as gone:
        raise Problem("not_found", f"There is no secret {gone.args[0]}: create it without a value.") from None
    at = int(services.clock.now() * 1000)
    entry = audited(EVERYONE, at, credential.id, Act.CREDENTIAL_SET, call.key.id, {"fields": len(fields)})
    services.journal.write(entry)
    if own := registry.verifying(credential.provider, fields):
        services.secret_store.put_verifying(credential.id, _text(own), request)
    services.secret_store.put(credential.id, _text(fields), request)


def _declared(call: Call[Nothing, Nothing] | Call[Nothing, SecretChange]) -> Credential:
    """Return the credential of the path. A problem does not repeat the name: it may be a secret in the wrong place."""
    declared = {c.id: c for c in call.services.settings.credentials}
    if found := declared.get(call.path["credential"]):
        return found
    raise Problem("credential_not_found", "No such credential is declared: declare it in cdk.json and deploy first.")


def _fields(text: str) -> Mapping[str, str]:
    try:
        found = json.loads(text)
    except (ValueError, RecursionError):
        found = None
    if not isinstance(found, dict) or not found or not all(isinstance(x, str) and x for x in found.values()):
        raise invalid("secret", "The secret is not a JSON object of non-empty strings.")
    if len(_text(found)) > MAX_SECRET:
        raise invalid("secret", f"A secret has at most {MAX_SECRET} bytes.")
    return found


def _text(fields: Mapping[str, str]) -> str:
    """Return fields as they are stored: ASCII."""
    return json.dumps(dict(fields), separators=(",", ":"))


ROUTES: Final = (
    route("GET", "/secrets/{credential}", "Its fields", secret_form, SecretForm, "credential_not_found"),
    route(
        "PUT",
        "/secrets/{credential}",
        "Set it",
        set_secret,
        SecretResult,
        "credential_not_found",
        "not_found",
    ),
)
