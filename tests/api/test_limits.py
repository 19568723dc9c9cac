"""What an account may spend in a day, at the API's doors."""

from datetime import UTC, datetime
from typing import Any

from shared.adapters.dynamo.accounts.spending import CACHE, DynamoSpending
from shared.adapters.dynamo.client import Dynamo
from shared.domain.spending.limits import UNLIMITED, day_of
from tests.api.conftest import Api, Reply

NUMBERS = ("+14155550101", "+14155550102", "+14155550103")


def limit(api: Api, *, key: str = "", **most: int | None) -> None:
    """Set limits of the account or one of its keys, and let processes hear of it."""
    assert api.services.accounts.set_limits(api.account, most, key=key)
    api.world.clock.advance(CACHE)


def spending(api: Api) -> DynamoSpending:
    return DynamoSpending(Dynamo(api.client), api.tables.records, api.world.clock)


def used(api: Api) -> Any:
    return spending(api).used(api.account, day_of(api.world.clock.ms))


def people(n: int, name: str = "r") -> tuple[str, ...]:
    return tuple(f"{name}{i}@example.org" for i in range(n))


def refused(got: Reply) -> Reply:
    assert got.status == 429, got.text
    assert got.code == "quota_exceeded"
    return got


def test_a_batch_beyond_the_day_s_limit_is_refused_as_a_whole(api: Api) -> None:
    limit(api, email=10)
    api.accepted(people(8))
    got = refused(api.batch(people(3)))
    assert (got.json["quota"], got.json["limit"], got.json["used"]) == ("email", 10, 8)
    assert got.json["resets_at"].endswith("T00:00:00Z")
    assert 0 < int(got.headers["retry-after"]) <= 86_400
    assert "10 e-mails a day. 8 are used, and this needs 3." in got.json["detail"]
    api.accepted(people(2))
    assert used(api) == {"email": 10}


def test_a_new_day_begins_with_nothing_used(api: Api) -> None:
    limit(api, email=2)
    api.accepted(people(2))
    wait = int(refused(api.batch()).headers["retry-after"])
    api.world.clock.advance(wait - 1)
    refused(api.batch())
    api.world.clock.advance(1)
    api.accepted()


def test_only_messages_that_are_to_be_sent_count(api: Api) -> None:
    limit(api, email=1)
    api.call("PUT", "/suppressions/gone@example.org", {"reason": "left"})
    api.accepted(("gone@example.org", "a@example.org"))
    assert used(api) == {"email": 1}


def test_copies_count_as_messages(api: Api) -> None:
    limit(api, email=3)
    refused(api.batch(cc=["b@example.org", "c@example.org"], bcc=["d@example.org"]))
    api.accepted(cc=["b@example.org"], bcc=["d@example.org"])


def test_an_sms_counts_as_its_segments(api: Api) -> None:
    api.world.settings.routes["sms"] = ("texts",)
    limit(api, sms=5)
    text = {"channel": "sms", "from_": None, "subject": None}
    got = refused(api.batch(NUMBERS, text="x" * 161, **text))
    assert "5 segments of SMS a day. 0 are used, and this needs 6." in got.json["detail"]
    api.accepted(NUMBERS[:2], text="x" * 161, **text)
    assert used(api) == {"sms": 4}


def test_a_limit_of_all_messages_counts_every_channel(api: Api) -> None:
    api.world.settings.routes["sms"] = ("texts",)
    limit(api, messages=2)
    api.accepted()
    api.accepted(NUMBERS[:1], channel="sms", from_=None, subject=None)
    assert refused(api.batch()).json["quota"] == "messages"


def test_an_account_goes_by_the_defaults_of_the_settings_unless_it_has_its_own(api: Api) -> None:
    api.world.settings.limits["email"] = 1
    refused(api.batch(people(2)))
    limit(api, email=2)
    api.accepted(people(2))
    refused(api.batch())
    limit(api, email=UNLIMITED)
    api.accepted(people(3))
    limit(api, email=None)
    refused(api.batch(people(2)))


def test_a_batch_of_an_account_with_limits_takes_one_write_more_and_that_of_another_none(api: Api) -> None:
    def writes() -> int:
        before = len(api.client.writes)
        api.accepted(http={"Idempotency-Key": f"{before}"})
        return len(api.client.writes) - before

    writes()  # notes the key's use, and the hour of the audit log
    plain = writes()
    limit(api, sms=5)
    assert writes() == plain
    limit(api, email=100)
    assert writes() == plain + 1


