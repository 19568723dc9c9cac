"""Every key of the tables, and the access patterns they serve.

Table `records` (pk, sk):

| pattern | key |
|---|---|
| a job, its content (if not in its only chunk), one chunk | `J#job / JOB`, `J#job / CONTENT`, `J#job / C#00012` |
| what a search finds the recipients of a chunk by | `J#job / F#00012` |
| small jobs by the minute that made them, in 32 parts | `J#minute#part / JOB#job` |
| details of a chunk, windows then feedback | `D#job#00012 / W#epoch#seq`, `F#hash` |
| an account's control, request allowances, guests | `A#account / CONTROL`, `BUCKET`, `GUESTS` |
| bucket of an unsubscription link, by method | `A#account#VISITS#sha256[:32]#POST / BUCKET` |
| bucket of tests of campaigns; open uploads | `A#account#TRIALS / BUCKET`; `A#account / PLACES#lists`, `PLACES#mails` |
| of which list, and which export, is it an account's turn? | `A#account / TURNS#lists`, `TURNS#exports` |
| when was this API key last used? | `USE#sha256 / KEY` |
| an account's stats from day to day, by shard | `A#account#STATS#07 / 2026-11-20#email` |
| the same as earlier versions wrote them | `A#account#STATS / 2026-11-20#email#07` |
| what an account has used of a day's limits | `SPENT#account / 2026-11-20` |
| is 80 or 100 % of a limit used? | `SPENT#account#2026-11-20#email#80 / REACHED` |
| do the single messages of a day bounce too much? | `BOUNCING#account#2026-11-20#email / BOUNCING` |
| is this address suppressed? list, in the order of names | `A#account#SUP / name(address)` |
| suppressions since a moment | `A#account#SUPLOG / 1790000000000#name` |
| did this address unsubscribe? since a moment | `A#account#UNSUB / name(address)`, `A#account#UNSUBLOG / …` |
| from digests of a policy? | `A#account#UNSUBDIGEST / name(address)#sha256(prefix)[:32]`, `…LOG / …` |
| did this number stop SMS, calls, WhatsApp? | `A#account#STOPSMS / …`, `…#STOPVOICE / …`, `…#STOPWHATSAPP / …` |
| when was an address last suppressed, or unsubscribed? | `A#account / SUPPRESSED` |
| an account's jobs that wait for their time, soonest first | `A#account#DUE / not_before#job` |
| how many wait, of live and of test keys? | `A#account / SCHEDULES`, `A#account#TEST / SCHEDULES` |
| was this request made before? | `I#account / sha256(key)` |
| an export of a campaign or job; that of a job's archive | `X#id / EXPORT`; `X#archive-job / EXPORT` |
| is everything paused? | `SYS / CONTROL` |
| what a search finds jobs by, newest last: pages | `A#account#FIND / created_at#job` or `…#hash` |
| since when are all jobs in such pages? | `SYS / FINDING` |
| does the sweeper walk small jobs by their minutes? | `SYS / UNLISTED` |
| which names of addresses are stored (`shared.domain.recipients.address_names`)? | `NAMES / STATE` |
| an account's events for webhooks, oldest first | `A#account#EVENTS` / `at#id#kind` |
| open jobs, oldest first (index `open`) | `credential#READY or RUN`, `shared#READY or RUN#0-15` / `created_at#job` |
| finished jobs with doubts, by when to ask next (index `open`) | `doubt#0-15` / `at#job` |
| finished runs of notices, by when to look next (index `open`) | `notice#0-15` / `at#job` |
| finished jobs of mails, by when to look next (index `open`) | `mail#0-15` / `at#job` |
| jobs that are to be archived, by when (index `open`) | `archive#0-15` / `at#job` |
| an account's jobs of a kind, newest first (index `mine`) | `account#kind / created_at#job` |
| a campaign, its uploads, problems of an upload by step | `M#campaign / CAMPAIGN`, `U#upload`, `E#upload#00012` |
| uploads that are to be read, oldest first (index `open`) | `ingest` / `created_at#campaign#upload` |
| an account's campaigns, newest first (index `mine`) | `account#campaigns`, `account#testcampaigns` / `created_at#id` |
| which lists of an account wait for approval? | `A#account / APPROVALS` |
| campaigns that wait for approval, oldest first (index `open`) | `account#approvals` / `asked_at#campaign` |
| an account's lists of a file (index `mine`) | `account#lists` / `sha256#created_at` |
| a picture, by its content; how many there are | `A#account#IMAGES / sha256[:32]`; `A#account / IMAGES` |
| a stored template; one of its versions | `T#template / TEMPLATE`, `V#00003` |
| an account's templates, newest first (index `mine`) | `account#template / created_at#template` |

Table `ops`:

| pattern | key |
|---|---|
| one ledger, all ledgers of a job; none of a small job | `J#job / L#00012` |
| slots, breaker, reservation of a credential | `P#credential / PACER`, `BREAKER`, `HOLDER` |
| leases of a credential that have no room beside its slots | `P#credential / HINTS`, `P#credential#HINTS#3 / worker` |
| which credentials were ever declared? | `SYS / CREDENTIALS` |
| how far is the sweeper? | `SYS / SWEEP` |
| with which body did this webhook's signature come? | `W#sha256 / POST` |

Table `identities`, which only the operators' function writes:

| pattern | key |
|---|---|
| an account; its senders | `A#account / PROFILE`, `SENDER#example.com` |
| who is this API key? | `K#sha256 / KEY` |
| an account's API keys | `A#account / KEY#sha256[:16]` (a mirror for lists) |
| which keys replaced this one? | `A#account / HEIR#sha256[:16]` |
| which accounts are there? (operators) | `ACCOUNTS / account` |
| has everything been moved here from `records`? | `SYS / MOVED` |

Table `audit`, to which functions only add:

| pattern | key |
|---|---|
| an account's audit log, oldest first | `A#account#AUDIT` / `at#id#kind#mark` |
| the audit log of the whole deployment | `A#*#AUDIT` / `at#id#kind#mark` |

Both were in `records` before. The operators' function still writes them there, for a rollback. The audit entry of a
resume is always also written there, since the stream of `records` wakes the waiting jobs.

Items of test keys are under `account#TEST`, and those of team keys under `account-team`: see
`shared.domain.namespaces`.

`created_at` in an index key is 15 digits of Unix milliseconds, so that text order is time order.
"""

