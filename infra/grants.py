"""What each function may do. Grants are here and nowhere else."""

from typing import Final

from aws_cdk.aws_dynamodb import Table

from infra.arns import LOGS, Arns, identity_rights
from infra.building.function import Function
from infra.functions.buttons import ButtonsConstruct
from infra.functions.console import CLAIMED, DRAFTED, PICTURED, SUPPRESSED, ConsoleConstruct
from infra.functions.dispatch import Dispatch, Feedback
from infra.functions.hooks import HooksConstruct
from infra.functions.lane import LaneConstruct
from infra.functions.notices import NoticesConstruct
from infra.functions.operators import OperatorsConstruct
from infra.functions.schedules import SchedulesConstruct
from infra.functions.workers import QueueWorker
from infra.joining.grants import let_join
from infra.resources import encryption
from infra.resources.copies import SEALED
from infra.resources.storage import ARCHIVE, EXPORTS, UPLOADS
from shared import contracts
from shared.domain.channels.email import EMAIL
from shared.domain.channels.lookup import carried
from shared.providers.needs import Right, needs_of

READ: Final = ("dynamodb:GetItem", "dynamodb:BatchGetItem", "dynamodb:Query")
# change: which rights a function has
CHANGE: Final = ("dynamodb:PutItem", "dynamodb:UpdateItem", "dynamodb:ConditionCheckItem")
"""Each also within transactions. Only the operators' function scans tables: of people, and to erase."""
WRITE: Final = ("dynamodb:PutItem", "dynamodb:UpdateItem", "dynamodb:DeleteItem", "dynamodb:BatchWriteItem")
SEALS: Final = ("A#*#SEALS",)
"""Partitions of `audit` with the seals of logs."""
OLD_AUDIT: Final = LOGS
OLD_PLACES: Final = ("K#*", "ACCOUNTS", *OLD_AUDIT)
"""Partitions of `records` with API keys, the list of accounts, and audit logs of a stage that is older than the tables
`identities` and `audit`. Its accounts and senders are in partitions that functions do write, so they count no more once
they have been moved."""
IDENTITIES: Final = ("A#*", "ACCOUNTS", "K#*", "SYS")
"""Partitions of accounts, their API keys and their lists, and of the mark that they have been moved."""
SWITCHED: Final = ("P#*", "SYS")
"""Partitions of `ops` with what pauses and slows credentials, and with the names of all."""
DELETE: Final = ("s3:DeleteObject", "s3:DeleteObjectVersion")
"""A file with all its versions."""
JOBS: Final = ("J#*",)
"""Partitions of `records` with jobs, their content and recipients, and of `ops` with their ledgers."""
SEARCHED: Final = ("A#*#FIND",)
"""Partitions of `records` with the pages that searches read."""
HOOK_GATHERED: Final = ("HC#*", "HQ#*", "HT#*", "HW#*")
"""Partitions of `records` with what was handed on, deliveries that wait, and endpoints' work."""
HOOK_CALLED: Final = ("HE#*", "HL#*", "HQ#*", "HW#*")
"""Partitions of `records` with endpoints, their deliveries and their work."""
HOOK_LISTED: Final = ("HN#*", "HS#*")
"""Partitions of `records` with lists of endpoints: a listener that is no longer polled leaves them."""
CONSUME: Final = ("sqs:ReceiveMessage", "sqs:DeleteMessage", "sqs:ChangeMessageVisibility", "sqs:GetQueueAttributes")
STREAM: Final = ("dynamodb:DescribeStream", "dynamodb:GetRecords", "dynamodb:GetShardIterator")


