"""A campaign from a file to its last message: create, upload, read, preview, ask, send, watch.

Nothing is sent before the question is answered. Until then Ctrl-C leaves a campaign that sends nothing. While it sends,
Ctrl-C on a terminal asks what to do; elsewhere it ends only the watching.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import typer

from cli.asking import agreed
from cli.client import ApiClient, new_key, path_of
from cli.errors import CommandError, ExitCode, Failed
from cli.lists.listing import Duplicates, Lister, recipients_of, wants_all
from cli.output import Surroundings, counted, emit, say, tell
from cli.progress.watch import JobProgress, as_json, as_lines, watch
from cli.progress.words import UNSENT, state_words
from shared.domain.channels.lookup import channel_of
from shared.domain.content.templates import UNSUBSCRIBE_URL, Template, TemplateKind, variables
from shared.domain.jobs.job import StopReason
from shared.domain.jobs.states import MessageState

LINES: Final = 12
"""Lines of a body that a preview shows."""
SEGMENTS: Final = "sms"
"""Field of a preview: how its text is divided."""
NOT_SENT: Final = (MessageState.FAILED, MessageState.UNKNOWN)
NO_CAMPAIGN: Final = "the answer does not describe a campaign"
WORDS: Final = {"stop": "stop it", "leave": "leave it running", "continue": "continue watching"}


@dataclass(frozen=True, slots=True)
class Plan:
    """What is to be sent.

    Attributes:
        list: its file; a text: the id of the campaign whose list is read again.
        body: of POST /campaigns.
        options: of the upload.
        rate: messages per second, 0 for the credential's own.
        at: when it is sent, RFC 3339; empty for now.
        ask_duplicates: whether to ask how to treat recipients who are listed twice.
    """

    list: Path | str
    body: Mapping[str, Any]
    options: Mapping[str, Any]
    rate: float
    at: str = ""
    ask_duplicates: bool = False


class Runner:
    """Runs campaigns for a command."""

    def __init__(self, api: ApiClient, around: Surroundings, *, json: bool) -> None:
        self._api = api
        self._around = around
        self._json = json
        self._terminal = around.terminal and not json

    def run(self, plan: Plan, *, ask: bool) -> ExitCode:
        """Do all of it; return how it ended."""
        made = self._created(plan.body)
        campaign = str(made["campaign_id"])
        if not self._readied(plan, made, ask=ask):
            _tell_kept(campaign)
            return ExitCode.FAILED
        job = self._sent(campaign, plan)
        return ExitCode.OK if plan.at or not job else self.follow(campaign, job)

    def _readied(self, plan: Plan, made: Mapping[str, Any], *, ask: bool) -> bool:
        """Have the list read, and ask; return whether to send. A campaign whose list cannot be used goes again."""
        campaign = str(made["campaign_id"])
        listed = False
        lister = Lister(self._api, self._around, json=self._json, asks=ask)
        try:
            self._check(made, plan.rate)
            found = lister.listed(campaign, plan.list, plan.options)
            if plan.ask_duplicates and wants_all(found):
                found = lister.listed(campaign, plan.list, {**plan.options, "duplicates": Duplicates.KEEP.value})
            listed = True
            if not self._json:
                show_preview(self._api, campaign)
                _warn_linkless(made)
            return agreed(question(recipients_of(found), made, self._api.place, plan.at), yes=not ask)
        except (KeyboardInterrupt, typer.Abort):
            _tell_kept(campaign, listed=listed)
            raise
        except CommandError:
            if not listed:
                self._withdraw(campaign, lister.kept)
            raise

    def _sent(self, campaign: str, plan: Plan) -> str:
        try:
            return self.send(campaign, plan.rate, plan.at)
        except CommandError as error:
            if error.problem:  # of a refusal: nothing is sent
                _tell_kept(campaign)
            raise

    def follow(self, campaign: str, job: str) -> ExitCode:
        """Watch a campaign's job until it is LOGGED; 0 if everything was sent or delivered, 1 if not."""
        choice = "continue"
        while True:
            try:
                if choice == "stop":
                    self._api.post(path_of("jobs", job, "/stop"), again=True)
                    tell("stopping. Waiting for messages already handed to the provider")
                return self._summed_up(campaign, self._watched(campaign, job))
            except KeyboardInterrupt:
                again = f"posthaste campaign watch {campaign}"
                choice = self._choice() if self._terminal else "leave"
                if choice == "leave":
                    tell(f"no longer watching; the campaign continues. To watch again: {again}")
                    raise

    def _created(self, body: Mapping[str, Any]) -> Mapping[str, Any]:
        answer = self._api.post("/campaigns", body, key=new_key())
        campaign = answer.get("campaign_id")
        if not isinstance(campaign, str):
            raise Failed(f"{NO_CAMPAIGN}: does POSTHASTE_URL name a Posthaste API?")
        self._tell(f"campaign {campaign} created, with {answer.get('credential_id')}", answer)
        if answer.get("test") and not self._json:
            say("this is a test key: the messages reach no provider")
        return answer

    def _check(self, campaign: Mapping[str, Any], rate: float) -> None:
        """Refuse before the upload what the API would refuse after it: no sender, or too high a rate."""
        said = campaign.get("template") or {}
        if channel_of(str(campaign.get("channel"))).names_sender and not said.get("from"):
            raise Failed("the stored template has no sender\nadd one: posthaste template put --id ID --from ADDRESS")
        if not rate:
            return
        name = campaign.get("credential_id")
        pages = self._api.pages("/credentials", {"limit": "1000"})
        most = next((x.get("declared_rate") for page in pages for x in page if x.get("id") == name), None)
        if isinstance(most, int | float) and rate > most:
            raise Failed(f"{rate:g} messages per second is more than {name} sends\nuse --rate {most:g} or less")

    def _withdraw(self, campaign: str, lists: Iterable[str]) -> None:
        """Delete a campaign whose list cannot be used, so that a failed try leaves nothing behind."""
        try:
            for upload in lists:
                self._api.delete(path_of("campaigns", campaign, path_of("uploads", upload)))
            self._api.delete(path_of("campaigns", campaign))
        except CommandError:
            _tell_kept(campaign, listed=False)
        else:
            tell("nothing was sent, and the campaign is deleted again")

    def send(self, campaign: str, rate: float, at: str = "") -> str:
        """Send a campaign's list; return the job's id, empty if it waits for approval.

        Args:
            rate: messages per second, 0 for the credential's own.
            at: when, RFC 3339; empty for now.
        """
        body: dict[str, Any] = {"rate": rate} if rate else {}
        body |= {"scheduled_at": at} if at else {}
        path = path_of("campaigns", campaign, "/send")
        try:
            answer = self._api.post(path, body, key=new_key())
        except (KeyboardInterrupt, CommandError) as error:
            if not getattr(error, "problem", ""):  # no refusal with a code: what became of it is not known
                tell(f"it may be sending already. Before another run, check: posthaste campaign show {campaign}")
            raise
        job = str(answer.get("job_id", ""))
        if answer.get("waiting_for"):
            self._tell(
                f"it waits for the approval of another key or person: posthaste campaign approve {campaign}", answer
            )
            return ""
        if at:
            self._tell(f"scheduled for {at}; posthaste schedule cancel {job} takes it back", answer)
        else:
            self._tell(f"sending; posthaste campaign stop {campaign} stops it", answer)
        return job

    def _watched(self, campaign: str, job: str) -> JobProgress:
        path = path_of("jobs", job)

        def read() -> JobProgress:
            return JobProgress.read(self._api.get(path))

        if self._json:
            return watch(read, as_json(job, "job_id"), self._around.clock)
        if not self._terminal:
            return watch(read, as_lines(self._around.clock), self._around.clock)
        from cli.progress.bars import Bars  # noqa: PLC0415 - loads rich

        with Bars(campaign, self._around.clock) as bars:
            return watch(read, bars, self._around.clock)

    def _choice(self) -> str:
        """Ask what Ctrl-C means while it is still sending; a second one leaves it running."""
        tell("still sending: " + ", ".join(f"[{word[0]}] {meaning}" for word, meaning in WORDS.items()))
        try:
            while True:
                answer = typer.prompt("What now?", default="c", err=True).strip().lower()
                for word in WORDS:
                    if answer and word.startswith(answer):
                        return word
        except (KeyboardInterrupt, typer.Abort):
            return "leave"

    def _summed_up(self, campaign: str, last: JobProgress) -> ExitCode:
        counts = last.counts
        left = sum(counts.get(state, 0) for state in UNSENT)
        bad = {s: n for s in NOT_SENT if (n := counts.get(s, 0))}
        if not self._json:
            figures = ", ".join(f"{n:,} {state}" for state, n in counts.items() if n)
            say(f"campaign {campaign} is {state_words(last.state, left)}: {figures or 'no messages'}")
            _advise(campaign, left, bad, guarded=last.stop_reason == StopReason.BOUNCE_GUARD)
        return ExitCode.FAILED if left or bad else ExitCode.OK

    def _tell(self, text: str, answer: Mapping[str, Any]) -> None:
        if self._json:
            emit(answer)
        else:
            say(text)


