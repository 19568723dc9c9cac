"""Checks of Amazon SES: the account, the identities that mail leaves from, and what brings back its events."""

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from typing import Any, Final

from shared.contracts import Credential, Per
from shared.providers.checks import Examined, Finding, Inspection, Level, confirmed

DAY: Final = 86_400
USED_UP: Final = 0.8
"""Share of the day's allowance from which on one should ask for more."""
LOW: Final = 0.5
"""Share of the day's allowance below which declared quotas leave much unused."""
WANTED: Final = frozenset({"BOUNCE", "COMPLAINT", "DELIVERY", "REJECT"})
"""Events without which the engine does not learn the fate of a message."""
CONSOLE: Final = "in the SES console"
ATTEMPTS: Final = 10
"""Of a call of SES, which takes one a second and account besides those that send; each sender is asked about."""


def _standing(answer: Mapping[str, Any], name: str) -> list[Finding]:
    """Return what keeps an account from sending, or may soon. `name`: of the check."""
    found = []
    if not answer.get("ProductionAccessEnabled"):
        says = "the account is in the sandbox: only verified addresses get mail, 200 a day"
        found.append(Finding(name, Level.ERROR, says, f"request production access {CONSOLE}"))
    if not answer.get("SendingEnabled"):
        says = "sending is switched off for the account"
        found.append(Finding(name, Level.ERROR, says, f"see the account dashboard {CONSOLE}"))
    status = answer.get("EnforcementStatus", "HEALTHY")
    if status != "HEALTHY":
        level = Level.WARNING if status == "PROBATION" else Level.ERROR
        says = f"the account's reputation status is {status}"
        found.append(Finding(name, level, says, f"read the reputation dashboard {CONSOLE}, and answer AWS's case"))
    return found


def account(answer: Mapping[str, Any], credentials: Sequence[Credential], region: str) -> list[Finding]:
    """Judge an account in a region by `sesv2.get_account`; its credentials share one sandbox and one allowance.

    Args:
        answer: the answer of `sesv2.get_account`.
        credentials: the declared credentials that send through this account and region; rates in messages a second.
        region: the AWS region, as in `eu-central-1`.
    """
    name = f"ses {region}"
    found = _standing(answer, name)
    quota = answer.get("SendQuota", {})
    rate, allowed = sum(c.rate for c in credentials), quota.get("MaxSendRate", 0.0)
    if allowed < rate:
        names = ", ".join(c.id for c in credentials)
        says = f"SES takes {allowed:g} messages a second, but {names} are declared with {rate:g} together"
        found.append(Finding(name, Level.ERROR, says, "lower the rates in cdk.json, or request a higher sending rate"))
    day, used = quota.get("Max24HourSend", 0.0), quota.get("SentLast24Hours", 0.0)
    found += _quotas(day, credentials, name)
    if day >= 0 and used > USED_UP * day:  # -1: unlimited
        says = f"{used:,.0f} of {day:,.0f} daily messages are used"
        found.append(Finding(name, Level.WARNING, says, "request a higher sending quota"))
    return found or [
        Finding(name, Level.OK, f"in production, healthy, {allowed:g} messages a second for {rate:g} declared")
    ]


def _quotas(allowed: float, credentials: Sequence[Credential], name: str) -> list[Finding]:
    """Compare what SES takes in 24 hours with the declared quotas per 24 hours. `name`: of the check.

    Args:
        allowed: messages; -1: unlimited.
    """
    declared = {c.id: q.messages for c in credentials for q in c.quotas if q.per is Per.SLIDING}
    total = sum(declared.values())
    if allowed < 0 or not declared:
        return []
    names = ", ".join(declared)
    if total > allowed:
        says = f"SES takes {allowed:,.0f} messages in 24 hours, but the quotas of {names} allow {total:,}"
        return [Finding(name, Level.ERROR, says, "lower the quotas in cdk.json, or request a higher sending quota")]
    if len(declared) == len(credentials) and total < LOW * allowed:
        says = f"the quotas of {names} allow {total:,} messages in 24 hours, and SES takes {allowed:,.0f}"
        return [Finding(name, Level.WARNING, says, "raise the quotas in cdk.json, unless you mean to send less")]
    return []


def _unverified(known: Sequence[Mapping[str, Any]], senders: Collection[str], name: str) -> list[Finding]:
    """Return the senders that no verified identity covers. `name`: of the check."""
    verified = {x["IdentityName"].lower(): bool(x.get("SendingEnabled")) for x in known}
    found = []
    for sender in sorted(senders):
        covering = cover(sender, verified)
        if not any(verified[x] for x in covering):
            says = f"{sender} is not verified{' yet' if covering else ''}: SES refuses mail from it"
            found.append(Finding(name, Level.ERROR, says, f"verify it {CONSOLE}, with DKIM"))
    return found