import hashlib
from typing import Final

from shared.contracts import POST_PREFIX
from shared.domain.ids import ALPHABET, is_small, is_unlisted, minute_of
from shared.domain.jobs.job import SHARDS
from shared.domain.namespaces import owner
from shared.domain.recipients.suppressions import AnyReach, DigestsOf, Reach
from shared.domain.times import Millis

Key = dict[str, dict[str, str]]
"""A primary key in DynamoDB's own form: {"pk": {"S": …}, "sk": {"S": …}}."""

JOB: Final = "JOB"
_JOB_PREFIX: Final = "JOB#"
MINUTE_PARTS: Final = ALPHABET
"""Of a minute's small jobs, so that no partition takes all their writes: the last random character of their ids."""
PROFILE: Final = "PROFILE"
REACHED: Final = "REACHED"
BOUNCING: Final = "BOUNCING"
BREAKER: Final = "BREAKER"
ENDING: Final = "ENDING"
CHUNK_PREFIX: Final = "C#"
LEDGER_PREFIX: Final = "L#"
MARKS_PREFIX: Final = "F#"
WINDOW_PREFIX: Final = "W#"
FEEDBACK_PREFIX: Final = "F#"
VERSION_PREFIX: Final = "V#"
SENDER_PREFIX: Final = "SENDER#"
UPLOAD_PREFIX: Final = "U#"
KEY_PREFIX: Final = "KEY#"
HEIR_PREFIX: Final = "HEIR#"
SUPPRESSED: Final = "SUPPRESSED"
LISTENERS: Final = 16
"""Items with namespaces that have endpoints."""
LISTS: Final = {
    Reach.ALL: "SUP",
    Reach.CAMPAIGNS: "UNSUB",
    Reach.SMS: "STOPSMS",
    Reach.VOICE: "STOPVOICE",
    Reach.WHATSAPP: "STOPWHATSAPP",
    Reach.DIGESTS: "UNSUBDIGEST",
}