def test_test_keys_spend_nothing_and_team_keys_spend_of_their_account(api: Api) -> None:
    limit(api, email=1)
    assert api.batch(people(2), key=api.test_key()).status == 202
    team, _ = api.services.accounts.create_key(api.account, team=True)
    api.call("PUT", "/guests/a@example.org")
    assert api.batch(key=team).status == 202
    refused(api.batch(key=team))
    refused(api.batch())


def test_a_request_that_is_repeated_counts_once(api: Api) -> None:
    limit(api, email=10)
    first, second = (api.batch(people(2), http={"Idempotency-Key": "again"}) for _ in range(2))
    assert (second.status, second.text) == (202, first.text)
    assert second.headers["idempotency-replayed"] == "true"
    assert used(api) == {"email": 2}


def test_a_repeat_gets_its_answer_also_when_the_day_is_used_up(api: Api) -> None:
    limit(api, email=2)
    first = api.batch(people(2), http={"Idempotency-Key": "again"})
    assert api.batch(people(2), http={"Idempotency-Key": "again"}).text == first.text
    refused(api.batch(http={"Idempotency-Key": "other"}))


def test_a_key_has_limits_within_its_account_s(api: Api) -> None:
    limit(api, email=5)
    secret, made = api.services.accounts.create_key(api.account)
    limit(api, key=made.id, email=2)
    assert api.batch(people(2), key=secret).status == 202
    got = refused(api.batch(key=secret))
    assert got.json["detail"].startswith("This API key may send 2 e-mails a day.")
    api.accepted(people(3))
    refused(api.batch())


def test_a_key_that_replaces_another_has_its_limits(api: Api) -> None:
    _, made = api.services.accounts.create_key(api.account)
    limit(api, key=made.id, email=1)
    rotated = api.services.accounts.rotate_key(api.account, made.id, api.world.clock.ms + 1000)
    assert rotated is not None
    api.world.clock.advance(CACHE)
    refused(api.batch(people(2), key=rotated[0]))


def test_a_test_of_a_campaign_counts(api: Api) -> None:
    limit(api, email=1)
    campaign = api.campaign()
    order = {"recipient": "me@example.org", "params": {"name": "Me"}}
    assert api.call("POST", f"/campaigns/{campaign}/test", order).status == 202
    refused(api.call("POST", f"/campaigns/{campaign}/test", order))


def test_a_vendor_s_door_refuses_in_its_own_form(api: Api) -> None:
    limit(api, email=1)
    body = {
        "personalizations": [{"to": [{"email": "a@example.org"}]}],
        "from": {"email": "news@example.com"},
        "subject": "Hello",
        "content": [{"type": "text/plain", "value": "Hello!"}],
    }
    assert api.call("POST", "/v3/mail/send", body).status == 202
    got = api.call("POST", "/v3/mail/send", body)
    assert (got.status, got.code) == (429, "quota_exceeded")
    assert "1 e-mails a day" in got.json["errors"][0]["message"]


def test_a_finished_mail_counts_each_destination_and_leaves_no_content(api: Api) -> None:
    limit(api, email=2)
    content = "From: news@example.com\r\nSubject: Hello\r\n\r\nHello!\r\n"

    def post(n: int) -> Reply:
        to = [{"address": x} for x in people(n)]
        return api.call("POST", "/mails", {"mail_from": "news@example.com", "destinations": to, "content": content})

    assert post(1).status == 202
    kept = set(api.mail_files.items)
    refused(post(2))
    assert set(api.mail_files.items) == kept
    assert post(1).status == 202


def test_the_quota_names_each_limit_and_how_much_is_used(api: Api) -> None:
    assert api.call("GET", "/quota").json["items"] == []
    limit(api, email=10, price=5_500_000)
    secret, made = api.services.accounts.create_key(api.account)
    limit(api, key=made.id, sms=3)
    api.accepted(people(4))
    got = api.call("GET", "/quota", key=secret).json
    assert got["items"] == [
        {"quota": "email", "of": "account", "limit": 10, "used": 4, "left": 6},
        {"quota": "price", "of": "account", "limit": 5.5, "used": 0, "left": 5.5},
        {"quota": "sms", "of": "key", "limit": 3, "used": 0, "left": 3},
    ]
    assert got["resets_at"] == f"{day_of(api.world.clock.ms + 86_400_000)}T00:00:00.000Z"
    assert len(api.call("GET", "/quota").json["items"]) == 2


