"""Notices, their runs and what providers really did: actions in any order, crashes, frozen workers and late words."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Final, NamedTuple

from tests.model.notices.rules import CANCEL, NOTHING, Act, Notice, take, tell, tried, word
from tests.model.state import Broken
from tests.model.world import Step, put

Cell = tuple[int, tuple[int, int], str]
"""A run's message: the notice, the version of its data, the cell's state."""
Job = tuple[Cell, ...]
Truth = tuple[tuple[tuple[int, int], int, str], ...]
"""What providers did with a notice: version, run, a accepted or g given up after that."""
NOBODY: Final = ()


class Harm(NamedTuple):
    """What may still happen: actions, crashes, processes that are late, late words, and what an owner asks for."""

    act: int = 3
    crash: int = 1
    stale: int = 1
    late: int = 1
    user: int = 0


class State(NamedTuple):
    """Everything. `due`: notices that a due function has read; `withdrawer` and `teller` have read and not written."""

    notices: tuple[Notice, ...]
    jobs: tuple[Job, ...]
    truth: tuple[Truth, ...]
    due: tuple[int, ...]
    withdrawer: tuple[int, ...]
    teller: tuple[Any, ...]
    left: Harm


Steps = Iterator[Step[State]]


@dataclass(frozen=True)
class Notices:
    """A configuration: how many notices, versions of data, runs and tries of a kept action there are."""

    notices: int = 1
    versions: int = 2
    runs: int = 3
    tries: int = 2
    harm: Harm = Harm()  # noqa: RUF009 - a NamedTuple does not change
    without: frozenset[str] = frozenset()

    def start(self) -> State:
        """Return the first state: nothing is stored."""
        n = self.notices
        return State((Notice(),) * n, (), ((),) * n, NOBODY, NOBODY, NOBODY, self.harm)

    def steps(self, s: State) -> Steps:
        """Yield all that can happen next."""
        yield from self._intake(s)
        yield from self._due(s)
        for j, job in enumerate(s.jobs):
            for k, (i, version, cell) in enumerate(job):
                at = _At(s, j, k, i, version, cell)
                yield from self._worker(at)
                yield from self._feedback(at)
                yield from self._look(at)
                yield from self._owner(at)
                yield from self._words(at)
                yield from self._withdraw(at)
        yield from self._late(s)
        yield from self._time(s)

    def _intake(self, s: State) -> Steps:
        if not s.left.act:
            return
        acts: list[Act] = [("N", 1), *(("U", v) for v in range(1, self.versions + 1)), CANCEL]
        for i, n in enumerate(s.notices):
            for act in acts:
                new = take(n, act, self.without)
                if new != n:
                    yield Step(False, f"{act[0]}{act[1] or ''} of {i}", _spent(self._written(s, i, new), "act"))

    def _due(self, s: State) -> Steps:
        """Read notices, then one transaction: the job, and each notice WAITING to ACTIVE by the version read."""
        if len(s.jobs) == self.runs:
            return
        if s.due:
            run = len(s.jobs) + 1
            notices = s.notices
            for i in s.due:
                notices = put(notices, i, notices[i]._replace(phase="A", run=run))
            job = tuple((i, s.notices[i].version, "q") for i in s.due)
            yield Step(True, f"due accepts job {run}", s._replace(notices=notices, due=NOBODY, jobs=(*s.jobs, job)))
            if s.left.crash:
                yield Step(False, "due dies", _spent(s._replace(due=NOBODY), "crash"))
            return
        ready = tuple(i for i, n in enumerate(s.notices) if n.phase == "W" and not n.expired)
        for pick in {ready} | {(i,) for i in ready} if ready else ():
            yield Step(True, f"due reads {pick}", s._replace(due=pick))

    def _worker(self, at: "_At") -> Steps:
        s, cell = at.state, at.cell
        if cell == "q":  # not fair: the lane may be paused for ever
            yield at.step(False, "claim", "c")
        elif cell == "c":
            yield Step(True, f"{at} is accepted", self._accepted(at, "a"))
            for result in "xfqu":
                yield at.step(result != "q", f"call gives {result}", result)
            if s.left.crash:
                for after in "uz":
                    yield Step(False, f"worker of {at} {_FATE[after]}", _spent(at.cell_as(after), "crash"))
        elif cell == "a":
            for result in "su":
                yield at.step(True, f"writes {result}", result)
        elif cell == "z":
            yield Step(False, f"frozen worker sends {at}", self._accepted(at, "s"))
            yield at.step(True, "frozen worker is past its deadline", "u")

    def _feedback(self, at: "_At") -> Steps:
        s, cell = at.state, at.cell
        took, gave = at.did("a"), at.did("g")
        if cell in "us" and took:
            yield at.step(False, "delivered", "d")
            for result in "xf":
                yield Step(False, f"{at} is given up: {result}", at.given_up(result))
        if cell in "VS" and took:
            yield at.step(False, "delivered after it was closed", "d")
        if cell in "xf" and gave and s.left.late:
            yield Step(False, f"{at} delivered after it was given up", _spent(at.cell_as("d"), "late"))
        reopens = "uV" if "a_closed_cell_stays_closed" in self.without else "u"
        if cell in reopens and not took and not gave:
            yield at.step(False, "look-up finds it absent", "q")

    def _look(self, at: "_At") -> Steps:
        """Close cells without a word, and end those that are past their time: without a worker."""
        s, cell = at.state, at.cell
        if cell == "u" and "the_cell_is_closed_first" not in self.without:
            yield at.step(True, "closed without a word", "V")
        if cell == "s":
            yield at.step(True, "closed without a receipt", "S")
        if cell == "q" and s.notices[at.notice].expired and "expired_cells_need_no_worker" not in self.without:
            yield at.step(True, "expired", "e")
        at_once = "nothing_is_closed_while_a_worker_may_send" in self.without
        if at_once and cell == "z":
            yield at.step(True, "closed at once", "Z")
        if cell == "Z" and s.left.user:
            yield Step(False, f"frozen worker sends {at}", _spent(self._accepted(at, "s"), "user"))

    def _owner(self, at: "_At") -> Steps:
        if not at.state.left.user:
            return
        if at.cell == "q" and "owners_stop_no_such_job" in self.without:
            yield Step(False, f"owner stops {at}", _spent(at.cell_as("K"), "user"))
        if at.cell == "x" and "owners_retry_no_such_job" in self.without:
            yield Step(False, f"owner retries {at}", _spent(at.cell_as("q"), "user"))

    def _words(self, at: "_At") -> Steps:
        s = at.state
        old = s.notices[at.notice]
        new = word(old, at.job + 1, at.version, at.cell, self.without)
        if new is not None and new != old:
            yield Step(
                True, f"word of {at}: {at.cell}", self._written(s, at.notice, new, at.job + 1 if at.cell == "x" else 0)
            )
        if s.left.stale and not s.teller and at.cell in "dxfweSVu":
            teller = (at.notice, at.job + 1, at.version, at.cell)
            yield Step(False, f"a teller reads {at}: {at.cell}", _spent(s._replace(teller=teller), "stale"))

    def _withdraw(self, at: "_At") -> Steps:
        """A kept action: the cell follows by the ledger's CAS, then its word; any other cell counts as a try."""
        s = at.state
        n = s.notices[at.notice]
        if n.phase != "A" or n.run != at.job + 1 or n.kept == NOTHING:
            return
        closes = "uz" if "a_lost_worker_is_waited_for" in self.without else "u"
        cancels = n.kept == CANCEL and at.cell in "uz"
        if at.cell == "q":
            yield at.step(True, "withdrawn", "w")
        elif cancels and at.cell in closes:
            yield at.step(True, "closed, as it is cancelled", "Z" if at.cell == "z" else "V")
        elif at.cell != "w" and not cancels:
            yield Step(True, f"failed try at {at}", self._written(s, at.notice, tried(n, self.tries)))
        if s.left.stale and not s.withdrawer:
            reads = _spent(s._replace(withdrawer=(at.job, at.place)), "stale")
            yield Step(False, f"a withdrawer reads {at}", reads)

    def _late(self, s: State) -> Steps:
        if s.withdrawer:
            j, k = s.withdrawer
            i, version, cell = s.jobs[j][k]
            after = s._replace(withdrawer=NOBODY)
            if cell in "qu":
                written = "w" if cell == "q" else "V"
                yield Step(True, "the withdrawer writes", _At(after, j, k, i, version, cell).cell_as(written))
            else:
                yield Step(True, "the withdrawer is late", after)
        if s.teller:
            i, run, version, cell = s.teller
            after = s._replace(teller=NOBODY)
            new = word(s.notices[i], run, version, cell, self.without)
            label = f"the teller writes {i} run {run}: {cell}"
            yield Step(True, label, after if new is None else self._written(after, i, new, run if cell == "x" else 0))

    def _time(self, s: State) -> Steps:
        for i, n in enumerate(s.notices):
            if n.phase in "WA" and not n.expired:
                yield Step(True, f"{i} expires", s._replace(notices=put(s.notices, i, n._replace(expired=True))))
            if n.phase == "W" and n.expired:
                yield Step(True, f"{i} told expired", self._written(s, i, n._replace(phase="E", status="P")))

    def _written(self, s: State, i: int, new: Notice, failed: int = 0) -> State:
        """Write a notice with its entry: a due function that has read it loses its condition."""
        keeps = "due_names_the_versions" in self.without or i not in s.due
        return s._replace(notices=put(s.notices, i, tell(s.notices[i], new, failed)), due=s.due if keeps else NOBODY)

    @staticmethod
    def _accepted(at: "_At", cell: str) -> State:
        """A provider accepts a message: what must never be is judged here."""
        s, i, run = at.state, at.notice, at.job + 1
        n = s.notices[i]
        if any(version == at.version and how == "a" for version, _, how in s.truth[i]):
            raise Broken(f"duplicate: data {at.version} of notice {i} accepted twice")
        if n.status == "C":
            raise Broken(f"notice {i} is sent after its cancellation was confirmed")
        if n.version != at.version:
            raise Broken(f"old data of notice {i} are sent after an update was carried out")
        if n.status != "S" and (n.phase, n.run) != ("A", run):
            raise Broken(f"notice {i} is sent by run {run}, but is {n.phase} in run {n.run}")
        return at.cell_as(cell)._replace(truth=put(s.truth, i, (*s.truth[i], (at.version, run, "a"))))

    def check(self, s: State) -> None:
        """Raise what does not hold in a state."""
        for i, n in enumerate(s.notices):
            broken = self._broken(n, s.truth[i])
            if broken:
                raise Broken(f"notice {i}: {broken}")

    def _broken(self, n: Notice, truth: Truth) -> str:
        if n.tries >= self.tries:
            return "more tries than the limit"
        if n.kept != NOTHING and n.phase != "A":
            return "an action is kept though nothing is under way"
        if n.kept == NOTHING and n.asked == CANCEL and n.status != "C":
            return "a cancellation was taken, never rejected, and is forgotten"
        if n.kept == NOTHING and n.asked[0] == "U" and (n.data != n.asked[1] or n.status == "C"):
            return "an update was taken, never rejected, and is forgotten"
        return self._told_falsely(n, truth)

    @staticmethod
    def _told_falsely(n: Notice, truth: Truth) -> str:
        if n.doubt and n.phase in "-W":
            return "it waits for another attempt, and its last entry says that a message may have gone out"
        if n.status == "C" and not n.doubt and any(version == n.version and how == "a" for version, _, how in truth):
            return "it was cancelled as if it had not been sent"
        if n.status == "S" and not any(version == n.version for version, _, _ in truth):
            return "success, but its data were never accepted"
        if n.told[0] != n.status and (n.told[0] != "-" or n.status not in "-N"):
            return f"the last entry says {n.told[0]}, the status is {n.status}"
        return ""

    def is_goal(self, s: State) -> bool:
        """Tell whether every notice has ended, and nothing is under way."""
        ended = all(n.phase in "-E" and n.kept == NOTHING for n in s.notices)
        return ended and not (s.due or s.withdrawer or s.teller)


