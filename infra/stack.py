"""The stack: composes the parts."""

from collections.abc import Mapping, Sequence
from importlib import import_module
from typing import Final

from aws_cdk import (
    Annotations,
    CfnOutput,
    CfnWaitConditionHandle,
    CliCredentialsStackSynthesizer,
    Fn,
    NestedStack,
    Stack,
)
from aws_cdk.aws_lambda import Code
from constructs import Construct

from infra.building import bundling
from infra.building.function import Function
from infra.building.governance import govern
from infra.crowds import refuse_crowded
from infra.functions import workers
from infra.functions.api import Api
from infra.functions.buttons import ButtonsConstruct
from infra.functions.console import ConsoleConstruct, people_environment
from infra.functions.dispatch import Dispatch, Feedback
from infra.functions.hooks import HooksConstruct
from infra.functions.lane import LaneConstruct
from infra.functions.notices import NoticesConstruct
from infra.functions.operators import OperatorsConstruct
from infra.functions.pictures import served
from infra.functions.schedules import SchedulesConstruct
from infra.functions.webhooks import WebhooksConstruct
from infra.grants import Grants
from infra.monitoring.dashboard import Monitoring
from infra.resources.edge import EdgeConstruct
from infra.resources.keys import make_keys
from infra.resources.queue import ExpressQueue
from infra.resources.storage import ARCHIVE, Storage
from infra.settings import DeploymentSettings
from shared import contracts
from shared.providers.needs import needs_of, topic_output

OPERATE: Final = "/operate"
"""The stack of what operators call among the stacks of lanes, none of whose names has a slash."""


