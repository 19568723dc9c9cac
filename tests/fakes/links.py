"""Unsubscription links of tests."""

from typing import Final

from shared.domain.unsubscribe import Keys, Unsubscription, read, sign

KEYS: Final = Keys("an-unsubscription-key-of-the-tests")


class FakeLinks:
    """`ports.Links` with a key that everybody knows."""

    def sign(self, wanted: Unsubscription) -> str:
        return sign(KEYS, wanted)

    def read(self, token: str) -> Unsubscription | None:
        return read(KEYS, token)
