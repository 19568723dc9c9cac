"""Unsubscription links, signed by the deployment's keys from Secrets Manager."""

from collections.abc import Mapping

from shared.adapters.secrets import KEPT_EMPTY, MalformedSecret, Secrets
from shared.domain.unsubscribe import Keys, Unsubscription, read, sign


class SecretLinks:
    """`ports.Links` over a secret; safe for threads.

    Keys are rotated by hand: the former `current` goes in front of `previous`, where keys are parted by blanks, and
    another takes its place.
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

        A sender may have learned of another key before: what nobody seems to have signed is read again with keys that
        are at most `KEPT_EMPTY` seconds old. Raises as `sign` does.
        """
        keys = self._keys(self._secrets.unsubscribe())
        found = read(keys, token)
        if found is None:
            latest = self._keys(self._secrets.unsubscribe(kept=KEPT_EMPTY))
            found = read(latest, token) if latest != keys else None
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
