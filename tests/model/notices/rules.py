"""What actions and words do to a notice, in the model's short form. `tests.domain.notices` compares the code with it.

Phases: - absent, W waiting, A active, E ended. Statuses: N new, T temporarily failed, P failed for good, S success,
C canceled. Cells: q queued or retry, c claimed, a accepted but not written, u unknown, z unknown while a frozen
worker may still send, s sent, x dropped, f failed, d delivered, w withdrawn, e expired, S sent and closed, V unknown
and closed. If a rule is left out, Z: closed while a frozen worker may still send.
"""

from typing import Final, NamedTuple

Act = tuple[str, int]
"""A notifier's action: N, U or C, and the data's version, 0 of a cancellation."""
CANCEL: Final[Act] = ("C", 0)
NOTHING: Final[Act] = ("", 0)
NOT_DELIVERED: Final = "xfweV"
"""Cells whose words carry a kept action out."""


class Notice(NamedTuple):
    """A notice.

    `asked`: what the last action that was not rejected asks for; `told`: status and run of its last entry; `gen` counts
    the updates that were carried out, since an update may restore old data; `doubt`: the last entry says that a message
    of its data may have gone out.
    """

    phase: str = "-"
    status: str = "-"
    data: int = 0
    run: int = 0
    kept: Act = NOTHING
    tries: int = 0
    expired: bool = False
    asked: Act = NOTHING
    told: tuple[str, int] = ("-", 0)
    gen: int = 0
    doubt: bool = False

    @property
    def version(self) -> tuple[int, int]:
        """The data's version."""
        return self.data, self.gen


def take(n: Notice, act: Act, without: frozenset[str]) -> Notice:
    """Return a notice after an action of its notifier; a rejection changes nothing."""
    kind, data = act
    if n.phase == "-":
        return n if kind == "C" else n._replace(phase="W", status="N", data=data, asked=("U", data))
    if kind == "N" or n.status == "S":
        return n
    if kind == "U" and n.data == data and n.status != "C":
        if n.kept != NOTHING and "the_same_data_drop_what_is_kept" in without:
            return n._replace(asked=act)
        return n._replace(kept=NOTHING, tries=0, asked=act)
    if kind == "C" and n.status == "C":
        return n
    if n.phase == "A" and "an_action_waits_for_the_run" not in without:
        return n if n.kept == act else n._replace(kept=act, tries=0, asked=act)
    return carry(n._replace(kept=act, asked=act), n.doubt)


def carry(n: Notice, doubt: bool = False) -> Notice:  # noqa: FBT001, FBT002 - as in Notice
    """Return a notice after its kept action. `doubt`: a message of its data may have gone out."""
    after = n._replace(kept=NOTHING, tries=0, doubt=False)
    if n.kept == CANCEL:
        return after._replace(phase="E", status="C", doubt=doubt)
    return after._replace(phase="W", status="N", data=n.kept[1], gen=n.gen + 1, expired=False)


def word(n: Notice, run: int, version: tuple[int, int], cell: str, without: frozenset[str]) -> Notice | None:
    """Return a notice after the word of a run's cell; None if it has none."""
    cell = "V" if cell == "Z" else cell
    mine = n.phase == "A" and (n.run == run or "a_word_is_of_its_run" in without)
    if mine:
        return _word_of_present(n, cell, without)
    if cell == "d" and n.status in "NTP" and (version == n.version or "delivered_counts_for_its_data" in without):
        return _succeeded(n)
    return None


def _succeeded(n: Notice) -> Notice:
    return n._replace(phase="E", status="S", kept=NOTHING, tries=0, asked=NOTHING, doubt=False)


def _word_of_present(n: Notice, cell: str, without: frozenset[str]) -> Notice | None:
    given_up = cell == "u" and "the_cell_is_closed_first" in without
    temporary = cell == "u" and "unknown_is_never_temporary" in without
    if n.kept != NOTHING and (cell in NOT_DELIVERED or given_up or temporary):
        return carry(n, cell in "Vu" and "a_cancellation_says_its_doubt" not in without)
    if cell in "dS":
        return _succeeded(n)
    if cell == "x" or temporary:
        return n._replace(phase="W", status="T", doubt=False)
    if cell == "u" and not given_up:
        return n._replace(status="T", doubt=True)
    if cell == "w":
        return None if "a_withdrawn_cell_has_a_word" in without else _waiting(n)
    if cell == "e" and not n.expired:
        return _waiting(n)
    return n._replace(phase="E", status="P", doubt=cell == "V") if cell in "efV" or given_up else None


def _waiting(n: Notice) -> Notice:
    """Return a notice whose message was never sent: if it was in doubt, that is over."""
    return n._replace(phase="W", doubt=False)


def tried(n: Notice, limit: int) -> Notice:
    """Return a notice after a failed try to carry its kept action out; the last one is a rejection."""
    after = n._replace(tries=n.tries + 1)
    return after if after.tries < limit else after._replace(kept=NOTHING, tries=0, asked=NOTHING)


def tell(old: Notice, new: Notice, failed: int = 0) -> Notice:
    """Return a notice with the entry of the log that goes with its change.

    `failed`: the run whose temporary failure it is, which has an entry though the status stays; else 0.
    """
    again = failed and old.phase == "A" and new.status == "T" and new.phase == "W" and new.told != ("T", failed)
    if (new.status, new.doubt) == (old.status, old.doubt) and not again:
        return new
    if new.status == "N" and old.phase == "-":
        return new
    return new._replace(told=(new.status, failed))
