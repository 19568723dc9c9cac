"""Secrets from Secrets Manager: JSON objects of texts.

Those of credentials are empty until the operator fills them in; what signs links is made with the deployment.
"""

import json
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Final

from botocore.exceptions import ClientError, HTTPClientError
from botocore.exceptions import ConnectionError as BotoConnectionError

from shared.adapters.clock import SystemClock
from shared.adapters.sqs import is_transient
from shared.contracts import (
    addresses_secret_name,
    console_secret_name,
    edge_secret_name,
    hooks_secret_name,
    secret_name,
    unsubscribe_secret_name,
    webhook_secret_name,
)
from shared.ports import Clock, MalformedSecret, Retriable

if TYPE_CHECKING:
    from types_boto3_secretsmanager import SecretsManagerClient

KEPT: Final = 300.0
"""Seconds: a rotated key is in use everywhere after five minutes, while a busy function reads it 12 times an hour."""
KEPT_EMPTY: Final = 15.0
"""Seconds. So a secret that an operator fills in late is soon found."""
KEPT_REFUSED: Final = 15.0
"""Seconds: a key that its provider refuses may have been replaced a moment ago. A key that is wrong for good is not
read with each call."""


class Secrets:
    """Reads and remembers secrets; safe for threads (two may read the same secret at once).

    Args:
        stage: the deployment's stage, part of every secret's name.
        clock: by which secrets grow old.
    """

    def __init__(self, client: "SecretsManagerClient", stage: str, clock: Clock | None = None) -> None:
        self._client = client
        self._stage = stage
        self._clock: Clock = clock or SystemClock()
        self._known: dict[str, tuple[float, Mapping[str, str]]] = {}  # name → when it was read, and what it said

    def get(self, credential_id: str, *, kept: float = KEPT) -> Mapping[str, str]:
        """Return a credential's secret, no older than `kept` seconds if it can be had; {} if it is missing or empty.

        A secret that cannot be read just now is answered from memory, however old, if there is one.

        Raises:
            MalformedSecret: it is there, but not a JSON object of texts.
            Retriable: Secrets Manager does not answer, and nothing is remembered.
        """
        return self._get(secret_name(self._stage, credential_id), f"of {credential_id}", kept)

    def verifying(self, credential_id: str, *, kept: float = KEPT) -> Mapping[str, str]:
        """Return what verifies a credential's webhooks, as `get` does: no key that could send."""
        return self._get(webhook_secret_name(self._stage, credential_id), f"of the webhooks of {credential_id}", kept)

    def unsubscribe(self, *, kept: float = KEPT) -> Mapping[str, str]:
        """Return what signs unsubscription links, as `get` does, no older than `kept` seconds if it can be had."""
        return self._get(unsubscribe_secret_name(self._stage), "of unsubscription links", kept)

    def hooks(self, *, kept: float = KEPT) -> Mapping[str, str]:
        """Return what the secrets of webhooks' endpoints are derived from, as `get` does."""
        return self._get(hooks_secret_name(self._stage), "of webhooks", kept)

    def addresses(self, kept: float) -> Mapping[str, str]:
        """Return what hashes of addresses are keyed by, as `get` does, no older than `kept` seconds."""
        return self._get(addresses_secret_name(self._stage), "of addresses", kept)

    def console(self, *, kept: float = KEPT) -> Mapping[str, str]:
        """Return what signs the console's cookies and what it signs people in by, as `get` does."""
        return self._get(console_secret_name(self._stage), "of the console", kept)

    def edge(self, *, kept: float = KEPT) -> Mapping[str, str]:
        """Return the keys of which the edge sends one with each request, as `get` does."""
        return self._get(edge_secret_name(self._stage), "of the edge", kept)

    def _get(self, name: str, whose: str, kept: float) -> Mapping[str, str]:
        now = self._clock.now()
        known = self._known.get(name)
        if known and now < known[0] + (kept if known[1] else min(kept, KEPT_EMPTY)):
            return known[1]
        try:
            text = self._read(name)
        except Retriable:
            if known:
                return known[1]
            raise
        secret = _parse(whose, text)
        self._known[name] = (now, secret)
        return secret

    def _read(self, name: str) -> str:
        try:
            answer = self._client.get_secret_value(SecretId=name)
        except ClientError as error:
            if error.response.get("Error", {}).get("Code") == "ResourceNotFoundException":  # also: no value yet
                return ""
            if is_transient(error):
                raise Retriable("secrets") from error
            raise
        except (BotoConnectionError, HTTPClientError) as error:
            raise Retriable("secrets") from error
        return answer.get("SecretString", "")


class SecretStore:
    """Stores secrets of credentials, and reads none.

    Args:
        stage: the deployment's stage, part of every secret's name.
    """

    def __init__(self, client: "SecretsManagerClient", stage: str) -> None:
        self._client = client
        self._stage = stage

    def key(self, credential_id: str) -> str:
        """Return the KMS key that a credential's secret has, empty for the key that AWS owns.

        Raises:
            KeyError: there is no such secret.
        """
        name = secret_name(self._stage, credential_id)
        try:
            return self._client.describe_secret(SecretId=name).get("KmsKeyId", "")
        except self._client.exceptions.ResourceNotFoundException:
            raise KeyError(name) from None

    def put(self, credential_id: str, text: str, request: str) -> None:
        """Store a credential's secret.

        Args:
            request: an id of 32 to 64 characters; a repeat with the same one makes no other version.
        """
        name = secret_name(self._stage, credential_id)
        self._client.put_secret_value(SecretId=name, SecretString=text, ClientRequestToken=request)

    def put_verifying(self, credential_id: str, text: str, request: str) -> None:
        """Store what verifies a credential's webhooks, in a secret that the first call makes; else as `put` does.

        The key of the credential's own secret encrypts it.

        Raises:
            KeyError: the credential has no secret of its own.
        """
        name = webhook_secret_name(self._stage, credential_id)
        try:
            self._client.put_secret_value(SecretId=name, SecretString=text, ClientRequestToken=request)
        except self._client.exceptions.ResourceNotFoundException:
            key = self.key(credential_id)
            encrypted: dict[str, Any] = {"KmsKeyId": key} if key else {}
            self._client.create_secret(
                Name=name,
                Description=f"Posthaste: what verifies the webhooks of credential {credential_id}",
                SecretString=text,
                ClientRequestToken=request,
                **encrypted,
            )


def _parse(whose: str, text: str) -> Mapping[str, str]:
    if not text.strip():
        return {}
    try:
        raw = json.loads(text)
    except ValueError:
        raw = None
    if not isinstance(raw, dict) or not all(isinstance(v, str) for v in raw.values()):
        raise MalformedSecret(f"the secret {whose} is not a JSON object of texts") from None
    return raw