def test_a_limit_that_is_lowered_below_its_use_has_nothing_left(api: Api) -> None:
    limit(api, email=10)
    api.accepted(people(4))
    limit(api, email=3)
    assert api.call("GET", "/quota").json["items"][0]["left"] == 0
    refused(api.batch())


def test_a_test_key_has_no_limits_of_a_day(api: Api) -> None:
    limit(api, email=10)
    assert api.call("GET", "/quota", key=api.test_key()).json["items"] == []


def rows(n: int) -> list[dict[str, Any]]:
    return [{"recipient": address, "name": "Ann"} for address in people(n)]


def sent_campaign(api: Api, n: int, **order: Any) -> tuple[str, str]:
    """Send a campaign to n people, and return its name and that of its job."""
    campaign = api.campaign()
    api.listed(campaign, *rows(n))
    return campaign, api.sent(campaign, **order)


def test_a_campaign_counts_as_a_whole_when_it_is_sent(api: Api) -> None:
    limit(api, email=5)
    first, second = api.campaign(), api.campaign()
    for campaign in (first, second):
        api.listed(campaign, *rows(3))
    api.sent(first)
    got = refused(api.call("POST", f"/campaigns/{second}/send", {}))
    assert (got.json["limit"], got.json["used"]) == (5, 3)
    assert api.call("GET", f"/campaigns/{second}").json["state"] == "ready"
    api.world.settle()
    assert used(api) == {"email": 3}


def test_a_campaign_that_is_stopped_gives_back_what_it_did_not_send(api: Api) -> None:
    limit(api, email=10)
    _, job = sent_campaign(api, 10, rate=1)
    refused(api.batch())
    assert api.call("POST", f"/jobs/{job}/stop").status == 200
    api.world.settle()
    queued = api.call("GET", f"/jobs/{job}").json["counts"]["queued"]
    assert queued > 0
    assert used(api) == {"email": 10 - queued}
    api.accepted(people(queued, "other"))
    refused(api.batch())


def test_recipients_who_are_suppressed_meanwhile_are_given_back(api: Api) -> None:
    limit(api, email=3)
    later = datetime.fromtimestamp(api.world.clock.now() + 3600, UTC).isoformat()
    _, job = sent_campaign(api, 3, scheduled_at=later)
    assert used(api) == {"email": 3}
    api.call("PUT", "/suppressions/r1@example.org", {"reason": "left"})
    api.world.clock.advance(3600)
    api.world.settle()
    assert api.call("GET", f"/jobs/{job}").json["counts"]["skipped"] == 1
    assert used(api) == {"email": 2}


def test_a_resume_counts_what_it_sends_and_is_refused_beyond_the_limit(api: Api) -> None:
    limit(api, email=4)
    later = datetime.fromtimestamp(api.world.clock.now() + 600, UTC).isoformat()
    campaign, job = sent_campaign(api, 3, scheduled_at=later)
    api.call("POST", f"/campaigns/{campaign}/stop")
    api.world.settle()
    assert used(api) == {"email": 0}
    api.accepted(people(2, "other"))
    got = refused(api.call("POST", f"/jobs/{job}/resume"))
    assert (got.json["used"], got.json["limit"]) == (2, 4)
    assert used(api) == {"email": 2}
    limit(api, email=5)
    assert api.call("POST", f"/jobs/{job}/resume").json["messages"] == 3
    api.world.clock.advance(600)
    api.world.settle()
    assert api.call("GET", f"/jobs/{job}").json["counts"]["queued"] == 0
    assert used(api) == {"email": 5}


def test_what_was_counted_yesterday_is_not_given_back_today(api: Api) -> None:
    limit(api, email=10)
    later = datetime.fromtimestamp(api.world.clock.now() + 2 * 86_400, UTC).isoformat()
    campaign, _ = sent_campaign(api, 3, scheduled_at=later)
    before = day_of(api.world.clock.ms)
    api.world.clock.advance(86_400)
    api.call("POST", f"/campaigns/{campaign}/stop")
    api.world.settle()
    assert spending(api).used(api.account, before) == {"email": 3}
    assert used(api) == {}
    api.accepted(people(10))
    refused(api.batch())


