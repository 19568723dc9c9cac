"""The provider calls of a lease, side by side: in its own thread on a wire, or each in a thread of the lane's crew.

A provider that lets another make its one HTTP request (`ports.Stepwise`) is called on a wire, as long as a connection
is open. A call that finds none is made in a thread, from its start. Both ways begin a call only if its slot has not
passed, and make it once.
"""

import logging
from collections.abc import Callable, Sequence
from functools import partial
from types import TracebackType
from typing import Final, Self

from shared.domain.content.content import Content
from shared.domain.jobs.outcomes import Outcome, Unknown
from shared.domain.times import Seconds
from shared.engine.lane import finished
from shared.engine.pool import Pending, Pool, SideBySide
from shared.ports import Clock, FinishedMessages, Provider, Response, Sized, Steps, Stepwise, Target, Wire

Ended = Callable[[Sequence[Outcome]], None]
"""Told once when a call has ended: what the provider said, nothing if it was not asked or its adapter has a fault."""
_LOG: Final = logging.getLogger(__name__)


class Calls:
    """Makes one provider's calls for any number of leases at once.

    Args:
        provider: is called.
        timeout: seconds that a call may take.
        pool: makes a lease's pool of so many threads.
        wire: makes a lease's wire; None: every call has a thread.
        messages: the bytes of finished messages; None: none can be sent here.
    """

    def __init__(
        self,
        provider: Provider,
        clock: Clock,
        timeout: Seconds,
        pool: Callable[[int], Pool],
        wire: Callable[[], Wire] | None = None,
        messages: FinishedMessages | None = None,
    ) -> None:
        self.clock = clock
        self.timeout = timeout
        self.messages = messages
        self._pool = pool
        self._wire = wire
        self.use(provider)

    def use(self, provider: Provider) -> None:
        """Make the calls that begin from now on with another provider: the same service under another key."""
        self.provider = provider
        self.stepwise = provider if self._wire is not None and isinstance(provider, Stepwise) else None
        self._sized = provider if isinstance(provider, Sized) else None

    def per_call_of(self, content: Content) -> int:
        """Return the most recipients that the provider takes in one call with a content."""
        if content.finished is not None:
            return 1
        return self._sized.per_call_of(content) if self._sized is not None else self.provider.per_call

    def lease(self, size: int, *, steps: bool = False) -> "LeaseCalls":
        """Return the calls of one lease, at most `size` at once, for a `with`: leaving it waits for all of them.

        `steps`: whether the lease has steps that a wire may run.
        """
        wire = self._wire() if self._wire is not None and (steps or self.stepwise is not None) else None
        return LeaseCalls(self, self._pool(size), wire)


class LeaseCalls:
    """The calls of one lease; only for the lease's thread."""

    def __init__(self, calls: Calls, pool: Pool, wire: Wire | None) -> None:
        self._calls = calls
        self._pool = pool
        self._wire = wire

    def rest(self, until: Seconds) -> None:
        """Wait for a moment, Unix seconds; calls continue meanwhile."""
        if self._wire is not None:
            self._wire.rest(until)
        else:
            self._calls.clock.sleep(until - self._calls.clock.now())

    def side_by_side(self, pool: Pool) -> SideBySide:
        """Return what runs steps that call stores: the lease's wire if it can, else a pool of threads."""
        return self._wire if isinstance(self._wire, SideBySide) else pool

    def begin(
        self, content: Content, targets: Sequence[Target], *, latest: float, deadline: Seconds, ended: Ended
    ) -> Pending[list[Outcome] | None]:
        """Begin a call.

        Args:
            latest: Unix seconds after which the slot is missed and the call not begun; its result is None then.
            deadline: Unix seconds by which it must have ended.
            ended: told as soon as it has.
        """
        call = _Call(self._calls, content, targets, latest, deadline, ended)
        stepwise = self._calls.stepwise if content.finished is None else None
        if self._wire is not None and stepwise is not None and call.begin(self._wire, stepwise):
            return call
        return self._pool.submit(call.make)

    def __enter__(self) -> Self:
        self._pool.__enter__()
        if self._wire is not None:
            self._wire.__enter__()
        return self

    def __exit__(self, kind: type[BaseException] | None, e: BaseException | None, trace: TracebackType | None) -> None:
        """Wait for all calls."""
        try:
            if self._wire is not None:
                self._wire.__exit__(kind, e, trace)
        finally:
            self._pool.__exit__(kind, e, trace)


