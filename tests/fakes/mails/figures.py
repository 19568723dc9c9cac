"""Figures of mails in memory."""

from collections import Counter


class FakeMailFigures:
    """`ports.MailFigures`: `counts` by name."""

    def __init__(self) -> None:
        self.counts: Counter[str] = Counter()

    def late(self) -> None:
        self.counts["late"] += 1

    def notified(self) -> None:
        self.counts["notified"] += 1

    def given_up(self, count: int) -> None:
        self.counts["given_up"] += count