def key(pk: str, sk: str) -> Key:
    """Return a primary key."""
    return {"pk": {"S": pk}, "sk": {"S": sk}}


def job_pk(job: str) -> str:
    return f"J#{job}"


def job(job_id: str) -> Key:
    if is_unlisted(job_id):
        return key(minute_pk(minute_of(job_id), job_id[-2]), _JOB_PREFIX + job_id)
    return key(job_pk(job_id), JOB)


def minute_pk(minute: int, part: str) -> str:
    """The partition of small jobs of a minute that the index `open` lacks at first. `part`: one of `MINUTE_PARTS`."""
    return f"J#{minute}#{part}"


def is_job(name: Key) -> bool:
    """Tell whether a key, or the item that has it, is of a job."""
    sk = name["sk"]["S"]
    return sk == JOB or sk.startswith(_JOB_PREFIX)


def job_of(name: Key) -> str:
    """Return the id of the job that a key is of: `is_job` holds for it."""
    sk = name["sk"]["S"]
    return name["pk"]["S"].removeprefix(job_pk("")) if sk == JOB else sk.removeprefix(_JOB_PREFIX)


def content(job_id: str) -> Key:
    return key(job_pk(job_id), "CONTENT")


def chunk(job_id: str, number: int) -> Key:
    return key(job_pk(job_id), f"{CHUNK_PREFIX}{number:05d}")


def listeners(namespace: str) -> Key:
    """Which namespaces have endpoints for webhooks: the item that this one is in, if it has."""
    shard = hashlib.sha256(namespace.encode()).digest()[0] % LISTENERS
    return key(f"HS#{shard:02d}", "HOOKS")


def ledger_place(name: Key) -> tuple[str, int] | None:
    """Return the chunk `(job, number)` whose ledger is in the item of a key; None if none is."""
    if is_job(name):
        job_id = job_of(name)
        return (job_id, 0) if is_small(job_id) else None
    job_id, sk = name["pk"]["S"].removeprefix(job_pk("")), name["sk"]["S"]
    return (job_id, int(sk.removeprefix(LEDGER_PREFIX))) if sk.startswith(LEDGER_PREFIX) else None


def ledger(job_id: str, number: int) -> Key:
    return key(job_pk(job_id), f"{LEDGER_PREFIX}{number:05d}")


def marks(job_id: str, number: int) -> Key:
    """The marks by which a search finds the recipients of a chunk."""
    return key(job_pk(job_id), f"{MARKS_PREFIX}{number:05d}")


def search_pk(namespace: str) -> str:
    return f"{account_pk(namespace)}#FIND"


def search_page(namespace: str, place: str) -> Key:
    """A page of jobs that a search reads, by the place of its newest job."""
    return key(search_pk(namespace), place)


def unlisting() -> Key:
    """Whether the sweeper finds small jobs that the index `open` lacks at first."""
    return key("SYS", "UNLISTED")


def finding() -> Key:
    return key("SYS", "FINDING")


def details_pk(job_id: str, number: int) -> str:
    return f"D#{job_id}#{number:05d}"


def window(job_id: str, number: int, epoch: int, seq: int) -> Key:
    return key(details_pk(job_id, number), f"{WINDOW_PREFIX}{epoch:05d}#{seq:05d}")


def feedback(job_id: str, number: int, digest: str) -> Key:
    """A feedback detail.

    Args:
        digest: the hash of the provider's event, hex.
    """
    return key(details_pk(job_id, number), f"{FEEDBACK_PREFIX}{digest}")


def account_pk(account: str) -> str:
    return f"A#{account}"


def account(account_id: str) -> Key:
    return key(account_pk(owner(account_id)), PROFILE)


def account_control(account_id: str) -> Key:
    return key(account_pk(owner(account_id)), "CONTROL")


def bucket(namespace: str) -> Key:
    return key(account_pk(namespace), "BUCKET")


def visits(link: str) -> Key:
    """The bucket of a method of an unsubscription link, as `visit_name` names it."""
    account_id, _, rest = link.partition("#")
    return key(f"{account_pk(account_id)}#VISITS#{rest}", "BUCKET")