def _warn_linkless(made: Mapping[str, Any]) -> None:
    """Say so if a campaign offers to unsubscribe, but its body shows no link for that."""
    body = str((made.get("template") or {}).get("body") or "")
    if made.get("unsubscribe") and UNSUBSCRIBE_URL not in variables([Template.parse(body, TemplateKind.HTML)]):
        say(f"the message shows no link to unsubscribe: put {{{{ {UNSUBSCRIBE_URL} }}}} into it")


def show_preview(api: ApiClient, campaign: str, row: int | None = None) -> None:
    """Print what a recipient of a campaign's list would get, or a message with example values if there is no list.

    Args:
        row: the recipient's row in the file, as a spreadsheet numbers it; None: the first.
    """
    found = api.get(path_of("campaigns", campaign, "/preview"), {"sheet_row": str(row)} if row else None)
    show_message(found, preview_title(found))


def preview_title(found: Mapping[str, Any]) -> str:
    """Return what a message is that is not sent yet."""
    if not found.get("row"):
        return "message with example values"
    return f"message of row {found['sheet_row']}" if found.get("sheet_row") else f"message {found['row']} of the list"


def show_message(found: Mapping[str, Any], title: str) -> None:
    """Print a message that is not sent yet; `title`: what it is."""
    texts = found.get(SEGMENTS) or {}
    shown = {"to": found.get("recipient"), **{name: found.get(name) for name in ("from", "reply_to", "subject")}}
    shown |= {"segments": texts.get("segments"), "left out": found.get("skip"), "error": found.get("error")}
    say(f"{title}:")
    for name, value in shown.items():
        if value:
            say(f"  {name.replace('_', ' ')}: {value}")
    lines = str(found.get("text") or "").splitlines()
    for line in lines[:LINES]:
        say(f"  | {line}")
    if len(lines) > LINES:
        say(f"  | … {len(lines) - LINES} more lines")