class _Call:
    """One provider call, made in a thread (`make`) or on a wire (`begin`, then `result`)."""

    __slots__ = (
        "_calls",
        "_content",
        "_deadline",
        "_ended",
        "_error",
        "_latest",
        "_steps",
        "_targets",
        "_value",
        "_wire",
    )

    def __init__(
        self,
        calls: Calls,
        content: Content,
        targets: Sequence[Target],
        latest: float,
        deadline: Seconds,
        ended: Ended,
    ) -> None:
        self._calls = calls
        self._content = content
        self._targets = targets
        self._latest = latest
        self._deadline = deadline
        self._ended = ended
        self._wire: Wire | None = None
        self._value: list[Outcome] | None = None
        self._error: BaseException | None = None

    def make(self) -> list[Outcome] | None:
        """Make the call in this thread; None if its slot was missed before it began."""
        said: list[Outcome] | None = None
        try:
            with finished.message_of(self._calls.messages, self._content) as message:
                now = self._calls.clock.now()
                if now > self._latest:
                    return None
                try:
                    said = finished.send(
                        self._calls.provider, self._content, message, self._targets, deadline=self._until(now)
                    )
                except Exception as fault:  # noqa: BLE001 - an adapter's fault must not take the window's other results along
                    return self._faulty(fault)
                return said
        finally:
            self._ended(said or ())

    def begin(self, wire: Wire, provider: Stepwise) -> bool:
        """Begin the call on a wire; False if it has to be made in a thread, and nothing has happened."""
        now = self._calls.clock.now()
        if now > self._latest:
            self._end(None, ())
            return True
        steps = provider.steps(self._content, self._targets, deadline=self._until(now))
        try:
            request = next(steps)
        except StopIteration as end:
            self._end(end.value, end.value)
            return True
        except Exception as fault:  # noqa: BLE001 - as above
            self._end(self._faulty(fault), ())
            return True
        self._wire = wire
        try:
            begun = wire.begin(request, partial(self._answer, steps))
        except Exception as error:  # noqa: BLE001 - the provider's to judge
            self._answer(steps, error)
            return True
        if not begun:
            steps.close()
        return begun

    def done(self) -> bool:
        """Tell whether the call, begun on a wire, has ended."""
        return self._wire is None

    def result(self) -> list[Outcome] | None:
        """Wait for the call and return its outcomes; None if its slot was missed."""
        if self._wire is not None:
            self._wire.join()
        if self._error is not None:
            raise self._error
        return self._value

    def _answer(self, steps: Steps[list[Outcome]], answer: Response | Exception) -> None:
        self._wire = None
        try:
            if isinstance(answer, Response):
                steps.send(answer)
            else:
                steps.throw(answer)
        except StopIteration as end:
            self._end(end.value, end.value)
        except Exception as fault:  # noqa: BLE001 - as above
            self._end(self._faulty(fault), ())
        else:
            steps.close()
            self._end(self._faulty(RuntimeError("a call makes one request")), ())

    def _end(self, value: list[Outcome] | None, said: Sequence[Outcome]) -> None:
        self._value = value
        try:
            self._ended(said)
        except BaseException as e:  # noqa: BLE001 - handed to the thread that waits for the call
            self._error = e

    def _until(self, now: Seconds) -> float:
        return min(now + self._calls.timeout, self._deadline)

    def _faulty(self, fault: Exception) -> list[Outcome]:
        _LOG.error("provider fault", extra={"ref": self._targets[0].ref, "fault": type(fault).__name__})
        return [Unknown("internal_fault")] * len(self._targets)
