"""Alarms to one topic, and the dashboard that answers whether mail is flowing."""

from collections.abc import Iterable, Sequence
from typing import Final, TypeVar

from aws_cdk import Annotations, CfnOutput, Duration, RemovalPolicy, Stack
from aws_cdk.aws_cloudwatch import (
    Alarm,
    AlarmStatusWidget,
    Dashboard,
    GraphWidget,
    IMetric,
    MathExpression,
    PeriodOverride,
    SingleValueWidget,
    YAxisProps,
)
from aws_cdk.aws_cloudwatch_actions import SnsAction
from aws_cdk.aws_iam import PolicyStatement, ServicePrincipal
from aws_cdk.aws_kms import Key
from aws_cdk.aws_sns import ITopic, Topic
from aws_cdk.aws_sns_subscriptions import EmailSubscription
from aws_cdk.aws_sqs import Queue
from constructs import Construct

from infra.building.function import Function
from infra.functions.api import Api
from infra.functions.dispatch import Dispatch, Feedback
from infra.functions.hooks import HooksConstruct
from infra.functions.lane import LaneConstruct
from infra.limits import WIDGET_ALARMS
from infra.monitoring import alarms, figures
from infra.resources.encryption import customer_key
from infra.resources.queue import DeadLetters, ExpressQueue, WorkQueue
from infra.resources.storage import Storage
from infra.settings import DeploymentSettings
from shared import contracts, metrics

C = TypeVar("C")

RUNBOOKS: Final = "docs/runbooks"
WIDTH: Final = 24
"""Columns of a dashboard."""
SORROWS: Final = (metrics.Metric.REFUSED, metrics.Metric.THROTTLED, metrics.Metric.UNKNOWN)


