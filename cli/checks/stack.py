"""Checks of what is deployed."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Final

from cli.checks import Finding, Level, confirmed, first
from shared.contracts import Credential
from shared.domain.lanes.breaker import Breaker, BreakerState
from shared.domain.lanes.switches import Switches

_OK: Final = 200
_UNSIGNED: Final = 401


def stack(answer: Mapping[str, Any]) -> Finding:
    """Judge the stack by an item of `cloudformation.describe_stacks`."""
    status = answer["StackStatus"]
    says = f"{answer['StackName']} is {status}"
    if status in ("CREATE_COMPLETE", "UPDATE_COMPLETE", "IMPORT_COMPLETE"):
        return Finding("stack", Level.OK, says)
    if status == "UPDATE_ROLLBACK_COMPLETE":
        return Finding(
            "stack", Level.WARNING, f"{says}: the last deploy failed, the version before it runs", "deploy again"
        )
    if status in first.FAILED:
        return first.failed(answer)
    if status == first.EMPTY:
        return Finding("stack", Level.WARNING, f"{says}: its first change set was never executed", "deploy it")
    if status.endswith("_IN_PROGRESS"):
        return Finding("stack", Level.WARNING, says, "wait until it is done")
    return Finding("stack", Level.ERROR, says, "read its events in the CloudFormation console (docs/upgrading.md)")


def address(url: str, status: int, body: bytes, *, why: str = "") -> Finding:
    """Judge the API's public address by the answer of `/health`.

    Args:
        url: the address, without a path.
        status: the HTTP status; 0 if there was no answer.
        body: the answer's body.
        why: why there was no answer; empty if there was one.
    """
    if why:
        return Finding(
            "address",
            Level.ERROR,
            f"{url}/health cannot be reached ({why}): clients, webhooks and unsubscription links fail",
            "check public_url in cdk.json, its DNS and its certificate",
        )
    if status != _OK or b'"ok"' not in body:
        says = f"{url}/health answers {status}, and not as Posthaste does"
        return Finding("address", Level.ERROR, says, "let public_url lead to this stage's HTTP API")
    return Finding("address", Level.OK, f"{url} answers")


def posted(url: str, status: int, *, why: str = "") -> Finding:
    """Judge the address for providers' posts by the answer to one without a signature.

    Args:
        url: the address, without a path.
        status: the HTTP status; 0 if there was no answer.
        why: why there was no answer; empty if there was one.
    """
    if why or status != _UNSIGNED:
        says = f"cannot be reached ({why})" if why else f"answers {status} to a post without a signature, not 401"
        fix = "deploy again; in an organization, ask whether a policy forbids public addresses of functions"
        return Finding("webhooks", Level.ERROR, f"{url} {says}: events that are posted there are lost", fix)
    return Finding("webhooks", Level.OK, f"{url} takes posts")


def edge(host: str, target: str, beside: int, *, code: str, through: bool) -> Finding:
    """Judge what is before the API, by two questions: one to the public address, one to API Gateway under its name.

    Args:
        target: what its record should point to.
        beside: the HTTP status of API Gateway's own answer; 0 if there was none.
        code: of the problem in that answer, if it was one.
        through: whether the public address answered by way of CloudFront.
    """
    if not through:
        says = f"{host} does not lead to the distribution"
        closed = code == "address_closed"
        level = Level.ERROR if closed else Level.WARNING
        fix = f"point its DNS record to {target}" + (", or set edge.close_origin to false" if closed else "")
        return Finding("edge", level, f"{says}: {'requests are refused' if closed else 'its firewall sees none'}", fix)
    if beside == _OK:
        says = "API Gateway also answers beside the edge, so its firewall can be passed by"
        return Finding("edge", Level.WARNING, says, "set edge.close_origin to true, and deploy")
    return Finding("edge", Level.OK, f"{host} leads to the edge, and nothing answers beside it")


def queues(rows: Iterable[Mapping[str, Any]]) -> list[Finding]:
    """Judge the queues by the rows of `posthaste queue list`."""
    found = [
        Finding(
            "dead letters",
            Level.WARNING,
            f"{row['dead']:,} in {row['queue']}: they failed five times and wait for you",
            f"posthaste redrive {row['queue']} --dry-run (docs/runbooks/dead-letters.md)",
        )
        for row in rows
        if row["dead"]
    ]
    return found or [Finding("dead letters", Level.OK, "none")]


def breakers(known: Mapping[str, Breaker]) -> list[Finding]:
    """Judge the credentials' circuit breakers."""
    found = [
        Finding(
            "breakers",
            Level.WARNING,
            f"{name} is {breaker.state.value} ({breaker.reason}): the provider fails and gets only a few messages",
            "docs/runbooks/breaker-open.md",
        )
        for name, breaker in sorted(known.items())
        if breaker.state is not BreakerState.CLOSED
    ]
    return found or [Finding("breakers", Level.OK, f"all {len(known)} closed")]


