"""The stack: composes the parts and grants each function what it uses. Grants stand here and nowhere else."""

from collections.abc import Mapping, Sequence
from typing import Any, Final

from aws_cdk import (
    Annotations,
    ArnFormat,
    CfnOutput,
    CfnResource,
    CliCredentialsStackSynthesizer,
    Fn,
    NestedStack,
    Stack,
)
from aws_cdk.aws_dynamodb import Table
from aws_cdk.aws_lambda import Code
from constructs import Construct

from infra.functions import bundling
from infra.functions.api import Api
from infra.functions.dispatch import Dispatch, Feedback
from infra.functions.exports import Exports
from infra.functions.function import Function
from infra.functions.lane import Lane
from infra.functions.links import LinkKeys
from infra.functions.lists import Lists
from infra.functions.schedules import Schedules
from infra.functions.webhooks import Webhooks
from infra.monitoring.dashboard import Monitoring
from infra.resources import encryption
from infra.resources.queue import ExpressQueue
from infra.resources.ses import SesEvents
from infra.resources.storage import ARCHIVE, EXPORTS, UPLOADS, Storage
from infra.settings import DeploymentSettings, SettingsError
from shared import contracts

READ: Final = ("dynamodb:GetItem", "dynamodb:BatchGetItem", "dynamodb:Query")
CHANGE: Final = ("dynamodb:PutItem", "dynamodb:UpdateItem", "dynamodb:ConditionCheckItem")
"""Each also within transactions. Nobody scans: only operators' tools do."""
WRITE: Final = ("dynamodb:PutItem", "dynamodb:UpdateItem", "dynamodb:DeleteItem", "dynamodb:BatchWriteItem")
OLD_PLACES: Final = ("K#*", "ACCOUNTS", "A#*#AUDIT")
"""Partitions of `records` with API keys, the list of accounts, and audit logs of a stage that is older than the tables
`identities` and `audit`. Its accounts and senders are in partitions that functions do write, so they count no more once
they have been moved."""
CONSUME: Final = ("sqs:ReceiveMessage", "sqs:DeleteMessage", "sqs:ChangeMessageVisibility", "sqs:GetQueueAttributes")
STREAM: Final = ("dynamodb:DescribeStream", "dynamodb:GetRecords", "dynamodb:GetShardIterator")
SES_SEND: Final = ("ses:SendEmail", "ses:SendRawEmail", "ses:SendBulkTemplatedEmail")
"""SES checks the second for a mail with attachments, and the last for each entry of a SendBulkEmail."""
SES_BULK: Final = "ses:SendBulkEmail"
"""The only one of them that knows no `ses:FromAddress` (Service Authorization Reference, "Amazon SES v2")."""
UNBOUND: Final = frozenset({"mailgun"})
"""Providers whose webhooks' signatures cover no body: each is remembered with the body it came with."""
LINKED: Final = ("email", "any")
"""Channels whose messages may have an unsubscription link; `any` is that of the built-in test credential."""
MAX_RESOURCES: Final = 500
"""CloudFormation's limit for one stack."""


