"""Windows in their owners' hands: read, closed before their time, cancelled."""

from shared.domain.audit import SYSTEM, Act, audited
from shared.domain.digests.window import DigestWindow, WindowState
from shared.engine.intake.declined import Decline, as_value
from shared.ports import Clock
from shared.ports.digests import DigestHints, Windows


class WindowService:
    """Closes and cancels windows for their owners. Its methods return a `Declined` where they refuse.

    Args:
        hints: have a closed window made into a digest at once.
    """

    def __init__(self, *, windows: Windows, hints: DigestHints, clock: Clock) -> None:
        self._windows = windows
        self._hints = hints
        self._clock = clock

    @as_value
    def read(self, namespace: str, window_id: str) -> DigestWindow:
        """Return a window of an account's live or test keys."""
        return self._owned(self._windows.get(window_id), namespace)

    @as_value
    def close(self, namespace: str, window_id: str, *, by: str = SYSTEM) -> DigestWindow:
        """Close a window now. One that is closed or processed stays as it is."""
        self._owned(self._windows.get(window_id), namespace)
        now = self._now()
        event = audited(namespace, now, window_id, Act.WINDOW_CLOSED, by)
        found = self._owned(self._windows.close(window_id, now, early=True, event=event), namespace)
        if found.state is WindowState.CANCELLED:
            raise Decline("closed")
        if found.state is WindowState.CLOSED:
            self._hints.at(found.id, now)
        return found

    @as_value
    def cancel(self, namespace: str, window_id: str, *, by: str = SYSTEM) -> DigestWindow:
        """Cancel an open window: none of its events is sent. Repeating it changes nothing."""
        self._owned(self._windows.get(window_id), namespace)
        now = self._now()
        event = audited(namespace, now, window_id, Act.WINDOW_CANCELLED, by)
        found = self._owned(self._windows.cancel(window_id, now, event=event), namespace)
        if found.state is not WindowState.CANCELLED:
            raise Decline("closed")
        return found

    def _owned(self, found: DigestWindow | None, namespace: str) -> DigestWindow:
        if found is None or found.namespace != namespace:
            raise Decline("not_found")
        return found

    def _now(self) -> int:
        return int(self._clock.now() * 1000)