def switches(
    everything: tuple[bool, str],
    credentials: Sequence[Credential],
    known: Mapping[str, tuple[Switches, str]],
    accounts: Mapping[str, str],
) -> list[Finding]:
    """Judge the kill switches.

    Args:
        everything: whether it is paused, and why.
        known: credential → its switches, and why.
        accounts: those that are paused → why. A suspended one is no finding: that is meant to last.
    """
    found = []
    if everything[0]:
        says = f"everything is paused ({everything[1]}): nothing is sent"
        found.append(Finding("switches", Level.WARNING, says, "posthaste resume --all"))
    for c in credentials:
        switched, reason = known[c.id]
        if switched.paused:
            says = f"{c.id} is paused ({reason})"
            found.append(Finding("switches", Level.WARNING, says, f"posthaste resume --credential {c.id}"))
        elif switched.within(c.rate) < c.rate:
            says = f"{c.id} is slowed to {switched.within(c.rate):g} of {c.rate:g} messages a second"
            found.append(Finding("switches", Level.WARNING, says, f"posthaste rate reset {c.id}"))
    found += [
        Finding("switches", Level.WARNING, f"{name} is paused ({why})", f"posthaste resume --account {name}")
        for name, why in sorted(accounts.items())
    ]
    return found or [Finding("switches", Level.OK, "nothing is paused or slowed")]


def _unheard(subscriptions: Sequence[Mapping[str, Any]]) -> Finding:
    """Return what is wrong with a topic's subscriptions, none of which is confirmed."""
    if not subscriptions:
        do = "set alarm_email in cdk.json and deploy, or subscribe to the topic"
        return Finding("alarms", Level.ERROR, "the alarm topic has no subscriber: alarms reach no one", do)
    says = "the subscription is not confirmed, or its owner ended it: alarms reach no one"
    do = "let its owner follow the link in the mail of AWS Notifications, or subscribe again"
    return Finding("alarms", Level.ERROR, says, do)


def alarms(
    alarms: Sequence[Mapping[str, Any]], topic: str, subscriptions: Sequence[Mapping[str, Any]]
) -> list[Finding]:
    """Judge the alarms and their subscriptions.

    Args:
        alarms: as `cloudwatch.describe_alarms` lists them.
        topic: the ARN of the topic that every alarm is to notify.
        subscriptions: as `sns.list_subscriptions_by_topic` lists them.
    """
    found = []
    if not alarms:
        found.append(Finding("alarms", Level.ERROR, "the stage has no alarms", ".venv/bin/npx cdk deploy"))
    mute = [x["AlarmName"] for x in alarms if not x.get("ActionsEnabled") or topic not in x.get("AlarmActions", [])]
    if mute:
        says = f"{len(mute)} alarms notify no one, {mute[0]} among them"
        found.append(
            Finding("alarms", Level.ERROR, says, "aws cloudwatch enable-alarm-actions, or .venv/bin/npx cdk deploy")
        )
    told = sum(map(confirmed, subscriptions))
    if not told:
        found.append(_unheard(subscriptions))
    found += [
        Finding("alarms", Level.WARNING, f"{x['AlarmName']} fires: {x.get('StateReason', '')}", "docs/operations.md")
        for x in alarms
        if x.get("StateValue") == "ALARM"
    ]
    return found or [Finding("alarms", Level.OK, f"{len(alarms)}, none fires, {told} subscribed")]