def trials(namespace: str) -> Key:
    return key(f"{account_pk(namespace)}#TRIALS", "BUCKET")


def sender(account_id: str, value: str) -> Key:
    """One allowed sender: an address or a domain, lower-case."""
    return key(account_pk(owner(account_id)), f"{SENDER_PREFIX}{value}")


def api_key(digest: str) -> Key:
    """An API key by the sha256 of its text, hex."""
    return key(f"K#{digest}", "KEY")


def api_key_use(digest: str) -> Key:
    """When an API key was last used, by the sha256 of its text, hex."""
    return key(f"USE#{digest}", "KEY")


def ending_key(digest: str) -> Key:
    """The last announcement of an API key's end, by the sha256 of its text, hex."""
    return key(f"USE#{digest}", ENDING)


def moved() -> Key:
    return key("SYS", "MOVED")


def account_key(account_id: str, digest: str) -> Key:
    return key(account_pk(owner(account_id)), f"{KEY_PREFIX}{digest[:16]}")


def heirs(account_id: str, key_id: str) -> Key:
    """Which API keys replaced one of an account's, by its id; it outlives that key."""
    return key(account_pk(owner(account_id)), f"{HEIR_PREFIX}{key_id}")


def accounts(account_id: str) -> Key:
    """An account's entry in the operators' list."""
    return key("ACCOUNTS", account_id)


def _early_stats_pk(account_id: str) -> str:
    return f"A#{account_id}#STATS"


def stats_pks(account_id: str) -> list[str]:
    """Return the partitions of an account's stats: one of each shard, and that of earlier versions."""
    return [_early_stats_pk(account_id), *(_stats_pk(account_id, shard) for shard in range(SHARDS))]


def _stats_pk(account_id: str, shard: int) -> str:
    return f"{_early_stats_pk(account_id)}#{shard:02d}"


def stats(account_id: str, day: str, channel: str, shard: int) -> Key:
    """One shard of a day's stats, in a partition of its own: one takes no more than a thousand writes a second.

    Args:
        day: the UTC day on which the messages were accepted, as in `2026-11-20`.
        shard: as of `Job.shard`.
    """
    return key(_stats_pk(account_id, shard), f"{day}#{channel}")


def day_stats(account_id: str, day: str, channel: str) -> list[Key]:
    """Return every shard of a day's stats, also as earlier versions wrote them."""
    early = (key(_early_stats_pk(account_id), f"{day}#{channel}#{shard:02d}") for shard in range(SHARDS))
    return [*early, *(stats(account_id, day, channel, shard) for shard in range(SHARDS))]


def spent(account_id: str, day: str) -> Key:
    """The use of an account's limits on a UTC day, as in `2026-11-20`."""
    return key(f"SPENT#{account_id}", day)


def reached(account_id: str, day: str, name: str, share: int) -> Key:
    """A share of a limit that was used on a day; `name`: of the limit's attribute in the day's item."""
    return key(f"SPENT#{account_id}#{day}#{name}#{share}", REACHED)


def bouncing(account_id: str, day: str, channel: str) -> Key:
    """The note that single messages of a day bounce too much."""
    return key(f"BOUNCING#{account_id}#{day}#{channel}", BOUNCING)


def suppression(namespace: str, name: str, reach: AnyReach = Reach.ALL) -> Key:
    """A suppressed address, or one that unsubscribed, by the address's name (`recipients.address_names`)."""
    return key(f"{account_pk(namespace)}#{LISTS[reach.kind]}", _entry(name, reach))


def _entry(name: str, reach: AnyReach) -> str:
    """Return the name of an entry in its list: the address's name, and the hash of the policy if it is about one."""
    if not isinstance(reach, DigestsOf):
        return name
    return f"{name}#{hashlib.sha256(reach.policy.encode()).hexdigest()[:32]}"


def suppression_log(namespace: str, at_ms: Millis, name: str, reach: AnyReach = Reach.ALL) -> Key:
    """A suppression by its time, and by the address's name."""
    return key(f"{account_pk(namespace)}#{LISTS[reach.kind]}LOG", f"{at_ms:015d}#{_entry(name, reach)}")


