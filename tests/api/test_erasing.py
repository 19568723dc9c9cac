"""A person's data are gone wherever they stood, nobody else's are, and everything goes on."""

from typing import Any, cast

import boto3
import pytest

from shared.adapters.dynamo.client import Dynamo
from shared.adapters.dynamo.erasure.erasing import Eraser
from shared.adapters.dynamo.jobs import contents
from shared.adapters.dynamo.jobs.exports import DynamoExports
from shared.adapters.s3 import versions
from shared.domain import archive
from shared.domain.campaigns.campaign import UploadState
from shared.domain.content import content as content_codec
from shared.domain.content.content import Content
from shared.domain.exports import header, rows
from shared.domain.jobs.outcomes import Rejected
from shared.domain.jobs.states import JobState
from shared.domain.namespaces import namespace
from shared.domain.recipients.suppressions import DigestsOf, Reach
from shared.engine.reports.export import begin
from tests.api.conftest import Api
from tests.api.lists import as_body
from tests.fakes.tables import MotoStores

PERSON = "ann@example.org"


class Bucket:
    """A bucket that keeps versions, with whatever files a test puts there."""

    def __init__(self, name: str) -> None:
        self.client: Any = boto3.client("s3", region_name="us-east-1")
        self.name = name
        self.client.create_bucket(Bucket=name)
        versioning: Any = {"Status": "Enabled"}
        self.client.put_bucket_versioning(Bucket=name, VersioningConfiguration=versioning)

    def put(self, name: str) -> None:
        """Put a file twice and delete it: three versions, of which none is shown."""
        for _ in range(2):
            self.client.put_object(Bucket=self.name, Key=name, Body=PERSON.encode())
        self.client.delete_object(Bucket=self.name, Key=name)

    def names(self) -> set[str]:
        found = self.client.list_object_versions(Bucket=self.name)
        return {x["Key"] for x in (*found.get("Versions", ()), *found.get("DeleteMarkers", ()))}


@pytest.fixture
def bucket(api: Api) -> Bucket:
    return Bucket(f"b-{api.tables.records.lower().replace('_', '-')}")


def eraser(api: Api, bucket: Bucket, **more: Any) -> Eraser:
    dynamo = Dynamo(api.client, sleep=api.world.clock.sleep)
    return Eraser(dynamo, api.tables.records, lambda: bucket.client, bucket.name, key=PERSON, **more)


def erase(api: Api, bucket: Bucket, **more: Any) -> Eraser:
    made = eraser(api, bucket, **more)
    made.lists([x.id for x in api.services.accounts.list_accounts()])
    made.scan("", lambda _after, _items: None)
    made.archived(lambda _size: None)
    return made


def texts(api: Api, job: str) -> list[tuple[str, str]]:
    items = api.call("GET", f"/batches/{job}/logs").json["items"]
    return [(x["recipient"], x["state"]) for x in items]


