"""The deployment as its operators see and change it, made once per process."""

from dataclasses import replace
from typing import TYPE_CHECKING

from shared import contracts
from shared.adapters.dynamo.accounts.accounts import Accounts
from shared.adapters.dynamo.homes import Homes
from shared.bootstrap import Deployment
from shared.contracts.console import ConsoleSettings
from shared.domain.namespaces import accounts_of
from shared.domain.pictures.picture import folder as pictures_of
from shared.lazy import PartOf, lazy

if TYPE_CHECKING:
    from collections.abc import Callable

    from shared.adapters import secrets
    from shared.adapters.dynamo import listing
    from shared.adapters.dynamo.accounts import made_identities
    from shared.adapters.dynamo.cells import moves, packing
    from shared.adapters.dynamo.credentials import switchboard
    from shared.adapters.dynamo.erasure import erasing, leaving, scanned
    from shared.adapters.dynamo.erasure.erasing import Eraser as Eraser  # noqa: PLC0414 - of `personal.erasing`, too
    from shared.adapters.dynamo.erasure.leaving import LeavingRows
    from shared.adapters.dynamo.notices import updates
    from shared.adapters.dynamo.people import people
    from shared.adapters.dynamo.recipients import moving_names
    from shared.adapters.queues import dead_letters, redrive
    from shared.adapters.s3 import archive_eraser, files, versions
    from shared.adapters.stacks import function_logs
    from shared.bootstrap import campaigning, consoling
    from shared.domain.queues.dead_letters import QueuePlace
    from shared.engine import pool
    from shared.engine.jobs import stop
    from shared.engine.mails import dropping
    from shared.engine.notices import days
    from shared.engine.notices import notifiers as notifying
else:
    (secrets,) = lazy("shared.adapters", "secrets")
    (made_identities,) = lazy("shared.adapters.dynamo.accounts", "made_identities")
    moves, packing = lazy("shared.adapters.dynamo.cells", "moves", "packing")
    (switchboard,) = lazy("shared.adapters.dynamo.credentials", "switchboard")
    (updates,) = lazy("shared.adapters.dynamo.notices", "updates")
    (people,) = lazy("shared.adapters.dynamo.people", "people")
    (moving_names,) = lazy("shared.adapters.dynamo.recipients", "moving_names")
    campaigning, consoling = lazy("shared.bootstrap", "campaigning", "consoling")
    (pool,) = lazy("shared.engine", "pool")
    (stop,) = lazy("shared.engine.jobs", "stop")
    (dropping,) = lazy("shared.engine.mails", "dropping")
    (function_logs,) = lazy("shared.adapters.stacks", "function_logs")
    (listing,) = lazy("shared.adapters.dynamo", "listing")
    erasing, leaving, scanned = lazy("shared.adapters.dynamo.erasure", "erasing", "leaving", "scanned")
    (archive_eraser,) = lazy("shared.adapters.s3", "archive_eraser")
    files, versions = lazy("shared.adapters.s3", "files", "versions")
    days, notifying = lazy("shared.engine.notices", "days", "notifiers")
    dead_letters, redrive = lazy("shared.adapters.queues", "dead_letters", "redrive")

part = PartOf["OperateServices"]()