class PosthasteStack(Stack):
    """One deployment of Posthaste: one stage of one account and region."""

    def __init__(self, scope: Construct, construct_id: str, *, deployment: DeploymentSettings) -> None:
        super().__init__(
            scope,
            construct_id,
            description="Posthaste: e-mail, SMS and voice, each message once",
            termination_protection=deployment.production and deployment.protect,
            synthesizer=CliCredentialsStackSynthesizer() if deployment.local else None,
            suppress_template_indentation=True,  # CloudFormation takes a million bytes
        )
        code = bundling.asset(deployment.target, bytecode=deployment.bytecode)
        storage = Storage(self, "Storage", deployment=deployment)
        feedback = Feedback(self, "Feedback", deployment=deployment)
        schedules = Schedules(self, "Schedules", deployment=deployment)
        exports = Exports(self, "Exports", deployment=deployment)
        lists = Lists(self, "Lists", deployment=deployment)
        LinkKeys(self, "LinkKeys", deployment=deployment)
        self._homes: dict[str, tuple[Construct, Code]] = {"": (self, code)}
        lanes = [self._lane(deployment, c) for c in deployment.credentials]
        environment = self._environment(deployment, storage, feedback, lanes[-1])
        webhooks = Webhooks(self, "Webhooks", deployment=deployment, code=code, environment=environment)
        api = Api(
            self,
            "Api",
            deployment=deployment,
            code=code,
            environment={**environment, **lists.environment, **schedules.environment, **exports.environment},
            webhooks=webhooks.receive,
        )
        archived = deployment.settings.archive_days > 0
        told = {**environment, contracts.ENV_API_URL: api.http.api_endpoint}
        senders = [lane.serve(told if lane.credential.channel == "sms" else environment) for lane in lanes]
        express = self._express(deployment, lanes, senders)
        dispatch = Dispatch(
            self,
            "Dispatch",
            deployment=deployment,
            code=code,
            environment={
                **environment,
                **lists.environment,
                contracts.ENV_DUE_QUEUE_URL: schedules.work.queue.queue_url,
                **(exports.environment if archived else {}),
            },
            records=storage.records,
            ops=storage.ops,
            feedback=feedback,
        )

        for lane, sender in zip(lanes, senders, strict=True):
            self._grant_sender(deployment, storage, feedback, lane, sender)
        self._grant_api(deployment, storage, api.serve)
        self._grant_webhooks(deployment, storage, feedback, webhooks.receive)
        self._grant_dispatch(deployment, storage, feedback, dispatch)
        self._grant_lists(storage, lists, api.serve, dispatch.sweep, lists.serve(code, environment))
        due = schedules.serve(code, environment)
        self._grant_schedules(deployment, storage, schedules, api.serve, due, dispatch)
        make = exports.serve(code, environment)
        self._grant_exports(storage, exports, api.serve, make)
        if archived:
            dispatch.sweep.allow("sqs:SendMessage", on=[exports.work.queue.queue_arn])
            make.allow("s3:GetObject", "s3:PutObject", on=storage.objects(ARCHIVE))
        ses = [c for c in deployment.settings.credentials if c.provider == "ses" and not c.region]
        if ses:
            events = SesEvents(self, "SesEvents", deployment=deployment, credentials=ses, feedback=feedback)
            CfnOutput(self, "SesTopicArn", value=events.topic.topic_arn)
        if not deployment.local:
            Monitoring(
                self,
                "Monitoring",
                deployment=deployment,
                lanes=lanes,
                express=express,
                feedback=feedback,
                dispatch=dispatch,
                api=api,
            )
        self._refuse_old_places(storage, webhooks.receive)
        self._grant_key(deployment, schedules)
        self._outputs(api, environment, deployment.settings.audit_days)
        self._refuse_what_is_too_large(deployment)
        if deployment.reserved and not deployment.local:
            Annotations.of(self).add_info_v2(
                "posthaste:reserved",
                f"the lanes reserve {deployment.concurrency} concurrent executions, and Lambda keeps 100 unreserved: "
                'in an account that allows fewer (young ones allow 10) the deploy fails; set "reserved": "none" there '
                "(docs/deploying.md)",
            )
        if not deployment.local:
            from infra import nag  # noqa: PLC0415 - a second of start-up that the local cloud need not wait for

            nag.check(self, deployment=deployment)

    def _lane(self, deployment: DeploymentSettings, credential: contracts.Credential) -> Lane:
        """Create a lane in its stack, which comes with its first lane. Names do not depend on where it stands."""
        name = deployment.stacks.get(credential.id, "")
        if name not in self._homes:
            nested = NestedStack(
                self,
                f"Lanes-{name}",
                description=f"Posthaste: lanes of stage {deployment.stage}",
                suppress_template_indentation=True,
            )
            self._homes[name] = (
                nested,
                bundling.asset(deployment.target, bytecode=deployment.bytecode),
            )  # an asset is of one stack
        home, code = self._homes[name]
        return Lane(home, f"Lane-{credential.id}", deployment=deployment, code=code, credential=credential)

    def _express(
        self, deployment: DeploymentSettings, lanes: Sequence[Lane], senders: Sequence[Function]
    ) -> list[ExpressQueue]:
        """Create the lanes' express queues, on AWS in a nested stack of their own.

        So no lane moves for them, and the stack holds as many as it did without.
        """
        home: Construct = self
        if not deployment.local:
            home = NestedStack(
                self,
                "Express",
                description=f"Posthaste: express queues of stage {deployment.stage}",
                suppress_template_indentation=True,
            )
        return [lane.express(home, sender) for lane, sender in zip(lanes, senders, strict=True)]

    def _environment(
        self, deployment: DeploymentSettings, storage: Storage, feedback: Feedback, test: Lane
    ) -> Mapping[str, str]:
        name = contracts.lane_queue_name(deployment.stage, "")
        # Taken from a real queue's URL, whose host differs between AWS, its partitions and the local cloud.
        host = Fn.select(0, Fn.split(f"{name}{contracts.TEST_CREDENTIAL}", test.work.queue.queue_url))
        return {
            contracts.ENV_SETTINGS: deployment.settings.dumps(),
            contracts.ENV_RECORDS_TABLE: storage.records.table_name,
            contracts.ENV_OPS_TABLE: storage.ops.table_name,
            contracts.ENV_IDENTITIES_TABLE: storage.identities.table_name,
            contracts.ENV_AUDIT_TABLE: storage.audit.table_name,
            contracts.ENV_BUCKET: storage.bucket.bucket_name,
            contracts.ENV_FEEDBACK_QUEUE_URL: feedback.work.queue.queue_url,
            contracts.ENV_LANE_URL_PREFIX: f"{host}{name}",
        }

    def _grant_sender(
        self, deployment: DeploymentSettings, storage: Storage, feedback: Feedback, lane: Lane, sender: Function
    ) -> None:
        express = contracts.express_queue_name(deployment.stage, lane.credential.id)
        sender.allow(*CONSUME, on=[lane.work.queue.queue_arn, self.format_arn(service="sqs", resource=express)])
        sender.allow(*READ, *CHANGE, on=[storage.records.table_arn, storage.ops.table_arn])
        sender.allow("s3:GetObject", on=storage.objects(contracts.CONTENTS))
        sender.allow("s3:ListBucket", on=[storage.bucket.bucket_arn])  # else a missing object is "access denied"
        sender.allow("sqs:SendMessage", on=[self._lanes(deployment)])
        if lane.secret is None:
            sender.allow("sqs:SendMessage", on=[feedback.work.queue.queue_arn])
        else:
            own = contracts.secret_name(deployment.stage, lane.credential.id)
            sender.allow("secretsmanager:GetSecretValue", on=[self._secret(f"{own}-??????")])
        if lane.credential.channel in LINKED:
            sender.allow("secretsmanager:GetSecretValue", on=[self._link_keys(deployment)])

        if lane.credential.provider == "ses":
            domains = lane.credential.domains
            places = self._ses(lane.credential)
            sender.allow(*SES_SEND, on=places, conditions=_from(domains))
            sender.allow(SES_BULK, on=places)

    def _grant_api(self, deployment: DeploymentSettings, storage: Storage, serve: Function) -> None:
        tables = [storage.records.table_arn, storage.ops.table_arn]
        serve.allow(*READ, *CHANGE, "dynamodb:BatchWriteItem", on=tables)
        serve.allow("dynamodb:DeleteItem", on=[storage.records.table_arn])
        serve.allow("dynamodb:GetItem", "dynamodb:BatchGetItem", on=[storage.identities.table_arn])
        serve.allow("dynamodb:PutItem", "dynamodb:Query", on=[storage.audit.table_arn])
        serve.allow("dynamodb:Query", on=self._indexes(storage, contracts.INDEX_OPEN, contracts.INDEX_MINE))
        serve.allow("s3:GetObject", on=storage.objects(UPLOADS, contracts.CONTENTS, EXPORTS))
        serve.allow("s3:PutObject", on=storage.objects(UPLOADS, contracts.CONTENTS))
        serve.allow("s3:ListBucket", on=[storage.bucket.bucket_arn])
        serve.allow("secretsmanager:GetSecretValue", on=[self._link_keys(deployment)])
        serve.allow("sqs:SendMessage", "sqs:GetQueueAttributes", on=[self._lanes(deployment)])

    def _grant_webhooks(
        self, deployment: DeploymentSettings, storage: Storage, feedback: Feedback, receive: Function
    ) -> None:
        if any(c.provider in UNBOUND for c in deployment.settings.credentials):
            receive.allow("dynamodb:PutItem", on=[storage.ops.table_arn], partitions=f"{contracts.POST_PREFIX}*")
        receive.allow("sqs:SendMessage", on=[feedback.work.queue.queue_arn])
        own = contracts.webhook_secret_name(deployment.stage, "*")
        receive.allow("secretsmanager:GetSecretValue", on=[self._secret(own)])

    def _grant_dispatch(
        self, deployment: DeploymentSettings, storage: Storage, feedback: Feedback, dispatch: Dispatch
    ) -> None:
        for function in (dispatch.plan, dispatch.log, dispatch.track, dispatch.sweep):
            function.allow(*READ, *CHANGE, on=[storage.records.table_arn, storage.ops.table_arn])
            function.allow("dynamodb:Query", on=self._indexes(storage, contracts.INDEX_OPEN))
            function.allow("sqs:SendMessage", "sqs:GetQueueAttributes", on=[self._lanes(deployment)])
        for function in (dispatch.plan, dispatch.log, dispatch.sweep):  # of jobs that they stop
            function.allow("dynamodb:PutItem", on=[storage.audit.table_arn])
        for function in (dispatch.plan, dispatch.sweep):  # whose job is it that starts?
            function.allow("dynamodb:GetItem", "dynamodb:BatchGetItem", on=[storage.identities.table_arn])
        contents = storage.objects(contracts.CONTENTS)
        dispatch.sweep.allow("s3:GetObject", "s3:PutObject", on=contents)  # of jobs that are kept longer
        dispatch.sweep.allow("s3:ListBucket", on=[storage.bucket.bucket_arn])
        self._grant_stream(dispatch.plan, storage.records)
        self._grant_stream(dispatch.log, storage.ops)
        dispatch.sweep.allow("dynamodb:GetRecords", "dynamodb:GetShardIterator", on=[self._stream(storage.ops)])
        dispatch.sweep.allow(*CONSUME, on=[dispatch.log_dead.queue.queue_arn])
        dispatch.track.allow(*CONSUME, "sqs:SendMessage", on=[feedback.work.queue.queue_arn])
        for function, dead in (
            (dispatch.plan, dispatch.plan_dead),
            (dispatch.log, dispatch.log_dead),
            (dispatch.sweep, dispatch.sweep_dead),
        ):
            function.allow("sqs:SendMessage", on=[dead.queue.queue_arn])

    def _grant_lists(self, storage: Storage, lists: Lists, serve: Function, sweep: Function, ingest: Function) -> None:
        queue = lists.work.queue.queue_arn
        for function in (serve, sweep, ingest):
            function.allow("sqs:SendMessage", on=[queue])
        ingest.allow(*CONSUME, on=[queue])
        tables = [storage.records.table_arn, storage.ops.table_arn]
        ingest.allow(*READ, *CHANGE, "dynamodb:BatchWriteItem", on=tables)
        ingest.allow("s3:GetObject", "s3:PutObject", on=storage.objects(UPLOADS))
        ingest.allow("s3:ListBucket", on=[storage.bucket.bucket_arn])

    def _grant_schedules(
        self,
        deployment: DeploymentSettings,
        storage: Storage,
        schedules: Schedules,
        serve: Function,
        due: Function,
        dispatch: Dispatch,
    ) -> None:
        queue = schedules.work.queue.queue_arn
        # The emulator judges every schedule as if it were one of the group `default`.
        group = "default" if deployment.local else schedules.name
        ours = self.format_arn(service="scheduler", resource="schedule", resource_name=f"{group}/*")
        schedules.allow("sqs:SendMessage", on=[queue, schedules.work.dead.queue.queue_arn])
        for function in (serve, due):
            function.allow("scheduler:CreateSchedule", "scheduler:UpdateSchedule", on=[ours])
            function.allow("iam:PassRole", on=[schedules.role.role_arn])
        serve.allow("scheduler:DeleteSchedule", on=[ours])
        for function in (serve, dispatch.plan, dispatch.sweep):
            function.allow("sqs:SendMessage", on=[queue])
        due.allow(*CONSUME, "sqs:SendMessage", on=[queue])
        due.allow(*READ, *CHANGE, on=[storage.records.table_arn, storage.ops.table_arn])
        due.allow("dynamodb:Query", on=self._indexes(storage, contracts.INDEX_OPEN))
        due.allow("dynamodb:GetItem", "dynamodb:BatchGetItem", on=[storage.identities.table_arn])
        due.allow("dynamodb:PutItem", on=[storage.audit.table_arn])
        due.allow("sqs:SendMessage", on=[self._lanes(deployment)])

    def _grant_exports(self, storage: Storage, exports: Exports, serve: Function, make: Function) -> None:
        queue = exports.work.queue.queue_arn
        serve.allow("sqs:SendMessage", on=[queue])
        make.allow(*CONSUME, "sqs:SendMessage", on=[queue])
        make.allow("dynamodb:GetItem", "dynamodb:Query", on=[storage.records.table_arn, storage.ops.table_arn])
        make.allow("dynamodb:PutItem", on=[storage.records.table_arn])
        make.allow("s3:GetObject", "s3:PutObject", on=storage.objects(EXPORTS))
        make.allow("s3:ListBucket", on=[storage.bucket.bucket_arn])

    def _refuse_old_places(self, storage: Storage, receive: Function) -> None:
        """Let no function write where identities and audit logs were before they had tables of their own.

        They are read there until they have been moved, and for a rollback they stay there.
        """
        for construct in self.node.find_all():
            if isinstance(construct, Function) and construct is not receive:  # which has no right there at all
                construct.refuse(*WRITE, on=[storage.records.table_arn], partitions=OLD_PLACES)

    def _grant_key(self, deployment: DeploymentSettings, schedules: Schedules) -> None:
        """Let everything that reads or writes use the customer's key, where there is one."""
        if deployment.kms_key_arn:
            for construct in self.node.find_all():
                if isinstance(construct, Function):
                    construct.allow(*encryption.USE, on=[deployment.kms_key_arn])
            schedules.allow(*encryption.SEND, on=[deployment.kms_key_arn])

    def _indexes(self, storage: Storage, *names: str) -> list[str]:
        return [f"{storage.records.table_arn}/index/{name}" for name in names]

    def _grant_stream(self, function: Function, table: Table) -> None:
        function.allow(*STREAM, on=[self._stream(table)])
        function.allow("dynamodb:ListStreams", on=["*"])

    def _stream(self, table: Table) -> str:
        if table.table_stream_arn is None:
            raise ValueError(f"{table.node.path} has no stream")
        return table.table_stream_arn

    def _lanes(self, deployment: DeploymentSettings) -> str:
        name = contracts.lane_queue_name(deployment.stage, "*")
        return self.format_arn(service="sqs", resource=name)

    def _link_keys(self, deployment: DeploymentSettings) -> str:
        return self._secret(f"{contracts.unsubscribe_secret_name(deployment.stage)}-??????")

    def _secret(self, name: str) -> str:
        return self.format_arn(
            service="secretsmanager", resource="secret", resource_name=name, arn_format=ArnFormat.COLON_RESOURCE_NAME
        )

    def _ses(self, credential: contracts.Credential) -> list[str]:
        """Return what a sender may send with: identities and one configuration set.

        The identities are those of the credential's domains, or any where it has none: the API checks senders.
        """
        identities = [f"identity/{x}" for d in credential.domains for x in (d, f"*@{d}", f"*.{d}")] or ["identity/*"]
        names = (*identities, "template/*", f"configuration-set/{credential.configuration_set}")
        return [
            self.format_arn(service="ses", region=credential.region or None, resource=kind, resource_name=name)
            for kind, name in (n.split("/") for n in names)
        ]

    def _refuse_what_is_too_large(self, deployment: DeploymentSettings) -> None:
        counts = dict.fromkeys(self._homes, 0)
        names = {Stack.of(home).node.path: name for name, (home, _) in self._homes.items()}
        for found in self.node.find_all():
            if CfnResource.is_cfn_resource(found):
                name = names.get(Stack.of(found).node.path)
                if name is not None:  # three resources a lane: the stack of express queues has room for 160
                    counts[name] += 1
        for name, count in counts.items():
            if count > MAX_RESOURCES:
                lanes = sum(deployment.stacks.get(c.id, "") == name for c in deployment.credentials)
                where = f"nested stack {name!r}" if name else "the stack"
                raise SettingsError(
                    f"credentials: {lanes} lanes make {count} resources in {where}, and CloudFormation allows "
                    f'{MAX_RESOURCES}; give those that you add a nested stack of their own: "stack": "more" '
                    "(docs/operations.md)"
                )

    def _outputs(self, api: Api, environment: Mapping[str, str], audit_days: int) -> None:
        values: Sequence[tuple[str, str]] = (
            ("ApiId", api.http.api_id),
            ("ApiUrl", api.http.api_endpoint),
            ("RecordsTable", environment[contracts.ENV_RECORDS_TABLE]),
            ("OpsTable", environment[contracts.ENV_OPS_TABLE]),
            ("IdentitiesTable", environment[contracts.ENV_IDENTITIES_TABLE]),
            ("AuditTable", environment[contracts.ENV_AUDIT_TABLE]),
            ("BucketName", environment[contracts.ENV_BUCKET]),
            ("FeedbackQueueUrl", environment[contracts.ENV_FEEDBACK_QUEUE_URL]),
            ("LaneUrlPrefix", environment[contracts.ENV_LANE_URL_PREFIX]),
            ("AuditDays", str(audit_days)),
        )
        for name, value in values:
            CfnOutput(self, name, value=value)


def _from(domains: Sequence[str]) -> dict[str, Any] | None:
    """Return the condition that a mail's `From` is of one of these domains or of their subdomains; None: any is."""
    patterns = [x for d in domains for x in (f"*@{d}", f"*@*.{d}")]
    return {"StringLike": {"ses:FromAddress": patterns}} if patterns else None