@pytest.mark.slow
def test_erasure_finds_all_of_a_persons_data_and_only_that(api: Api, bucket: Bucket) -> None:
    tests = namespace(api.account, test=True)
    alone = api.logged([PERSON], subject="Dear Ann", name="Letter to Ann")
    copied = api.logged(["ben@example.org"], cc=["Ann@example.org"], bcc=["eve@example.org"])
    many = api.logged(["ben@example.org", "Ann@Example.org", "eve@example.org"])
    other = api.logged(["eve@example.org"], subject="Dear Eve")
    campaign = api.campaign()
    upload = api.listed(campaign, {"recipient": PERSON, "name": "Ann"}, {"recipient": "ben@example.org", "name": "B"})
    for name in (
        *(f"uploads/{api.account}/{campaign}/{upload}{x}" for x in ("", ".marks/00001", ".csv/1")),
        *(f"exports/{api.account}/{x}/run.csv" for x in (many, alone, other)),
    ):
        bucket.put(name)
    api.services.suppressions.put(api.account, PERSON, "bounced")
    api.services.suppressions.put(api.account, PERSON, "page", reach=Reach.CAMPAIGNS)
    for policy in ("acme/", "acme/production"):
        api.services.suppressions.put(api.account, PERSON, "page", reach=DigestsOf(policy))
    api.services.suppressions.put(api.account, "eve@example.org", "page", reach=DigestsOf("acme/"))
    api.services.suppressions.put(tests, PERSON, "tried")
    api.services.suppressions.put(tests, PERSON, "tried", reach=Reach.CAMPAIGNS)
    api.services.suppressions.put(api.account, "eve@example.org", "bounced")
    before = [x for x in api.stored() if "recipients" not in x and "data" not in x]

    looked = erase(api, bucket, dry=True).report
    assert [x for x in api.stored() if "recipients" not in x and "data" not in x] == before
    report = erase(api, bucket).report
    assert dict(report.erased) == dict(looked.erased)
    assert report.erased["recipients blanked"] == 3
    assert report.erased["files of lists deleted"] == 1  # its file and its marks are one list
    assert report.erased["contents of single messages blanked"] == 1
    assert report.erased["copies (cc, bcc) removed"] == 1
    assert (report.erased["suppressions hashed"], report.erased["unsubscriptions hashed"]) == (2, 4)
    assert report.jobs == {alone, copied, many, upload}
    assert report.accounts == {api.account}

    assert texts(api, alone) == [("erased", "sent")]
    assert texts(api, many) == [("ben@example.org", "sent"), ("erased", "sent"), ("eve@example.org", "sent")]
    assert texts(api, other) == [("eve@example.org", "sent")]
    shown = api.call("GET", f"/batches/{alone}").json
    assert (shown["subject"], shown["name"]) == (None, None)
    assert api.call("GET", f"/batches/{other}").json["subject"] == "Dear Eve"
    content = api.services.records.content(copied)
    assert content is not None
    assert [m.address for m in (*content.cc, *content.bcc)] == ["eve@example.org"]
    emptied = api.services.records.content(alone)
    assert emptied is not None
    assert (emptied.subject, emptied.html, emptied.text) == ("", "", "erased")
    assert bucket.names() == {f"exports/{api.account}/{other}/run.csv"}
    assert PERSON not in str(api.stored()).lower()

    assert api.call("PUT", f"/suppressions/{PERSON}").json["reason"]
    assert api.call("GET", f"/suppressions/{PERSON}").json["address"].startswith("sha256:")
    assert api.batch([PERSON]).code == "no_valid_recipient"
    assert api.call("GET", "/suppressions/eve@example.org").json["address"] == "eve@example.org"
    assert erase(api, bucket).report.erased == {}, "doing it again finds nothing"
    assert api.call("DELETE", f"/suppressions/{PERSON}").json["removed"]