_FATE: Final = {"u": "dies", "z": "freezes"}


class _At(NamedTuple):
    """One cell of a state."""

    state: State
    job: int
    place: int
    notice: int
    version: tuple[int, int]
    cell: str

    def __str__(self) -> str:
        return f"{self.notice} run {self.job + 1}"

    def cell_as(self, cell: str) -> State:
        """Return the state with the cell in another one."""
        job = put(self.state.jobs[self.job], self.place, (self.notice, self.version, cell))
        return self.state._replace(jobs=put(self.state.jobs, self.job, job))

    def step(self, fair: bool, label: str, cell: str) -> Step[State]:  # noqa: FBT001 - as Step itself
        """Return the step that changes nothing but the cell."""
        return Step(fair, f"{self}: {label}", self.cell_as(cell))

    def did(self, how: str) -> bool:
        """Tell whether the provider accepted this message, or gave it up after that."""
        return (self.version, self.job + 1, how) in self.state.truth[self.notice]

    def given_up(self, cell: str) -> State:
        """Return the state in which the provider has given the message up."""
        run = self.job + 1
        rest = tuple(x for x in self.state.truth[self.notice] if x[1] != run)
        truth = put(self.state.truth, self.notice, (*rest, (self.version, run, "g")))
        return self.cell_as(cell)._replace(truth=truth)


def _spent(s: State, what: str) -> State:
    return s._replace(left=s.left._replace(**{what: getattr(s.left, what) - 1}))