class PosthasteStack(Stack):
    """One deployment of Posthaste: one stage of one account and region."""

    def __init__(self, scope: Construct, construct_id: str, *, deployment: DeploymentSettings) -> None:
        super().__init__(
            scope,
            construct_id,
            description="Posthaste: e-mail and SMS, each message once",
            termination_protection=deployment.production and deployment.protect,
            synthesizer=CliCredentialsStackSynthesizer() if deployment.local else None,
            suppress_template_indentation=True,  # CloudFormation takes a million bytes
        )
        code = bundling.asset(deployment.target, bytecode=deployment.bytecode)
        storage = Storage(self, "Storage", deployment=deployment)
        feedback = Feedback(self, "Feedback", deployment=deployment)
        schedules = SchedulesConstruct(self, "Schedules", deployment=deployment)
        exports = workers.exports(self, deployment)
        lists = workers.lists(self, deployment)
        inbox = workers.inbox(self, deployment)
        digest = workers.digest(self, deployment)
        make_keys(self, deployment)
        self._homes: dict[str, tuple[Construct, Code]] = {"": (self, code)}
        lanes = [self._lane(deployment, c) for c in deployment.credentials]
        environment = self._environment(deployment, storage, feedback, lanes[-1])
        webhooks = WebhooksConstruct(self, "Webhooks", deployment=deployment, code=code, environment=environment)
        api = Api(
            self,
            "Api",
            deployment=deployment,
            code=code,
            environment={
                **environment,
                **lists.environment,
                **schedules.environment,
                **exports.environment,
            },
            webhooks=webhooks.receive,
            pictures=served(self, deployment, code, storage) if deployment.settings.images[0] else None,
        )
        archived = deployment.settings.archive_days > 0
        told = {**environment, contracts.ENV_API_URL: api.address}
        senders = [lane.serve(told if needs_of(lane.credential.provider).calls_back else environment) for lane in lanes]
        express = self._express(deployment, lanes, senders)
        dispatch = Dispatch(
            self,
            "Dispatch",
            deployment=deployment,
            code=code,
            environment={
                **environment,
                **lists.environment,
                **schedules.environment,
                **(exports.environment if archived else {}),
                **storage.copied,
            },
            records=storage.records,
            ops=storage.ops,
            feedback=feedback,
            group=schedules.group,
        )

        grants = Grants(self, deployment, storage)
        for lane, sender in zip(lanes, senders, strict=True):
            grants.sender(feedback, lane, sender)
        grants.api(api.serve, api.pictures)
        grants.webhooks(feedback, webhooks.receive)
        grants.dispatch(feedback, dispatch)
        grants.lists(lists, api.serve, dispatch.sweep, lists.serve(code, environment))
        notices = NoticesConstruct(
            self, "Notices", deployment=deployment, code=code, environment={**environment, **schedules.environment}
        )
        due = grants.schedules(schedules, api.serve, schedules.serve(code, {**environment, **notices.named}), dispatch)
        grants.notices(notices, schedules, due)
        grants.digest(digest, api.serve, due, digest.serve(code, told))
        grants.inbox(inbox, schedules, api.serve, dispatch.sweep, inbox.serve(code, schedules.told(environment)))
        make = exports.serve(code, environment)
        grants.exports(exports, api.serve, make)
        if archived:
            dispatch.sweep.allow("sqs:SendMessage", on=[exports.work.queue.queue_arn])
            make.allow("s3:GetObject", "s3:PutObject", on=storage.objects(ARCHIVE))
        hooks = self._hooks(deployment, environment, storage)
        grants.hooks(hooks, api.serve, dispatch)
        self._events(deployment, feedback)
        operators = grants.operators(
            self._operators(deployment, environment, storage, api, dispatch, hooks), dispatch, hooks
        )
        console = self._console(
            deployment,
            code,
            {**environment, **schedules.environment, **lists.environment, **exports.environment},
            storage,
            api,
        )
        grants.console(console, schedules, hooks, digest, lists, exports)
        target = self._edge(deployment, grants, api, webhooks, console)
        if not deployment.local:
            Monitoring(
                self,
                "Monitoring",
                deployment=deployment,
                lanes=lanes,
                express=express,
                feedback=feedback,
                dispatch=dispatch,
                hooks=hooks,
                api=api,
                storage=storage,
            )
        grants.refuse_old_places(
            webhooks.receive,
            operators,
            *self._buttons(grants, deployment, environment, storage, console, dispatch, hooks),
        )
        grants.key(schedules, dispatch)
        self._outputs(api, webhooks, environment, deployment.settings.audit_days, target)
        refuse_crowded(self, deployment)
        self._finish(deployment)

    def _events(self, deployment: DeploymentSettings, feedback: Feedback) -> None:
        """Create what brings events of AWS services in this region to the feedback queue."""
        publishing: dict[str, list[contracts.Credential]] = {}
        for credential in deployment.settings.credentials:
            topic = needs_of(credential.provider).topic_name
            if topic and not credential.region:
                publishing.setdefault(topic, []).append(credential)
        for topic, mine in sorted(publishing.items()):
            made = import_module(f"infra.resources.{topic}").CONSTRUCT(
                self, f"{topic.capitalize()}Events", deployment=deployment, credentials=mine, feedback=feedback.work
            )
            CfnOutput(self, topic_output(topic), value=made.topic.topic_arn)

    def _finish(self, deployment: DeploymentSettings) -> None:
        """Apply the organization's rules, say what lanes reserve, and check by cdk-nag; not on the local cloud."""
        if deployment.local:
            return
        govern(self, deployment)
        if deployment.reserved:
            Annotations.of(self).add_info_v2(
                "posthaste:reserved",
                f"the functions reserve {deployment.concurrency} concurrent executions, and Lambda keeps 100 more: in "
                'an account that allows fewer (young ones allow 10) the deploy fails; set "reserved": "none" there '
                "(docs/deploying.md)",
            )
        from infra import nag  # noqa: PLC0415 - a second of start-up that the local cloud need not wait for

        nag.check(self, deployment=deployment)

    def _lane(self, deployment: DeploymentSettings, credential: contracts.Credential) -> LaneConstruct:
        """Create a lane in its stack, which comes with its first lane. Names do not depend on its place."""
        name = deployment.stacks.get(credential.id, "")
        if name not in self._homes:
            self._homes[name] = self._nested(deployment, f"Lanes-{name}", "lanes")
            if deployment.production and deployment.protect:
                # CloudFormation changes what becomes of a resource only beside a change of resources (ADR 185).
                CfnWaitConditionHandle(self._homes[name][0], "Protected")
        home, code = self._homes[name]
        return LaneConstruct(home, f"Lane-{credential.id}", deployment=deployment, code=code, credential=credential)

    def _nested(self, deployment: DeploymentSettings, name: str, what: str) -> tuple[Construct, Code]:
        """Return a new nested stack with an asset for it; on the local cloud this stack, which has all.

        CloudFormation of the local cloud cannot update nested stacks.

        Args:
            what: the contents, for the description.
        """
        if deployment.local:
            return self._homes[""]
        nested = NestedStack(
            self,
            name,
            description=f"Posthaste: {what} of stage {deployment.stage}",
            suppress_template_indentation=True,
        )
        return nested, bundling.asset(deployment.target, bytecode=deployment.bytecode)  # an asset is of one stack

    def _express(
        self, deployment: DeploymentSettings, lanes: Sequence[LaneConstruct], senders: Sequence[Function]
    ) -> list[ExpressQueue]:
        """Create the lanes' express queues, on AWS in a nested stack of their own.

        So no lane moves for them, and the stack holds as many as it did without.
        """
        home, _ = self._nested(deployment, "Express", "express queues")
        return [lane.express(home, sender) for lane, sender in zip(lanes, senders, strict=True)]

    def _hooks(
        self, deployment: DeploymentSettings, environment: Mapping[str, str], storage: Storage
    ) -> HooksConstruct:
        """Create what posts to accounts' endpoints."""
        home, code = self._nested(deployment, "Hooks", "webhooks to accounts")
        return HooksConstruct(
            home,
            "AccountHooks",
            deployment=deployment,
            code=code,
            environment=environment,
            records=storage.records,
            ops=storage.ops,
        )

    def _operate(self, deployment: DeploymentSettings) -> tuple[Construct, Code]:
        """Return the stack of what operators call, with its asset."""
        if OPERATE not in self._homes:
            self._homes[OPERATE] = self._nested(deployment, "Operate", "operators' function and policies")
        return self._homes[OPERATE]

    def _operators(
        self,
        deployment: DeploymentSettings,
        environment: Mapping[str, str],
        storage: Storage,
        api: Api,
        dispatch: Dispatch,
        hooks: HooksConstruct,
    ) -> OperatorsConstruct:
        """Create what answers operators' commands.

        Args:
            dispatch: the construct of the sweeper.
            hooks: the construct of the function that gathers.
        """
        home, code = self._operate(deployment)
        return OperatorsConstruct(
            home,
            "Operators",
            deployment=deployment,
            code=code,
            environment={
                **environment,
                **people_environment(deployment.console, storage.people),
                contracts.ENV_API_URL: api.address,
            },
            api=api,
            sweep=dispatch.sweep,
            gather=hooks.gather,
            tables=storage.tables,
        )

    def _buttons(
        self,
        grants: Grants,
        deployment: DeploymentSettings,
        environment: Mapping[str, str],
        storage: Storage,
        console: ConsoleConstruct | None,
        dispatch: Dispatch,
        hooks: HooksConstruct,
    ) -> list[Function]:
        """Create what does what operators press in the console; none if the settings have no buttons."""
        if deployment.console is None or console is None or not deployment.console.buttons:
            return []
        home, code = self._operate(deployment)
        made = ButtonsConstruct(
            home,
            "Buttons",
            deployment=deployment,
            code=code,
            environment={**environment, **people_environment(deployment.console, storage.people)},
            console=console,
            sweep=dispatch.sweep,
            gather=hooks.gather,
        )
        grants.buttons(made, console, dispatch, hooks)
        return [made.serve]

    def _console(
        self, deployment: DeploymentSettings, code: Code, environment: Mapping[str, str], storage: Storage, api: Api
    ) -> ConsoleConstruct | None:
        """Create the console; None if the settings have none.

        Args:
            storage: has the table of people.
            api: whose address the console has.
        """
        if deployment.console is None or storage.people is None:
            return None
        storage.take_from(api.address)
        return ConsoleConstruct(
            self,
            "Console",
            deployment=deployment,
            settings=deployment.console,
            code=code,
            environment=environment,
            people=storage.people,
            api=api,
        )

    def _environment(
        self, deployment: DeploymentSettings, storage: Storage, feedback: Feedback, test: LaneConstruct
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
            **({contracts.ENV_LOOPBACK: "1"} if deployment.local else {}),
        }

    def _edge(
        self,
        deployment: DeploymentSettings,
        grants: Grants,
        api: Api,
        webhooks: WebhooksConstruct,
        console: ConsoleConstruct | None,
    ) -> str:
        """Create what is before the API, and return what the domain's record points to; empty without a domain."""
        if api.domain is None:
            return ""
        if deployment.edge is None:
            return str(api.domain.regional_domain_name)
        made = EdgeConstruct(
            self,
            "Edge",
            deployment=deployment,
            edge=deployment.edge,
            domain=api.domain,
            console=console is not None,
            pictures=api.pictures is not None,
        )
        state = contracts.EDGE_CLOSED if deployment.edge.close_origin else contracts.EDGE_OPEN
        grants.edge(state, api.serve, webhooks.receive, *([console.serve] if console is not None else []))
        CfnOutput(self, "ApiOrigin", value=api.domain.regional_domain_name)
        return made.target

    def _outputs(
        self, api: Api, webhooks: WebhooksConstruct, environment: Mapping[str, str], audit_days: int, target: str
    ) -> None:
        """Tell where things are. `target`: what the record of the API's domain points to, if it has one."""
        values: Sequence[tuple[str, str]] = (
            ("ApiId", api.http.api_id),
            ("ApiUrl", api.address),
            ("RecordsTable", environment[contracts.ENV_RECORDS_TABLE]),
            ("OpsTable", environment[contracts.ENV_OPS_TABLE]),
            ("IdentitiesTable", environment[contracts.ENV_IDENTITIES_TABLE]),
            ("AuditTable", environment[contracts.ENV_AUDIT_TABLE]),
            ("BucketName", environment[contracts.ENV_BUCKET]),
            ("FeedbackQueueUrl", environment[contracts.ENV_FEEDBACK_QUEUE_URL]),
            ("LaneUrlPrefix", environment[contracts.ENV_LANE_URL_PREFIX]),
            ("AuditDays", str(audit_days)),
        )
        if target:
            values = (*values, ("ApiTarget", target))
        if webhooks.address:
            values = (*values, ("WebhooksUrl", webhooks.address))
        for name, value in values:
            CfnOutput(self, name, value=value)