def test_a_batch_that_is_stopped_stays_counted_and_its_resume_counts_nothing(api: Api) -> None:
    limit(api, email=3)
    later = datetime.fromtimestamp(api.world.clock.now() + 600, UTC).isoformat()
    job = api.accepted(people(3), scheduled_at=later)
    api.call("POST", f"/jobs/{job}/stop")
    api.world.settle()
    assert used(api) == {"email": 3}
    assert api.call("POST", f"/jobs/{job}/resume").status == 200
    assert used(api) == {"email": 3}


TEXTS: dict[str, Any] = {"channel": "sms", "from_": None, "subject": None}
NUMBER_OF = {"US": "+14155550101", "DE": "+4915112345678", "FR": "+33612345678", "CA": "+16135550123"}


def priced(api: Api, **prices: int) -> None:
    """Let SMS have prices, in millionths by country."""
    api.world.settings.routes["sms"] = ("texts",)
    api.world.settings.prices["sms"] = {name.replace("ANY", "*"): price for name, price in prices.items()}


def texts(api: Api, *countries: str, **changes: Any) -> Reply:
    return api.batch(tuple(NUMBER_OF[x] for x in countries), **{**TEXTS, **changes})


def test_a_limit_of_the_price_counts_segments_by_their_countries(api: Api) -> None:
    priced(api, US=10_000, DE=75_000, ANY=100_000)
    limit(api, price=1_000_000)
    assert texts(api, "US", "DE", "FR", text="x" * 161).status == 202
    assert used(api) == {"price": 2 * 185_000}
    got = refused(texts(api, "DE", "CA", text="x" * 1000))
    assert (got.json["quota"], got.json["limit"], got.json["used"]) == ("price", 1, 0.37)
    assert "may spend 1.0 a day" in got.json["detail"]


def test_a_country_that_is_not_allowed_refuses_the_request_by_name(api: Api) -> None:
    priced(api)
    assert api.services.accounts.set_limits(api.account, {}, countries=["DE", "US"])
    api.world.clock.advance(CACHE)
    assert texts(api, "US", "DE").status == 202
    got = texts(api, "US", "FR", "CA")
    assert (got.status, got.code, got.fields) == (422, "country_not_allowed", ["to"])
    assert got.json["errors"][0]["message"].endswith("numbers of CA, FR.")
    assert api.batch().status == 202, "e-mail has no country"
    test = api.batch((NUMBER_OF["FR"],), key=api.test_key(), **TEXTS)
    assert test.status == 202


def text_campaign(api: Api, *countries: str) -> str:
    template = {"body": "x" * 161}
    campaign = api.campaign(channel="sms", credential_id="texts", template=template, unsubscribe=None)
    api.listed(campaign, *({"recipient": NUMBER_OF[x]} for x in countries))
    return campaign


def test_a_campaign_of_texts_is_priced_and_barred_by_the_countries_of_its_list(api: Api) -> None:
    priced(api, US=10_000, DE=75_000)
    limit(api, price=1_000_000)
    campaign = text_campaign(api, "US", "DE")
    upload = api.call("GET", f"/campaigns/{campaign}").json["upload_id"]
    shown = api.call("GET", f"/campaigns/{campaign}/uploads/{upload}").json
    assert (shown["countries"], shown["price"]) == ({"US": 1, "DE": 1}, 0.17)
    assert api.services.accounts.set_limits(api.account, {}, countries=["DE"])
    api.world.clock.advance(CACHE)
    got = api.call("POST", f"/campaigns/{campaign}/send", {})
    assert (got.status, got.code) == (422, "country_not_allowed")
    assert "US: 1" in got.json["errors"][0]["message"]
    assert api.services.accounts.set_limits(api.account, {}, countries=[])
    api.world.clock.advance(CACHE)
    api.sent(campaign)
    assert used(api) == {"price": 2 * 85_000}


def test_a_resume_costs_the_highest_price_as_its_countries_are_not_known(api: Api) -> None:
    priced(api, US=10_000, DE=75_000)
    limit(api, price=1_000_000)
    campaign = text_campaign(api, "US", "DE")
    later = datetime.fromtimestamp(api.world.clock.now() + 600, UTC).isoformat()
    job = api.sent(campaign, scheduled_at=later)
    api.call("POST", f"/campaigns/{campaign}/stop")
    api.world.settle()
    assert used(api) == {"price": 0}
    assert api.call("POST", f"/jobs/{job}/resume").json["messages"] == 2
    assert used(api) == {"price": 2 * 2 * 75_000}