def latest_suppression(namespace: str) -> Key:
    return key(account_pk(namespace), SUPPRESSED)


def due(account_id: str, at_ms: int, job_id: str, *, test: bool = False) -> Key:
    """A job on its account's agenda, by its scheduled time.

    Args:
        at_ms: the scheduled time, Unix milliseconds.
        test: whether the agenda of the account's test keys is meant.
    """
    return key(f"A#{account_id}#DUE#TEST" if test else f"A#{account_id}#DUE", aged(at_ms, job_id))


def turns(account_id: str, kind: str) -> Key:
    """The line of an account's work of one kind."""
    return key(account_pk(account_id), f"TURNS#{kind}")


def schedules(namespace: str) -> Key:
    """How many jobs of a namespace wait for their time; perhaps fewer do."""
    return key(account_pk(namespace), "SCHEDULES")


# change: the key of an item in DynamoDB
def idempotency(account_id: str, digest: str) -> Key:
    """A client's idempotency key by its sha256, hex."""
    return key(f"I#{account_id}", digest)


def export(export_id: str) -> Key:
    return key(f"X#{export_id}", "EXPORT")


def event(namespace: str, log: str, at_ms: Millis, event_id: str, kind: str, mark: str = "") -> Key:
    """An event by its time. Two events of one moment do not replace each other.

    Args:
        mark: tells two of one moment, thing and kind apart; entries of earlier versions have none.
        namespace: the account, its test keys' namespace, or EVERYONE.
        event_id: the id of the thing that it happened to.
    """
    place = f"{aged(at_ms, event_id)}#{kind}"
    return key(f"{account_pk(namespace)}#{log.upper()}", f"{place}#{mark}" if mark else place)


def system_control() -> Key:
    return key("SYS", "CONTROL")


def roster() -> Key:
    return key("SYS", "CREDENTIALS")


def names() -> Key:
    """Which names of addresses are stored."""
    return key("NAMES", "STATE")


def sweep() -> Key:
    return key("SYS", "SWEEP")


def pacer(credential: str) -> Key:
    return key(f"P#{credential}", "PACER")


def holder(credential: str) -> Key:
    return key(f"P#{credential}", "HOLDER")


def breaker(credential: str) -> Key:
    return key(f"P#{credential}", BREAKER)


def post(digest: str) -> Key:
    """The note of a webhook's signature, under the sha256 (hex) of the bytes that it covers; in `ops`."""
    return key(f"{POST_PREFIX}{digest}", "POST")


def campaign_pk(campaign_id: str) -> str:
    return f"M#{campaign_id}"


def campaign(campaign_id: str) -> Key:
    return key(campaign_pk(campaign_id), "CAMPAIGN")


def upload(campaign_id: str, upload_id: str) -> Key:
    return key(campaign_pk(campaign_id), f"{UPLOAD_PREFIX}{upload_id}")


def problems(campaign_id: str, upload_id: str, number: int) -> Key:
    """The rows that one step of an upload left out.

    Args:
        number: the number that the problems are stored under, from 0.
    """
    return key(campaign_pk(campaign_id), f"{problems_prefix(upload_id)}{number:05d}")


def problems_prefix(upload_id: str) -> str:
    return f"E#{upload_id}#"


def pictures_pk(namespace: str) -> str:
    return f"{account_pk(namespace)}#IMAGES"


def picture(namespace: str, picture_id: str) -> Key:
    return key(pictures_pk(namespace), picture_id)


def shelf(namespace: str) -> Key:
    """How many pictures a namespace has."""
    return key(account_pk(namespace), "IMAGES")


def template_pk(template_id: str) -> str:
    return f"T#{template_id}"


def template(template_id: str) -> Key:
    return key(template_pk(template_id), "TEMPLATE")


def template_version(template_id: str, version: int) -> Key:
    return key(template_pk(template_id), f"{VERSION_PREFIX}{version:05d}")


def aged(created_at_ms: int, job_id: str) -> str:
    return f"{created_at_ms:015d}#{job_id}"
