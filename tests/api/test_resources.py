from dataclasses import replace
from datetime import UTC, date, datetime, timedelta
from typing import Any

import pytest

from shared.adapters.dynamo import codec, keys
from shared.adapters.dynamo.listing import Listing
from shared.adapters.dynamo.recipients.suppressions import BY_KEY, Suppressions
from shared.contracts import CredentialQuota, Per, Warmup
from shared.domain.lanes import breaker as rules
from shared.domain.lanes.breaker import Breaker
from shared.domain.lanes.pacing import pace
from shared.domain.lanes.quotas import Spend
from shared.domain.lanes.switches import Switches
from shared.domain.recipients.addresses import address_hash
from tests.api.conftest import Api
from tests.contracts.conftest import Parts
from tests.fakes.clock import FakeClock
from tests.fakes.tables import MotoStores, Tables

# Suppressions


def test_an_address_is_suppressed_whatever_its_case_and_allowed_again(api: Api) -> None:
    got = api.call("PUT", "/suppressions/Ann@Example.org", {"reason": "asked us to"})
    assert got.status == 200
    assert (got.json["address"], got.json["reason"]) == ("ann@example.org", "asked us to")
    assert api.call("GET", "/suppressions/ANN@example.org").json == got.json
    assert api.call("GET", "/suppressions").json == {"items": [got.json], "next_cursor": None}
    gone = api.call("DELETE", "/suppressions/ann@EXAMPLE.org")
    assert (gone.status, gone.json) == (200, {"address": "ann@example.org", "removed": True})
    again = api.call("DELETE", "/suppressions/ann@example.org")
    assert (again.status, again.json["removed"]) == (200, False)
    assert api.call("GET", "/suppressions/ann@example.org").code == "not_found"
    assert api.call("GET", "/suppressions").json["items"] == []


def test_repeating_a_suppression_changes_at_most_the_reason(api: Api, clock: FakeClock) -> None:
    first = api.call("PUT", "/suppressions/ann@example.org").json
    assert first["reason"] == "manual"
    before = api.stored()
    clock.advance(60)
    assert api.call("PUT", "/suppressions/ann@example.org", {}).json == first
    assert api.stored() == before
    renamed = api.call("PUT", "/suppressions/ann@example.org", {"reason": "bounced"}).json
    assert renamed == {**first, "reason": "bounced"}
    assert api.call("GET", "/suppressions").json["items"] == [renamed]


def test_what_the_engine_suppressed_is_seen_and_can_be_allowed(api: Api, clock: FakeClock) -> None:
    api.world.records.suppress(api.account, "ann@example.org", "bounced", clock.ms)
    assert api.call("GET", "/suppressions/ann@example.org").json["reason"] == "bounced"
    assert [x["address"] for x in api.call("GET", "/suppressions").json["items"]] == ["ann@example.org"]
    assert api.call("DELETE", "/suppressions/ann@example.org").json["removed"] is True
    assert api.batch("ann@example.org").status == 202


def test_suppressions_are_listed_newest_first_in_pages(api: Api, clock: FakeClock) -> None:
    for i in range(5):
        api.call("PUT", f"/suppressions/r{i}@example.org")
        clock.advance(1)
    seen: list[str] = []
    query: dict[str, Any] = {"limit": 2}
    for _ in range(3):
        page = api.call("GET", "/suppressions", query=query).json
        seen += [x["address"] for x in page["items"]]
        query["cursor"] = page["next_cursor"]
    assert (seen, query["cursor"]) == ([f"r{i}@example.org" for i in range(4, -1, -1)], None)


@pytest.mark.parametrize(
    ("path", "stored"),
    [
        ("a%2Bb@example.org", "a+b@example.org"),
        ("a%2Fb@example.org", "a/b@example.org"),
        ("a%25b@example.org", "a%b@example.org"),
        ("a%2541@example.org", "a%41@example.org"),
        ("a+b@example.org", "a+b@example.org"),
        ("a/b@example.org", "a/b@example.org"),
        ("a%252Fb@example.org", "a%2fb@example.org"),
        ("x@b%C3%BCcher.example", "x@xn--bcher-kva.example"),
    ],
)
def test_addresses_of_every_kind_stand_in_a_path(api: Api, path: str, stored: str) -> None:
    assert api.call("PUT", f"/suppressions/{path}").json["address"] == stored