class Grants(Arns):
    """Grants each function what it uses; made as `Arns`."""

    def sender(self, feedback: Feedback, lane: LaneConstruct, sender: Function) -> None:
        """Let a lane's sender consume its queues and call its provider.

        Args:
            feedback: the construct with the feedback queue, which a test lane writes to.
            lane: the construct of the lane's queues, secret and credential.
        """
        express = contracts.express_queue_name(self._deployment.stage, lane.credential.id)
        sender.allow(*CONSUME, on=[lane.work.queue.queue_arn, self._stack.format_arn(service="sqs", resource=express)])
        sender.allow(*READ, *CHANGE, on=[self._storage.records.table_arn, self._storage.ops.table_arn])
        sender.allow("s3:GetObject", on=self._storage.objects(contracts.CONTENTS))
        sender.allow("s3:ListBucket", on=[self._storage.bucket.bucket_arn])  # else a missing object is "access denied"
        sender.allow("sqs:SendMessage", on=[self._lanes()])
        if lane.secret is None:
            sender.allow("sqs:SendMessage", on=[feedback.work.queue.queue_arn])
        else:
            own = contracts.secret_name(self._deployment.stage, lane.credential.id)
            sender.allow("secretsmanager:GetSecretValue", on=[self._secret(f"{own}-??????")])
        if any(c.offers_links for c in carried(lane.credential.channel)):
            sender.allow("secretsmanager:GetSecretValue", on=[self._link_keys()])
        self._name(sender)
        if EMAIL in carried(lane.credential.channel):  # whose mails are they that have waited?
            identities = [self._storage.identities.table_arn]
            sender.allow("dynamodb:GetItem", "dynamodb:BatchGetItem", on=identities, partitions=("A#*", "SYS"))
        for right in needs_of(lane.credential.provider).rights(lane.credential):
            self._declared(sender, right)

    def api(self, serve: Function, pictures: Function | None) -> None:
        """Let the API read and store what accounts own, and strangers see pictures, and nothing else.

        Args:
            pictures: the function that strangers reach; None: there are no pictures.
        """
        self._keep_pictures(serve)
        if pictures is not None:
            pictures.allow("s3:GetObject", on=self._storage.objects(contracts.IMAGES))
        tables = [self._storage.records.table_arn, self._storage.ops.table_arn]
        serve.allow(*READ, *CHANGE, "dynamodb:BatchWriteItem", on=tables)
        serve.allow("dynamodb:DeleteItem", on=[self._storage.records.table_arn])
        serve.allow("dynamodb:GetItem", "dynamodb:BatchGetItem", on=[self._storage.identities.table_arn])
        serve.allow("dynamodb:Query", on=[self._storage.identities.table_arn], partitions=("A#*",))  # senders of one
        self._log(serve)
        serve.allow("dynamodb:Query", on=[self._storage.audit.table_arn])
        serve.allow("dynamodb:Query", on=self._indexes(contracts.INDEX_OPEN, contracts.INDEX_MINE))
        readable = self._storage.objects(UPLOADS, contracts.MAIL_UPLOADS, contracts.CONTENTS, EXPORTS)
        serve.allow("s3:GetObject", on=readable)
        serve.allow("s3:PutObject", on=self._storage.objects(UPLOADS, contracts.MAIL_UPLOADS, contracts.CONTENTS))
        serve.allow("s3:DeleteObject", on=self._storage.objects(contracts.MAIL_CONTENTS))
        serve.allow("s3:ListBucket", on=[self._storage.bucket.bucket_arn])
        serve.allow("secretsmanager:GetSecretValue", on=[self._link_keys()])
        self._name(serve)
        serve.allow("sqs:SendMessage", "sqs:GetQueueAttributes", on=[self._lanes()])
        self._identities(serve)

    def _keep_pictures(self, serve: Function) -> None:
        """Let a function add and delete pictures, where the settings have them."""
        if self._deployment.settings.images[0]:
            serve.allow("s3:PutObject", "s3:DeleteObject", on=self._storage.objects(contracts.IMAGES))

    def _identities(self, serve: Function) -> None:
        """Let a function make domains known to the providers that sign for them, where one is declared."""
        for right in identity_rights(self._deployment):
            self._declared(serve, right)

    def _declared(self, function: Function, right: Right) -> None:
        """Let a function do what a provider declares that it needs."""
        function.allow(*right.actions, on=self._places(right, right.resources), conditions=right.conditions)
        if right.refused:
            function.refuse(*right.actions, on=self._places(right, right.refused))

    def console(
        self,
        console: ConsoleConstruct | None,
        schedules: SchedulesConstruct,
        hooks: HooksConstruct,
        digest: QueueWorker,
        lists: QueueWorker,
        exports: QueueWorker,
    ) -> None:
        """Let the console look at what accounts have, send campaigns, and keep its people; it writes no identities.

        Args:
            console: the construct with its function and table; None: there is no console.
            schedules: the construct with the queue of jobs whose time has come.
            hooks: the construct with the queues of webhooks.
            digest: the construct with the queue of hints about windows.
            lists: the construct with the queue of uploaded lists.
            exports: the construct with the queue of files of results.
        """
        if console is None:
            return
        serve, stage = console.serve, self._deployment.stage
        tables = [self._storage.records.table_arn, self._storage.ops.table_arn]
        serve.allow(*READ, *CHANGE, on=tables)
        serve.allow("dynamodb:BatchWriteItem", on=tables[:1], partitions=(*JOBS, *SEARCHED))  # both in one call
        serve.allow("dynamodb:BatchWriteItem", on=tables[1:], partitions=JOBS)
        serve.allow("dynamodb:Query", on=self._indexes(contracts.INDEX_OPEN, contracts.INDEX_MINE))
        serve.allow("dynamodb:Scan", on=self._indexes(contracts.INDEX_OPEN))
        serve.allow("dynamodb:GetItem", "dynamodb:BatchGetItem", on=[self._storage.identities.table_arn])
        serve.allow("dynamodb:DeleteItem", on=tables[:1], partitions=(*SUPPRESSED, *DRAFTED, *CLAIMED, *PICTURED))
        serve.allow("dynamodb:DeleteItem", "dynamodb:BatchWriteItem", on=tables[:1], partitions=HOOK_CALLED)
        serve.allow("sqs:SendMessage", on=[*(self._queue(q) for q in hooks.names[1:]), digest.work.queue.queue_arn])
        serve.allow("sqs:GetQueueAttributes", on=[self._queue(x) for x in contracts.dead_queue_names(stage)])
        if not self._deployment.local:
            serve.allow("cloudwatch:DescribeAlarms", on=[self._alarms()])
        self._log(serve)
        serve.allow("dynamodb:Query", on=[self._storage.audit.table_arn])
        serve.allow("dynamodb:Query", on=[self._storage.identities.table_arn], partitions=("ACCOUNTS", "A#*"))
        serve.allow(*READ, *CHANGE, "dynamodb:DeleteItem", on=[console.people.table_arn])
        serve.allow("secretsmanager:GetSecretValue", on=[self._console_key()])
        self._name(serve)
        serve.allow("sqs:SendMessage", "sqs:GetQueueAttributes", on=[self._lanes()])
        serve.allow("sqs:SendMessage", on=[x.work.queue.queue_arn for x in (schedules, lists, exports)])
        serve.allow("s3:GetObject", on=self._storage.objects(EXPORTS))
        serve.allow("s3:GetObject", "s3:PutObject", on=self._storage.objects(UPLOADS, contracts.CONTENTS))
        self._keep_pictures(serve)
        serve.allow("s3:ListBucket", on=[self._storage.bucket.bucket_arn])
        self._schedule(serve, schedules)
        serve.allow("scheduler:DeleteSchedule", on=[self._own_schedules(schedules)])
        self._identities(serve)
        let_join(console, self._storage)

    def operators(self, operators: OperatorsConstruct, dispatch: Dispatch, hooks: HooksConstruct) -> Function:
        """Let operators, whom IAM has authorised, do what their commands ask for; return their function.

        It is the only one that changes identities. IAM decides whose request it gets.

        Args:
            dispatch: the construct of functions whose failed runs are done again, as the other.
        """
        serve = operators.serve
        serve.allow(*READ, on=[self._storage.identities.table_arn])
        self._log(serve)
        serve.allow("dynamodb:Query", on=[self._storage.audit.table_arn])
        serve.allow(*READ, on=[self._storage.records.table_arn, self._storage.ops.table_arn])
        serve.allow("dynamodb:UpdateItem", on=[self._storage.ops.table_arn], partitions=(*SWITCHED, *JOBS))
        serve.allow(*CHANGE, "dynamodb:DeleteItem", on=[self._storage.identities.table_arn])
        self._operate_hooks(serve)
        if self._storage.people is not None:
            people = self._storage.people.table_arn
            serve.allow(*READ, *CHANGE, "dynamodb:DeleteItem", "dynamodb:Scan", on=[people])
        serve.allow("dynamodb:Query", on=self._indexes(contracts.INDEX_OPEN, contracts.INDEX_MINE))
        stage = self._deployment.stage
        self._redrive(serve, dispatch, hooks)
        serve.allow("cloudformation:ListStackResources", on=self._stacks())
        own = self._secret(contracts.secret_name(stage, "*"))
        serve.allow("secretsmanager:PutSecretValue", "secretsmanager:DescribeSecret", on=[own])
        verifying = self._secret(contracts.webhook_secret_name(stage, "*"))
        serve.allow("secretsmanager:PutSecretValue", "secretsmanager:CreateSecret", on=[verifying])
        serve.allow("cloudwatch:GetMetricData", on=["*"])
        self._erase(serve)
        self._name(serve)
        return serve

    def buttons(
        self, buttons: ButtonsConstruct, console: ConsoleConstruct, dispatch: Dispatch, hooks: HooksConstruct
    ) -> None:
        """Let the console call what does what operators press: keys, accounts, limits and redrives, and no more.

        Args:
            dispatch: as of `operators`, like `hooks`.
        """
        serve = buttons.serve
        console.serve.allow("lambda:InvokeFunction", on=[serve.function.function_arn])
        serve.allow("dynamodb:GetItem", "dynamodb:Query", on=[console.people.table_arn])
        serve.allow(*READ, on=[self._storage.identities.table_arn])
        serve.allow(*CHANGE, "dynamodb:DeleteItem", on=[self._storage.identities.table_arn], partitions=IDENTITIES)
        serve.allow(*READ, on=[self._storage.records.table_arn, self._storage.ops.table_arn])
        written = (*IDENTITIES, "USE#*", "NAMES")
        serve.allow(*CHANGE, "dynamodb:DeleteItem", on=[self._storage.records.table_arn], partitions=written)
        self._log(serve)
        self._name(serve)  # the first account decides how addresses are named
        self._redrive(serve, dispatch, hooks)

    def _redrive(self, serve: Function, dispatch: Dispatch, hooks: HooksConstruct) -> None:
        """Let operators see what is dead and why, and have it worked on again."""
        stage = self._deployment.stage
        work = [self._queue(f"{contracts.prefix(stage)}-{name}") for name in contracts.WORK_QUEUES]
        serve.allow("sqs:SendMessage", "sqs:GetQueueAttributes", on=[*work, self._lanes()])
        serve.allow(*CONSUME, on=[self._queue(name) for name in contracts.dead_queue_names(stage)])
        again = (dispatch.plan, dispatch.log, dispatch.sweep, hooks.gather)
        serve.allow("lambda:InvokeFunction", on=[x.function.function_arn for x in again])
        serve.allow("lambda:GetFunctionConfiguration", on=[self._functions()])
        serve.allow("lambda:ListEventSourceMappings", on=["*"])
        serve.allow("logs:FilterLogEvents", on=self._log_groups())
        serve.allow(
            "dynamodb:GetRecords",
            "dynamodb:GetShardIterator",
            on=[self._stream(self._storage.records), self._stream(self._storage.ops)],
        )

    def _erase(self, serve: Function) -> None:
        """Let operators erase a person, whose data may be in any row and file; what they delete may be many rows."""
        rows = ("dynamodb:DescribeTable", "dynamodb:Scan", *CHANGE, "dynamodb:DeleteItem", "dynamodb:BatchWriteItem")
        serve.allow(*rows, on=[self._storage.records.table_arn])
        serve.allow("s3:ListBucket", "s3:ListBucketVersions", on=[self._storage.bucket.bucket_arn])
        blanked = self._storage.objects(contracts.CONTENTS, contracts.INBOX_PREFIX, ARCHIVE)
        deleted = self._storage.objects(UPLOADS, EXPORTS, contracts.MAIL_UPLOADS, contracts.IMAGES)
        serve.allow("s3:GetObject", "s3:PutObject", *DELETE, on=blanked)
        serve.allow("s3:GetObjectVersion", on=blanked[-1:])
        serve.allow(*DELETE, on=deleted)

    def _operate_hooks(self, serve: Function) -> None:
        """Let operators see to endpoints, whose queues are among those of `_redrive`.

        These are the deployment's own, and those of accounts that a leaked key has made.
        """
        serve.allow("secretsmanager:GetSecretValue", on=[self._hook_key()])

    def edge(self, state: str, *functions: Function) -> None:
        """Let functions behind the edge know the keys that it sends. `state`: of the origin, as `ENV_EDGE` has it."""
        for function in functions:
            function.allow("secretsmanager:GetSecretValue", on=[self._edge_keys()])
            function.function.add_environment(contracts.ENV_EDGE, state)

    def webhooks(self, feedback: Feedback, receive: Function) -> None:
        """Let the webhooks' function pass on what providers post."""
        if any(needs_of(c.provider).unbound for c in self._deployment.settings.credentials):
            receive.allow(
                "dynamodb:PutItem", on=[self._storage.ops.table_arn], partitions=[f"{contracts.POST_PREFIX}*"]
            )
        receive.allow("sqs:SendMessage", on=[feedback.work.queue.queue_arn])
        own = contracts.webhook_secret_name(self._deployment.stage, "*")
        receive.allow("secretsmanager:GetSecretValue", on=[self._secret(own)])

    def dispatch(self, feedback: Feedback, dispatch: Dispatch) -> None:
        """Let planner, logger, tracker and sweeper work on jobs."""
        for function in (dispatch.plan, dispatch.log, dispatch.track, dispatch.sweep):
            function.allow(*READ, *CHANGE, on=[self._storage.records.table_arn, self._storage.ops.table_arn])
            function.allow("dynamodb:Query", on=self._indexes(contracts.INDEX_OPEN))
            function.allow("sqs:SendMessage", "sqs:GetQueueAttributes", on=[self._lanes()])
            self._name(function)
        for function in (dispatch.plan, dispatch.log, dispatch.sweep):  # of jobs that they stop
            self._log(function)
        for function in (dispatch.plan, dispatch.sweep):  # whose job is it that starts?
            function.allow("dynamodb:GetItem", "dynamodb:BatchGetItem", on=[self._storage.identities.table_arn])
        self._read_limits(dispatch.log)  # of the accounts whose mails' notifications it sends
        self._seal(dispatch.sweep)
        contents = self._storage.objects(contracts.CONTENTS)
        dispatch.sweep.allow("s3:GetObject", "s3:PutObject", on=contents)  # of jobs that are kept longer
        dispatch.sweep.allow("s3:ListBucket", on=[self._storage.bucket.bucket_arn])
        self._end_mails(dispatch.log)
        self._read_stream(dispatch.plan, self._storage.records)
        self._read_stream(dispatch.log, self._storage.ops)
        for table, dead in ((self._storage.ops, dispatch.log_dead), (self._storage.records, dispatch.plan_dead)):
            dispatch.sweep.allow("dynamodb:GetRecords", "dynamodb:GetShardIterator", on=[self._stream(table)])
            dispatch.sweep.allow(*CONSUME, on=[dead.queue.queue_arn])
        dispatch.track.allow(*CONSUME, "sqs:SendMessage", on=[feedback.work.queue.queue_arn])
        for function, dead in (
            (dispatch.plan, dispatch.plan_dead),
            (dispatch.log, dispatch.log_dead),
            (dispatch.sweep, dispatch.sweep_dead),
        ):
            function.allow("sqs:SendMessage", on=[dead.queue.queue_arn])
        dispatch.minutely.role.allow("lambda:InvokeFunction", on=[dispatch.sweep.function.function_arn])
        dispatch.minutely.role.allow("sqs:SendMessage", on=[dispatch.sweep_dead.queue.queue_arn])

    def _end_mails(self, function: Function) -> None:
        """Let a function notify senders, and remove contents that no destination needs any more."""
        tables = [self._storage.records.table_arn, self._storage.ops.table_arn]
        function.allow("dynamodb:BatchWriteItem", on=tables)  # of the notifications
        contents = self._storage.objects(contracts.MAIL_CONTENTS)
        function.allow("s3:GetObject", "s3:PutObject", "s3:DeleteObject", on=contents)
        function.allow("s3:ListBucket", on=[self._storage.bucket.bucket_arn])

    def notices(self, notices: NoticesConstruct, schedules: SchedulesConstruct, due: Function) -> None:
        """Let notices become runs. The logger reports their words by its own rights.

        Args:
            schedules: the construct of the queue by which it is woken.
            due: the function that wakes it.
        """
        run = notices.run
        due.allow("lambda:InvokeFunction", on=[run.function.function_arn])
        self._announce(run, schedules)
        run.allow(*READ, *CHANGE, "dynamodb:BatchWriteItem", on=[self._storage.records.table_arn])
        run.allow(*READ, *CHANGE, "dynamodb:BatchWriteItem", on=[self._storage.ops.table_arn])
        run.allow("dynamodb:Query", on=self._indexes(contracts.INDEX_OPEN))
        self._read_limits(run)
        self._name(run)
        self._log(run)  # of notices that nobody collected
        run.allow("sqs:SendMessage", "sqs:GetQueueAttributes", on=[self._lanes()])
        run.allow("sqs:SendMessage", on=[notices.dead.queue.queue_arn])
        self._end_mails(run)

    def _log(self, function: Function) -> None:
        """Let a function add entries to audit logs. None may write a seal, but the sweeper."""
        function.allow("dynamodb:PutItem", on=[self._storage.audit.table_arn], partitions=LOGS)

    def _seal(self, sweep: Function) -> None:
        """Let the sweeper read all audit logs, and add seals of their days."""
        sweep.allow("dynamodb:PutItem", on=[self._storage.audit.table_arn], partitions=SEALS)
        sweep.allow("dynamodb:GetItem", "dynamodb:Query", on=[self._storage.audit.table_arn])
        sweep.allow("dynamodb:Query", on=[self._storage.identities.table_arn], partitions=("ACCOUNTS",))
        if self._storage.copies is not None:  # it puts copies, and no function reads them
            sweep.allow("s3:PutObject", on=[self._storage.copies.bucket.arn_for_objects(f"{SEALED}*")])

    def _name(self, function: Function) -> None:
        """Let a function look for addresses in suppressions, whose names are keyed."""
        function.allow("secretsmanager:GetSecretValue", on=[self._address_keys()])

    def _read_limits(self, function: Function) -> None:
        """Let a function that accepts messages read what their accounts may spend."""
        identities = [self._storage.identities.table_arn]
        function.allow("dynamodb:GetItem", "dynamodb:BatchGetItem", on=identities, partitions=("A#*", "SYS"))

    def lists(self, lists: QueueWorker, serve: Function, sweep: Function, ingest: Function) -> None:
        """Let uploaded lists be read into chunks.

        Args:
            lists: the construct with the queue of uploaded lists.
            ingest: the function that reads lists.
        """
        queue = lists.work.queue.queue_arn
        for function in (serve, sweep, ingest):
            function.allow("sqs:SendMessage", on=[queue])
        ingest.allow(*CONSUME, on=[queue])
        tables = [self._storage.records.table_arn, self._storage.ops.table_arn]
        ingest.allow(*READ, *CHANGE, "dynamodb:BatchWriteItem", on=tables)
        self._read_limits(ingest)  # and whether they keep pages for searches
        self._name(ingest)
        ingest.allow("s3:GetObject", "s3:PutObject", on=self._storage.objects(UPLOADS))
        ingest.allow("s3:ListBucket", on=[self._storage.bucket.bucket_arn])

    def schedules(
        self,
        schedules: SchedulesConstruct,
        serve: Function,
        due: Function,
        dispatch: Dispatch,
    ) -> Function:
        """Let jobs begin at their scheduled time; return the function that starts them.

        Args:
            schedules: the construct with the schedule group, its role and its queue.
            due: the function that starts scheduled jobs.
            dispatch: the construct of the planner, the logger and the sweeper.
        """
        queue = schedules.work.queue.queue_arn
        schedules.allow("sqs:SendMessage", on=[queue, schedules.work.dead.queue.queue_arn])
        for function in (serve, due):
            self._schedule(function, schedules)
        serve.allow("scheduler:DeleteSchedule", on=[self._own_schedules(schedules)])
        for function in (dispatch.plan, dispatch.log, dispatch.track, dispatch.sweep):
            self._announce(function, schedules)
        serve.allow("sqs:SendMessage", on=[queue])
        due.allow(*CONSUME, "sqs:SendMessage", on=[queue])
        due.allow(*READ, *CHANGE, on=[self._storage.records.table_arn, self._storage.ops.table_arn])
        due.allow("dynamodb:Query", on=self._indexes(contracts.INDEX_OPEN))
        due.allow("dynamodb:GetItem", "dynamodb:BatchGetItem", on=[self._storage.identities.table_arn])
        self._log(due)
        due.allow("sqs:SendMessage", on=[self._lanes()])
        return due

    def _schedule(self, function: Function, schedules: SchedulesConstruct) -> None:
        """Let a function have jobs started at their time."""
        function.allow("scheduler:CreateSchedule", "scheduler:UpdateSchedule", on=[self._own_schedules(schedules)])
        function.allow("iam:PassRole", on=[schedules.role.role_arn])

    def _announce(self, function: Function, schedules: SchedulesConstruct) -> None:
        """Let a function have others woken when something is due."""
        function.allow("scheduler:CreateSchedule", on=[self._own_schedules(schedules)])
        function.allow("iam:PassRole", on=[schedules.role.role_arn])
        function.allow("sqs:SendMessage", on=[schedules.work.queue.queue_arn])

    def _own_schedules(self, schedules: SchedulesConstruct) -> str:
        # The emulator judges every schedule as if it were one of the group `default`.
        group = "default" if self._deployment.local else schedules.name
        return self._stack.format_arn(service="scheduler", resource="schedule", resource_name=f"{group}/*")

    def exports(self, exports: QueueWorker, serve: Function, make: Function) -> None:
        """Let exports be made and downloaded.

        Args:
            exports: the construct with the queue of exports.
            make: the function that writes exports.
        """
        queue = exports.work.queue.queue_arn
        serve.allow("sqs:SendMessage", on=[queue])
        make.allow(*CONSUME, "sqs:SendMessage", on=[queue])
        make.allow(
            "dynamodb:GetItem", "dynamodb:Query", on=[self._storage.records.table_arn, self._storage.ops.table_arn]
        )
        make.allow("dynamodb:PutItem", on=[self._storage.records.table_arn])
        make.allow("s3:GetObject", "s3:PutObject", on=self._storage.objects(EXPORTS))
        make.allow("s3:ListBucket", on=[self._storage.bucket.bucket_arn])

    def inbox(
        self, inbox: QueueWorker, schedules: SchedulesConstruct, serve: Function, sweep: Function, take: Function
    ) -> None:
        """Let records of notifiers be stored and taken, and runs of those that are due begin.

        Args:
            inbox: the construct with the queue of inboxes.
            schedules: the construct with the queue of what is due.
            take: the function that takes records.
        """
        queue = inbox.work.queue.queue_arn
        for function in (serve, sweep, take):
            function.allow("sqs:SendMessage", on=[queue])
        serve.allow("s3:PutObject", on=self._storage.objects(contracts.INBOX_PREFIX))
        take.allow(*CONSUME, on=[queue])
        self._announce(take, schedules)
        for table in (self._storage.records, self._storage.ops):
            take.allow(*READ, *CHANGE, "dynamodb:BatchWriteItem", on=[table.table_arn])  # runs that begin at once
        take.allow("sqs:SendMessage", "sqs:GetQueueAttributes", on=[self._lanes()])
        self._read_limits(take)
        self._name(take)
        self._log(take)  # of limits that its runs reach
        take.allow("s3:GetObject", on=self._storage.objects(contracts.INBOX_PREFIX))
        take.allow("s3:ListBucket", on=[self._storage.bucket.bucket_arn])

    def digest(self, digest: QueueWorker, serve: Function, due: Function, make: Function) -> None:
        """Let windows of events become jobs.

        Args:
            digest: the construct with the queue of hints.
            due: the function that wakes others when their minute comes.
            make: the function that makes digests.
        """
        queue = digest.work.queue.queue_arn
        for function in (serve, due, make):
            function.allow("sqs:SendMessage", on=[queue])
        make.allow(*CONSUME, on=[queue])
        tables = [self._storage.records.table_arn, self._storage.ops.table_arn]
        make.allow(*READ, *CHANGE, "dynamodb:BatchWriteItem", on=tables)
        make.allow("dynamodb:DeleteItem", on=[self._storage.records.table_arn])
        make.allow("dynamodb:Query", on=self._indexes(contracts.INDEX_OPEN))
        make.allow("dynamodb:GetItem", "dynamodb:BatchGetItem", on=[self._storage.identities.table_arn])
        self._log(make)  # of limits that digests reach
        self._name(make)
        make.allow("s3:PutObject", on=self._storage.objects(contracts.CONTENTS))
        make.allow("sqs:SendMessage", "sqs:GetQueueAttributes", on=[self._lanes()])

    def hooks(self, hooks: HooksConstruct, serve: Function, dispatch: Dispatch) -> None:
        """Let changes be posted to accounts' endpoints.

        The function that posts to strangers reads the deliveries, and writes their results. It reads no ledger, no key,
        no template and no file.

        Args:
            hooks: the construct with queues and functions.
            dispatch: the construct of what folds ledgers.
        """
        records, ops = self._storage.records.table_arn, self._storage.ops.table_arn
        changes, calls, slow = (self._queue(q) for q in hooks.names)
        gather, call = hooks.gather, hooks.call
        for function in (dispatch.plan, dispatch.log, dispatch.sweep, gather):
            function.allow("sqs:SendMessage", on=[changes])
        for function in (serve, gather, call):
            function.allow("sqs:SendMessage", on=[calls, slow])
        gather.allow(*CONSUME, on=[changes])
        gather.allow(*READ, on=[records, ops])
        gather.allow(*CHANGE, "dynamodb:BatchWriteItem", on=[records], partitions=HOOK_GATHERED)
        gather.allow(*STREAM, on=[self._stream(t) for t in (self._storage.records, self._storage.ops)])
        gather.allow("dynamodb:ListStreams", on=["*"])
        gather.allow("sqs:SendMessage", on=[hooks.gather_dead.queue.queue_arn])
        call.allow(*CONSUME, on=[calls, slow])
        call.allow(*READ, on=[records], partitions=(*HOOK_CALLED, *HOOK_LISTED, "J#*"))
        call.allow(*CHANGE, "dynamodb:DeleteItem", "dynamodb:BatchWriteItem", on=[records], partitions=HOOK_CALLED)
        call.allow("dynamodb:UpdateItem", on=[records], partitions=HOOK_LISTED)
        call.allow("dynamodb:Query", on=self._indexes(contracts.INDEX_OPEN), partitions=("hooks#*",))
        self._log(call)
        call.allow("sqs:SendMessage", on=[hooks.call_dead.queue.queue_arn])
        for function in (serve, call):
            function.allow("secretsmanager:GetSecretValue", on=[self._hook_key()])

    def refuse_old_places(self, receive: Function, *operate: Function) -> None:
        """Let no function write where identities and audit logs were before they had tables of their own.

        They are read there until they have been moved, and for a rollback they stay there. So what operators change
        is changed in both places. Of audit logs they add entries only.
        """
        for construct in self._stack.node.find_all():
            if isinstance(construct, Function) and construct not in (receive, *operate):  # the first has no right there
                construct.refuse(*WRITE, on=[self._storage.records.table_arn], partitions=OLD_PLACES)
        for function in operate:
            function.refuse(*WRITE[1:], on=[self._storage.records.table_arn], partitions=OLD_AUDIT)

    def key(self, schedules: SchedulesConstruct, dispatch: Dispatch) -> None:
        """Let everything that reads or writes use the customer's key, where there is one."""
        if self._deployment.kms_key_arn:
            for construct in self._stack.node.find_all():
                if isinstance(construct, Function):
                    construct.allow(*encryption.USE, on=[self._deployment.kms_key_arn])
            for role in (schedules, dispatch.minutely.role):
                role.allow(*encryption.SEND, on=[self._deployment.kms_key_arn])

    def _read_stream(self, function: Function, table: Table) -> None:
        function.allow(*STREAM, on=[self._stream(table)])
        function.allow("dynamodb:ListStreams", on=["*"])
