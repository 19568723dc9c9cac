"""The console's secret: what signs its cookies and seals its cursors, and what its provider of identities knows it by.

`{"current": key, "previous": "key key", "client_secret": text}`. The stack makes the first key; an operator adds
`client_secret`, which the provider shows once, and keeps the keys.
"""

from collections.abc import Mapping

from shared.adapters.secrets import Secrets
from shared.domain.sealing import Keys, seal, unseal
from shared.ports import MalformedSecret
from shared.ports.people import NotSignedIn


class ConsoleSecret:
    """Reads the secret, and seals by its keys; safe for threads."""

    def __init__(self, secrets: Secrets) -> None:
        self._secrets = secrets
        self._known: tuple[Mapping[str, str], Keys] | None = None

    def keys(self) -> Keys:
        """Return what seals.

        Raises:
            MalformedSecret: there is no key.
            Retriable: the secret cannot be read just now.
        """
        secret = self._secrets.console()
        known = self._known
        if known is None or known[0] is not secret:
            try:
                keys = Keys(secret.get("current", ""), tuple(secret.get("previous", "").split()))
            except ValueError:
                raise MalformedSecret("the secret of the console has no key, or too short a one") from None
            known = self._known = (secret, keys)
        return known[1]

    def client_secret(self) -> str:
        """Return what the provider of identities knows this deployment by.

        Raises:
            NotSignedIn: an operator has not added it.
        """
        found = self._secrets.console().get("client_secret", "")
        if not found:
            raise NotSignedIn("client_secret_missing")
        return found

    def seal(self, use: str, text: str) -> str:
        """Return a text so that only this console can read it, and only for that use."""
        return seal(self.keys(), use.encode(), text.encode())

    def unseal(self, use: str, sealed: str) -> str | None:
        """Return a text that was sealed for that use; None if none of the keys has sealed it."""
        found = unseal(self.keys(), use.encode(), sealed)
        return found.decode() if found is not None else None
