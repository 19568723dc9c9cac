"""The system's clock."""

import time


class SystemClock:
    """Time as the machine tells it. Implements `ports.Clock`; safe for threads."""

    def now(self) -> float:
        """Return Unix seconds."""
        return time.time()

    def sleep(self, seconds: float) -> None:
        """Wait; returns at once for zero or less."""
        if seconds > 0:
            time.sleep(seconds)