@pytest.mark.parametrize("method", ["GET", "PUT", "DELETE"])
def test_what_is_no_address_is_not_valid(api: Api, method: str) -> None:
    got = api.call(method, "/suppressions/nonsense")
    assert (got.status, got.code, got.fields) == (422, "validation_failed", ["address"])


@pytest.mark.parametrize("reason", ["", "x" * 101, "a\nb", 7])
def test_a_reason_is_a_short_line(api: Api, reason: Any) -> None:
    got = api.call("PUT", "/suppressions/ann@example.org", {"reason": reason})
    assert (got.code, got.fields) == ("validation_failed", ["reason"])


def test_many_addresses_are_checked_in_few_calls(moto_dynamo: Any, tables: Tables, clock: FakeClock) -> None:
    suppressions = Suppressions(moto_dynamo, tables.records, clock)
    many = [f"r{i}@example.org" for i in range(BY_KEY + 50)]
    for name in many[::70]:
        suppressions.put("acc_a", name, "x")
    suppressions.put("acc_b", many[1], "x")
    assert suppressions.check("acc_a", many[:BY_KEY]) == set(many[:BY_KEY:70])
    assert suppressions.check("acc_a", many) == set(many[::70])


def test_addresses_behind_the_first_page_are_found_too(moto_dynamo: Any, tables: Tables, clock: FakeClock) -> None:
    many = [f"r{i}@example.org" for i in range(BY_KEY + 50)]
    padding = "x" * 30_000
    for name in many[::7]:
        moto_dynamo.put_item(
            TableName=tables.records,
            Item={
                **keys.suppression("acc_a", address_hash(name)),
                "address": {"S": name},
                "reason": {"S": padding},
                "at": {"N": "1"},
            },
        )
    assert Suppressions(moto_dynamo, tables.records, clock).check("acc_a", many) == set(many[::7])


# Stats


@pytest.mark.slow
def test_stats_add_up_to_what_was_accepted(api: Api, clock: FakeClock) -> None:
    today = datetime.fromtimestamp(clock.now(), UTC).date()
    api.accepted(["a@example.org", "b@example.org", "nonsense"])
    assert api.call("GET", "/stats").json["items"] == [
        {
            "date": today.isoformat(),
            "success": 0,
            "failure": 0,
            "queued": 2,
            "skipped": 1,
            "channels": None,
            "providers": None,
        }
    ]
    api.world.settle()
    for taken in api.world.oracle.taken[:1]:
        word = api.world.word(taken.ref.job, taken.ref.index, "delivered", chunk=taken.ref.chunk)
        api.world.track(taken.provider, word)
    api.world.settle()
    clock.advance(86_400)
    api.logged()
    got = api.call("GET", "/stats", query={"by": "channel,provider"}).json
    later, first = got["items"]
    assert (later["date"], first["date"]) == ((today + timedelta(days=1)).isoformat(), today.isoformat())
    assert [first[k] for k in ("success", "failure", "queued", "skipped")] == [1, 0, 1, 1]
    assert first["channels"] == {"email": {"success": 1, "failure": 0, "queued": 1, "skipped": 1}}
    assert sum(p["accepted"] for p in first["providers"].values()) == 2
    assert got["next_cursor"] is None


def test_stats_are_of_the_days_asked_for(api: Api, clock: FakeClock) -> None:
    first = datetime.fromtimestamp(clock.now(), UTC).date()
    for _ in range(3):
        api.accepted()
        api.world.settle()
        clock.advance(86_400)

    def days(start: int, end: int) -> list[int]:
        query = {"from": first + timedelta(days=start), "to": first + timedelta(days=end)}
        items = api.call("GET", "/stats", query=query).json["items"]
        return [(date.fromisoformat(x["date"]) - first).days for x in items]

    assert days(0, 2) == [2, 1, 0]
    assert days(1, 1) == [1]
    assert days(-5, 0) == [0]
    assert days(3, 9) == []


def test_test_jobs_are_not_in_the_stats(api: Api) -> None:
    assert api.batch(key=api.test_key()).status == 202
    assert api.call("GET", "/stats").json["items"] == []


