"""Unsubscription links of tests."""

from typing import Final

from shared.domain.content.unsubscribe import Unsubscription, read, sign
from shared.domain.sealing import Keys, seal, unseal

KEYS: Final = Keys("an-unsubscription-key-of-the-tests")


class FakeLinks:
    """`ports.Links` with a key that everybody knows."""

    def sign(self, wanted: Unsubscription) -> str:
        return sign(KEYS, wanted)

    def read(self, token: str) -> Unsubscription | None:
        return read(KEYS, token)

    def seal(self, use: str, text: str) -> str:
        return seal(KEYS, use.encode(), text.encode())

    def unseal(self, use: str, sealed: str) -> str | None:
        found = unseal(KEYS, use.encode(), sealed)
        return found.decode() if found is not None else None
