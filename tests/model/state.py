"""One state of the model, as small tuples: what is stored, what each process knows, and what providers really did.

Names of one letter keep states small: cells are q queued, r retry, c claimed, u unknown, f failed, s sent, x dropped,
d delivered, w withdrawn or expired, S and V closed after s and u. Skipped, relayed and bounced cells behave as f, s and
d do, and are left out.
"""

from typing import Final, NamedTuple

QUEUED, RETRY, CLAIMED, UNKNOWN, FAILED, SENT, DROPPED, DELIVERED = "q", "r", "c", "u", "f", "s", "x", "d"
WITHDRAWN, SENT_CLOSED, UNKNOWN_CLOSED = "w", "S", "V"
RANK: Final = {
    CLAIMED: 0,
    UNKNOWN: 1,
    FAILED: 2,
    SENT: 3,
    QUEUED: 4,
    RETRY: 4,
    DROPPED: 4,
    SENT_CLOSED: 5,
    UNKNOWN_CLOSED: 5,
    DELIVERED: 6,
    WITHDRAWN: 9,
}
OPEN: Final = frozenset({QUEUED, RETRY, CLAIMED})

COUNTED: Final = {
    QUEUED: 0,
    RETRY: 0,
    CLAIMED: 1,
    UNKNOWN: 2,
    UNKNOWN_CLOSED: 2,
    FAILED: 3,
    DROPPED: 3,
    WITHDRAWN: 3,
    SENT: 4,
    SENT_CLOSED: 4,
    DELIVERED: 5,
}
"""Cell to its place in a histogram: queued, sending, unknown, failed, sent, delivered."""

READY, ENQUEUED, SENDING, DONE, STOPPED, LOGGED = "READY", "ENQUEUED", "SENDING", "SENT", "STOPPED", "LOGGED"
ACTIVE: Final = frozenset({ENQUEUED, SENDING})

EARLY, LATER = "early", "later"
"""A job waits for its time; it waits for a later one, although one had come."""

FREE: Final = -1
"""Nobody holds the ledger."""
DEAD: Final = -2
"""A process held it that has died."""

HELD, ENDED, LOST = "held", "ended", "lost"
"""A worker's lease: its own; ended by it, and nobody has had one since; another's by now."""

ACCEPTED, REFUSED, NOT_SENT, THROTTLED, DOUBT, RISKED = "s", "p", "t", "h", "u", "x"
"""What a worker knows of a call. RISKED is a doubt under `on_ambiguous: fail_over`."""
GIVES: Final = {ACCEPTED: SENT, REFUSED: FAILED, NOT_SENT: RETRY, DOUBT: UNKNOWN, RISKED: RETRY}

Cell = tuple[str, int]
Cells = tuple[Cell, ...]


class Ledger(NamedTuple):
    """A chunk's ledger; `holder` is a worker's number, FREE or DEAD.

    `lane`, and `tried` in this round as bits: places of the route; `asked`: its owner has retried it.
    """

    cells: Cells
    holder: int
    limit: int
    folded: tuple[int, ...]
    lane: int = 0
    tried: int = 0
    asked: bool = False


class Retry(NamedTuple):
    """A recorded retry: which one it is, the chunk it has come to, and how often its job might yet be stopped then."""

    number: int
    next: int
    stops: int


class Job(NamedTuple):
    """A job; `stopped` is the flag that only a plan removes, `paused` whether its account is.

    `rests`: since it gave way it was not written, and somebody has found none of its chunks leased. `early`: what it
    waits for: nothing, its time, or a later time after that had come. `moving`: its owner has read it, to give it
    another time.
    """

    state: str
    stopped: bool
    counts: tuple[int, ...]
    retry: Retry | None = None
    paused: bool = False
    rests: bool = False
    early: str = ""
    moving: bool = False


class Past(NamedTuple):
    """What a chunk's details tell of a message's attempts, as bits: those that windows name, and that failed later."""

    noted: int = 0
    failed: int = 0


Said = tuple[tuple[int, int], str]
"""A call, as (index, attempt), and what it came to."""


