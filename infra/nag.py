"""cdk-nag's rules, and why some findings stay."""

from collections.abc import Iterable
from typing import Final

from aws_cdk import Acknowledgment, Names, Stack, Validations
from cdk_nag import AwsSolutionsChecks, ServerlessChecks
from constructs import Construct, IConstruct

from infra.arns import identity_rights
from infra.building.function import Function
from infra.building.governance import INTERFACES_ID
from infra.functions.lane import LaneConstruct
from infra.functions.operators import POLICIES
from infra.monitoring.dashboard import Monitoring
from infra.resources.copies import SEALED
from infra.resources.edge import EdgeConstruct
from infra.resources.keys import AddressKey, ConsoleKey, EdgeKey, HookKey, LinkKeys
from infra.resources.queue import DeadLetters, ExpressQueue, WorkQueue
from infra.resources.storage import ARCHIVE, EXPORTS, UPLOADS
from infra.settings import DeploymentSettings
from shared import contracts
from shared.providers.needs import needs_of

BUCKET: Final = "StorageBucket5CB7C8EA"
COPIES: Final = "StorageAuditCopiesBucketCF6782AE"
_HERE: Final = "arn:<AWS::Partition>:{service}:<AWS::Region>:<AWS::AccountId>:{name}"

STACK: Final = {
    "AwsSolutions::AwsSolutions-S1": "Objects are reached through the functions and presigned links alone, and the "
    "API's log names every request; a second bucket of access logs would hold personal data in its keys.",
    "AwsSolutions::AwsSolutions-APIG4": "The API function checks bearer keys, HTTP Basic and tokens itself, and the "
    "webhook function the provider's signature over the raw body: what an authorizer cannot see. A test asks every "
    "route without credentials.",
}
FUNCTION: Final = {
    "AwsSolutions::AwsSolutions-L1": "Python 3.13 is what the locked wheels are chosen and tested for.",
    "Serverless::Serverless-LambdaLatestVersion": "Python 3.13 is what the locked wheels are chosen and tested for.",
    "Serverless::Serverless-LambdaDLQ": "A function's own dead-letter queue serves asynchronous calls. The API waits "
    "for its answer; queues and streams have dead-letter queues of their own; the sweep has an on-failure destination.",
    "Serverless::Serverless-LambdaTracing": "Log lines carry job, chunk and attempt through every step; traces would "
    "cost as much as the calls they trace.",
}
TRACES: Final = "X-Ray's two actions take no resource, and are there only if the settings ask for traces."
INTERFACES: Final = "Lambda asks for the rights on interfaces of all resources; code in a function is refused them."
LANE: Final = {
    "AwsSolutions::AwsSolutions-SMG4": "The secret is the provider's key: only there can it be made anew.",
}
LINK_KEYS: Final = {
    "AwsSolutions::AwsSolutions-SMG4": "A link works as long as the key that signed it is kept, for years. "
    "A key is added by hand, when there is a reason, and none is taken away on a schedule.",
}
HOOK_KEY: Final = {
    "AwsSolutions::AwsSolutions-SMG4": "The secrets of all accounts' endpoints are derived from it: a new one would "
    "have every receiver refuse what is posted. An account rotates its endpoint's own secret.",
}
ADDRESS_KEY: Final = {
    "AwsSolutions::AwsSolutions-SMG4": "Suppressions are stored under hashes by it: with another key none would be "
    "found. A key is added by hand, after a theft, and a command moves the hashes.",
}
CONSOLE_KEY: Final = {
    "AwsSolutions::AwsSolutions-SMG4": "It holds what the provider of identities gave, too, which only there can be "
    "made anew; another key ends all sessions.",
}
DEAD: Final = {
    "AwsSolutions::AwsSolutions-SQS3": "This is a dead-letter queue, of a stream or a schedule.",
    "Serverless::Serverless-SQSRedrivePolicy": "This is a dead-letter queue.",
}
WORK: Final = {
    "Serverless::Serverless-LambdaEventSourceMappingDestination": "Queues have no such destination: what fails five "
    "times goes to the queue's dead-letter queue.",
}
ALARMS: Final = {
    "Serverless::Serverless-SNSRedrivePolicy": "The one subscription is an e-mail address: what SNS cannot deliver "
    "there stands on the dashboard and in the alarm's history, and a queue of it would be read by nobody.",
}
EDGE_KEY: Final = {
    "AwsSolutions::AwsSolutions-SMG4": "The distribution has a copy, which a rotation of its own would not change. An "
    "operator adds a key, and names it in the settings.",
}
EDGE: Final = {
    "AwsSolutions::AwsSolutions-CFR1": "Recipients unsubscribe from wherever they are.",
    "AwsSolutions::AwsSolutions-CFR3": "A log of CloudFront has paths, which name recipients, and clients' addresses. "
    "The API's own log has every request without both.",
}
BY_KIND: Final[dict[type[Construct], dict[str, str]]] = {
    Function: FUNCTION,
    LaneConstruct: LANE,
    Monitoring: ALARMS,
    LinkKeys: LINK_KEYS,
    HookKey: HOOK_KEY,
    AddressKey: ADDRESS_KEY,
    ConsoleKey: CONSOLE_KEY,
    EdgeKey: EDGE_KEY,
    EdgeConstruct: EDGE,
    DeadLetters: DEAD,
    WorkQueue: WORK,
    ExpressQueue: WORK,
}
LISTS: Final = "lambda:ListEventSourceMappings and cloudwatch:GetMetricData know no resources."
LIST_STREAMS: Final = "dynamodb:ListStreams, which Lambda's poller needs, knows no resources."


