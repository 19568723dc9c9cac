"""Unsubscription links and cursors, sealed by the deployment's keys from Secrets Manager."""

from collections.abc import Callable, Mapping
from typing import TypeVar

from shared.adapters.secrets import KEPT_EMPTY, Secrets
from shared.domain.content.unsubscribe import Unsubscription, read, sign
from shared.domain.sealing import Keys, seal, unseal
from shared.ports import MalformedSecret

T = TypeVar("T")


class SecretLinks:
    """`ports.Links` over a secret; safe for threads.

    People rotate the keys: the former `current` is moved to the front of `previous`, where blanks separate the keys,
    and another takes its place.
    """

    def __init__(self, secrets: Secrets) -> None:
        self._secrets = secrets
        self._known: tuple[Mapping[str, str], Keys] | None = None

    def sign(self, wanted: Unsubscription) -> str:
        """Return the token of a link.

        Raises:
            MalformedSecret: there is no key.
            Retriable: the keys cannot be read just now.
        """
        return sign(self._keys(self._secrets.unsubscribe()), wanted)

    def read(self, token: str) -> Unsubscription | None:
        """Return what a token says; None if none of the keys has signed it.

        A sender may have learned of another key before. So a token without a known signature is read again with keys
        that are at most `KEPT_EMPTY` seconds old. Raises as `sign` does.
        """
        return self._opened(lambda keys: read(keys, token))

    def seal(self, use: str, text: str) -> str:
        """Return a text so that only this deployment can read it, and only for that use. Raises as `sign` does."""
        return seal(self._keys(self._secrets.unsubscribe()), use.encode(), text.encode())

    def unseal(self, use: str, sealed: str) -> str | None:
        """Return a text that was sealed for that use; None if none of the keys has sealed it. As `read` otherwise."""
        found = self._opened(lambda keys: unseal(keys, use.encode(), sealed))
        return found.decode() if found is not None else None

    def _opened(self, opened: Callable[[Keys], T | None]) -> T | None:
        keys = self._keys(self._secrets.unsubscribe())
        found = opened(keys)
        if found is None:
            latest = self._keys(self._secrets.unsubscribe(kept=KEPT_EMPTY))
            found = opened(latest) if latest != keys else None
        return found

    def _keys(self, secret: Mapping[str, str]) -> Keys:
        known = self._known
        if known is None or known[0] is not secret:
            try:
                keys = Keys(secret.get("current", ""), tuple(secret.get("previous", "").split()))
            except ValueError:
                raise MalformedSecret("the secret of unsubscription links has no key, or too short a one") from None
            known = self._known = (secret, keys)
        return known[1]