def identities(
    known: Sequence[Mapping[str, Any]], details: Mapping[str, Mapping[str, Any]], senders: Collection[str], region: str
) -> list[Finding]:
    """Judge what mail leaves from.

    Args:
        known: `sesv2.list_email_identities`' items.
        details: `sesv2.get_email_identity` of those that cover a sender.
        senders: the addresses and domains from which accounts may send, lower-case.
    """
    name = f"ses {region} identities"
    found = _unverified(known, senders, name)
    for identity, detail in sorted(details.items()):
        dkim = detail.get("DkimAttributes", {})
        if not dkim.get("SigningEnabled") or dkim.get("Status") != "SUCCESS":
            says = f"DKIM of {identity} is {dkim.get('Status', 'NOT_STARTED')}: its mail fails DMARC at large receivers"
            found.append(Finding(name, Level.WARNING, says, "publish its three CNAME records (docs/deliverability.md)"))
    if found:
        return found
    says = f"all {len(senders)} senders are verified" if senders else f"{len(known)} identities, no sender allowed yet"
    return [Finding(name, Level.OK, says)]


def cover(sender: str, identities: Collection[str]) -> list[str]:
    """Return the identities that let a sender send: its address, its domain, and the domains above it."""
    domain = sender.rpartition("@")[2]
    labels = domain.split(".")
    parents = [".".join(labels[n:]) for n in range(len(labels) - 1)]
    return [x for x in dict.fromkeys((sender, *parents)) if x in identities]


def _published(answer: Mapping[str, Any], topic: str) -> set[str]:
    """Return the types of events that a configuration set publishes to a topic."""
    mine = [
        x
        for x in answer.get("EventDestinations", [])
        if x.get("Enabled") and x.get("SnsDestination", {}).get("TopicArn") == topic
    ]
    return {kind for x in mine for kind in x.get("MatchingEventTypes", [])}


def events(
    sets: Mapping[str, Mapping[str, Any] | None], topic: str, subscriptions: Sequence[Mapping[str, Any]], queue: str
) -> list[Finding]:
    """Judge what brings SES's events to the feedback queue.

    Args:
        sets: credential → `sesv2.get_configuration_set_event_destinations` of its set; None: there is no such set.
        topic: ARN of the stack's topic.
        subscriptions: `sns.list_subscriptions_by_topic`'s.
        queue: ARN of the feedback queue.
    """
    name, redeploy = "ses events", ".venv/bin/npx cdk deploy, or make it as docs/providers/ses.md says"
    found = []
    for credential, answer in sorted(sets.items()):
        missing = WANTED - _published(answer or {}, topic)
        if answer is None:
            says = f"the configuration set of {credential} does not exist: SES refuses its mail"
            found.append(Finding(name, Level.ERROR, says, redeploy))
        elif missing:
            says = (
                f"{credential}'s configuration set does not publish {', '.join(sorted(missing))} to the stack's topic"
            )
            found.append(Finding(name, Level.ERROR, f"{says}: its bounces are not recorded", redeploy))
    mine = [x for x in subscriptions if x.get("Protocol") == "sqs" and x.get("Endpoint") == queue]
    if not any(map(confirmed, mine)):
        found.append(Finding(name, Level.ERROR, "the feedback queue is not subscribed to SES's events", redeploy))
    return found or [Finding(name, Level.OK, f"events of {', '.join(sorted(sets))} reach the feedback queue")]


# What asks AWS


def _accounts(seen: Examined, credentials: Sequence[Credential]) -> Iterator[Finding]:
    """Look at the account and its identities in each region that credentials send through."""
    by_region: dict[str, list[Credential]] = {}
    for c in credentials:
        if seen.is_deployed and seen.has_own_keys(c):
            yield Finding(f"ses {c.id}", Level.SKIPPED, "its secret has keys of another AWS account: check there")
        else:
            by_region.setdefault(c.region or seen.region, []).append(c)
    for region, mine in sorted(by_region.items()):
        yield from _region(seen, region, mine)


def _region(seen: Examined, region: str, credentials: Sequence[Credential]) -> Iterator[Finding]:
    client = seen.client("sesv2", region, attempts=ATTEMPTS)
    yield from account(client.get_account(), credentials, region)
    senders = seen.senders(credentials) if seen.is_deployed else set()
    known = _all_identities(client)
    covering = {x for s in senders for x in cover(s, {k["IdentityName"].lower() for k in known})}
    details = {name: client.get_email_identity(EmailIdentity=name) for name in sorted(covering)}
    yield from identities(known, details, senders, region)


def _all_identities(client: Any) -> list[Mapping[str, Any]]:
    found: list[Mapping[str, Any]] = []
    more: dict[str, str] = {}
    while True:
        page = client.list_email_identities(PageSize=1000, **more)
        found += page["EmailIdentities"]
        if not page.get("NextToken"):
            return found
        more = {"NextToken": page["NextToken"]}


def _events(seen: Examined, credentials: Sequence[Credential]) -> Iterable[Finding]:
    """Look at the configuration sets and the topic of the credentials in the stack's own region."""
    mine = [c for c in credentials if not c.region]
    if not mine:
        return []
    client = seen.client("sesv2", attempts=ATTEMPTS)
    sets: dict[str, Any] = {}
    for c in mine:
        try:
            sets[c.id] = client.get_configuration_set_event_destinations(ConfigurationSetName=c.configuration_set)
        except client.exceptions.NotFoundException:
            sets[c.id] = None
    queue, topic = seen.feedback_queue(), seen.topic(mine[0].provider)
    return events(sets, topic, seen.subscriptions(topic), queue)


LOOKS: Final[Mapping[str, Inspection]] = {"ses": _accounts, "ses events": _events}