OBJECTS: Final = {
    ARCHIVE: "The archive alone; its files are named after jobs, made at run time.",
    EXPORTS: "Exports alone; their names are made at run time.",
    UPLOADS: "Uploaded lists alone; their names are made at run time.",
    contracts.MAIL_UPLOADS: "Contents of mails alone; their names are made at run time.",
    contracts.MAIL_CONTENTS: "Contents of mails alone; their names are made at run time.",
    contracts.IMAGES: "Pictures alone; their names are made at run time.",
    contracts.INBOX_PREFIX: "Payloads of notifiers alone; their names are made at run time.",
    contracts.CONTENTS: "Large contents alone; they are named after jobs, made at run time.",
}


def _objects(deployment: DeploymentSettings) -> dict[str, str]:
    """Return the prefixes that a policy may have, each with its reason; those of a setting only where it is set."""
    settings = deployment.settings
    unset = {ARCHIVE: not settings.archive_days, contracts.IMAGES: not settings.images[0]}
    return {prefix: why for prefix, why in OBJECTS.items() if not unset.get(prefix)}


def _console(deployment: DeploymentSettings) -> dict[str, str]:
    """Return what the console's pages of operators ask for; none without a console."""
    if deployment.console is None:
        return {}
    dead = _HERE.format(service="sqs", name=contracts.dead_queue_names(deployment.stage)[0])
    return {
        _HERE.format(service="cloudwatch", name="alarm:*"): "The console shows operators which alarms are raised. "
        "CloudWatch judges a list by prefix as one of all alarms.",
        dead: "The console counts the dead letters of every lane of this stage, and reads none. By pattern: a list of "
        "a hundred lanes exceeds what an inline policy may hold.",
    }


def _operators(deployment: DeploymentSettings) -> dict[str, str]:
    """Return what the operators' function redrives."""
    own = f"{contracts.prefix(deployment.stage)}-*"
    return {
        _HERE.format(service="sqs", name=contracts.dead_queue_names(deployment.stage)[0]): "Operators redrive the dead "
        "letters of every lane. By pattern: a list of a hundred lanes exceeds what an inline policy may hold.",
        _HERE.format(
            service="secretsmanager", name=f"secret:{contracts.secret_name(deployment.stage, '*')}"
        ): "Operators set the secret of every credential of this stage, and can read none.",
        _HERE.format(service="lambda", name=f"function:{own}"): "Operators are shown why a message died.",
        _HERE.format(service="logs", name=f"log-group:{own}"): "As the functions that write them.",
        _HERE.format(service="cloudformation", name=f"stack/{own}/*"): "Operators read the log groups of nested "
        "stacks, whose names and ids CloudFormation makes.",
    }


def wildcards(deployment: DeploymentSettings) -> dict[str, str]:
    """Return resource → reason of every wildcard within a name that a policy may have, as cdk-nag prints them."""
    lanes = _HERE.format(service="sqs", name=contracts.lane_queue_name(deployment.stage, "*"))
    own = contracts.webhook_secret_name(deployment.stage, "*")
    secrets = _HERE.format(service="secretsmanager", name=f"secret:{own}")
    copies = {f"<{COPIES}.Arn>/{SEALED}*": "Copies of sealed audit logs; their names are made at run time."}
    return {
        **(copies if deployment.settings.audit_lock_days else {}),
        **{f"<{BUCKET}.Arn>/{prefix}*": reason for prefix, reason in _objects(deployment).items()},
        _HERE.format(service="scheduler", name=f"schedule/{contracts.prefix(deployment.stage)}/*"): "Schedules of this "
        "stage's own group; each is named after its job, made at run time.",
        lanes: "A released chunk may go to any credential of its route, so to any lane of this stage. By pattern: a "
        "list of a hundred lanes exceeds what an inline policy may hold.",
        secrets: "The webhook function verifies the webhooks of every credential of this stage, by secrets that hold "
        "nothing else. By pattern: a list of a hundred secrets exceeds what an inline policy may hold.",
        _HERE.format(service="cloudformation", name=f"stack/{contracts.prefix(deployment.stage)}/*"): "Operators ask "
        "this stack for its API's address. Its ARN ends with an id that a call by its name does not have.",
        **_operators(deployment),
        **_console(deployment),
        **_providers(deployment),
    }