class OperateServices(Deployment):
    """The parts of a deployment, and what only operators use."""

    @property
    def homes(self) -> Homes:
        """Where identities and the audit log are. An operator's entry is also where an older version reads it."""
        return replace(super().homes, both=True)

    accounts = part(
        lambda d: Accounts(d.dynamo.client, d.records_table, d.clock, audit_days=d.settings.audit_days, homes=d.homes)
    )
    moving_accounts = part(
        lambda d: moves.MovingAccounts(
            d.dynamo.client, d.records_table, d.clock, audit_days=d.settings.audit_days, homes=d.homes
        )
    )
    packer = part(
        lambda d: packing.AccountPacker(
            d.dynamo, records=d.records_table, identities=d.homes.identities or d.records_table
        )
    )
    """Reads what an account takes along to another cell."""
    unpacker = part(
        lambda d: packing.AccountUnpacker(
            d.dynamo, records=d.records_table, identities=d.homes.identities or d.records_table
        )
    )
    owned_identities = part(lambda d: made_identities.DynamoOwnedIdentities(d.dynamo, d.records_table, d.clock))
    """Domains that the deployment has made known to providers."""
    people = part(
        lambda d: people.DynamoPeople(d.dynamo, d.env[contracts.ENV_PEOPLE_TABLE], d.clock, records=d.records_table)
    )
    """Users of the console, where there is one."""
    approvals = part(lambda d: campaigning.approval_limits(d))  # noqa: PLW0108 - a call loads it
    """Changes from how many rows on lists wait for approval."""
    notifier_service = part(
        lambda d: notifying.NotifierService(store=d.notifiers, senders=d.accounts, settings=d.settings, clock=d.clock)
    )
    """Changes notifiers."""
    notifier_days = part(
        lambda d: days.NotifierDays(log=updates.DynamoUpdates(d.dynamo, records=d.records_table), clock=d.clock)
    )
    """Counts notifiers' updates."""
    dead_letters = part(
        lambda d: dead_letters.DeadLetterQueues(
            d.sqs, d.aws.later("cloudwatch"), d.aws.later("lambda"), d.aws.later("logs")
        )
    )

    switches = part(
        lambda d: switchboard.Switchboard(
            d.dynamo.client,
            records=d.records_table,
            ops=d.ops_table,
            clock=d.clock,
            audit_days=d.settings.audit_days,
            homes=d.homes,
        )
    )
    stopper = part(lambda d: stop.Stopper(records=d.records, clock=d.clock))
    open_work = part(
        lambda d: stop.OpenWork(
            clock=d.clock,
            records=d.records,
            slots=d.slots,
            stopper=d.stopper,
            pool=pool.ThreadPool(),
        )
    )
    secret_store = part(lambda d: secrets.SecretStore(d.aws.later("secretsmanager"), d.settings.stage))
    waiting_mails = part(
        lambda d: dropping.WaitingMails(ledgers=d.ledgers, journal=d.journal, pool=pool.ThreadPool(), clock=d.clock)
    )
    listing = part(lambda d: listing.Listing(d.dynamo.client, d.records_table, d.clock))

    function_logs = part(
        lambda d: function_logs.FunctionLogs(
            d.aws.client("logs"), d.aws.client("cloudformation"), contracts.prefix(d.settings.stage)
        )
    )
    s3 = part(lambda d: d.aws.client("s3", files.CONFIG))

    @staticmethod
    def check_place(text: str, *, archived: bool) -> None:
        """Check where an erasure continues; ValueError or TypeError for a text that is no such place.

        Args:
            archived: a place within archived files, else within the table.
        """
        if archived:
            archive_eraser.ArchivePlace.loads(text)
        else:
            scanned.place_of(text)

    def eraser(self, key: str, raw: str, *, dry: bool) -> "Eraser":
        """Return what finds and removes a person's data.

        Args:
            key: the normalised address or number.
            raw: the address as it was given.
        """
        bucket = self.env[contracts.ENV_BUCKET]
        return erasing.Eraser(self.dynamo, self.records_table, lambda: self.s3, bucket, key=key, raw=raw, dry=dry)

    def leaving_rows(self, account: str) -> "LeavingRows":
        """Return what deletes the rows of an account that leaves."""
        return leaving.LeavingRows(self.dynamo, self.records_table, account)

    def delete_files(self, account: str) -> int:
        """Delete the lists and pictures that an account has uploaded, with all versions; return how many."""
        bucket = self.env[contracts.ENV_BUCKET]
        folders = [*(f"uploads/{space}/" for space in accounts_of(account)), pictures_of(account)]
        return sum(len(versions.erase(self.s3, bucket, x, lambda _: True)) for x in folders)

    def begin_names(self) -> None:
        """Let addresses have keyed names from the first account on."""
        self.names.begin(empty=lambda: not self.accounts.list_accounts())

    def names_mover(self, by: str, enough: "Callable[[], bool]") -> "moving_names.NamesMover":
        """Return what moves names of addresses to the latest key."""
        return moving_names.NamesMover(self.dynamo, self.records_table, self.names, by, enough)

    def redrive(
        self, place: "QueuePlace", run: str, fits: "Callable[[str], bool]", *, discard: bool
    ) -> "redrive.Redrive":
        """Return a run over the dead letters of a queue.

        Args:
            fits: returns whether a body is one of this queue.
            discard: delete messages that can never be worked on again.
        """
        if place.url:
            deliver: redrive.Delivery = redrive.Redriver(self.sqs, place.url, run)
            return redrive.Redrive(self.sqs, place, deliver, fits, run=run, discard=discard)
        # Asked once: a function may still do a batch when its answer is lost.
        functions = self.aws.client("lambda", {"read_timeout": redrive.PATIENCE, "retries": {"total_max_attempts": 1}})
        named = {redrive.SWEEP: contracts.ENV_SWEEP_FUNCTION, redrive.GATHERS: contracts.ENV_GATHER_FUNCTION}
        arns = {name: self.env.get(variable, "") for name, variable in named.items()}
        again = redrive.Again(place.kind, functions, self.aws.client("dynamodbstreams"), arns)
        return redrive.Redrive(self.sqs, place, again, fits, run=run, discard=discard, at_once=1)


class PressedServices(OperateServices):
    """The same for what operators press in the console."""

    @property
    def homes(self) -> Homes:
        """Where identities and the audit log are. No older version has buttons whose entries it would have to read."""
        return replace(super().homes, both=False)

    def begin_names(self) -> None:
        """Do nothing: the console, which reads their keys, has done so before it calls."""

    @property
    def console(self) -> ConsoleSettings:
        """The settings of the console: the people who may sign in, and the operators among them."""
        settings: ConsoleSettings = consoling.Consoling(self).settings
        return settings