class Worker(NamedTuple):
    """A worker: where it stands, its lease, and the calls of its window that are to be made, as (index, attempt).

    `results`: what calls came to that are not merged yet; `late`: calls whose answers are to come, with what each will
    be, empty if the provider does not have it yet; `after`: windows that this lease has claimed since the job was
    stopped; `lane`: the credential it calls; `read`: what it has read of the chunk's details too early, if that rule
    is left out.
    """

    at: str = "idle"
    chunk: int = -1
    window: tuple[tuple[int, int], ...] = ()
    results: tuple[Said, ...] = ()
    late: tuple[Said, ...] = ()
    lease: str = HELD
    after: int = 0
    lane: int = 0
    read: tuple[Past, ...] = ()


class Truth(NamedTuple):
    """What providers did with a message, as sets of attempts (bits): took, gave up after taking, left in doubt.

    `named`: doubtful attempts after which its owner asked for another; `lanes`: by attempt, the place in the route of
    the credential that was called, where passes are told apart; `ended`: its owner was informed that it has ended.
    """

    took: int = 0
    gave_up: int = 0
    doubt: int = 0
    named: int = 0
    lanes: tuple[int, ...] = ()
    ended: bool = False


class Client(NamedTuple):
    """An owner's retry under way: 0 none, -1 to be asked again, n: ledger n - 1 of the job is next, then the job."""

    job: int = 0
    step: int = 0
    found: bool = False


class Asker(NamedTuple):
    """A question about an attempt: not asked yet (`word` is empty), or the word that it brought, not joined yet."""

    chunk: int
    place: int
    attempt: int
    word: str = ""


class Carrier(NamedTuple):
    """Somebody who carries out a recorded retry: as it was read, what is next, and whether its ledger is as read.

    `image`: that ledger, if it is written blindly.
    """

    job: int = -1
    retry: Retry | None = None
    at: str = "idle"
    fresh: bool = True
    image: Ledger | None = None


class Budget(NamedTuple):
    """What the adversary may still do."""

    crash: int = 1
    """Processes that die, pointers that get lost."""
    freeze: int = 1
    """Leases that run out under a live worker."""
    stop: int = 1
    resume: int = 1
    retry: int = 0
    soft: int = 0
    """Accepted messages that a provider gives up."""
    lost: int = 0
    """Writes whose answers are lost."""
    shut: int = 0
    """Credentials whose breaker opens, for ever."""
    ask: int = 0
    """Questions about doubts."""
    pause: int = 0
    """Pauses of an account; each campaign has one of its own."""
    drop: int = 0
    """Messages that are withdrawn, or expire, before they are claimed."""
    close: int = 0
    """Messages whose receipt, or proof, is waited for no longer."""
    move: int = 0
    """Times that an owner gives a job another time."""
    lose: int = 0
    """Ledgers that are lost, and come back from copies."""


class State(NamedTuple):
    """Everything; `ever` marks chunks that a pointer was ever sent for, `finals` how far each job's finaliser is."""

    jobs: tuple[Job, ...]
    holders: tuple[int, ...]
    ledgers: tuple[Ledger, ...]
    workers: tuple[Worker, ...]
    pointers: tuple[bool, ...]
    ever: tuple[bool, ...]
    truth: tuple[tuple[Truth, ...], ...]
    details: tuple[tuple[Cell | None, ...], ...]
    finals: tuple[int, ...]
    clients: tuple[Client, ...]
    left: Budget
    pasts: tuple[tuple[Past, ...], ...] = ()
    """What the details of each chunk's messages tell, where passes are told apart."""
    shut: int = 0
    """Places of the route whose breaker is open for ever, as bits."""
    askers: tuple[Asker, ...] = ()
    carriers: tuple[Carrier, ...] = ()
    copies: tuple[Ledger | None, ...] = ()
    """The ledgers as they once were, where some may be lost."""


class Broken(Exception):
    """A promise is broken."""


def histogram(cells: Cells) -> tuple[int, ...]:
    """Return how many cells are queued, sending, unknown, failed, sent, delivered."""
    out = [0] * 6
    for state, _ in cells:
        out[COUNTED[state]] += 1
    return tuple(out)


def finished(cells: Cells) -> bool:
    """Tell whether nothing is left to do."""
    return all(state not in OPEN for state, _ in cells)


def join(cell: Cell, attempt: int, state: str) -> Cell:
    """Join a word about an attempt, as `shared.domain.jobs.feedback.join` does."""
    now, at = cell
    if now == WITHDRAWN:
        return cell
    if attempt == at:
        return (state, at) if RANK[state] > RANK[now] else cell
    if attempt < at and state == DELIVERED:
        return (DELIVERED, at)
    return cell