def question(amount: int, campaign: Mapping[str, Any], place: str, at: str) -> str:
    """Return the question before a list is sent.

    Args:
        amount: messages.
        campaign: as the API describes it.
        place: where the API is, for people.
        at: when they are sent; empty for now.
    """
    test = ", as a test that reaches no provider" if campaign.get("test") else ""
    when = f" at {at}" if at else ""
    return f"Send {counted(amount, 'message')}{when} through {campaign.get('credential_id')} of {place}{test}?"


def how_to_send(campaign: str) -> str:
    """Return how to send a campaign whose list is ready."""
    return f"to send it:  posthaste campaign send {campaign}   (later: --at TIME; slower: --rate N)"


def _tell_kept(campaign: str, *, listed: bool = True) -> None:
    tell("nothing was sent; the campaign is kept")
    if listed:
        tell(how_to_send(campaign))
    tell(f"to delete it:  posthaste campaign delete {campaign}")


def _advise(campaign: str, left: int, bad: Iterable[str], *, guarded: bool) -> None:
    """Print what to do about messages that were not sent.

    Args:
        left: messages that can still be sent.
        bad: states of messages that went wrong.
        guarded: whether the bounce guard has stopped the campaign.
    """
    if left and guarded:
        say(f"{left:,} are not sent: too many bounced. To send them anyway:")
        say(f"  posthaste campaign override-bounce-guard {campaign}")
        say(f"  posthaste campaign resume {campaign}")
    elif left:
        say(f"{left:,} are not sent. To send them:  posthaste campaign resume {campaign}")
    elif state := next(iter(bad), ""):
        say(f"what went wrong:  posthaste campaign logs {campaign} --state {state}")