class Monitoring(Construct):
    """Watches all functions and queues that the stack has; so it comes last.

    Not on the local cloud, whose emulator has neither metrics nor alarms with expressions.
    """

    def __init__(
        self,
        scope: Construct,
        construct_id: str,
        *,
        deployment: DeploymentSettings,
        lanes: Sequence[LaneConstruct],
        express: Sequence[ExpressQueue],
        feedback: Feedback,
        dispatch: Dispatch,
        hooks: HooksConstruct,
        api: Api,
        storage: Storage,
    ) -> None:
        super().__init__(scope, construct_id)
        self._deployment = deployment
        self._pairs = figures.pairs(deployment)
        self._lanes: Sequence[WorkQueue | ExpressQueue] = [*(lane.work for lane in lanes), *express]
        self.topic = self._topic()
        letters = [c.queue for c in self._all(DeadLetters)]
        special = {feedback.work, *hooks.queues, *(lane.work for lane in lanes)}
        others = [c for c in self._all(WorkQueue) if c not in special]
        watches = [
            *alarms.lanes(self._lanes),
            *alarms.queues(feedback.work, others),
            *alarms.dead(letters),
            *alarms.sending(self._pairs),
            *alarms.webhooks(self._pairs),
            *alarms.sweeper(deployment.stage),
            *alarms.notices(deployment.stage),
            *alarms.digests(deployment.stage),
            *alarms.mails(deployment.stage),
            *alarms.hooks(deployment.stage, hooks.queues),
            *alarms.lists(deployment.stage),
            *self._of_functions(),
            *alarms.streams([dispatch.plan, dispatch.log, hooks.gather]),
            *alarms.api(api.http, api.posted),
            *alarms.keys(deployment.stage),
            *(alarms.limits(deployment.stage) if deployment.settings.limits else ()),
            *(alarms.table(storage.records) if deployment.capacity else ()),
        ]
        names = [f"{contracts.prefix(deployment.stage)}-{watch.name}" for watch in watches]
        self.alarms = [self._alarm(watch, name) for watch, name in zip(watches, names, strict=True)]
        hooks.hear(names)
        self._dashboard(letters, [feedback.work, *hooks.queues, *others])

    def _of_functions(self) -> Iterable[alarms.Watch]:
        """Return the watches of all functions, senders apart from others."""
        functions = self._all(Function)
        senders = [f for f in functions if isinstance(f.node.scope, LaneConstruct)]
        return alarms.functions(senders, [f for f in functions if f not in senders])

    def _all(self, kind: type[C]) -> list[C]:
        """Return the stack's constructs of a kind."""
        return [c for c in Stack.of(self).node.find_all() if isinstance(c, kind)]

    def _topic(self) -> ITopic:
        """Return the topic: the operators' own, which others subscribe to, or a new one."""
        given = self._deployment.alarm_topic_arn
        topic = Topic.from_topic_arn(self, "Topic", given) if given else self._made_topic()
        CfnOutput(Stack.of(self), "AlarmTopicArn", value=topic.topic_arn)
        return topic

    def _key(self) -> Key:
        """Create a key that CloudWatch may use."""
        key = Key(
            self,
            "Key",
            description=f"Posthaste: alarms of stage {self._deployment.stage}",
            enable_key_rotation=True,
            removal_policy=RemovalPolicy.DESTROY,
        )
        key.add_to_resource_policy(
            PolicyStatement(
                sid="Alarms",
                principals=[ServicePrincipal("cloudwatch.amazonaws.com")],
                actions=["kms:Decrypt", "kms:GenerateDataKey*"],
                resources=["*"],  # in a key's policy: this key
                conditions={"StringEquals": {"aws:SourceAccount": Stack.of(self).account}},
            )
        )
        return key

    def _made_topic(self) -> Topic:
        """Create a topic. CloudWatch may not use SNS's own key, so the topic has one that says that it may."""
        key = customer_key(self, self._deployment) if self._deployment.kms_everywhere else self._key()
        here = {"StringEquals": {"aws:SourceAccount": Stack.of(self).account}}
        cloudwatch = ServicePrincipal("cloudwatch.amazonaws.com")
        name = contracts.topic_name(self._deployment.stage, "alarms")
        topic = Topic(self, "Topic", topic_name=name, master_key=key, enforce_ssl=True)
        topic.add_to_resource_policy(
            PolicyStatement(
                sid="Alarms",
                principals=[cloudwatch],
                actions=["sns:Publish"],
                resources=[topic.topic_arn],
                conditions=here,
            )
        )
        if self._deployment.alarm_email:
            topic.add_subscription(EmailSubscription(self._deployment.alarm_email))
        else:
            Annotations.of(self).add_warning_v2(
                "posthaste:alarm-email",
                "alarm_email is not set: alarms reach nobody until somebody subscribes to the topic "
                f"{name} (docs/operations.md)",
            )
        return topic

    def _alarm(self, watch: alarms.Watch, name: str) -> Alarm:
        made = Alarm(
            self,
            watch.name,
            alarm_name=name,
            alarm_description=f"{watch.says} What to do: {RUNBOOKS}/{watch.runbook}.md",
            metric=watch.metric,
            threshold=watch.threshold,
            comparison_operator=watch.comparison,
            evaluation_periods=watch.periods,
            datapoints_to_alarm=watch.breaching or watch.periods,
            treat_missing_data=watch.missing,
        )
        action = SnsAction(self.topic)
        made.add_alarm_action(action)
        made.add_ok_action(action)
        return made

    def _dashboard(self, letters: Sequence[Queue], queues: Sequence[WorkQueue]) -> None:
        """Create the dashboard: its first row says whether mail is flowing, the others where it does not."""
        minute, five, quarter = figures.MINUTE, figures.FIVE_MINUTES, figures.QUARTER
        name = metrics.Metric
        ages = [figures.age(lane.queue) for lane in self._lanes]
        depths = [figures.depth(q) for q in letters]
        board = Dashboard(
            self,
            "Dashboard",
            dashboard_name=contracts.prefix(self._deployment.stage),
            default_interval=Duration.hours(3),
            period_override=PeriodOverride.INHERIT,
        )
        board.add_widgets(
            _value("Accepted per minute", figures.together("SUM", self._by_provider(name.ACCEPTED, minute), minute)),
            _value("Oldest message of a lane (s)", figures.together("MAX", ages, five)),
            _value("Dead letters", figures.together("SUM", depths, five)),
            _value("Breakers opened", figures.together("SUM", self._by_provider(name.BREAKER_OPENED, five), five)),
            _value("Unknown (%)", figures.unknown_share(self._pairs, quarter)),
        )
        for begin in range(0, len(self.alarms), WIDGET_ALARMS.most):
            some = self.alarms[begin : begin + WIDGET_ALARMS.most]
            title = "Alarms" if some == self.alarms else f"Alarms {begin + 1} to {begin + len(some)}"
            board.add_widgets(AlarmStatusWidget(title=title, alarms=some, width=WIDTH, height=4))
        board.add_widgets(
            _graph("Accepted", self._by_provider(name.ACCEPTED, minute)),
            _graph(
                "Sent, in percent of the declared rates", [_named(p, figures.rate_share(p, five)) for p in self._pairs]
            ),
            _graph("Refused, throttled, unknown", [m for n in SORROWS for m in self._by_provider(n, minute)]),
        )
        board.add_widgets(
            _graph("Oldest message of each lane (s)", ages),
            _graph("Oldest message of the other queues (s)", [figures.age(q.queue) for q in queues]),
            _graph("Dead letters", depths),
        )
        board.add_widgets(
            _graph("Words of providers", self._by_provider(name.WORDS, minute, metrics.Service.TRACK)),
            _graph(
                "Age of stream records, longest wait of a small job (ms)",
                [
                    figures.ours(self._deployment.stage, service, n, minute, statistic="Maximum")
                    for service, n in (
                        (metrics.Service.PLAN, name.RECORD_AGE),
                        (metrics.Service.LOG, name.RECORD_AGE),
                        (metrics.Service.SWEEP, name.EXPRESS_WAIT),
                    )
                ],
            ),
            _graph(
                "What the sweeper mended, what is stuck, and what it did not come to",
                [
                    figures.ours(self._deployment.stage, metrics.Service.SWEEP, n, minute)
                    for n in (name.TAKEN_OVER, name.REPOINTED, name.STUCK, name.SWEEP_INCOMPLETE)
                ],
            ),
        )
        board.add_widgets(
            _graph(
                "Senders' clocks: off by, at the most (ms)",
                [
                    p.metric(metrics.Service.SEND, name.CLOCK_SKEW, minute, statistic="Maximum").with_(
                        label=f"{p.channel} {p.provider}"
                    )
                    for p in self._pairs
                ],
            ),
            _graph(
                "Mails: notifications queued and given up, contents kept too long",
                self._of_mails(),
            ),
            _graph(
                "Posts to accounts' endpoints: taken, not taken",
                [
                    figures.ours(self._deployment.stage, metrics.Service.HOOKS, n, minute)
                    for n in (name.HOOKS_DELIVERED, name.HOOKS_REFUSED)
                ],
            ),
        )

    def _of_mails(self) -> list[IMetric]:
        name = metrics.Metric
        shown = (name.NOTIFICATIONS, name.NOTIFICATIONS_GIVEN_UP, name.MAILS_LATE)
        stage = self._deployment.stage
        return [figures.ours(stage, metrics.Service.MAILS, n, figures.MINUTE) for n in shown]

    def _by_provider(
        self, name: metrics.Metric, seconds: int, service: metrics.Service = metrics.Service.SEND
    ) -> list[IMetric]:
        return [p.metric(service, name, seconds).with_(label=f"{p.channel} {p.provider}: {name}") for p in self._pairs]


def _named(pair: figures.Pair, expression: MathExpression) -> IMetric:
    return expression.with_(label=f"{pair.channel} {pair.provider}")


def _value(title: str, metric: IMetric) -> SingleValueWidget:
    return SingleValueWidget(title=title, metrics=[metric], sparkline=True, width=WIDTH // 5, height=5)


def _graph(title: str, found: Sequence[IMetric]) -> GraphWidget:
    return GraphWidget(title=title, left=found, left_y_axis=YAxisProps(min=0), width=WIDTH // 3, height=6)