def test_a_large_content_loses_its_copies_and_nothing_else(
    api: Api, bucket: Bucket, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It stands in the bucket. Whoever dies has put the new one there before the old one goes."""
    monkeypatch.setattr(contents, "CHUNK_CONTENT", 0)
    monkeypatch.setattr(contents, "INLINE_CONTENT", 0)
    job = api.accepted(["ben@example.org"], cc=["Ann@example.org", "eve@example.org"], subject="Dear Ben")
    ((name, data),) = cast("MotoStores", api.world.stores).blobs.items.items()
    for _ in range(2):
        bucket.client.put_object(Bucket=bucket.name, Key=name, Body=data)

    def contents_left() -> list[Content]:
        listed = bucket.client.list_object_versions(Bucket=bucket.name)["Versions"]
        got = [bucket.client.get_object(Bucket=bucket.name, Key=name, VersionId=x["VersionId"]) for x in listed]
        return [content_codec.unpack(x["Body"].read()) for x in got]

    assert erase(api, bucket, dry=True).report.erased == {"copies (cc, bcc) removed": 1}
    assert len(contents_left()) == 2
    with monkeypatch.context() as dying:
        dying.setattr(versions, "prune", lambda *_: (_ for _ in ()).throw(KeyboardInterrupt))
        with pytest.raises(KeyboardInterrupt):
            erase(api, bucket)
    assert contents_left()[0].subject == "Dear Ben", "nothing is lost that others wait for"
    report = erase(api, bucket).report
    (left,) = contents_left()
    assert (left.subject, [m.address for m in left.cc]) == ("Dear Ben", ["eve@example.org"])
    assert (report.erased, report.jobs) == ({}, set()), job


@pytest.mark.slow
def test_what_was_no_address_but_has_it_in_its_text_is_found(api: Api, bucket: Bucket) -> None:
    given = [
        "Ann Ann@Example.org",
        "joann@example.org ",
        "Jo joann@example.org",
        "ann@example.org.uk x",
        "b@example.org",
    ]
    job = api.logged(given, name="Letter")
    assert erase(api, bucket).report.erased["recipients blanked"] == 1
    assert [x for x, _ in texts(api, job)] == ["erased", *(x.strip() for x in given[1:])]


@pytest.mark.slow
def test_what_still_waits_for_an_erased_person_is_skipped(api: Api, bucket: Bucket) -> None:
    again = api.logged([PERSON, "eve@example.org"])
    waiting = api.accepted([PERSON, "ben@example.org"])
    erase(api, bucket)
    api.world.settle()
    assert texts(api, waiting) == [("erased", "skipped"), ("ben@example.org", "sent")]
    line = api.call("GET", f"/batches/{waiting}/logs/0.0").json
    assert (line["error"], line["attempts"], any(line["providers"].values())) == ("erased", [], False)
    assert api.call("GET", f"/jobs/{waiting}").json["counts"]["skipped"] == 1
    assert texts(api, again)[0] == ("erased", "sent")


@pytest.mark.slow
@pytest.mark.parametrize("died", [1, 3, 5])
def test_a_crash_during_erasure_is_completed_by_the_next_run(api: Api, bucket: Bucket, died: int) -> None:
    """After each write of one run the tool dies; a whole second run leaves nothing, files included."""
    job = api.logged([PERSON], subject="Dear Ann")
    many = api.logged([PERSON, "ben@example.org"])
    bucket.put(f"exports/{api.account}/{job}/run.csv")
    api.services.suppressions.put(api.account, PERSON, "bounced")

    class Dying(Dynamo):
        left = died

        def call(self, method: str, **kwargs: Any) -> Any:
            answer = super().call(method, **kwargs)
            if method in {"update_item", "delete_item", "transact_write_items"}:
                self.left -= 1
                if self.left < 0:
                    raise KeyboardInterrupt
            return answer

    made = Eraser(
        Dying(api.client, sleep=api.world.clock.sleep),
        api.tables.records,
        lambda: bucket.client,
        bucket.name,
        key=PERSON,
    )
    made.lists([api.account])
    with pytest.raises(KeyboardInterrupt):
        made.scan("", lambda _after, _items: None)
    erase(api, bucket)
    assert PERSON not in str(api.stored())
    assert [x for x, _ in texts(api, many)] == ["erased", "ben@example.org"]
    assert bucket.names() == set()


@pytest.mark.slow
def test_an_unfinished_archive_restarts_and_a_finished_one_is_blanked(api: Api, bucket: Bucket) -> None:
    job = api.logged([PERSON, "ben@example.org"])
    stored = api.services.records.job(job)
    assert stored is not None
    exports = DynamoExports(Dynamo(api.client, sleep=api.world.clock.sleep), api.tables.records)
    made = begin(archive.export_id(job), stored.account, [stored], 1, 1, file=archive.file(stored))
    assert exports.save(None, made)
    row = [job, "0.0", "Ann@example.org", *["x"] * 7, "Ann"]
    name = archive.file(stored)
    bucket.client.put_object(Bucket=bucket.name, Key=name, Body=header(["name"]) + rows([row]))
    report = erase(api, bucket).report
    assert exports.get(archive.export_id(job)) is None
    assert report.erased["rows of archived files blanked"] == 1
    left = bucket.client.get_object(Bucket=bucket.name, Key=name)["Body"].read()
    assert left == header(["name"]) + rows([[job, "0.0", "erased", *["x"] * 7, ""]])
    assert bucket.names() == {name}


@pytest.mark.slow
def test_a_list_that_is_being_read_keeps_its_file(api: Api, bucket: Bucket) -> None:
    campaign = api.campaign()
    upload = api.listed(campaign, {"recipient": PERSON, "name": "Ann"})
    name = f"uploads/{api.account}/{campaign}/{upload}"
    bucket.put(name)
    store = api.services.campaigns().uploads
    stored = store.get(campaign, upload)
    assert stored is not None
    reading = stored.changed(state=UploadState.READING)
    assert store.save(stored, reading)
    report = erase(api, bucket).report
    assert bucket.names() == {name}
    (named,) = [sentence for sentence in report.kept if upload in sentence]
    assert "keeps its file" in named


@pytest.mark.slow
def test_lists_that_are_read_meanwhile_are_named(api: Api, bucket: Bucket) -> None:
    """One that is read when the scan begins may bring its rows behind it; so may one that comes before the end."""
    campaigns = [api.campaign() for _ in range(2)]

    def given(campaign: str) -> str:
        got = api.call("PUT", f"/campaigns/{campaign}/recipients", as_body([{"recipient": PERSON, "name": "Ann"}]))
        return str(got.json["upload_id"])

    first, later = given(campaigns[0]), ""

    def reached(_after: str, _items: int) -> None:
        nonlocal later
        api.lists.read()
        later = given(campaigns[1])

    made = eraser(api, bucket)
    made.scan("", reached)
    assert made.report.erased == {}
    assert sorted(sentence.split()[2] for sentence in made.report.kept) == sorted([first, later])


@pytest.mark.slow
def test_a_scan_goes_on_from_where_it_was(api: Api, bucket: Bucket) -> None:
    for _ in range(3):
        api.logged([PERSON, "ben@example.org"])
    places: list[str] = []

    class Small(Dynamo):
        def call(self, method: str, **kwargs: Any) -> Any:
            return super().call(method, **kwargs, **({"Limit": 5} if method == "scan" else {}))

    def stop(after: str, _items: int) -> None:
        places.append(after)
        if len(places) == 2:
            raise KeyboardInterrupt

    parts = (Small(api.client), api.tables.records, lambda: bucket.client, bucket.name)
    first = Eraser(*parts, key=PERSON)
    with pytest.raises(KeyboardInterrupt):
        first.scan("", stop)
    second = Eraser(*parts, key=PERSON)
    second.scan(places[-1], lambda after, _items: places.append(after))
    assert places[-1] == ""
    assert first.report.erased["recipients blanked"] + second.report.erased["recipients blanked"] == 3
    assert PERSON not in str(api.stored())


@pytest.mark.slow
def test_a_scan_that_ends_after_each_item_finds_all_the_same(api: Api, bucket: Bucket) -> None:
    for _ in range(3):
        api.logged([PERSON, "ben@example.org"])
    place, erased, scans = "", 0, 0
    while place or not scans:
        made = eraser(api, bucket)
        place = made.scan(place, lambda _after, _items: None, enough=lambda: True)
        erased, scans = erased + made.report.erased["recipients blanked"], scans + 1
    assert (erased, scans > 3) == (3, True)
    assert PERSON not in str(api.stored())


@pytest.mark.slow
def test_what_providers_wrote_about_a_person_is_gone_and_what_they_wrote_of_others_is_not(
    api: Api, bucket: Bucket
) -> None:
    world = api.world
    away = Rejected("full", permanent=False, about_message=True, detail="Ann is away")
    for provider in world.providers.values():
        provider.script(PERSON, [away])
    job = api.accepted(to=["ben@example.org", PERSON])
    world.settle()
    (ben, _), (ann, tries) = [
        ((x.chunk, i), x.cell(i)[1]) for x in world.ledgers.read_all(job) for i in range(len(x.cells))
    ]

    def say(place: tuple[int, int], attempt: int, word: str, text: str) -> None:
        world.track("one", world.word(job, place[1], word, chunk=place[0], attempt=attempt, detail=text))

    say(ben, 1, "deferred", "Ben?")
    say(ann, tries, "deferred", "Ann Smith?")
    world.settle()

    def entries() -> list[Any]:
        found: list[Any] = []
        for chunk in {ben[0], ann[0]}:
            for some in world.records.details(job, chunk):
                found += [e for x in some for e in x.entries]
        return found

    def kept() -> list[str]:
        return sorted(e.detail for e in entries() if e.detail)

    def results() -> list[object]:
        return [(e.index, e.attempt, e.code, e.id) for e in entries()]

    before = results()
    assert kept() == ["Ann Smith?", *["Ann is away"] * (tries - 1), "Ben?"]
    looked = erase(api, bucket, dry=True).report
    assert kept() == ["Ann Smith?", *["Ann is away"] * (tries - 1), "Ben?"]
    report = erase(api, bucket).report
    assert report.erased["texts of providers removed"] == looked.erased["texts of providers removed"] == tries
    assert (kept(), results()) == (["Ben?"], before)
    say(ann, tries, "delivered", "Ann has it")
    assert "Ann has it" in kept()
    assert erase(api, bucket).report.erased == {"texts of providers removed": 1}
    assert kept() == ["Ben?"]


def test_what_a_provider_wrote_in_a_small_job_s_own_item_is_gone(api: Api, bucket: Bucket) -> None:
    world = api.world
    for provider in world.providers.values():
        provider.script(PERSON, [Rejected("moved", permanent=True, detail="Ann has moved")])
    job = api.accepted(to=[PERSON])
    for lane in world.senders:
        world.send_together(lane)
    assert world.job(job).state is JobState.LOGGED

    def kept() -> list[str]:
        return [e.detail for x in world.records.details(job, 0)[0] for e in x.entries]

    assert kept() == ["Ann has moved"]
    assert erase(api, bucket).report.erased["texts of providers removed"] == 1
    assert kept() == [""]


def test_what_a_provider_said_later_in_a_small_job_s_own_item_is_gone(api: Api, bucket: Bucket) -> None:
    world = api.world
    job = api.accepted(to=[PERSON])
    for lane in world.senders:
        world.send_together(lane)
    [ledger] = world.ledgers.read_all(job)
    before = world.tap.calls.count("records.put_feedback")
    world.track(ledger.lane, world.word(job, 0, "delivered", detail="taken for Ann"))
    assert world.tap.calls.count("records.put_feedback") == before, "it is in the item"

    def kept() -> list[str]:
        return [e.detail for x in world.records.details(job, 0)[1] for e in x.entries]

    assert kept() == ["taken for Ann"]
    assert erase(api, bucket).report.erased["texts of providers removed"] == 1
    assert kept() == [""]