@pytest.mark.parametrize(
    "query",
    [
        {"from": "2026-11-21", "to": "2026-11-20"},
        {"from": "2020-01-01", "to": "2026-11-20"},
        {"from": "yesterday"},
        {"from": "0"},
        {"to": "1790000000"},
        {"to": "2026-02-30"},
        {"by": "hour"},
        {"by": ""},
        {"day": "2026-11-20"},
    ],
)
def test_a_range_that_makes_no_sense_is_refused(api: Api, query: dict[str, str]) -> None:
    got = api.call("GET", "/stats", query=query)
    assert (got.status, got.code) == (422, "validation_failed")


def test_the_earliest_day_is_no_fault(api: Api) -> None:
    assert api.call("GET", "/stats", query={"to": "0001-01-01"}).status < 500


# Credentials


def test_credentials_are_those_open_to_the_account(api: Api, clock: FakeClock) -> None:
    got = api.call("GET", "/credentials").json
    assert [c["id"] for c in got["items"]] == ["one", "two", "texts"]
    assert got["items"][0] == {
        "id": "one",
        "provider": "sendgrid",
        "channel": "email",
        "rate": 100,
        "declared_rate": 100,
        "in_flight": 0,
        "breaker": {"state": "closed", "reason": None, "since": None},
        "paused": False,
        "quotas": [],
        "full_until": None,
    }
    micro = round((clock.now() + 1.5) * 1_000_000)
    api.client.put_item(TableName=api.tables.ops, Item={**keys.pacer("one"), "tat": {"N": str(micro)}})
    opened = rules.opened(Breaker("two"), reason="unauthorized", failures=1, now=clock.ms, jitter=0.0)
    assert opened is not None
    api.world.stores.breakers.swap(Breaker("two"), opened)
    one, two, _ = api.call("GET", "/credentials").json["items"]
    assert one["in_flight"] == 150
    assert two["breaker"] == {"state": "open", "reason": "unauthorized", "since": "2026-09-21T14:13:20.000Z"}


def declare(api: Api, *quotas: CredentialQuota) -> tuple[CredentialQuota, ...]:
    """Give the credential `one` quotas; returns them."""
    declared = [replace(c, quotas=quotas) if c.id == "one" else c for c in api.services.settings.credentials]
    settings = replace(api.services.settings, credentials=tuple(declared))
    api.services = replace(api.services, settings=settings)
    return quotas


def test_a_credential_says_which_day_of_its_warmup_it_is(api: Api, clock: FakeClock) -> None:
    warmup = Warmup(date(2026, 9, 20), (100, 200, 400))
    quotas = declare(api, CredentialQuota(1000, Per.DAY, "UTC", warmup))
    api.world.pacer.reserve("one", 7, pace(100, 1), lead=0, spend=Spend(quotas, 7))
    warming = {"start": "2026-09-20", "day": 2, "days": 3, "full_from": "2026-09-23", "full": 1000}
    day = {"messages": 200, "per": "day", "zone": "UTC", "used": 7, "warmup": warming}
    assert api.call("GET", "/credentials").json["items"][0]["quotas"] == [day]
    clock.advance(2 * 86_400)
    over = {"messages": 1000, "per": "day", "zone": "UTC", "used": 0, "warmup": None}
    assert api.call("GET", "/credentials").json["items"][0]["quotas"] == [over]


def test_a_credential_says_what_is_used_of_its_quotas(api: Api, clock: FakeClock) -> None:
    quotas = declare(api, CredentialQuota(60, Per.HOUR, "Europe/Paris"), CredentialQuota(200, Per.SLIDING))
    api.world.pacer.reserve("one", 7, pace(100, 1), lead=0, spend=Spend(quotas, 7))
    one, two, _ = api.call("GET", "/credentials").json["items"]
    assert one["quotas"] == [
        {"messages": 60, "per": "hour", "zone": "Europe/Paris", "used": 7, "warmup": None},
        {"messages": 200, "per": "24h", "zone": "UTC", "used": 7, "warmup": None},
    ]
    assert (one["full_until"], two["quotas"]) == (None, [])
    api.world.pacer.fill("one", clock.ms + 60_000, 0)
    assert api.call("GET", "/credentials").json["items"][0]["full_until"] == "2026-09-21T14:14:20.000Z"


def test_credentials_come_in_pages_like_every_list(api: Api) -> None:
    first = api.call("GET", "/credentials", query={"limit": "2"}).json
    last = api.call("GET", "/credentials", query={"limit": "2", "cursor": first["next_cursor"]}).json
    assert [[c["id"] for c in page["items"]] for page in (first, last)] == [["one", "two"], ["texts"]]
    assert last["next_cursor"] is None
    assert api.call("GET", "/credentials", query={"cursor": "x"}).code == "bad_cursor"
    assert api.call("GET", "/credentials", query={"limit": "0"}).code == "validation_failed"