def _providers(deployment: DeploymentSettings) -> dict[str, str]:
    found: dict[str, str] = {}
    rights = [right for c in deployment.settings.credentials for right in needs_of(c.provider).rights(c)]
    for right in (*rights, *identity_rights(deployment)):
        for name, reason in right.resources.items():
            place = name if name == "*" else _HERE.format(service=right.service, name=name)
            if reason:
                found[place.replace("<AWS::Region>", right.region or "<AWS::Region>")] = reason
    return found


def _nested(stack: Stack) -> dict[str, str]:
    """Return what wildcards in nested stacks look like, which know the API and the bucket by parameters."""
    api = f"<{_parameter(stack, 'Api', 'Http')}Ref>/$default/"
    found = {
        _HERE.format(service="execute-api", name=f"{api}{route}"): "Operators call the routes of a group, whose ids "
        "are made at run time."
        for routes in POLICIES.values()
        for route in routes
    }
    storage = stack.node.find_child("Storage").node
    copies = {
        f"<{_parameter(stack, 'Storage', name)}Arn>{contracts.COPY_ENDING}*": "A restore reads copies of this table's "
        "past, whose names are made at run time."
        for name in ("Records", "Ops", "Identities", "Audit", "People")
        if storage.try_find_child(name) is not None
    }
    bucket = f"<{_parameter(stack, 'Storage', 'Bucket')}Arn>"
    erased = {f"{bucket}/{prefix}*": why for prefix, why in OBJECTS.items() if prefix != contracts.MAIL_CONTENTS}
    return {**found, **erased, **copies}


def _parameter(stack: Stack, *path: str) -> str:
    """Return the name of the parameters by which nested stacks know a resource, without its attribute at the end."""
    node = stack.node
    for name in (*path, "Resource"):
        node = node.find_child(name).node
    return f"referenceto{Names.node_unique_id(node)}"


def check(stack: Stack, *, deployment: DeploymentSettings) -> None:
    """Let the synth of a stack for AWS fail on any finding that is not acknowledged here.

    The local cloud's template is the same except for what the emulator cannot do; a test compares the two.
    """
    _acknowledge(stack, STACK)
    for construct in stack.node.find_all():
        if deployment.tracing and isinstance(construct, Function):
            _acknowledge(construct, {"AwsSolutions::AwsSolutions-IAM5[Resource::*]": TRACES})
            _acknowledge(construct, {"Serverless::Serverless-LambdaStarPermissions": TRACES})
        for kind, findings in BY_KIND.items():
            if isinstance(construct, kind):
                _acknowledge(construct, findings)
    for resource, reason in {**wildcards(deployment), **_nested(stack)}.items():
        _acknowledge(stack, {f"AwsSolutions::AwsSolutions-IAM5[Resource::{resource}]": reason})
    if deployment.vpc is not None:
        policy = stack.node.find_child(INTERFACES_ID)
        _acknowledge(policy, {"AwsSolutions::AwsSolutions-IAM5[Resource::*]": INTERFACES})
        _acknowledge(policy, {"Serverless::Serverless-LambdaStarPermissions": INTERFACES})
    operate = stack.node.find_child("Operate")
    _acknowledge(operate, {"AwsSolutions::AwsSolutions-IAM5[Resource::*]": LISTS})
    _acknowledge(operate, {"Serverless::Serverless-LambdaStarPermissions": LISTS})
    for reader in stream_readers(stack):
        _acknowledge(reader, {"AwsSolutions::AwsSolutions-IAM5[Resource::*]": LIST_STREAMS})
        _acknowledge(reader, {"Serverless::Serverless-LambdaStarPermissions": LIST_STREAMS})
    Validations.of(stack).add_plugins(AwsSolutionsChecks(stack), ServerlessChecks(stack))


def stream_readers(stack: Stack) -> Iterable[IConstruct]:
    """Return the functions that read a table's stream."""
    dispatch = stack.node.find_child("Dispatch")
    home = stack.node.try_find_child("Hooks") or stack  # nested on AWS
    gather = home.node.find_child("AccountHooks").node.find_child("Gather")
    return [dispatch.node.find_child("Plan"), dispatch.node.find_child("Log"), gather]


def _acknowledge(construct: IConstruct, findings: dict[str, str]) -> None:
    rules = [Acknowledgment(id=finding, reason=reason) for finding, reason in findings.items()]
    Validations.of(construct).acknowledge(*rules)