def test_a_credential_shows_what_operators_have_set(api: Api) -> None:
    api.world.stores.pacer.reserve("one", 97, pace(100, 1), lead=0)
    api.world.stores.switch("one", Switches(rate=20))
    api.world.stores.switch("two", Switches(paused=True, rate=1e6))
    one, two, texts = api.call("GET", "/credentials").json["items"]
    assert (one["rate"], one["declared_rate"], one["paused"], one["in_flight"]) == (20, 100, False, 20)
    assert (two["rate"], two["declared_rate"], two["paused"]) == (50, 50, True)
    assert not texts["paused"]


def test_a_job_says_that_it_waits_for_a_breaker(api: Api, clock: FakeClock) -> None:
    job = api.world.accept(3, account=api.account, route=("one", "two"))
    assert api.call("GET", f"/jobs/{job.id}").json["waiting_for"] == "rate"
    for name, expected in (("one", "rate"), ("two", "breaker")):
        opened = rules.opened(Breaker(name), reason="http_503", failures=5, now=clock.ms, jitter=1.0)
        assert opened is not None
        api.world.stores.breakers.swap(Breaker(name), opened)
        clock.advance(3)
        found = api.call("GET", f"/jobs/{job.id}").json
        assert (found["waiting_for"], found["eta"] is None) == (expected, expected == "breaker")
    clock.advance(10)
    assert api.call("GET", f"/jobs/{job.id}").json["waiting_for"] == "rate"


# Lists of jobs


@pytest.mark.slow
def test_a_page_of_jobs_may_need_several_reads(moto_dynamo: Any, clock: FakeClock) -> None:
    stores = MotoStores(moto_dynamo, clock)
    jobs = []
    for i in range(103):
        parts = Parts(clock)
        jobs.append(parts.job)
        clock.advance(i % 2)
    stores.dynamo.batch_put([(stores.tables.records, codec.job_item(job)) for job in jobs])
    listing = Listing(moto_dynamo, stores.tables.records, clock)
    found, place = listing.page(jobs[0].account, ("batch", "campaign"), limit=1000)
    assert {j.id for j in found} == {j.id for j in jobs}
    assert [j.created_at for j in found] == sorted((j.created_at for j in jobs), reverse=True)
    assert place == ""
    first, place = listing.page(jobs[0].account, ("batch",), limit=102)
    rest, end = listing.page(jobs[0].account, ("batch",), after=place, limit=102)
    assert [*first, *rest] == found
    assert (len(rest), end) == (1, "")
    assert listing.page("acc_other", ("batch",), limit=10) == ([], "")


def test_an_address_leaves_the_digests_of_a_policy_and_comes_back(api: Api) -> None:
    query = {"scope": "digests", "policy": "acme/production"}
    made = api.call("PUT", "/suppressions/ann@example.org", {"reason": "asked us to"}, query=query)
    assert (made.json["scope"], made.json["policy"]) == ("digests", "acme/production")
    api.call("PUT", "/suppressions/ann@example.org", {}, query={"scope": "digests", "policy": "ann@example.org"})
    listed = api.call("GET", "/suppressions", query={"scope": "digests"}).json["items"]
    assert {x["policy"] for x in listed} == {"acme/production", "ann@example.org"}
    assert api.call("GET", "/suppressions/ann@example.org", query=query).json == made.json
    other = {**query, "policy": "acme/"}
    assert api.call("GET", "/suppressions/ann@example.org", query=other).code == "not_found"
    assert api.call("GET", "/suppressions/ann@example.org").code == "not_found"
    assert api.call("DELETE", "/suppressions/ann@example.org", query=query).json["removed"] is True
    assert api.call("DELETE", "/suppressions/ann@example.org", query=query).json["removed"] is False
    assert api.batch("ann@example.org", unsubscribe=True).status == 202


@pytest.mark.parametrize("query", [{"scope": "digests"}, {"policy": "acme/"}, {"scope": "all", "policy": "acme/"}])
def test_a_policy_goes_with_the_list_of_digests_alone(api: Api, query: dict[str, str]) -> None:
    assert api.call("GET", "/suppressions/ann@example.org", query=query).code == "validation_failed"
